package author

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// A gate is a node at which a tree waits, shows what it would do, ends, or chooses: without it more happens than before.
type gate struct {
	kind tree.Kind
	text string // in words, with its options
}

// gatesOf are those of the trees of a skill, in order.
func gatesOf(trees []standing) (nodes []*tree.Node) {
	for _, t := range trees {
		for _, s := range t.nodes {
			switch s.node.Kind {
			case tree.Ask, tree.ShowPlan, tree.End, tree.If, tree.ElseIf:
				nodes = append(nodes, s.node)
			}
		}
	}
	return nodes
}

// declinable reports whether a question has an option by which a person says no.
func declinable(n *tree.Node) bool {
	return n.Kind == tree.Ask && slices.ContainsFunc(n.Options, func(option string) bool {
		word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(option)), " ")
		switch strings.Trim(word, ".,!:;") {
		case "no", "cancel", "abort", "stop", "quit", "decline":
			return true
		}
		return false
	})
}

func gateOf(n *tree.Node) gate {
	var b strings.Builder
	words(&b, n.Text)
	return gate{n.Kind, strings.TrimSpace(b.String())}
}

// lostGates lists the gates of a skill that stays a tree and has them nowhere any more; others are the skills that it requires. A question, a
// plan that is shown or an end of which there are fewer than before is the loss of a rule, however short; another text of one is the loss of that.
// So is one that stands elsewhere now: see movedIn.
func lostGates(d *Draft, others []*Text) []skill.Loss {
	before, ok := treesOf(d.Before(), d.Name)
	after, still := treesOf(d.FS(), d.Name)
	was, now := gatesOf(before), gatesOf(after)
	if !ok || !still || len(was) == 0 {
		return nil
	}
	left, kinds, elsewhere := map[gate]int{}, map[tree.Kind]int{}, map[gate]bool{}
	declines := 0 // questions that can be answered by no, after and before
	for _, n := range now {
		if declinable(n) {
			declines++
		}
		left[gateOf(n)]++
		kinds[n.Kind]++
	}
	for _, t := range others {
		has, _ := treesOf(t.fsys, "")
		for _, n := range gatesOf(has) {
			elsewhere[gateOf(n)] = true
		}
	}
	var gone []*tree.Node
	for _, n := range was {
		if declinable(n) {
			declines--
		}
		g := gateOf(n)
		kinds[n.Kind]--
		switch {
		case left[g] > 0:
			left[g]--
		case elsewhere[g]:
			if kinds[n.Kind]++; declinable(n) {
				declines++
			}
		default:
			gone = append(gone, n)
		}
	}
	losses := []skill.Loss{}
	for _, n := range gone {
		at := fmt.Sprintf("%s:%d", n.Pos.File, n.Pos.Line)
		loss := skill.Loss{Code: skill.LossText, Field: "tree", From: at, Severity: diag.SeverityWarning, Text: at + ": " + diag.Brief(diag.Printable(n.Text), 200)}
		if kinds[n.Kind] < 0 && n.Kind != tree.If && n.Kind != tree.ElseIf || declines < 0 && declinable(n) {
			loss.Code, loss.Severity = skill.LossRule, diag.SeverityError
		}
		losses = append(losses, loss)
	}
	byOp := map[string][]stand{}
	for _, t := range after {
		byOp[t.op] = t.nodes
	}
	for _, t := range before {
		losses = append(losses, movedIn(t.nodes, byOp[t.op])...)
	}
	return losses
}
