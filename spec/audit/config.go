package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/internal/tomledit"
	"go.yaml.in/yaml/v4"
)

// Limits of configuration.
const (
	maxConfigDepth = 64      // of maps and lists
	maxYAML        = 1 << 20 // bytes of YAML and TOML that are parsed
)

// A node is a value of JSON, YAML or TOML.
type node struct {
	line   int
	text   string // of a scalar that is a text
	scalar bool
	items  []node
	fields []entry
}

// An entry is a key of a map. Keys that are there twice are all read.
type entry struct {
	key   string
	line  int
	value node
}

func (n node) get(key string) (node, bool) {
	for _, f := range n.fields {
		if f.key == key {
			return f.value, true
		}
	}
	return node{}, false
}

// at is the value of a key, or a node of nothing.
//
//go:noinline
func (n *node) at(key string) *node {
	for i := range n.fields {
		if n.fields[i].key == key {
			return &n.fields[i].value
		}
	}
	return &node{}
}

// words are the scalars of a list, or the one that n is.
func (n node) words() (out []value) {
	if n.scalar {
		return []value{{n.text}}
	}
	for _, item := range n.items {
		if item.scalar {
			out = append(out, value{item.text})
		} else {
			out = append(out, unknown)
		}
	}
	return out
}

// isConfig reports whether a file is JSON, YAML or TOML, and whether agents read one of its name.
func isConfig(name string) (config, ofAgents bool) {
	name = strings.ToLower(name)
	ext := path.Ext(name)
	switch ext {
	case ".json", ".jsonc", ".json5", ".yaml", ".yml", ".toml":
	default:
		return path.Base(name) == "pipfile", false
	}
	base := strings.TrimSuffix(path.Base(name), ext)
	dir := path.Base(path.Dir(name))
	for _, prefix := range []string{"hooks", "settings"} {
		ofAgents = ofAgents || strings.HasPrefix(base, prefix)
	}
	return true, ofAgents || slices.Contains(agentFolders, dir) ||
		slices.Contains([]string{".mcp", "mcp", "mcp_config", "plugin", "openai", "gemini-extension"}, base)
}

// A config is a file of configuration that is read.
type config struct {
	*auditor
	ofAgents bool   // agents read files of its name
	shell    string // keys whose values are lines of shell
}

// config reads what a file of configuration makes an agent do. One that cannot be read may do anything, if it is one of agents
// or has the keys that start something; then ok is false.
func (a *auditor) config(src []byte, ofAgents bool) (ok bool) {
	c := config{a, ofAgents, keysOf(a.path)}
	manager, keys := manifestOf(a.path)
	list, err := parseConfig(a.path, src)
	if err != nil {
		return !ofAgents && c.shell == "" && manager == "" && !starts.get().Match(src)
	}
	base := strings.ToLower(path.Base(a.path))
	for _, n := range list {
		if _, ok := n.get("hooks"); !ok && strings.HasPrefix(base, "hooks") {
			c.hooks(n, n.line)
			continue
		}
		c.walk(n, "", 0)
		if manager != "" {
			c.manifest(&n, manager, keys)
		}
	}
	return true
}

// starts are the keys that start something.
var starts = pattern{text: `(?i)\b(command|mcp_?servers|hooks)["']?\s*[:=]|\[\s*(mcp_servers|hooks)`}

// parseConfig reads the documents of a file.
func parseConfig(name string, src []byte) (list []node, err error) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	ext := strings.ToLower(path.Ext(name))
	if strings.HasPrefix(ext, ".json") {
		return parseJSON(src)
	}
	if len(src) > maxYAML {
		return nil, errLong
	}
	if ext == ".toml" || ext == "" {
		doc, err := tomledit.Parse(src)
		if err != nil {
			return nil, err
		}
		return []node{fromTOML(doc.Root, src)}, nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src), yaml.WithPlugin(shallow{}))
	for err == nil {
		var doc yaml.Node
		if err = loader.Load(&doc); err == nil {
			list = append(list, fromYAML(&doc))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

var (
	errLong = errors.New("the file is too long")
	errDeep = errors.New("lists and maps nest too deep")
)

// shallow stops the parser of YAML early on text that only nests.
type shallow struct{}

func (shallow) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxConfigDepth {
		return errDeep
	}
	return nil
}

func (shallow) CheckAlias(int, int) error { return nil }

// fromYAML makes a node. What an alias means stands where its anchor is, and is no value that is known at the alias.
func fromYAML(y *yaml.Node) node {
	n := node{line: y.Line}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) > 0 {
			return fromYAML(y.Content[0])
		}
	case yaml.ScalarNode:
		n.scalar, n.text = true, y.Value
	case yaml.AliasNode:
		n.scalar, n.text = true, holeText
		if y.Alias != nil && y.Alias.Kind == yaml.ScalarNode {
			n.text = y.Alias.Value
		}
	case yaml.SequenceNode:
		for _, item := range y.Content {
			n.items = append(n.items, fromYAML(item))
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(y.Content); i += 2 {
			n.fields = append(n.fields, entry{y.Content[i].Value, y.Content[i].Line, fromYAML(y.Content[i+1])})
		}
	}
	return n
}

func fromTOML(v *tomledit.Value, src []byte) node {
	line := func(offset int) int { return 1 + bytes.Count(src[:min(max(offset, 0), len(src))], []byte("\n")) }
	n := node{line: line(v.Offset)}
	switch v.Kind {
	case tomledit.Table:
		for _, f := range v.Fields {
			n.fields = append(n.fields, entry{f.Key, line(f.Offset), fromTOML(f.Value, src)})
		}
	case tomledit.Array:
		for _, item := range v.Items {
			n.items = append(n.items, fromTOML(item, src))
		}
	default:
		n.scalar, n.text = true, v.Text
	}
	return n
}

// parseJSON reads the values of a text of JSON, one or several.
func parseJSON(src []byte) (list []node, err error) {
	r := jsonReader{json.NewDecoder(bytes.NewReader(src)), src, 0, 1}
	r.UseNumber()
	for {
		n, err := r.node(0)
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
}

type jsonReader struct {
	*json.Decoder
	src      []byte
	at, line int // the line of a byte
}

// place is the line behind the token that was read.
func (r *jsonReader) place() int {
	end := int(r.InputOffset())
	r.line += bytes.Count(r.src[r.at:end], []byte("\n"))
	r.at = end
	return r.line
}

func (r *jsonReader) node(depth int) (node, error) {
	t, err := r.Token()
	if err != nil {
		return node{}, err
	}
	n := node{line: r.place()}
	switch t := t.(type) {
	case json.Delim:
		if depth > maxConfigDepth {
			return n, errDeep
		}
		for r.More() {
			if t == '[' {
				item, err := r.node(depth + 1)
				if err != nil {
					return n, unexpected(err)
				}
				n.items = append(n.items, item)
				continue
			}
			key, err := r.Token()
			if err != nil {
				return n, unexpected(err)
			}
			f := entry{line: r.place()}
			f.key, _ = key.(string)
			if f.value, err = r.node(depth + 1); err != nil {
				return n, unexpected(err)
			}
			n.fields = append(n.fields, f)
		}
		_, err = r.Token()
		return n, unexpected(err)
	case string:
		n.scalar, n.text = true, t
	case json.Number:
		n.scalar, n.text = true, t.String()
	default:
		if n.scalar = true; t == true {
			n.text = "true"
		}
	}
	return n, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// about are keys whose addresses are for people.
var about = []string{"author", "authors", "contributors", "maintainers", "repository", "homepage", "bugs", "license", "owner", "funding"}

// bare is a key without hyphens and underscores.
var bare = strings.NewReplacer("_", "", "-", "")

// walk reads what is below a key.
func (c config) walk(n node, above string, depth int) {
	for _, item := range n.items {
		c.walk(item, above, depth+1)
	}
	if len(n.fields) == 0 || slices.Contains(about, above) {
		return
	}
	c.starts(n)
	for _, f := range n.fields {
		v := f.value
		key := strings.ToLower(bare.Replace(f.key))
		if key != "" && has(c.shell, key) {
			c.lines(v)
			continue
		}
		c.consents(key, &v)
		switch key {
		case "hooks":
			c.hooks(v, f.line)
			continue
		case "url", "httpurl", "serverurl", "sseurl", "baseurl", "endpoint", "npmregistryserver", "indexurl", "extraindexurl", "registry":
			for _, w := range v.words() {
				if !c.net(w[0], false, v.line) && c.ofAgents && strings.ContainsAny(w[0], "$\x00") {
					c.add(Net, holeText, v.line)
				}
			}
		case "env":
			for _, e := range v.fields {
				if c.ofAgents {
					c.env(e.key, e.line)
					c.net(e.value.text, false, e.value.line)
				}
			}
		case "apikeyhelper", "awsauthrefresh", "awscredentialexport", "otelheadershelper":
			if v.scalar && c.ofAgents {
				c.command(v.text, v.line)
			}
		case "allow":
			for _, item := range v.items {
				if item.scalar && c.ofAgents && above == "permissions" {
					c.add(Tool, item.text, item.line)
				}
			}
		default:
			if c.ofAgents && v.scalar && (strings.HasSuffix(key, "envvar") || strings.HasSuffix(key, "envvars")) {
				c.env(v.text, v.line)
			}
		}
		if c.ofAgents && v.scalar {
			for _, m := range references.get().FindAllStringSubmatch(v.text, -1) {
				c.env(m[1], v.line)
			}
		}
		c.walk(v, strings.ToLower(f.key), depth+1)
	}
}

// references are the variables in a text: ${NAME}, ${env:NAME}.
var references = pattern{text: `\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)`}

// starts reads the program that a map names: its command, and its args if they stand apart.
func (c config) starts(n node) {
	args, hasArgs := n.get("args")
	command := false
	for _, f := range n.fields {
		v := f.value
		if f.key != "command" || !v.scalar && len(v.items) == 0 {
			continue
		}
		command = true
		words := v.words()
		if v.scalar && !hasArgs {
			if strings.IndexByte(v.text, hole) >= 0 {
				c.add(Dynamic, "", v.line)
				continue
			}
			c.auditor.command(v.text, v.line)
			continue
		}
		c.exec(append(words, args.words()...), nil, v.line, false)
	}
	if words := args.words(); hasArgs && !command && len(words) > 0 && !strings.HasPrefix(words[0][0], "-") && len(args.items) > 0 {
		c.exec(words, nil, args.line, false)
	}
}

// hooks reads the events of hooks, and what runs on them.
func (c config) hooks(n node, line int) {
	for _, f := range n.fields {
		if f.value.scalar && !slices.Contains([]string{"command", "bash", "powershell"}, f.key) {
			continue // a version, a description
		}
		c.add(Hook, f.key, f.line)
	}
	if len(n.fields) == 0 && c.ofAgents && (n.scalar && n.text != "" || len(n.items) > 0) {
		c.add(Hook, "*", line)
	}
	c.hooked(n)
}

func (c config) hooked(n node) {
	for _, item := range n.items {
		c.hooked(item)
	}
	c.starts(n)
	for _, f := range n.fields {
		switch v := f.value; {
		case f.key == "url" && v.scalar:
			c.net(v.text, false, v.line)
		case (f.key == "bash" || f.key == "run") && v.scalar:
			c.command(v.text, v.line)
		case f.key == "powershell" && v.scalar:
			c.text(powershell, value{v.text}, v.line)
		default:
			c.hooked(v)
		}
	}
}
