package author

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// A stand is where a node stands in its tree.
type stand struct {
	node  *tree.Node
	at    int      // among the nodes of the tree, in the order in which they are come to
	below []string // the conditions and loops that it is below, the outermost first
}

// stands are the nodes of a tree.
func stands(nodes []*tree.Node) (out []stand) {
	var walk func(nodes []*tree.Node, below []string)
	walk = func(nodes []*tree.Node, below []string) {
		for _, n := range nodes {
			out = append(out, stand{n, len(out), below})
			inner := below
			switch n.Kind {
			case tree.If, tree.ElseIf, tree.Else, tree.Case, tree.Default, tree.ForEach:
				inner = append(below[:len(below):len(below)], gateOf(n).text)
			}
			walk(n.Children, inner)
		}
	}
	walk(nodes, nil)
	return out
}

// waits reports whether a node holds a run up, or ends it.
func waits(n *tree.Node) bool {
	return n.Kind == tree.Ask || n.Kind == tree.ShowPlan || n.Kind == tree.End
}

// A standing is the nodes of one tree of a skill: of an op, or with the name "" its own.
type standing struct {
	op    string
	nodes []stand
}

// treesOf are the trees of the skill in fsys, its own first; ok is false for one that has none or cannot be read.
func treesOf(fsys fs.FS, name string) (out []standing, ok bool) {
	s, err := tree.Load(fsys, name)
	if err != nil || s.Tree == nil {
		return nil, false
	}
	out = []standing{{"", stands(s.Tree.Nodes)}}
	for _, op := range s.Ops {
		if op.Tree != nil {
			out = append(out, standing{op.Name, stands(op.Tree.Nodes)})
		}
	}
	return out, true
}

// movedIn lists the questions, plans and ends that a tree still has and that no longer come before what they came before, or are only
// come to in a case now: without that more happens than before, as if they were gone.
func movedIn(before, after []stand) (losses []skill.Loss) {
	first := map[string]int{} // where a step that does something first stands now
	found := map[gate][]stand{}
	for _, s := range after {
		if waits(s.node) {
			found[gateOf(s.node)] = append(found[gateOf(s.node)], s)
		} else if _, ok := first[gateOf(s.node).text]; !ok && acts(s.node) {
			first[gateOf(s.node).text] = s.at
		}
	}
	behind := make([]int, len(before)+1) // where the first of the steps that stood from there on stands now
	behind[len(before)] = len(after)
	then := map[string]int{}
	for _, s := range before {
		if _, ok := then[gateOf(s.node).text]; !ok && acts(s.node) {
			then[gateOf(s.node).text] = s.at
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		behind[i] = behind[i+1]
		text := gateOf(before[i].node).text
		if to, ok := first[text]; ok && text != "" && acts(before[i].node) && then[text] == i {
			behind[i] = min(behind[i], to)
		}
	}
	for _, s := range before {
		list := found[gateOf(s.node)]
		if !waits(s.node) || len(list) == 0 {
			continue
		}
		found[gateOf(s.node)] = list[1:]
		at := fmt.Sprintf("%s:%d", s.node.Pos.File, s.node.Pos.Line)
		why := ""
		if len(list[0].below) > len(s.below) {
			why = "it is only come to in a case now"
		}
		if behind[s.at+1] < list[0].at {
			why = "a step that came behind it comes first now"
		}
		if why == "" && s.node.Kind == tree.End {
			why = addedBefore(after, list[0], then)
		}
		if why != "" {
			losses = append(losses, skill.Loss{Code: skill.LossRule, Field: "tree", From: at, Severity: diag.SeverityError,
				Text: at + ": " + diag.Brief(diag.Printable(strings.TrimSpace(s.node.Text)), 200) + ": " + why})
		}
	}
	return losses
}

// addedBefore is why an end of a branch is none any more: a step that was nowhere before is done in front of it, "" if there is none.
func addedBefore(after []stand, end stand, had map[string]int) string {
	if len(end.below) == 0 {
		return ""
	}
	for i := end.at - 1; i >= 0 && len(after[i].below) >= len(end.below); i-- {
		if _, was := had[gateOf(after[i].node).text]; !was && acts(after[i].node) && after[i].node.Kind != tree.Read {
			return "a new step comes before it: " + diag.Brief(diag.Printable(strings.TrimSpace(after[i].node.Text)), 100)
		}
	}
	return ""
}

// acts reports whether a node is a step that does something, rather than one that chooses or waits.
func acts(n *tree.Node) bool {
	switch n.Kind {
	case tree.If, tree.ElseIf, tree.Else, tree.Switch, tree.Case, tree.Default, tree.Ask, tree.ShowPlan, tree.End, tree.Break:
		return false
	}
	return true
}
