package graph

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/tree"
)

// Text draws s for a terminal: one line for each step, with remarks in a column of
// their own. With Options.Ops the body of an op follows its first call.
func Text(s *tree.Skill, opt Options) string {
	t := texter{figure: newFigure(s, opt), done: map[string]bool{}}
	if s.Tree == nil {
		return one(s.Name) + " (no tree)\n"
	}
	t.line("", one(s.Name), "")
	t.nodes(t.parts[0].nodes, "")
	return t.print()
}

const (
	ruleSign  = "◆"
	modelSign = "◇"

	textColumn = 76 // where remarks start at the latest
)

type texter struct {
	*figure
	done  map[string]bool // ops whose body is written
	lines []textLine
	rule  bool // some condition is decided by a rule
	model bool
}

type textLine struct{ text, remark string }

func (t *texter) line(rails, text, remark string) {
	t.lines = append(t.lines, textLine{rails + text, remark})
}

func (t *texter) nodes(nodes []*tree.Node, rails string) {
	for i, n := range nodes {
		connector, below := "├── ", "│   "
		if i == len(nodes)-1 {
			connector, below = "└── ", "    "
		}
		text, remark, body := t.remark(n)
		t.line(rails+connector, text, remark)
		if body != nil {
			// a body comes before the call's own children, of which a valid call has none
			t.body(body, rails+below, len(n.Children) > 0)
		}
		t.nodes(n.Children, rails+below)
	}
}

func (t *texter) body(op *tree.Op, rails string, more bool) {
	connector, below := "╰── ", "    "
	if more {
		connector, below = "├── ", "│   "
	}
	t.line(rails+connector, "op "+signature(op), place(op.Pos))
	for _, p := range t.parts {
		if p.op == op {
			t.nodes(p.nodes, rails+below)
			return
		}
	}
}

func place(p tree.Pos) string { return fmt.Sprintf("%s:%d", one(p.File), p.Line) }

// remark returns what is said of n, and the op whose body follows.
func (t *texter) remark(n *tree.Node) (text, remark string, body *tree.Op) {
	text = one(n.Text)
	var remarks []string
	switch t.decided(n) {
	case byRule:
		text, t.rule = ruleSign+" "+text, true
	case byModel:
		text, t.model = modelSign+" "+text, true
	}
	if n.Kind == tree.End && strings.Contains(n.ID, implicit+"/") {
		remarks = append(remarks, "not written: nothing tests for the answer")
	}
	if t.subagent(n) {
		remarks = append(remarks, "subagent")
	}
	if op := t.callee(n); op != nil {
		if tool := t.tool(n); tool != "" {
			remarks = append(remarks, "calls the tool "+one(tool))
		}
		switch {
		case !t.opt.Ops, op.CallsTool():
			remarks = append(remarks, place(op.Pos))
		case t.done[op.Name]:
			remarks = append(remarks, "body above")
		default:
			t.done[op.Name], body = true, op
		}
	} else if n.Kind == tree.Call {
		remarks = append(remarks, "not defined here")
	}
	if status := t.opt.Status[n.ID]; status != "" {
		remarks = append(remarks, one(status))
	}
	return text, strings.Join(remarks, ", "), body
}

// print aligns the remarks behind the longest line that reaches not beyond textColumn.
func (t *texter) print() string {
	column := 0
	for _, l := range t.lines {
		if w := utf8.RuneCountInString(l.text); l.remark != "" && w > column && w <= textColumn {
			column = w
		}
	}
	var b strings.Builder
	for _, l := range t.lines {
		b.WriteString(l.text)
		if l.remark != "" {
			fmt.Fprintf(&b, "%*s  %s", max(0, column-utf8.RuneCountInString(l.text)), "", l.remark)
		}
		b.WriteByte('\n')
	}
	if t.rule || t.model {
		b.WriteByte('\n')
	}
	if t.rule {
		b.WriteString(ruleSign + " decided by a rule\n")
	}
	if t.model {
		b.WriteString(modelSign + " decided by a model\n")
	}
	return b.String()
}
