package refactor

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// An Extraction is what Extract decided.
type Extraction struct {
	Changes   map[string]map[string]Change // by skill and file
	Moved     []Candidate
	Conflicts []Conflict // ops that the shared skill has with another body: they stay
	Left      []Alike    // candidates that stay after all
}

// Extract moves the candidates of r to the skill into, which is new or one of skills. A caller may have taken candidates out of r.
// The shared skill takes the first text of several that differ in layout alone.
//
// Its error is a *diag.Error: of class Unmet and code nothing_shared when nothing can be moved, or skill_changed when a candidate is no
// longer in a skill as r has it; of class Misuse for a name that no skill can have, or that is the name of a skill that cannot be read.
func Extract(skills map[string]fs.FS, r Report, into string) (Extraction, error) {
	if err := skill.CheckPublishName(into); err != nil {
		return Extraction{}, err
	}
	c := compare(skills, 2)
	if _, there := skills[into]; there && c.holders[into] == nil {
		return Extraction{}, diag.New(diag.Misuse, "unreadable", "the skill %s cannot be read", into)
	}
	groups, err := c.chosen(r)
	if err != nil {
		return Extraction{}, err
	}
	conflicts := []Conflict{}
	groups = slices.DeleteFunc(groups, func(g *group) bool {
		conflict, found := c.taken(g, into)
		if found {
			conflicts = append(conflicts, conflict)
		}
		return found || len(g.ops) == 1 && g.ops[0].in.name == into // it is there
	})
	moving := c.proven(c.settle(groups), into)
	if len(moving) == 0 {
		return Extraction{}, nothing(r, c.report.Left)
	}
	out := Extraction{Changes: c.move(moving, into), Conflicts: conflicts, Left: append([]Alike{}, c.report.Left...)}
	for _, g := range moving {
		out.Moved = append(out.Moved, g.candidate())
	}
	return out, nil
}

// nothing is the error when no op can be moved.
func nothing(r Report, left []Alike) error {
	e := diag.New(diag.Unmet, CodeNothing, "no op can be moved: of %d ops and %d other files in %d skills, none that %d skills or more hold alike can leave them",
		r.Compared.Ops, r.Compared.Files, r.Compared.Skills, r.Compared.Min)
	if len(left) > 0 {
		e.Message += fmt.Sprintf("; %s stays, since %s", left[0].Name, left[0].Reason)
	}
	if len(r.Conflicts) > 0 {
		e = e.Hint("names with several meanings are conflicts: rename the ops, or make them say the same?")
	}
	return e
}

// chosen are the groups that r has as candidates, with the skills it names.
func (c *comparison) chosen(r Report) ([]*group, error) {
	var out []*group
	seen := map[string]bool{}
	for _, want := range r.Candidates {
		if seen[want.Name] {
			continue
		}
		seen[want.Name] = true
		g := &group{name: want.Name, digest: want.Digest}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(want.Skills))) {
			h := c.holders[name]
			if h == nil || len(h.byName[want.Name]) != 1 || h.byName[want.Name][0].whole != want.Digest {
				return nil, diag.New(diag.Unmet, CodeChanged, "the op %s of %s is no longer what was compared", shown(want.Name), shown(name))
			}
			g.ops = append(g.ops, h.byName[want.Name][0])
		}
		if len(g.ops) > 0 {
			out = append(out, g)
		}
	}
	order.Sort(out, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	c.look(out)
	return out, nil
}

// taken reports whether the shared skill has an op of that name with another body.
func (c *comparison) taken(g *group, into string) (Conflict, bool) {
	h := c.holders[into]
	if h == nil {
		return Conflict{}, false
	}
	for _, o := range h.byName[g.name] {
		if o.whole != g.digest {
			all := slices.Concat(g.ops, h.byName[g.name])
			return Conflict{OneName, g.name, meaningsOf(all)}, true
		}
	}
	return Conflict{}, false
}

// free is a name that no skill has.
func (c *comparison) free() string {
	name := "shared-ops"
	for c.holders[name] != nil || slices.ContainsFunc(c.report.Unread, func(u Unread) bool { return u.Skill == name }) {
		name += "-x"
	}
	return name
}

// move makes the changes of all files.
func (c *comparison) move(moving []*group, into string) map[string]map[string]Change {
	removed := map[*holder]map[string][]*heldOp{}
	out := map[string]map[string]Change{}
	for _, g := range moving {
		for _, o := range g.ops {
			if o.in.name == into {
				continue
			}
			if removed[o.in] == nil {
				removed[o.in], out[o.in.name] = map[string][]*heldOp{}, map[string]Change{}
			}
			removed[o.in][o.Pos.File] = append(removed[o.in][o.Pos.File], o)
			for _, file := range g.files {
				out[o.in.name][file] = Change{Was: o.in.files[file].Data, Executable: o.in.files[file].Executable}
			}
		}
	}
	out[into] = c.shared(moving, into)
	target := c.changed(into, out[into])
	for h, files := range removed {
		changes := out[h.name]
		for file, ops := range files {
			order.Stable(ops, func(a, b *heldOp) int { return a.start - b.start })
			changes[file] = Change{Was: h.files[file].Data, Now: h.without(file, ops), Executable: h.files[file].Executable}
		}
		c.entry(h, into, changes, target)
	}
	maps.DeleteFunc(out, func(_ string, changes map[string]Change) bool { return len(changes) == 0 })
	return out
}

// entry edits the frontmatter of a skill that lost ops: what it requires, and which parts of the language it uses.
func (c *comparison) entry(h *holder, into string, changes map[string]Change, target *holder) {
	file := h.tree.File
	was := h.files[file].Data
	now, err := skill.Require(was, into)
	if err != nil {
		return // the proof finds that the ops are gone
	}
	changes[file] = Change{Was: was, Now: now, Executable: h.files[file].Executable}
	if after := c.changed(h.name, changes); after != nil && h.tree.Features != nil && !slices.Equal(check.Features(h.tree), check.Features(after.tree)) {
		for _, f := range check.CheckWith(after.tree, c.provides(after, map[string]*holder{into: target})) {
			if (f.Rule == check.UnusedFeature || f.Rule == check.MissingFeature) && f.Fix != nil {
				now = skill.Apply(now, []diag.Fix{*f.Fix})
				break
			}
		}
		changes[file] = Change{Was: was, Now: now, Executable: h.files[file].Executable}
	}
	if string(now) == string(was) {
		delete(changes, file)
	}
}

// changed is a skill with changes made, nil if it cannot be read then.
func (c *comparison) changed(name string, changes map[string]Change) *holder {
	files := bundle.Memory{}
	if h := c.holders[name]; h != nil {
		files = maps.Clone(h.files)
	}
	for file, change := range changes {
		if change.Now == nil {
			delete(files, file)
		} else {
			files[file] = bundle.MemoryFile{Data: change.Now, Executable: change.Executable}
		}
	}
	h, err := newHolder(name, files)
	if err != nil {
		return nil
	}
	return h
}

// sameBody reports whether two ops are read alike, wherever they stand.
func sameBody(a, b *tree.Op) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Subagent == b.Subagent && signature(a) == signature(b) &&
		strings.TrimSpace(a.Prose) == strings.TrimSpace(b.Prose) && tree.Equal(a.Tree, b.Tree)
}
