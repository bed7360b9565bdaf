package skill

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/skl-project/skl/spec/diag"
)

// emptyName stands for a name that is given and empty, which some agents take for a name.
const emptyName = " "

// ReadAs says whether an agent loads a skill with the frontmatter in head, and under which name: "" is that of its directory.
// It knows the agents that were measured; known is false for others. head is the start of a SKILL.md, as far as [Front] keeps it.
func ReadAs(agent string, head []byte) (name string, loads, known bool) {
	switch agent {
	case "claude-code": // it loads every SKILL.md, and goes by the directory
		return "", true, true
	case "codex", "gemini-cli", "github-copilot", "opencode":
	default:
		return "", false, false
	}
	fm, p := split(head)
	if p != nil {
		return "", false, true
	}
	switch agent {
	case "codex":
		name, loads = fm.asCodex()
	case "gemini-cli":
		name, loads = fm.asGemini()
	case "github-copilot":
		name, loads = fm.asCopilot()
	default:
		name, loads = fm.asOpencode()
	}
	return name, loads, true
}

// DirName is what an agent calls a skill whose frontmatter has no name and whose directory is dir. ok is false if it does not load it.
func DirName(agent, dir string) (name string, ok bool) {
	if agent != "github-copilot" {
		return dir, true
	}
	return strings.ReplaceAll(dir, " ", "-"), copilotName().MatchString(dir)
}

// Front is what has to be kept of a SKILL.md for ReadAs: "" where all agents load the skill under the name that Read gives it, else
// the frontmatter with its fences, or "\n" where there is none. d is what Read made of head, nil if it refused it.
func Front(head []byte, d *Document) string {
	if d != nil && d.State != Invalid && d.isUsual(head) {
		return ""
	}
	fm, p := split(head)
	if p != nil {
		return "\n"
	}
	return string(head[:fm.body])
}

var (
	usualName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`) })
	usualText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][a-z' ][^:#]* [^:#]*$`) })
	notText   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:y|n|yes|no|on|off|true|false|null)$`) }) // some parsers take it for something else
)

// isUsual reports whether d, which is in head, holds nothing that agents read differently.
func (d *Document) isUsual(head []byte) bool {
	if slices.ContainsFunc(d.Warnings, func(w diag.Finding) bool { return w.Rule == RuleYAMLQuote }) { // Read mends it, and others refuse it
		return false
	}
	if !bytes.HasPrefix(head, []byte("---\n")) || !bytes.HasSuffix(head[:d.Body], []byte("\n---\n")) ||
		!usualName().MatchString(d.Name) || notText().MatchString(d.Name) || len(d.Description) > 1000 || !usualText().MatchString(d.Description) {
		return false
	}
	for _, f := range d.Fields {
		switch f.Key {
		case "metadata":
			if f.Value.Kind != Map {
				return false
			}
		case "allowed-tools":
			if text := strings.TrimSpace(f.Value.Text); f.Value.Kind == Map || f.Value.Kind == Scalar && (text == "" || !unicode.IsLetter(rune(text[0])) || notText().MatchString(text)) {
				return false
			}
		}
	}
	return true
}

// entries are the keys and values of a map's node. It is false for another node, and where a key is there twice.
func entries(node *yaml.Node) (map[string]*yaml.Node, bool) {
	values := map[string]*yaml.Node{}
	if node == nil {
		return values, true
	}
	if node.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if _, twice := values[key.Value]; twice || key.Kind != yaml.ScalarNode {
			return nil, false
		}
		value := node.Content[i+1]
		if value.Kind == yaml.AliasNode && value.Alias != nil {
			value = value.Alias
		}
		values[key.Value] = value
	}
	return values, true
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// given is a name as a host's own: that of a name that is there is never "".
func given(name string) string {
	if name == "" {
		return emptyName
	}
	return name
}

// codexLine is a plain value, which Codex quotes where the frontmatter is no YAML.
var codexLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^([A-Za-z_-]+):[ \t]+([^"'|>\s].*?)[ \t\r]*$`) })

func (fm *frontmatter) asCodex() (string, bool) {
	if fm.bom {
		return "", false
	}
	text := fm.src[fm.start:fm.end]
	node, err := load(text)
	if err != nil {
		node, err = load(codexLine().ReplaceAllFunc(text, func(line []byte) []byte {
			m := codexLine().FindSubmatch(line)
			return []byte(string(m[1]) + ": '" + strings.ReplaceAll(string(m[2]), "'", "''") + "'")
		}))
	}
	values, ok := entries(node)
	if err != nil || !ok {
		return "", false
	}
	description, metadata, name := values["description"], values["metadata"], values["name"]
	switch {
	case description == nil || description.Kind != yaml.ScalarNode || isNull(description) || strings.TrimSpace(description.Value) == "":
		return "", false
	case metadata != nil && metadata.Kind != yaml.MappingNode && !isNull(metadata):
		return "", false
	case name == nil || isNull(name):
		return "", true
	case name.Kind != yaml.ScalarNode || utf8.RuneCountInString(name.Value) > 64:
		return "", false
	}
	return strings.Join(strings.Fields(name.Value), " "), true
}

var (
	geminiName        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*name:[ \t]*(.*?)[ \t\r]*$`) })
	geminiDescription = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*description:`) })
	geminiUnsafe      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[:\\/<>*?"|]`) })
)

// asGemini: what is no YAML, or holds other types, is read line by line.
func (fm *frontmatter) asGemini() (string, bool) {
	head := fm.src[:fm.body]
	if fm.bom || !bytes.HasPrefix(head, []byte("---\n")) && !bytes.HasPrefix(head, []byte("---\r\n")) || fm.end == fm.start {
		return "", false
	}
	if last := bytes.TrimRight(head[fm.end:], "\r\n"); len(last) != 3 {
		return "", false
	}
	text := fm.src[fm.start:fm.end]
	if node, err := load(text); err == nil {
		if values, ok := entries(node); ok && values["name"] != nil && values["description"] != nil && isText(values["name"]) && isText(values["description"]) {
			return given(geminiUnsafe().ReplaceAllString(values["name"].Value, "-")), true
		}
	}
	m := geminiName().FindSubmatch(text)
	if m == nil || !geminiDescription().Match(text) {
		return "", false
	}
	return given(geminiUnsafe().ReplaceAllString(strings.Trim(string(m[1]), `"'`), "-")), true
}

var copilotName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._: -]*$`) })

func (fm *frontmatter) asCopilot() (string, bool) {
	node, err := load(fm.src[fm.start:fm.end])
	values, ok := entries(node)
	if err != nil || !ok {
		return "", false
	}
	text := func(n *yaml.Node) bool {
		return isText(n) || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp"
	}
	if d := values["description"]; d != nil && (!text(d) || utf8.RuneCountInString(d.Value) > 1024) {
		return "", false
	}
	if m := values["metadata"]; m != nil && m.Kind != yaml.MappingNode {
		return "", false
	}
	if tools := values["allowed-tools"]; tools != nil && tools.Kind != yaml.SequenceNode && !text(tools) {
		return "", false
	}
	name := values["name"]
	switch {
	case name == nil:
		return "", true
	case !text(name) || utf8.RuneCountInString(name.Value) > 64 || !copilotName().MatchString(name.Value):
		return "", false
	}
	return strings.ReplaceAll(name.Value, " ", "-"), true
}

// asOpencode: values with a colon are quoted where the frontmatter is no YAML.
func (fm *frontmatter) asOpencode() (string, bool) {
	text := fm.src[fm.start:fm.end]
	node, err := load(text)
	if err != nil {
		if fixes := quoteColons(text, fm.start); len(fixes) > 0 {
			node, err = load(Apply(fm.src[:fm.end], fixes)[fm.start:])
		}
	}
	values, ok := entries(node)
	if err != nil || !ok {
		return "", false
	}
	name, description := values["name"], values["description"]
	if name == nil || !isText(name) || description != nil && !isText(description) {
		return "", false
	}
	return given(name.Value), true
}
