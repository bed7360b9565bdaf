package author

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// A Design is a model's answer to what a new skill shall do: its parts, of which code writes the skill.
type Design struct {
	What      string       `json:"what"`     // one sentence
	When      []string     `json:"when"`     // at most 6 situations
	NotWhen   []string     `json:"not_when"` // at most 3
	Inputs    string       `json:"inputs"`   // hint for the arguments, such as <file>
	Tree      []Step       `json:"tree"`
	Ops       []DesignOp   `json:"ops"`
	Rules     []string     `json:"rules"`
	Response  []string     `json:"response"`
	Files     []DesignFile `json:"files"`
	Questions []string     `json:"questions"`
}

// A Step is a node of a tree; its depth is that of the node above plus one at most.
type Step struct {
	Depth   int      `json:"depth"`
	Kind    string   `json:"kind"`
	Text    string   `json:"text"`
	In      []string `json:"in"`
	Out     []string `json:"out"`
	Options []string `json:"options"`
}

// A DesignOp is an op whose body is prose.
type DesignOp struct {
	Name string   `json:"name"`
	In   []string `json:"in"`
	Out  []string `json:"out"`
	Body string   `json:"body"`
}

// A DesignFile is one that the skill reads.
type DesignFile struct {
	Category string `json:"category"`
	Name     string `json:"name"`
	Text     string `json:"text"`
}

// folders are where the categories of files lie.
var folders = map[string]string{
	"checklist": "assets/checklists", "verify": "assets/verify", "template": "assets/templates", "schema": "assets/schemas", "script": "scripts",
	"policy": "assets/policies", "constant": "assets/constants", "reference": "references",
}

// Path is where the file lies, "" if its category is none or its name no plain one.
func (f *DesignFile) Path() string {
	dir := folders[f.Category]
	if dir == "" || path.Base(f.Name) != f.Name || f.Name == "" || f.Name == "." || f.Name == "/" || dir == "references" && (f.Name == "ops.md" || f.Name == "ops") {
		return ""
	}
	return dir + "/" + f.Name
}

// ParseDesign reads an answer. Its error is a [*Wrong].
func ParseDesign(answer []byte) (*Design, error) { return parse[Design](answer) }

// Apply writes the skill of a design into a draft of a new skill. Syntax is list or box. Its error is a [*Wrong] where the answer is at fault.
func (x *Design) Apply(d *Draft, syntax string) error {
	if len(x.Tree) == 0 && len(x.Questions) > 0 {
		return &Asks{x.Questions}
	}
	if len(x.Tree) == 0 {
		return wrong("the tree has no steps")
	}
	lines, err := x.lines()
	if err != nil {
		return err
	}
	text, err := x.skill(d.Name, lines, syntax)
	if err != nil {
		return err
	}
	if err := d.putText(skill.FileName, text, ""); err != nil {
		return err
	}
	if len(x.Ops) > 0 {
		ops, err := x.ops()
		if err != nil {
			return err
		}
		if err := d.putText("references/ops.md", ops, ""); err != nil {
			return err
		}
	}
	for i := range x.Files {
		f := &x.Files[i]
		name := f.Path()
		if name == "" {
			return wrong("%q is no name of a file in the category %q", f.Name, f.Category)
		}
		if _, err := d.Read(name); err == nil {
			return wrong("there are two files %s", name)
		}
		if err := d.putText(name, ended(f.Text), ""); err != nil {
			return err
		}
	}
	return nil
}

// skill is the SKILL.md.
func (x *Design) skill(name string, lines []string, syntax string) (string, error) {
	description, err := x.description()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %s\ncompatibility: %s\n", name, scalar(description), check.CanonicalCompatibility)
	if hint := oneLine(x.Inputs); hint != "" {
		fmt.Fprintf(&b, "metadata:\n  argument-hint: %s\n", scalar(hint))
	}
	fmt.Fprintf(&b, "---\n\n%s\nRequest: $ARGUMENTS\n\n## Tree\n\n", check.CanonicalGuard)
	list := "* " + name + "\n"
	for _, line := range lines {
		list += "  " + line + "\n"
	}
	if syntax == "box" {
		t, _ := tree.ParseTree(list, skill.FileName, 1, name, func(string) bool { return true })
		t.Syntax, t.Fenced = tree.BoxSyntax, true
		list = tree.Print(t)
	}
	b.WriteString(strings.TrimRight(list, "\n") + "\n\n## Rules\n\n")
	rules := slices.DeleteFunc(slices.Clone(x.Rules), func(s string) bool { return oneLine(s) == "" })
	if len(rules) == 0 {
		rules = []string{"Do what the steps say, and nothing beyond it."}
	}
	for _, rule := range rules {
		b.WriteString("* " + oneLine(rule) + "\n")
	}
	for _, field := range x.Response {
		if !check.IsName(field) {
			return "", wrong("%q in response is no name", field)
		}
	}
	b.WriteString("\n## Response: " + strings.Join(x.Response, " | ") + "\n")
	return strings.TrimRight(b.String(), " \n:") + "\n", nil
}

// description says what the skill does and when it is used, within the limit of the format.
func (x *Design) description() (string, error) {
	what := strings.TrimRight(oneLine(x.What), ". ")
	if what == "" || len(x.When) == 0 {
		return "", wrong("what the skill does, and when it is used, is missing")
	}
	clean := func(list []string, most int) (out []string) {
		for _, s := range list {
			if s = strings.TrimRight(oneLine(s), ". "); s != "" && len(out) < most {
				out = append(out, s)
			}
		}
		return out
	}
	text := what + ". Use when " + strings.Join(clean(x.When, 6), "; or when ") + "."
	if not := clean(x.NotWhen, 3); len(not) > 0 {
		text += " Not for " + strings.Join(not, ", or ") + "."
	}
	if n := len([]rune(text)); n > 1024 {
		return "", wrong("what and when have %d characters together, and a description has at most 1024", n)
	}
	return text, nil
}

// lines are the nodes as a list.
func (x *Design) lines() ([]string, error) {
	var out []string
	depth := -1
	for i := range x.Tree {
		s := &x.Tree[i]
		if s.Depth < 0 || s.Depth > depth+1 || s.Depth > 20 {
			return nil, wrong("step %d has depth %d behind one of depth %d", i+1, s.Depth, depth)
		}
		depth = s.Depth
		line, err := s.line()
		if err != nil {
			return nil, wrong("step %d: %v", i+1, err)
		}
		out = append(out, strings.Repeat("  ", s.Depth)+"* "+line)
	}
	return out, nil
}

// line is one node. What stands in it cannot become other nodes or operators.
func (s *Step) line() (string, error) {
	text := oneLine(s.Text)
	for _, part := range slices.Concat([]string{text}, s.In, s.Out, s.Options) {
		if strings.Contains(part, "<<") || strings.Contains(part, ">>") || strings.ContainsAny(part, "|\n\r") {
			return "", wrong("%q holds an operator; inputs, outputs and options have keys of their own", diag.Clip(part, 80))
		}
	}
	for _, name := range s.Out {
		if !check.IsName(name) {
			return "", wrong("the output %q is no name", diag.Clip(name, 80))
		}
	}
	in, out := strings.Join(s.In, " | "), ""
	if len(s.Out) > 0 {
		out = " >> " + strings.Join(s.Out, " | ")
	}
	needs := func(ok bool, what string) error {
		if ok {
			return nil
		}
		return wrong("a step of the kind %s needs %s", s.Kind, what)
	}
	switch s.Kind {
	case "step":
		if k, ok := tree.Primitive(strings.TrimRight(first(text), ":.,")); ok {
			return "", wrong("the text begins with %v, which is a kind of its own", k)
		}
		return text + out, needs(text != "", "a text")
	case "call":
		line := text
		if in != "" {
			line += " << " + in
		}
		return line + out, needs(isOpName(text), "the name of an op as text")
	case "ask":
		return "ASK << " + strings.Join(append([]string{text}, s.Options...), " | ") + out, needs(text != "", "a question as text")
	case "show_plan":
		return "SHOW_PLAN >> " + in, needs(in != "", "names in in")
	case "if", "else_if":
		return strings.ToUpper(s.Kind) + " << " + text, needs(text != "", "a condition as text")
	case "else", "break":
		return strings.ToUpper(s.Kind), nil
	case "for_each":
		return "FOR_EACH << " + first(text) + " in " + in, needs(check.IsName(text) && len(s.In) == 1, "a name as text and a list in in")
	case "end":
		return strings.TrimSpace("END " + text), nil
	case "read":
		return "Read `" + text + "`", needs(text != "" && !strings.Contains(text, "`"), "a path as text")
	case "verify":
		return "VERIFY_EXPECTED << " + text, needs(text != "", "a path as text")
	}
	return "", wrong("%q is no kind of a step", diag.Clip(s.Kind, 40))
}

// first is the first word of a text.
func first(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return word
}

var opName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`) })

// isOpName reports whether an op may have the name.
func isOpName(s string) bool {
	_, reserved := tree.Primitive(s)
	return opName().MatchString(s) && !reserved
}

// ops is the file of the ops.
func (x *Design) ops() (string, error) {
	var b strings.Builder
	b.WriteString("# Ops\n")
	seen := map[string]bool{}
	for i := range x.Ops {
		op := &x.Ops[i]
		body := strings.TrimSpace(strings.ReplaceAll(op.Body, "\r\n", "\n"))
		switch {
		case !isOpName(op.Name):
			return "", wrong("%q is no name of an op: capitals, digits and underscores", diag.Clip(op.Name, 80))
		case seen[op.Name]:
			return "", wrong("there are two ops %s", op.Name)
		case body == "":
			return "", wrong("the op %s has no body", op.Name)
		}
		seen[op.Name] = true
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ">") {
				return "", wrong("the body of %s holds a heading or a quote; it is plain text", op.Name)
			}
		}
		for _, name := range slices.Concat(op.In, op.Out) {
			if !check.IsName(name) {
				return "", wrong("%q of %s is no name", diag.Clip(name, 80), op.Name)
			}
		}
		b.WriteString("\n## " + op.Name)
		if len(op.In) > 0 {
			b.WriteString(" << " + strings.Join(op.In, " | "))
		}
		if len(op.Out) > 0 {
			b.WriteString(" >> " + strings.Join(op.Out, " | "))
		}
		b.WriteString("\n\n" + body + "\n")
	}
	return b.String(), nil
}

// oneLine is a text without breaks and control characters.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// scalar is a text of one line as a value of YAML.
func scalar(s string) string {
	plain := s != "" && !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && (unicode.IsLetter([]rune(s)[0]) || s[0] == '$')
	if plain && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(s)) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
