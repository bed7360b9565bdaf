package refactor

import (
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// A flow says which bodies of a skill bind and read each name. Bodies share one scope, so that both cross from one into another.
type flow struct {
	binds, reads, asks map[string]int // by name or option: in how many bodies
	own                map[*tree.Op]*names
	inline, files      map[string]bool // ops that are called with text behind the name, files that steps read
}

// names are those of one body.
type names struct {
	binds, reads, asks map[string]bool
	free               []string // read before the body binds them, in order
	sure               map[string]bool
	offers             []string // texts of conditions, which may be options of a question
	declared           map[string]bool
}

func newNames() *names {
	return &names{binds: map[string]bool{}, reads: map[string]bool{}, asks: map[string]bool{}, sure: map[string]bool{}, declared: map[string]bool{}}
}

// findFlow reads all bodies of a skill.
func findFlow(s *tree.Skill) flow {
	f := flow{map[string]int{}, map[string]int{}, map[string]int{}, map[*tree.Op]*names{}, map[string]bool{}, map[string]bool{}}
	look := func(n *tree.Node) bool {
		switch n.Kind {
		case tree.Call:
			f.inline[n.Name] = f.inline[n.Name] || n.Inline != ""
		case tree.Read:
			f.files[path.Clean(n.Path)], f.files[resource.Mapped(n.Path)] = true, true
		}
		return true
	}
	main := newNames()
	for _, name := range argumentNames(s) {
		main.binds[name] = true
	}
	if s.Tree != nil {
		main.walk(s.Tree.Nodes)
		tree.Walk(s.Tree.Nodes, look)
	}
	f.add(main)
	for _, op := range s.Ops {
		n := newNames()
		for _, p := range op.Params {
			n.binds[p.Name], n.declared[p.Name] = true, true
		}
		for _, t := range op.Outs {
			n.declared[t.Name], n.binds[t.Name] = true, true
		}
		n.text(op.Prose)
		if op.Tree != nil {
			n.walk(op.Tree.Nodes)
			tree.Walk(op.Tree.Nodes, look)
		}
		f.own[op] = n
		f.add(n)
	}
	return f
}

func (f *flow) add(n *names) {
	for _, pair := range []struct {
		all map[string]int
		own map[string]bool
	}{{f.binds, n.binds}, {f.reads, n.reads}, {f.asks, n.asks}} {
		for name := range pair.own {
			pair.all[name]++
		}
	}
}

// argumentNames are the names that the arguments of a run can bind.
func argumentNames(s *tree.Skill) []string {
	var out []string
	for line := range strings.SplitSeq(s.Preamble, "\n") {
		if strings.Contains(line, "$ARGUMENTS") {
			out = append(out, resource.Mentions(line, nil)...)
		}
	}
	for _, name := range skill.Properties(s.Doc) {
		out = append(out, resource.ArgumentName(name))
	}
	return out
}

// read records a name that is read. Sure is one that can be nothing but a name.
func (n *names) read(path string, sure bool) {
	path = strings.Trim(path, "`")
	for _, prefix := range [...]string{"context.", "ctx."} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			path, sure = rest, true
		}
	}
	name := cond.Root(path)
	if !check.IsName(name) {
		return
	}
	if !n.reads[name] && !n.binds[name] {
		n.free = append(n.free, name)
	}
	n.reads[name] = true
	n.sure[name] = n.sure[name] || sure || check.SureName(name)
}

// text records the names that a text marks as such.
func (n *names) text(text string) {
	for _, name := range resource.Mentions(text, nil) {
		n.read(name, false)
	}
}

func (n *names) value(v tree.Value) {
	if v.Kind == tree.Ref || v.Kind == tree.Word {
		n.read(v.Text, v.Kind == tree.Ref)
	}
	for _, item := range v.Items {
		n.value(item)
	}
}

// walk goes through steps in their order: what a step reads first, then what it binds.
func (n *names) walk(nodes []*tree.Node) {
	for _, node := range nodes {
		n.node(node)
		if node.Kind == tree.ForEach || node.Kind == tree.Bind {
			n.binds[node.Var] = true
		}
		n.walk(node.Children)
		for _, t := range node.Outs {
			n.binds[t.Name] = true
		}
	}
}

func (n *names) node(node *tree.Node) {
	n.text(node.Text)
	for _, a := range node.Args {
		n.value(a.Value)
	}
	switch node.Kind {
	case tree.If, tree.ElseIf:
		n.offers = append(n.offers, fold(node.Cond))
		for _, name := range cond.Names(cond.Parse(node.Cond)) {
			n.read(name, false)
		}
	case tree.Switch:
		n.operand(cond.ParseExpression(node.Cond).Operand)
	case tree.ForEach:
		n.operand(cond.ParseCollection(node.In).Of)
	case tree.Bind:
		for part := range strings.SplitSeq(node.Body, "+") {
			if o, ok := cond.ParseOperand(strings.TrimSpace(part)); ok {
				n.operand(o)
			}
		}
	case tree.Ask:
		n.binds["answer"] = true
		for _, o := range node.Options {
			n.asks[fold(o)] = true
		}
	case tree.ShowPlan:
		for _, f := range node.Fields {
			n.read(f.Name(), false)
			n.binds[f.Name()] = true
		}
	}
}

func (n *names) operand(o cond.Operand) {
	if o.Kind == cond.Path || o.Kind == cond.Word {
		n.read(o.Text, o.Kind == cond.Path)
	}
}

func fold(option string) string {
	return strings.ToLower(strings.Join(strings.Fields(option), " "))
}

// crossing says how op depends on the scope around it, "" if it does not.
func (f *flow) crossing(op *tree.Op) string {
	own := f.own[op]
	elsewhere := func(all map[string]int, mine map[string]bool, name string) bool {
		n := all[name]
		if mine[name] {
			n--
		}
		return n > 0
	}
	for _, name := range own.free {
		if elsewhere(f.binds, own.binds, name) || own.sure[name] && !own.binds[name] {
			return "it reads " + shown(name) + ", which its caller binds"
		}
	}
	for _, option := range own.offers {
		if !own.asks[option] && f.asks[option] > 0 {
			return "it tests " + shown(option) + ", an option of a question that its caller asks"
		}
	}
	var gives []string
	for name := range own.binds {
		if !own.declared[name] && name != "answer" && elsewhere(f.reads, own.reads, name) {
			gives = append(gives, name)
		}
	}
	if len(gives) > 0 {
		return "it binds " + shown(slices.Min(gives)) + " for others, which its signature does not say"
	}
	return ""
}
