package check

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// meant are words of other languages, and what says the same here.
var meant = map[string]string{
	"WHILE": loopWord, "UNTIL": loopWord, "LOOP": loopWord, "REPEAT": loopWord, "DO": loopWord,
	"FOR": "FOR_EACH << item in list", "FOREACH": "FOR_EACH << item in list",
	"ELSEIF": "ELSE_IF << condition", "ELIF": "ELSE_IF << condition", "ELSIF": "ELSE_IF << condition", "OTHERWISE": "ELSE",
	"WHEN": "CASE << value", "MATCH": "SWITCH << value", "RETURN": "END", "STOP": "END", "EXIT": "END", "LET": "bind name = value",
}

const loopWord = "FOR_EACH << item in list, with BREAK below a condition"

// Meant returns what is written here for a word of another language that looks like an op; "" for any other.
func Meant(word string) string { return meant[word] }

// Qualified returns the skill and the op of a step that is written as a call of another skill's op, `lib::GREET` or `lib:GREET`, plain or in
// bold: no such form is in the language, which finds ops by their bare names. They are empty for any other step.
func Qualified(n *tree.Node) (lib, op string) {
	if n.Kind != tree.Prose {
		return "", ""
	}
	text, bold := strings.CutPrefix(strings.Trim(n.Body, "`"), "**")
	text = strings.TrimPrefix(text, "`")
	lib, rest, ok := strings.Cut(text, ":")
	if !ok || skill.CheckName(lib, "") != nil {
		return "", ""
	}
	rest, double := strings.CutPrefix(rest, ":")
	end := capitals(rest)
	tail := strings.TrimLeft(rest[end:], "`*")
	if end < 2 || rest[0] < 'A' || tail != "" && tail[0] != ' ' && tail[0] != '<' && tail[0] != '>' {
		return "", ""
	}
	tail = strings.TrimSpace(tail)
	if !bold && !double && tail != "" && !strings.HasPrefix(tail, "<<") && !strings.HasPrefix(tail, ">>") {
		return "", "" // a sentence
	}
	return lib, rest[:end]
}

// capitals is the length of the name that text begins with, as ops are called.
func capitals(text string) (n int) {
	for n < len(text) && (text[n] == '_' || '0' <= text[n] && text[n] <= '9' || 'A' <= text[n] && text[n] <= 'Z') {
		n++
	}
	return n
}

// NotQualified is what is wrong with a step that Qualified knows. has reports whether the op is found by its bare name.
func NotQualified(lib, op string, has bool) string {
	lib, op = diag.Clip(lib, 64), diag.Clip(op, 60)
	text := "no step calls an op as " + lib + "::" + op + " or " + lib + ":" + op + ": write " + op
	if !has {
		text += ", and skl-requires: " + lib + " in metadata"
	}
	return text
}

// beginner reports words of other languages where a step begins with one, and a branch that is written as elsewhere.
func (c *checker) beginner(n *tree.Node, parent *tree.Node) {
	head, rest, _ := strings.Cut(n.Text, " ")
	lib, op := Qualified(n)
	switch {
	case op != "":
		c.report(UnknownOp, n.Pos, NotQualified(lib, op, c.skill.Op(op) != nil || c.provides != nil && c.provides(op)))
	case n.Kind == tree.Else && strings.HasPrefix(rest, "IF ") || n.Kind == tree.Else && rest == "IF":
		c.report(Chain, n.Pos, "ELSE IF is always taken: write ELSE_IF << condition").
			Fix = c.replace(n, "write ELSE_IF", func(old string) (string, bool) {
			tail, ok := strings.CutPrefix(old, "ELSE IF ")
			return "ELSE_IF " + tail, ok && strings.HasPrefix(strings.TrimSpace(tail), "<<")
		})
	case n.Kind == tree.Else && parent != nil && parent.Kind == tree.Switch:
		c.report(Chain, n.Pos, "in SWITCH the rest of the cases is DEFAULT, not ELSE").
			Fix = c.replace(n, "write DEFAULT", func(old string) (string, bool) {
			tail, ok := strings.CutPrefix(old, "ELSE")
			return "DEFAULT" + tail, ok
		})
	case n.Kind == tree.Prose && meant[head] != "" && rest != "" && !begun(n.Text): // else nearStep
		c.report(ProseFlow, n.Pos, "the step is prose, as there is no "+head+": write "+meant[head])
	}
}

// beginners looks through the list below parent.
func (c *checker) beginners(list []*tree.Node, parent *tree.Node) {
	for _, n := range list {
		c.beginner(n, parent)
		c.beginners(n.Children, n)
	}
}

// sectionFix is the splice that writes a section: behind the tree, or at the end.
func (c *checker) sectionFix(heading string, last int) *diag.Fix {
	f := c.source(c.skill.File)
	if f == nil {
		return nil
	}
	at, nl := f.offset(last+1), f.newline()
	before := strings.TrimRight(f.text[:at], "\r\n")
	text := nl + nl + heading + nl
	if strings.TrimSpace(f.text[at:]) != "" {
		text += nl
	}
	return &diag.Fix{Note: "write the section " + heading, Start: len(before), End: at, Text: text}
}

// numbered is the splice that writes bullets for the numbers of a list that should be a tree.
func (c *checker) numbered(at int) *diag.Fix {
	f := c.source(c.skill.File)
	if f == nil {
		return nil
	}
	kinds := f.kinds(at)
	var b strings.Builder
	start, end := f.offset(at+1), f.offset(at+1)
	for n := at + 1; n <= f.lines() && kinds[n] != headLine; n++ {
		line, from := f.line(n)
		text := strings.TrimLeft(line, " \t")
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		if kinds[n] == plainLine && digits > 0 && len(text) > digits+1 && strings.IndexByte(".)", text[digits]) >= 0 && text[digits+1] == ' ' {
			line = line[:len(line)-len(text)] + "*" + text[digits+1:]
		}
		b.WriteString(line)
		end = f.offset(n + 1)
		b.WriteString(f.text[from+len(strings.TrimSuffix(f.text[from:end], "\n")) : end])
	}
	return &diag.Fix{Note: "write bullets for numbers", Start: start, End: end, Text: b.String()}
}
