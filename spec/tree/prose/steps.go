package prose

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// A writer writes a tree as steps.
type writer struct {
	skill  *tree.Skill
	lines  []string
	losses []string
	title  map[string]bool     // ops whose body is written
	open   map[string]bool     // ops whose body is being written
	asked  map[string]bool     // options of questions so far, in lower case
	ends   map[string][]string // by the ID of a question, the options that end the run
	depth  int                 // of bodies in bodies
	below  []*tree.Op          // ops whose body follows the list
}

// maxNesting is how many bodies stand in one another; deeper ones follow the list.
const maxNesting = 5

// all writes the tree, and the bodies that are nested too deep below it.
func (w *writer) all() {
	w.steps(w.skill.Tree.Nodes, "", frame{})
	for i := 0; i < len(w.below); i++ {
		op := w.below[i]
		w.lines = append(w.lines, "", "### "+titleOf(op.Name), "")
		w.open[op.Name] = true
		w.paragraph(about(op), "")
		if op.Tree != nil {
			w.steps(op.Tree.Nodes, "", frame{op: op.Name})
		}
		w.open[op.Name] = false
	}
}

// A frame is where steps stand.
type frame struct {
	loop bool
	op   string // name, "" in the tree
}

// steps writes nodes as a numbered list.
func (w *writer) steps(nodes []*tree.Node, indent string, f frame) {
	for i, n := range nodes {
		w.step(n, indent, fmt.Sprintf("%d.", i+1), f)
	}
}

// line writes one item.
func (w *writer) line(indent, marker, text string) {
	w.lines = append(w.lines, indent+marker+" "+text)
}

// inside is the indentation of what hangs below an item.
func inside(indent, marker string) string { return indent + strings.Repeat(" ", len(marker)+1) }

// step writes one node and what hangs below it.
func (w *writer) step(n *tree.Node, indent, marker string, f frame) {
	below := inside(indent, marker)
	if text, ok := w.simple(n, f); ok {
		w.line(indent, marker, text)
		return
	}
	switch n.Kind {
	case tree.If, tree.ElseIf, tree.Else, tree.Default:
		w.branch(n, indent, marker, f)
	case tree.Switch:
		w.line(indent, marker, "Depending on "+n.Cond+":")
		for _, c := range n.Children {
			w.option(c, below, f)
		}
	case tree.ForEach:
		w.line(indent, marker, "For each `"+n.Var+"` in "+n.In+":")
		f.loop = true
		w.steps(n.Children, below, f)
	case tree.Parallel:
		w.line(indent, marker, "Do these at the same time, each independently of the others; if one fails, go on with the rest:")
		for _, c := range n.Children {
			w.step(c, below, "-", f)
		}
	case tree.Ask:
		w.ask(n, indent, marker, f)
	case tree.Call:
		w.call(n, indent, marker, f)
	case tree.Explore:
		w.explore(n, indent, marker, f)
	case tree.Case:
		w.option(n, indent, f)
	default:
		text := w.plain(n)
		w.line(indent, marker, text)
		if detail(n) {
			w.detail(n.Children, below)
		} else {
			w.steps(n.Children, below, f)
		}
	}
}

// simple is the sentence of a step with nothing below it.
func (w *writer) simple(n *tree.Node, f frame) (string, bool) {
	if len(n.Children) > 0 {
		return "", false
	}
	switch n.Kind {
	case tree.Prose, tree.Read:
		return w.plain(n), true
	case tree.Bind:
		return "Set `" + n.Var + "` to " + period(n.Body), true
	case tree.Break:
		switch {
		case f.loop:
			return "Leave this loop and go on behind it.", true
		case f.op != "":
			return "Leave **" + titleOf(f.op) + "** and go on behind it.", true
		}
		return "Skip all remaining steps and give the response.", true
	case tree.End:
		if n.Message == "" {
			return "Stop.", true
		}
		return "Stop: " + n.Message, true
	case tree.ShowPlan:
		fields := make([]string, len(n.Fields))
		for i, f := range n.Fields {
			fields[i] = f.Text
			if f.Value != "" {
				fields[i] += ": " + f.Value
			}
		}
		return planWords + ": " + period(strings.Join(fields, ", ")), true
	case tree.Verify:
		path := "`" + n.Path + "`"
		if n.Path == "" {
			path = "`assets/verify/verify-expected.md`"
		}
		return strings.TrimSuffix(verifyWords, "`") + path + ", and report the items that fail.", true
	}
	return "", false
}

// plain is the sentence of a step in natural language.
func (w *writer) plain(n *tree.Node) string {
	text := n.Body
	if text == "" {
		text = n.Text
	}
	if rest, ok := strings.CutPrefix(text, leadWord); ok && strings.TrimSpace(rest) != "" {
		text = rest
	}
	if n.Implied { // the text itself names the result
		return quiet(text)
	}
	return quiet(text) + keeping(n.Outs)
}

// quiet keeps text from being a list, a quote or a heading of its own inside an item.
func quiet(text string) string {
	head, _, _ := strings.Cut(text, " ")
	number := strings.TrimRight(head, ".)")
	switch {
	case head == "":
		return "…"
	case strings.Trim(head, "#") == "" || head == "-" || head == "*" || head == "+" || head[0] == '>':
		return `\` + text
	case number != head && number != "" && strings.Trim(number, "0123456789") == "":
		return number + `\` + text[len(number):]
	}
	return text
}

func period(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// keeping says what the result of a step is called afterwards.
func keeping(outs []tree.Target) string {
	if len(outs) == 0 {
		return ""
	}
	names := make([]string, len(outs))
	for i, o := range outs {
		names[i] = "`" + o.Name + "`"
	}
	return keepWords + listed(names)
}

// Words that FromProse knows again.
const (
	keepWords   = "; keep the result as "
	leadWord    = "Do: "
	planWords   = "Show the plan before anything is changed"
	verifyWords = "Check the result against every item of `"
)

func listed(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}

// detail reports whether what hangs below a step only describes it.
func detail(n *tree.Node) bool {
	plain := true
	tree.Walk(n.Children, func(n *tree.Node) bool {
		plain = plain && n.Kind == tree.Prose
		return plain
	})
	return plain
}

func (w *writer) detail(nodes []*tree.Node, indent string) {
	for _, n := range nodes {
		w.line(indent, "-", w.plain(n))
		w.detail(n.Children, indent+"  ")
	}
}

// branch writes one condition of a chain.
func (w *writer) branch(n *tree.Node, indent, marker string, f frame) {
	head := "Otherwise"
	switch n.Kind {
	case tree.If:
		head = "If " + w.condition(n.Cond)
	case tree.ElseIf:
		head = "Otherwise, if " + w.condition(n.Cond)
	}
	switch {
	case len(n.Children) == 0:
		w.line(indent, marker, head+": go on.")
		return
	case len(n.Children) == 1 && !strings.Contains(n.Cond, ":"):
		if text, ok := w.simple(n.Children[0], f); ok {
			w.line(indent, marker, head+": "+text)
			return
		}
	}
	w.line(indent, marker, head+":")
	w.steps(n.Children, inside(indent, marker), f)
}

// condition writes out what tests an answer.
func (w *writer) condition(text string) string {
	switch e := cond.Parse(text).(type) {
	case cond.AnswerIs:
		return `the answer is "` + e.Option + `"`
	case cond.Ref, cond.Natural:
		if w.asked[strings.ToLower(text)] {
			return `the answer is "` + text + `"`
		}
	}
	return text
}

// option writes a case of SWITCH.
func (w *writer) option(c *tree.Node, indent string, f frame) {
	head := "otherwise"
	switch c.Kind {
	case tree.Case:
		head = c.Cond
	case tree.Default:
	default:
		w.step(c, indent, "-", f)
		return
	}
	if len(c.Children) == 0 {
		w.line(indent, "-", head+": go on.")
		return
	}
	if len(c.Children) == 1 {
		if text, ok := w.simple(c.Children[0], f); ok {
			w.line(indent, "-", head+": "+text)
			return
		}
	}
	w.line(indent, "-", head+":")
	w.steps(c.Children, indent+"  ", f)
}

func (w *writer) ask(n *tree.Node, indent, marker string, f frame) {
	text := `Ask the user: "` + n.Question + `"`
	for _, o := range n.Options {
		w.asked[strings.ToLower(o)] = true
	}
	if len(n.Options) > 0 {
		text += " (" + strings.Join(n.Options, " / ") + ")"
	}
	if len(n.Outs) > 0 {
		text += strings.Replace(keeping(n.Outs), "result", "answer", 1)
	}
	if ends := w.ends[n.ID]; len(ends) > 0 {
		text = period(text) + ` If the answer is "` + strings.Join(ends, `" or "`) + `", stop.` // what a run does (ruling 5.16)
	}
	w.line(indent, marker, text)
	for _, c := range n.Children {
		w.step(c, inside(indent, marker), "-", f)
	}
}

// call writes the body of an op where it is first called.
func (w *writer) call(n *tree.Node, indent, marker string, f frame) {
	op := w.skill.Op(n.Name)
	text := "**" + titleOf(n.Name) + "**"
	if n.Inline != "" {
		text += " " + n.Inline
	}
	if op == nil {
		w.lose("%s line %d: the skill does not define %s, so the step names it and no more", n.Pos.File, n.Pos.Line, n.Name)
		w.line(indent, marker, "Do "+text+w.with(n, nil)+keeping(n.Outs))
		w.steps(n.Children, inside(indent, marker), f)
		return
	}
	w.run(n, op, text, indent, marker, f)
}

func (w *writer) run(n *tree.Node, op *tree.Op, text, indent, marker string, f frame) {
	switch {
	case w.open[op.Name]:
		w.lose("%s line %d: %s calls itself, so a step says to begin it again", n.Pos.File, n.Pos.Line, op.Name)
		w.line(indent, marker, "Begin "+text+" again"+w.context(n)+w.with(n, op)+keeping(n.Outs))
	case w.title[op.Name]:
		w.line(indent, marker, "Do "+text+" as described above"+w.context(n)+w.with(n, op)+keeping(n.Outs))
	case w.depth >= maxNesting:
		w.title[op.Name] = true
		w.below = append(w.below, op)
		w.line(indent, marker, "Do "+text+" as described below"+w.context(n)+w.with(n, op)+contracts(op)+keeping(n.Outs))
	default:
		w.title[op.Name], w.open[op.Name] = true, true
		w.depth++
		end := ":"
		if op.Kind == tree.EmptyBody && !op.CallsTool() {
			w.lose("%s line %d: %s has no body", op.Pos.File, op.Pos.Line, op.Name)
			end = ""
		}
		w.line(indent, marker, text+w.context(n)+w.with(n, op)+contracts(op)+keeping(n.Outs)+end)
		below := inside(indent, marker)
		w.paragraph(about(op), below)
		if op.Tree != nil {
			w.steps(op.Tree.Nodes, below, frame{op: op.Name})
		}
		w.open[op.Name] = false
		w.depth--
	}
	w.steps(n.Children, inside(indent, marker), f)
}

// about is the prose of an op. Of one that is the call of a tool it says that first: the rest is for agents that have no such tool.
func about(op *tree.Op) string {
	if op.Tool == "" {
		return op.Prose
	}
	call := "Call the tool `" + op.Tool + "` with these inputs, if you have it."
	if op.Prose == "" && op.Tree == nil {
		return call
	}
	return strings.TrimRight(call+" Otherwise:\n\n"+op.Prose, "\n")
}

func (w *writer) context(n *tree.Node) string {
	if n.Bold || n.Kind == tree.Explore {
		return ", in a separate context (a subagent) that sees only its inputs"
	}
	return ""
}

func contracts(op *tree.Op) string {
	s := ""
	if op.Input != nil {
		s += "; its inputs must fit `" + op.Input.Path + "`"
	}
	if op.Output != nil {
		s += "; its result must fit `" + op.Output.Path + "`"
	}
	return s
}

// with says which input is what.
func (w *writer) with(n *tree.Node, op *tree.Op) string {
	var items []string
	for i, a := range n.Args {
		name, text := a.Name, valueText(a.Value)
		if name == "" && op != nil && i < len(op.Params) {
			name = op.Params[i].Name
		}
		if name == "" || name == text {
			items = append(items, "`"+strings.Trim(text, "`")+"`")
		} else {
			items = append(items, "`"+name+"` = "+text)
		}
	}
	if len(items) == 0 {
		return ""
	}
	return ", with " + listed(items)
}

func valueText(v tree.Value) string {
	switch v.Kind {
	case tree.String:
		return `"` + v.Text + `"`
	case tree.Ref:
		return "`" + v.Text + "`"
	case tree.List:
		items := make([]string, len(v.Items))
		for i, item := range v.Items {
			items[i] = valueText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return v.Text
}

// paragraph writes the prose of an op, so that it stays inside its item.
func (w *writer) paragraph(text, indent string) {
	if text = strings.Trim(text, "\n"); text == "" {
		return
	}
	w.lines = append(w.lines, "")
	fence := ""
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimRight(l, " \t\r")
		trimmed := strings.TrimSpace(l)
		run := len(trimmed) - len(strings.TrimLeft(trimmed, "`~"))
		switch {
		case fence == "" && run >= 3:
			fence = trimmed[:run]
		case fence != "" && strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "":
			fence = ""
		case fence == "" && strings.HasPrefix(l, "#"):
			if title := strings.Trim(l, "# \t"); title != "" {
				l = "**" + title + "**"
			}
		}
		if l != "" {
			l = indent + l
		}
		w.lines = append(w.lines, l)
	}
	if fence != "" {
		w.lines = append(w.lines, indent+fence)
	}
	w.lines = append(w.lines, "")
}

// explore writes the Agent section, or the op that stands for it.
func (w *writer) explore(n *tree.Node, indent, marker string, f frame) {
	a := w.skill.Agent
	op := w.skill.Op("EXPLORE")
	if a != nil && a.Shape == tree.ShapeC {
		op = w.skill.Op(a.Op)
	}
	switch {
	case op != nil:
		w.run(n, op, "**"+titleOf(op.Name)+"**", indent, marker, f)
		return
	case a == nil:
		w.lose("%s line %d: EXPLORE has no section \"## Agent\" to run", n.Pos.File, n.Pos.Line)
		w.line(indent, marker, "Explore what the next steps need"+keeping(n.Outs))
		return
	}
	fit := ""
	if _, err := fs.Stat(w.skill.FS, a.Schema); a.Named || err == nil {
		fit = "; its result must fit `" + a.Schema + "`"
	}
	w.line(indent, marker, "**Explore**, in a separate context (a subagent)"+fit+keeping(n.Outs)+":")
	_, text, ok := strings.Cut(a.Text, "**explore**")
	if !ok {
		text = a.Text
	}
	w.paragraph(strings.TrimLeft(text, " \n—–-"), inside(indent, marker))
	w.steps(n.Children, inside(indent, marker), f)
}

// titleOf makes words of an op's name.
func titleOf(name string) string {
	s := strings.ToLower(strings.ReplaceAll(name, "_", " "))
	if s == "" {
		return name
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
