package refactor

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/resource"
)

// A comparison is what Find and Extract know of the skills.
type comparison struct {
	report  Report
	holders map[string]*holder
	names   []string // of the holders, sorted
	groups  []*group // of one meaning each, by name
}

// A group is one meaning of a name that enough skills hold.
type group struct {
	name, digest string
	ops          []*heldOp // one of each skill, by the skill's name
	files        []string  // that move with it
	reason       string    // why it stays, "" if it does not
}

func (g *group) skills() []string {
	out := make([]string, len(g.ops))
	for i, o := range g.ops {
		out[i] = o.in.name
	}
	return out
}

func places(ops []*heldOp) []Place {
	out := make([]Place, len(ops))
	for i, o := range ops {
		out[i] = o.place()
	}
	return out
}

func (g *group) candidate() Candidate {
	return Candidate{g.name, g.digest, g.skills(), places(g.ops), append([]string{}, g.files...)}
}

// leave records that a group stays.
func (c *comparison) leave(g *group) {
	c.report.Left = append(c.report.Left, Alike{"op", g.name, g.digest, places(g.ops), g.reason})
}

// compare reads the skills and groups their ops.
func compare(skills map[string]fs.FS, least int) *comparison {
	c := &comparison{holders: map[string]*holder{}}
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		files, err := readFiles(skills[name])
		var h *holder
		if err == nil {
			h, err = newHolder(name, files)
		}
		if err != nil {
			c.report.Unread = append(c.report.Unread, Unread{name, diag.Printable(err.Error())})
			continue
		}
		c.holders[name], c.names = h, append(c.names, name)
		c.report.Compared.Ops += len(h.ops)
		for file := range h.files {
			if !h.isFixed(file) {
				c.report.Compared.Files++
			}
		}
	}
	c.report.Compared.Skills, c.report.Compared.Min = len(c.names), least
	c.group(least)
	return c
}

// look finds out what the ops of groups depend on in their skills.
func (c *comparison) look(groups []*group) {
	moves := map[*heldOp]bool{}
	in := map[*holder]bool{}
	for _, g := range groups {
		for _, o := range g.ops {
			moves[o], in[o.in] = true, true
		}
	}
	for h := range in {
		h.findUses(func(o *heldOp) bool { return moves[o] })
		h.flow = findFlow(h.tree)
		_, err := skill.Require(h.files[h.tree.File].Data, "a")
		h.closed = err != nil
		c.faultsOf(h)
	}
}

// group finds names of one meaning, and conflicts.
func (c *comparison) group(least int) {
	byName, byBody := map[string][]*heldOp{}, map[string][]*heldOp{}
	for _, name := range c.names {
		for _, o := range c.holders[name].ops {
			if k, reserved := tree.Primitive(o.Name); reserved && k != tree.Explore {
				continue // nothing calls it
			}
			byName[o.Name] = append(byName[o.Name], o)
			if o.Kind != tree.EmptyBody {
				byBody[o.body] = append(byBody[o.body], o)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		ops := byName[name]
		meanings := meaningsOf(ops)
		switch {
		case skillsOf(ops) < least:
		case len(meanings) > 1:
			c.report.Conflicts = append(c.report.Conflicts, Conflict{OneName, name, meanings})
		case ops[0].Kind != tree.EmptyBody:
			c.groups = append(c.groups, &group{name: name, digest: ops[0].whole, ops: ops})
		}
	}
	for _, ops := range byBody {
		if meanings := meaningsOf(ops); len(meanings) > 1 && skillsOf(ops) >= least {
			c.report.Conflicts = append(c.report.Conflicts, Conflict{OneBody, "", meanings})
		}
	}
}

// skillsOf counts the skills of ops, which are sorted by them.
func skillsOf(ops []*heldOp) (n int) {
	for i, o := range ops {
		if i == 0 || o.in != ops[i-1].in {
			n++
		}
	}
	return n
}

// meaningsOf groups ops by name and body, the most frequent first.
func meaningsOf(ops []*heldOp) (out []Meaning) {
	at := map[string]int{}
	for _, o := range ops {
		i, ok := at[o.whole]
		if !ok {
			i = len(out)
			at[o.whole] = i
			out = append(out, Meaning{Name: o.Name, Digest: o.whole})
		}
		out[i].Places = append(out[i].Places, o.place())
	}
	order.Stable(out, func(a, b Meaning) int {
		return cmp.Or(len(b.Places)-len(a.Places), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	return out
}

// faultsOf are the errors of the rules of trees in a skill as it is, found once.
func (c *comparison) faultsOf(h *holder) []diag.Finding {
	if !h.checked {
		h.checked, h.faults = true, errorsOf(check.CheckWith(h.tree, c.provides(h, nil)))
	}
	return h.faults
}

// errorsOf are the errors among findings.
func errorsOf(found []diag.Finding) []diag.Finding {
	return slices.DeleteFunc(found, func(f diag.Finding) bool { return f.Severity != diag.SeverityError })
}

// provides tells the ops that the skills which h requires define, as far as they are compared. Other has some of them as they will be.
func (c *comparison) provides(h *holder, other map[string]*holder) func(string) bool {
	var needs []*holder
	for _, name := range h.tree.Doc.Required() {
		if o := cmp.Or(other[name], c.holders[name]); o != nil && name != h.name {
			needs = append(needs, o)
		}
	}
	return func(op string) bool {
		return slices.ContainsFunc(needs, func(o *holder) bool { return o.tree.Op(op) != nil })
	}
}

// A bond keeps a group where it is if another stays.
type bond struct {
	group *group
	why   string
}

// settle leaves the groups that can move together. The others have a reason, and are in the report.
func (c *comparison) settle(groups []*group) []*group {
	in := map[string]*group{}
	for _, g := range groups {
		in[g.name] = g
	}
	bonds := map[*group][]bond{}
	var gone []*group
	drop := func(g *group, reason string) {
		if reason != "" && g.reason == "" {
			g.reason = reason
			gone = append(gone, g)
		}
	}
	stayers := c.stayers(in)
	for _, g := range groups {
		for _, o := range g.ops {
			drop(g, o.stays())
		}
		drop(g, g.takeFiles(stayers))
		for _, name := range g.callees() {
			if other := in[name]; other == nil || !covers(other, g) {
				drop(g, "it calls or names "+shown(name)+", which is not shared too")
			} else {
				bonds[other] = append(bonds[other], bond{g, "it calls or names " + shown(name) + ", which stays"})
			}
		}
	}
	for _, pair := range sharers(groups) {
		bonds[pair[0]] = append(bonds[pair[0]], bond{pair[1], "it uses a file with " + shown(pair[0].name) + ", which stays"})
	}
	for len(gone) > 0 {
		g := gone[0]
		gone = gone[1:]
		c.leave(g)
		for _, b := range bonds[g] {
			drop(b.group, b.why)
		}
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return g.reason != "" })
}

// stayers are the ops that use each file of a skill and are in no group that may move.
func (c *comparison) stayers(in map[string]*group) map[[2]string]string {
	out := map[[2]string]string{}
	for _, name := range c.names {
		h := c.holders[name]
		for _, o := range h.ops {
			if in[o.Name] == nil {
				for _, file := range h.uses.byOp[o] {
					out[[2]string{name, file}] = "the op " + o.Name
				}
			}
		}
	}
	return out
}

// covers reports whether every skill that holds g holds other.
func covers(other, g *group) bool {
	has := map[string]bool{}
	for _, o := range other.ops {
		has[o.in.name] = true
	}
	return !slices.ContainsFunc(g.ops, func(o *heldOp) bool { return !has[o.in.name] })
}

// sharers pairs the groups that use a file of a skill in a ring, so that if one stays all do.
func sharers(groups []*group) (pairs [][2]*group) {
	users := map[[2]string][]*group{}
	for _, g := range groups {
		for _, o := range g.ops {
			for _, file := range o.in.uses.byOp[o] {
				key := [2]string{o.in.name, file}
				users[key] = append(users[key], g)
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(users), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		list := users[key]
		for i, g := range list {
			if next := list[(i+1)%len(list)]; next != g {
				pairs = append(pairs, [2]*group{g, next})
			}
		}
	}
	return pairs
}

// callees are the ops that g calls, and those of a skill that its text names, itself aside, each once.
func (g *group) callees() (out []string) {
	seen := map[string]bool{g.name: true}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	if t := g.ops[0].Tree; t != nil {
		tree.Walk(t.Nodes, func(n *tree.Node) bool {
			if n.Kind == tree.Call {
				add(n.Name)
			}
			return true
		})
	}
	for _, o := range g.ops {
		for word := range strings.FieldsFuncSeq(o.text, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			if o.in.byName[word] != nil {
				add(word)
			}
		}
	}
	return out
}

// takeFiles finds the files that move with g; or why they cannot.
func (g *group) takeFiles(stayers map[[2]string]string) string {
	first := g.ops[0]
	g.files = first.in.uses.byOp[first]
	for _, o := range g.ops {
		files := o.in.uses.byOp[o]
		if !slices.Equal(files, g.files) {
			return "it does not refer to the same files in " + first.in.name + " and " + o.in.name
		}
		for _, name := range files {
			if reason := o.in.unmovable(name); reason != "" {
				return reason
			}
			if who := stayers[[2]string{o.in.name, name}]; who != "" {
				return shown(name) + " is used by " + shown(who) + " too"
			}
			a, b := first.in.files[name], o.in.files[name]
			if string(a.Data) != string(b.Data) || a.Executable != b.Executable {
				return shown(name) + " is not the same in " + first.in.name + " and " + o.in.name
			}
		}
	}
	return ""
}

// stays says why an op cannot leave its skill, "" if nothing in the op or around it keeps it there.
func (o *heldOp) stays() string {
	h := o.in
	switch agent := h.tree.Agent; {
	case o.Name == tree.Explore.String():
		return "the primitive EXPLORE finds it in its own skill alone"
	case agent != nil && agent.Op == o.Name:
		return "the Agent section of " + h.name + " executes it"
	case len(h.byName[o.Name]) > 1:
		return h.name + " defines it twice"
	case strings.Contains(o.text, "../") || strings.Contains(o.text, "<skills-root>"):
		return "its text names a path that leaves the skill"
	}
	for _, f := range h.faults {
		if f.File == o.Pos.File && o.Pos.Line <= f.Line && f.Line < o.End {
			return "lint finds an error in it: " + f.Message
		}
	}
	switch {
	case h.closed:
		return "the frontmatter of " + h.name + " takes no entry"
	case h.uses.lost:
		return "the files of " + h.name + " refer to each other in more ways than are followed"
	case h.flow.files[o.Pos.File]:
		return "a step of " + h.name + " reads " + shown(o.Pos.File)
	case h.flow.inline[o.Name]:
		return "a step of " + h.name + " calls it with text behind its name, which is a call within its skill alone"
	}
	if reason := o.readsNothing(); reason != "" {
		return reason
	}
	return h.flow.crossing(o.Op)
}

// readsNothing says which path of a step leads to no file that is known now.
func (o *heldOp) readsNothing() (reason string) {
	if o.Tree == nil {
		return ""
	}
	tree.Walk(o.Tree.Nodes, func(n *tree.Node) bool {
		if n.Kind != tree.Read && n.Kind != tree.Verify || n.Path == "" || reason != "" {
			return reason == ""
		}
		_, there := o.in.files[path.Clean(n.Path)]
		_, mapped := o.in.files[resource.Mapped(n.Path)]
		switch category := resource.CategoryOf(n.Path); {
		case strings.ContainsAny(n.Path, "<>{}$*\\") && category != resource.Project:
			reason = "it reads " + shown(n.Path) + ", which is known only when it runs"
		case !there && !mapped && (category != resource.Project || n.Kind == tree.Verify):
			reason = "it reads " + shown(n.Path) + ", which does not exist"
		}
		return true
	})
	return reason
}
