package graph

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// A Flow is the control flow of a figure, as a graph.
type Flow struct {
	Skill string     `json:"skill"`
	Nodes []FlowNode `json:"nodes"`
	Edges []FlowEdge `json:"edges"`

	figure *figure
	part   part
	leave  *[]exit // of BREAK: out of the loop, else of the op
}

// A FlowNode is one step, or a point of the flow: kind is a word of tree.Kind, or
// start, end or join.
type FlowNode struct {
	ID       string `json:"id"` // Node.ID, or one made of it
	Kind     string `json:"kind"`
	Text     string `json:"text"`
	Op       string `json:"op,omitempty"`      // name of the op that is called
	In       string `json:"in,omitempty"`      // name of the op whose body this is in
	Decided  string `json:"decided,omitempty"` // by "rule" or "model"
	Subagent bool   `json:"subagent,omitempty"`
	Tool     string `json:"tool,omitempty"` // that a call calls without a model
	Status   string `json:"status,omitempty"`

	label string
}

// A FlowEdge leads from one node to the next. A call leads to the first node of the op's body.
type FlowEdge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label,omitempty"`
	Call  bool   `json:"call,omitempty"`
}

// An exit is an edge whose end is not known yet.
type exit struct{ from, label string }

// JSON writes the control flow of s for programs, indented: an object with skill, nodes
// ({id, kind, text, op, in, decided, subagent, tool, status}) and edges ({from, to, label,
// call}). An IF has the edges "yes" and "no"; a SWITCH one for each case.
func JSON(s *tree.Skill, opt Options) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // operators stay readable
	e.SetIndent("", "  ")
	if err := e.Encode(newFlow(newFigure(s, opt))); err != nil {
		panic(err) // strings and booleans alone
	}
	return b.String()
}

func newFlow(fig *figure) *Flow {
	f := &Flow{Skill: one(fig.skill.Name), figure: fig, Nodes: []FlowNode{}, Edges: []FlowEdge{}}
	for _, p := range fig.parts {
		f.part = p
		start, end, title := "start", "end", one(fig.skill.Name)
		if p.op != nil {
			start, end, title = "op:"+p.op.Name, "end:"+p.op.Name, signature(p.op)
		}
		f.add(FlowNode{ID: start, Kind: "start", Text: title})
		var left []exit
		f.leave = &left
		out := append(f.seq(p.nodes, []exit{{start, ""}}), left...)
		if len(out) > 0 {
			f.enter(out, end)
			f.add(FlowNode{ID: end, Kind: "end"})
		}
	}
	return f
}

func (f *Flow) add(n FlowNode) {
	n.In = f.part.name()
	if n.label == "" {
		n.label = n.Text
	}
	f.Nodes = append(f.Nodes, n)
}

// enter leads all of exits to a node.
func (f *Flow) enter(exits []exit, to string) {
	for _, e := range exits {
		f.Edges = append(f.Edges, FlowEdge{From: e.from, To: to, Label: e.label})
	}
}

// step adds the node of n and leads exits to it.
func (f *Flow) step(n *tree.Node, exits []exit) {
	v := FlowNode{ID: n.ID, Kind: n.Kind.String(), Text: one(n.Text), Decided: f.figure.decided(n), Subagent: f.figure.subagent(n),
		Status: one(f.figure.opt.Status[n.ID]), label: f.figure.card(n).label(), Tool: one(f.figure.tool(n))}
	if op := f.figure.callee(n); op != nil {
		v.Op = op.Name
		if f.figure.drawn[op.Name] {
			f.Edges = append(f.Edges, FlowEdge{From: n.ID, To: "op:" + op.Name, Call: true})
		}
	} else if n.Kind == tree.Call {
		v.Op = one(n.Name)
	}
	f.enter(exits, n.ID)
	f.add(v)
}

// seq adds nodes one after another. It returns what leads out behind the last.
func (f *Flow) seq(nodes []*tree.Node, in []exit) []exit {
	for len(nodes) > 0 {
		n, count := nodes[0], chain(nodes)
		switch n.Kind {
		case tree.If, tree.ElseIf:
			in = f.chain(nodes[:count], in)
		case tree.Else:
			in = f.seq(n.Children, in)
		case tree.Switch:
			in = f.cases(n, in)
		case tree.ForEach:
			in = f.loop(n, in)
		case tree.Parallel:
			in = f.parallel(n, in)
		case tree.End:
			f.step(n, in)
			in = nil
		case tree.Break:
			f.step(n, in)
			*f.leave, in = append(*f.leave, exit{n.ID, ""}), nil
		case tree.Ask:
			in = f.ask(n, in)
		default:
			f.step(n, in)
			in = []exit{{n.ID, ""}}
			if !leaf(n) || len(n.Children) > 0 && n.Kind == tree.Read {
				in = f.seq(n.Children, in)
			}
		}
		nodes = nodes[count:]
	}
	return in
}

func (f *Flow) chain(nodes []*tree.Node, in []exit) (out []exit) {
	for _, n := range nodes {
		if n.Kind == tree.Else {
			return append(out, f.seq(n.Children, in)...)
		}
		f.step(n, in)
		out = append(out, f.seq(n.Children, []exit{{n.ID, "yes"}})...)
		in = []exit{{n.ID, "no"}}
	}
	return append(out, in...)
}

func (f *Flow) cases(n *tree.Node, in []exit) (out []exit) {
	f.step(n, in)
	rest := true
	for _, c := range n.Children {
		label := short(c.Cond)
		switch c.Kind {
		case tree.Default:
			label, rest = "otherwise", false
		case tree.Case:
		default:
			continue
		}
		out = append(out, f.seq(c.Children, []exit{{n.ID, label}})...)
	}
	if rest {
		out = append(out, exit{n.ID, "otherwise"})
	}
	return out
}

func (f *Flow) loop(n *tree.Node, in []exit) []exit {
	f.step(n, in)
	var left []exit
	outer := f.leave
	f.leave = &left
	f.enter(f.seq(n.Children, []exit{{n.ID, "each"}}), n.ID)
	f.leave = outer
	return append(left, exit{n.ID, "done"})
}

func (f *Flow) parallel(n *tree.Node, in []exit) []exit {
	f.step(n, in)
	if len(n.Children) == 0 {
		return []exit{{n.ID, ""}}
	}
	var out []exit
	for i := range n.Children {
		out = append(out, f.seq(n.Children[i:i+1], []exit{{n.ID, ""}})...)
	}
	f.enter(out, n.ID+"/join")
	f.add(FlowNode{ID: n.ID + "/join", Kind: "join"})
	return []exit{{n.ID + "/join", ""}}
}

func (f *Flow) ask(n *tree.Node, in []exit) (out []exit) {
	f.step(n, in)
	free := len(n.Options) == 0
	taken := map[string]bool{}
	for _, c := range n.Children {
		if option := optionOf(n, c); option != "" {
			taken[option] = true
			out = append(out, f.seq(c.Children, []exit{{n.ID, short(option)}})...)
		}
	}
	if len(taken) == 0 {
		return []exit{{n.ID, ""}}
	}
	for _, o := range n.Options {
		free = free || !taken[o]
	}
	if free {
		out = append(out, exit{n.ID, "otherwise"})
	}
	return out
}

// Mermaid writes s as a Mermaid flowchart, without the code fence.
func Mermaid(s *tree.Skill, opt Options) string {
	f := newFlow(newFigure(s, opt))
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	ids := f.ids()
	inside := ""
	for _, n := range f.Nodes {
		if n.In != inside {
			if inside != "" {
				b.WriteString("  end\n")
			}
			inside = n.In
			b.WriteString("  subgraph op_" + inside + " [\"" + mermaidText(inside) + "\"]\n")
		}
		shape := mermaidShape(n)
		b.WriteString("  " + ids[n.ID] + shape[0] + "\"" + mermaidText(n.label) + "\"" + shape[1])
		if class := n.class(); class != "" {
			b.WriteString(":::" + class)
		}
		b.WriteByte('\n')
	}
	if inside != "" {
		b.WriteString("  end\n")
	}
	for _, e := range f.Edges {
		arrow := " --> "
		if e.Call {
			arrow = " -.-> "
		}
		b.WriteString("  " + ids[e.From] + arrow)
		if e.Label != "" {
			b.WriteString("|\"" + mermaidText(e.Label) + "\"| ")
		}
		b.WriteString(ids[e.To] + "\n")
	}
	for _, c := range [...]string{
		"rule fill:#f5f3ff,stroke:#7c3aed,color:#1e293b",
		"model fill:#f5f3ff,stroke:#7c3aed,color:#1e293b,stroke-dasharray:5 3",
		"stop fill:#fef2f2,stroke:#dc2626,color:#1e293b",
		"person fill:#fffbeb,stroke:#d97706,color:#1e293b",
		"failed stroke:#dc2626,stroke-width:3px",
		"ok stroke:#16a34a,stroke-width:3px",
	} {
		b.WriteString("  classDef " + c + "\n")
	}
	return b.String()
}

// ids numbers the nodes, for formats whose names are narrow.
func (f *Flow) ids() map[string]string {
	ids := make(map[string]string, len(f.Nodes))
	for i, n := range f.Nodes {
		ids[n.ID] = "n" + strconv.Itoa(i)
	}
	return ids
}

func (n FlowNode) class() string {
	switch {
	case n.Status == "ok" || n.Status == "failed":
		return n.Status
	case n.Decided != "" && n.Kind != "FOR_EACH":
		return n.Decided
	case n.Kind == "END":
		return "stop"
	case n.Kind == "ASK" || n.Kind == "SHOW_PLAN":
		return "person"
	}
	return ""
}

func mermaidShape(n FlowNode) [2]string {
	switch n.Kind {
	case "start", "end", "END", "BREAK":
		return [2]string{"([", "])"}
	case "IF", "ELSE_IF", "SWITCH":
		return [2]string{"{", "}"}
	case "FOR_EACH":
		return [2]string{"{{", "}}"}
	case "ASK", "SHOW_PLAN":
		return [2]string{"[/", "/]"}
	case "prose":
		return [2]string{"(", ")"}
	}
	if n.Subagent {
		return [2]string{"[[", "]]"}
	}
	return [2]string{"[", "]"}
}

// mermaidText writes what ends a label, or is markup in it, as character codes.
func mermaidText(s string) string {
	var b strings.Builder
	if s == "" {
		return " "
	}
	for _, r := range s {
		switch r {
		case '"', '#', '<', '>', '&', '`', '\\':
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// DOT writes s for Graphviz.
func DOT(s *tree.Skill, opt Options) string {
	f := newFlow(newFigure(s, opt))
	var b strings.Builder
	b.WriteString("digraph skill {\n  rankdir=TB;\n  bgcolor=white;\n  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=filled, fillcolor=white];\n" +
		"  edge [fontname=\"Helvetica\", fontsize=10];\n  label=" + dotText(f.Skill) + ";\n  labelloc=t;\n")
	ids := f.ids()
	inside := ""
	for _, n := range f.Nodes {
		if n.In != inside {
			if inside != "" {
				b.WriteString("  }\n")
			}
			inside = n.In
			b.WriteString("  subgraph " + dotText("cluster_"+inside) + " {\n    label=" + dotText(inside) + ";\n")
		}
		b.WriteString("    " + ids[n.ID] + " [label=" + dotText(wrapped(n.label, 34)) + dotStyle(n) + "];\n")
	}
	if inside != "" {
		b.WriteString("  }\n")
	}
	for _, e := range f.Edges {
		b.WriteString("  " + ids[e.From] + " -> " + ids[e.To])
		switch {
		case e.Call:
			b.WriteString(" [style=dashed, constraint=false]")
		case e.Label != "":
			b.WriteString(" [label=" + dotText(wrapped(e.Label, 24)) + "]")
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func dotStyle(n FlowNode) string {
	style := ""
	switch n.Kind {
	case "start", "end":
		style = ", shape=oval"
	case "END", "BREAK":
		style = ", style=\"rounded,filled\", fillcolor=\"#fef2f2\", color=\"#dc2626\""
	case "IF", "ELSE_IF", "SWITCH":
		style = ", shape=diamond, fillcolor=\"#f5f3ff\", color=\"#7c3aed\""
	case "FOR_EACH":
		style = ", shape=hexagon"
	case "join":
		style = ", shape=point"
	case "ASK", "SHOW_PLAN":
		style = ", shape=note, fillcolor=\"#fffbeb\", color=\"#d97706\""
	case "prose":
		style = ", style=\"rounded,filled\", fillcolor=\"#eff6ff\", color=\"#2563eb\""
	}
	if n.Subagent {
		style += ", peripheries=2"
	}
	if n.Decided == byModel {
		style += ", style=\"dashed,filled\""
	}
	switch n.Status {
	case "ok":
		style += ", penwidth=2.5, color=\"#16a34a\""
	case "failed":
		style += ", penwidth=2.5, color=\"#dc2626\""
	}
	return style
}

// wrapped breaks s at blanks into lines of about width characters.
func wrapped(s string, width int) string {
	var b strings.Builder
	at := 0
	for i, w := range strings.Fields(s) {
		n := len([]rune(w))
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += n
	}
	return b.String()
}

// dotText quotes s; its line breaks become those of DOT.
func dotText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
