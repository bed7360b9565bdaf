package skill

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/skl-project/skl/spec/diag"
	"go.yaml.in/yaml/v4"
)

// singles are the targets that are one file without a folder, with what their file's name ends in.
var singles = map[string]string{"cursor": ".mdc", "gemini": ".toml", "copilot-prompt": ".prompt.md", "windsurf": ".md"}

// SingleTargets are the targets of [ToSingle], in the order of their guide.
func SingleTargets() []string { return []string{"cursor", "gemini", "copilot-prompt", "windsurf"} }

// A Single is a skill as one file: a rule, a command or a prompt.
type Single struct {
	Name, Ext string // the file's name, and what it ends in
	Text      []byte
	Losses    []Loss
}

// maxWindsurf is how long a rule may be there, in characters.
const maxWindsurf = 12000

// ToSingle writes a skill as one file: a rule of Cursor or Windsurf, a command of Gemini CLI or a prompt file of Copilot. Files
// are the others of its folder, which stay behind. Commands that run when the skill is loaded become plain text, and for Gemini
// commands again if a loss of LOSS-LOADCMD is allowed. Text that the target would run, or read files for, and the skill did not mean so, is a
// loss of severity error, as is a limit that the file cannot hold.
//
// Its error is that of [Read], or cannot_convert for a name that is no file's.
func ToSingle(src []byte, files []string, target string, allowCommands bool) (Single, error) {
	before, err := Read(src)
	if err == nil {
		err = before.Problem
	}
	if err != nil {
		return Single{}, err
	}
	src = home(src) // with the keys that other dialects keep in metadata
	doc, err := Read(src)
	if err == nil && CheckName(doc.Name, "") != nil {
		err = cannotConvert("the skill has no name that a file can have").Hint("skl lint")
	}
	if err != nil {
		return Single{}, err
	}
	r, _ := open(src)
	r.read()
	w := &single{reader: r, target: target, out: Single{Name: doc.Name, Ext: singles[target]}}
	body := strings.TrimLeft(w.body(allowCommands), "\r\n")
	head := w.head()
	if key, text := doc.moreThan(before); key != "" {
		w.lose(LossWiden, key, before.lineOf(key), diag.SeverityError, text)
	}
	w.limits()
	w.files(files)
	switch target {
	case "gemini":
		w.out.Text, err = tomlCommand(doc.Description, body)
	default:
		w.out.Text, err = yamlRule(head, body)
	}
	if n := utf8.RuneCountInString(body); target == "windsurf" && n > maxWindsurf {
		w.lose(LossLength, "body", r.fm.bodyLine, diag.SeverityWarning, fmt.Sprintf("%d characters are more than the %d that windsurf takes", n, maxWindsurf))
	}
	sortLosses(w.out.Losses)
	return w.out, err
}

// A single writes one skill.
type single struct {
	*reader
	target string
	out    Single
}

func (w *single) lose(code, field string, line int, s diag.Severity, text string) {
	w.out.Losses = append(w.out.Losses, Loss{Code: code, Field: field, From: field, Line: line, Severity: s, Text: text})
}

// head are the keys of the file, each with the value that the library writes; keys without a place are losses.
func (w *single) head() yaml.Node {
	head := yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value any) {
		var n yaml.Node
		if n.Encode(value) == nil {
			head.Content = append(head.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &n)
		}
	}
	d := w.doc
	paths, _ := find(d.Fields, "paths")
	globs := strings.Join(namesIn(paths.Value), ",")
	byModel := d.Invocation.ByModel()
	switch w.target {
	case "cursor":
		if byModel {
			add("description", d.Description)
		} else {
			w.lose(LossField, "description", d.lineOf("description"), diag.SeverityWarning, "description has no place in a rule that people start")
		}
		if byModel && globs != "" {
			add("globs", globs)
		}
		add("alwaysApply", false)
	case "windsurf":
		trigger := "manual"
		if byModel && globs != "" {
			trigger = "glob"
		} else if byModel {
			trigger = "model_decision"
		}
		add("trigger", trigger)
		add("description", d.Description)
		if trigger == "glob" {
			add("globs", globs)
		}
	case "copilot-prompt":
		add("name", d.Name)
		add("description", d.Description)
		if hint, ok := find(d.Fields, "argument-hint"); ok && hint.Value.Kind == Scalar {
			add("argument-hint", hint.Value.Text)
		}
	}
	for _, f := range d.Fields {
		switch {
		case w.holds(f.Key):
		case f.Key == "hooks": // one may deny what a tool would do
			w.lose(LossWiden, f.Key, f.KeySpan.Line, diag.SeverityError, "hooks have no place in a file of "+w.target+", and what they deny would not be")
		default:
			w.lose(LossField, f.Key, f.KeySpan.Line, diag.SeverityWarning, diag.Printable(f.Key)+" has no place in a file of "+w.target)
		}
	}
	return head
}

// holds reports whether a key is written into the file, or is a limit of which limits tells.
func (w *single) holds(key string) bool {
	switch key {
	case "name", "description", "model_invocation", "skill_format", "tools", KeyNoModel, keyUser, KeyNoTools:
		return true
	case "paths":
		return w.target == "cursor" || w.target == "windsurf"
	case "argument-hint":
		return w.target == "copilot-prompt"
	}
	return false
}

// limits tells of limits that the file cannot hold, and of who can start it.
func (w *single) limits() {
	d := w.doc
	isRule := w.target == "cursor" || w.target == "windsurf"
	if !d.Invocation.ByUser() {
		w.lose(LossWiden, "model_invocation", d.lineOf("model_invocation"), diag.SeverityError, "the skill was "+string(d.Invocation)+", and people can start a file of "+w.target)
	}
	if !isRule && d.Invocation.ByModel() {
		w.lose(LossTrigger, "model_invocation", d.lineOf("model_invocation"), diag.SeverityWarning, "only people start a file of "+w.target)
	}
	if d.Tools == nil {
		return
	}
	if d.Tools.Limited {
		w.lose(LossWiden, "tools.allow", d.lineOf("tools.allow"), diag.SeverityError, "tools were limited and would not be")
	}
	if len(d.Tools.Deny) > 0 {
		w.lose(LossWiden, "tools.deny", d.lineOf("tools.deny"), diag.SeverityError, d.Tools.Deny[0].String()+" was denied and would not be")
	}
}

// files names what stays behind in the folder, at most ten of it.
func (w *single) files(names []string) {
	if len(names) == 0 {
		return
	}
	text := diag.Printable(strings.Join(names[:min(len(names), 10)], ", "))
	if len(names) > 10 {
		text += fmt.Sprintf(" and %d more", len(names)-10)
	}
	w.lose(LossFiles, "files", 0, diag.SeverityWarning, "not in the file: "+text)
}

// live is text that a target acts on wherever it stands, and the loss that it is.
var live = map[string][]struct{ text, code, does string }{
	"gemini":         {{"!{", LossLoadCmd, "runs"}, {"@{", LossInclude, "reads a file for"}, {"{{args}}", LossArgs, "replaces"}},
	"copilot-prompt": {{"${", LossArgs, "replaces"}},
}

// body is the text of the skill with arguments, files and commands as the target spells them.
func (w *single) body(allowCommands bool) string {
	body := w.fm.src[w.fm.body:]
	starts := []int{0}
	for line := range bytes.Lines(body) {
		starts = append(starts, starts[len(starts)-1]+len(line))
	}
	var edits []diag.Fix
	told := map[string]bool{}
	for _, f := range BodyFeatures(body, w.argumentNames()...) {
		at := starts[f.Line-1] + f.Column - 1
		text, end, code := w.spelled(f, body[at:starts[f.Line]], allowCommands)
		if text != "" && at > 0 && (body[at-1] == '!' || body[at-1] == '@') {
			text, code = "", LossArgs // "!{{args}}" would run
		}
		if text != "" {
			edits = append(edits, diag.Fix{Start: at, End: at + end, Text: text})
		}
		if key := code + string(f.Kind); code != "" && !told[key] {
			told[key] = true
			why := " is plain text to "
			if text != "" {
				why = " is run by "
			}
			w.lose(code, string(f.Kind), w.fm.bodyLine+f.Line-1, diag.SeverityWarning, diag.Printable(f.Text)+why+w.target)
		}
	}
	for _, l := range live[w.target] {
		if i := bytes.Index(body, []byte(l.text)); i >= 0 && !bytes.HasPrefix(body[i:], []byte("${CLAUDE_")) {
			severity := diag.SeverityWarning
			if l.code != LossArgs {
				severity = diag.SeverityError
			}
			w.lose(l.code, "body", w.fm.bodyLine+bytes.Count(body[:i], []byte("\n")), severity, l.text+" was plain text, and "+w.target+" "+l.does+" it")
		}
	}
	return string(Apply(body, edits))
}

// spelled is a feature as the target spells it, "" where it stays as it is, how many bytes of line it is now, and its loss.
func (w *single) spelled(f Feature, line []byte, allowCommands bool) (text string, end int, code string) {
	gemini, prompt := w.target == "gemini", w.target == "copilot-prompt"
	switch f.Kind {
	case ArgumentsVar:
		switch {
		case f.Text == "$ARGUMENTS" && gemini:
			return "{{args}}", len(f.Text), ""
		case f.Text == "$ARGUMENTS" && prompt:
			return "${input:args}", len(f.Text), ""
		case prompt:
			return input(f.Text[len("$ARGUMENTS[") : len(f.Text)-1]), len(f.Text), ""
		}
		return "", 0, LossArgs
	case NumberedVar, NamedVar:
		if prompt {
			return input(f.Text[1:]), len(f.Text), ""
		}
		return "", 0, LossArgs
	case FileInclude:
		if gemini && bytes.HasPrefix(line, []byte(f.Text)) && len(f.Text) < maxFeatureText {
			return "@{" + f.Text[1:] + "}", len(f.Text), ""
		}
		return "", 0, LossInclude
	case HostVar, BaseDir:
		return "", 0, LossInclude
	case LoadCommand:
		if !gemini || !allowCommands || !bytes.HasPrefix(line, []byte("!`")) {
			return "", 0, LossLoadCmd
		}
		inside, _, _ := bytes.Cut(line[2:], []byte("`"))
		if command := string(inside); strings.Count(command, "{") == strings.Count(command, "}") {
			return "!{" + strings.ReplaceAll(command, "$ARGUMENTS", "{{args}}") + "}", len(command) + 3, LossLoadCmd
		}
		return "", 0, LossLoadCmd
	}
	return "", 0, ""
}

// input is an argument as Copilot asks for it: $0 is called arg1, others by their name.
func input(name string) string {
	if isDigits(name, "") {
		n := 0
		for _, c := range name {
			n = n*10 + int(c-'0')
		}
		name = fmt.Sprintf("arg%d", n+1)
	}
	return "${input:" + name + "}"
}

// tomlCommand is a command of Gemini CLI. The prompt is written on lines of its own where that keeps its bytes.
func tomlCommand(description, prompt string) ([]byte, error) {
	type lines struct {
		Description string `toml:"description"`
		Prompt      string `toml:"prompt,multiline"`
	}
	type quoted struct {
		Description string `toml:"description"`
		Prompt      string `toml:"prompt"`
	}
	want := quoted{description, prompt}
	for _, v := range []any{lines(want), want} {
		var got quoted
		out, err := toml.Marshal(v)
		if err == nil && toml.Unmarshal(out, &got) == nil && got == want {
			return out, nil
		}
	}
	return nil, cannotConvert("the text cannot be written as TOML")
}

// yamlRule is a body behind a frontmatter.
func yamlRule(head yaml.Node, body string) ([]byte, error) {
	text, err := yaml.Marshal(&head)
	if err != nil {
		return nil, cannotConvert("%s", err)
	}
	return slices.Concat([]byte("---\n"), text, []byte("---\n\n"+body)), nil
}
