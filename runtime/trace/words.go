package trace

import (
	"path"
	"strconv"
	"strings"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// spoken is a node in plain words, without the notation of trees.
func spoken(n *tree.Node) string {
	switch n.Kind {
	case tree.Ask:
		return n.Question
	case tree.If, tree.ElseIf:
		return "if " + n.Cond
	case tree.Else, tree.Default:
		return "otherwise"
	case tree.Switch:
		return "by " + n.Cond
	case tree.Case:
		return "case " + n.Cond
	case tree.ForEach:
		return "for each " + n.Var + " of " + n.In
	case tree.Parallel:
		return "in parallel"
	case tree.Bind:
		return n.Var + " = " + n.Body
	case tree.Break:
		return "leave the loop"
	case tree.End:
		return strings.TrimSpace("end " + n.Message)
	case tree.ShowPlan:
		return "show the plan"
	case tree.Verify:
		return "check " + n.Path
	case tree.Read:
		if target := plan.WriteTarget(n); target != "" {
			return "write " + target
		}
		verb := "read "
		if strings.HasPrefix(n.Path, "scripts/") {
			verb = "run "
		}
		if n.Section != "" {
			return verb + n.Path + ", " + n.Section
		}
		return verb + n.Path
	case tree.Call:
		words := strings.ToLower(strings.ReplaceAll(n.Name, "_", " "))
		for _, a := range n.Args {
			words += " " + a.Value.Text
		}
		return words
	case tree.Prose, tree.Explore:
		return strings.TrimPrefix(n.Body, "SUBAGENT ")
	}
	return n.Text
}

// A step is a node of a skill's own tree, in its order.
type step struct {
	path string // of its visit, where no loop is around it
	text string
}

// steps are the nodes of a tree that are known before it is walked: not those inside loops, which are visited more than once.
func steps(nodes []*tree.Node, base string) []step {
	var out []step
	for i, n := range nodes {
		at := path.Join(base, strconv.Itoa(i))
		if text := spoken(n); text != "" && n.Kind != tree.Label {
			out = append(out, step{at, text})
		}
		if n.Kind != tree.ForEach {
			out = append(out, steps(n.Children, at)...)
		}
	}
	return out
}

// Leave is who allowed an effect, in words for behind "by"; leave is as [run.Deed] has it.
func Leave(leave string) string {
	switch leave {
	case run.LeaveAllow:
		return "you, before the run"
	case run.LeaveConfig:
		return "your configuration"
	case run.LeaveKept:
		return "you, earlier, for this form of the skill"
	case run.LeavePerson:
		return "you, when it came to it"
	}
	return cut(leave, 20)
}
