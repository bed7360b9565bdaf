package refactor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// maxRounds is how often a move is tried with fewer ops, before none is made.
const maxRounds = 8

// proven are the groups whose move to a skill gives no skill an error, and changes no other op and no tree. It makes the move in memory
// and looks at the skills as they are then.
func (c *comparison) proven(moving []*group, into string) []*group {
	for round := 0; len(moving) > 0; round++ {
		faulty := c.faulty(moving, into)
		if len(faulty) == 0 {
			return moving
		}
		left := slices.DeleteFunc(slices.Clone(moving), func(g *group) bool {
			if round >= maxRounds && g.reason == "" && faulty[g.name] == "" {
				faulty[g.name] = "too many other ops cannot move"
			}
			if g.reason = faulty[g.name]; g.reason != "" {
				c.leave(g)
			}
			return g.reason != ""
		})
		moving = c.settle(left)
	}
	return nil
}

// faulty says of ops, by name, why their move breaks a skill. What a skill has against the move as a whole is said of all of its ops.
func (c *comparison) faulty(moving []*group, into string) map[string]string {
	out := map[string]string{}
	changes := c.move(moving, into)
	after := map[string]*holder{}
	for name := range changes {
		after[name] = c.changed(name, changes[name])
	}
	blamed := map[string]bool{}
	blame := func(h, reason string) {
		if blamed[h] {
			return
		}
		blamed[h] = true
		for _, g := range moving {
			if h == into || slices.Contains(g.skills(), h) {
				if out[g.name] == "" {
					out[g.name] = reason
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		now := after[name]
		if now == nil {
			blame(name, name+" could not be read without it")
			continue
		}
		was := c.holders[name]
		if reason := damage(was, now, changes[name], name == into); reason != "" {
			blame(name, reason)
		}
		for op, reason := range c.unclear(now, into, moving, after) {
			out[op] = reason
		}
		for _, f := range c.newErrors(was, now, after) {
			if f.Rule == check.NoTree && name == into {
				for _, g := range moving {
					if g.ops[0].Subagent {
						out[g.name] = "it is a subagent, and " + into + " has no tree"
					}
				}
				continue
			}
			reason := "lint would find an error in " + name + ": " + f.Message
			if o := now.opAt(f); o != nil && name == into && slices.ContainsFunc(moving, func(g *group) bool { return g.name == o.Name }) {
				out[o.Name] = reason
				continue
			}
			blame(name, reason)
		}
	}
	if target := after[into]; target != nil {
		for _, g := range moving {
			if !sameBody(g.ops[0].Op, target.tree.Op(g.name)) {
				out[g.name] = "it would be read in another way in another skill"
			}
		}
	}
	return out
}

// unclear says which calls of a skill would mean two ops, or lead in a circle, by the ops that moved.
func (c *comparison) unclear(now *holder, into string, moving []*group, after map[string]*holder) map[string]string {
	out := map[string]string{}
	needs := c.needs(now, after)
	if now.name == into || !slices.Contains(now.tree.Doc.Required(), into) {
		return out
	}
	if target := after[into]; target != nil && slices.Contains(c.needs(target, after), now.name) {
		for _, g := range moving {
			if slices.Contains(g.skills(), now.name) {
				out[g.name] = into + " requires " + now.name + " itself"
			}
		}
		return out
	}
	for _, name := range needs {
		h := cmp.Or(after[name], c.holders[name])
		if name == into || name == now.name || h == nil {
			continue
		}
		for _, g := range moving {
			if len(h.byName[g.name]) > 0 && now.byName[g.name] == nil {
				out[g.name] = now.name + " requires " + name + " as well, which defines " + shown(g.name)
			}
		}
	}
	return out
}

// needs are the names of all skills that h requires, those of the compared ones among them included, in the order in which they are met.
func (c *comparison) needs(h *holder, after map[string]*holder) (out []string) {
	seen := map[string]bool{}
	queue := []*holder{h}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		for _, name := range h.tree.Doc.Required() {
			if seen[name] {
				continue
			}
			seen[name] = true
			out = append(out, name)
			if next := cmp.Or(after[name], c.holders[name]); next != nil {
				queue = append(queue, next)
			}
		}
	}
	return out
}

// damage says what else than the ops that left a skill has changed in it. A skill that takes ops loses none.
func damage(was, now *holder, changes map[string]Change, takes bool) string {
	if was == nil {
		return ""
	}
	for file, change := range changes {
		if takes && change.Was != nil && !was.isFixed(file) && string(change.Was) != string(change.Now) {
			return was.name + " has another file " + shown(file)
		}
	}
	if !tree.Equal(was.tree.Tree, now.tree.Tree) {
		return "the tree of " + was.name + " would be read in another way without it"
	}
	for _, o := range now.ops {
		if old := was.byName[o.Name]; len(old) == 0 && !takes || len(old) == 1 && !sameBody(old[0].Op, o.Op) {
			return "the op " + shown(o.Name) + " of " + was.name + " would be read in another way without it"
		}
	}
	return ""
}

// newErrors are the errors that a skill has now and had not, compared by what they say.
func (c *comparison) newErrors(was, now *holder, after map[string]*holder) []diag.Finding {
	var before []diag.Finding
	if was != nil {
		before = slices.Concat(errorsOf(was.lint()), c.faultsOf(was))
	}
	found := errorsOf(slices.Concat(now.lint(), check.CheckWith(now.tree, c.provides(now, after))))
	return diag.Gained(before, found, func(f diag.Finding) string { return f.Rule + " " + f.Message })
}

func (h *holder) lint() []diag.Finding { return skill.Lint(h.files, h.name, skill.LintOptions{}) }

// opAt is the op in whose definition a finding lies, nil if it lies in none.
func (h *holder) opAt(f diag.Finding) *heldOp {
	for _, o := range h.ops {
		if o.Pos.File == f.File && o.Pos.Line <= f.Line && f.Line < o.End {
			return o
		}
	}
	return nil
}
