package install

import (
	"cmp"
	"slices"
	"sort"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// Action is what happens to one skill.
type Action string

const (
	Add    Action = "add"
	Update Action = "update"
	Remove Action = "remove"
	Keep   Action = "keep"
	Link   Action = "link" // content stays, links to it change
	Held   Action = "held" // has local edits, so it stays as it is
)

// A Change is one line of what an install does. Its JSON form is part of the contract of
// "skl install --json".
type Change struct {
	Action      Action      `json:"action"`
	Name        string      `json:"name"`
	From        string      `json:"from"` // version before
	To          string      `json:"to"`   // version after
	Version     string      `json:"version"`
	Source      string      `json:"source"`
	Commit      ref.Commit  `json:"commit"`
	Digest      string      `json:"digest"`
	Root        string      `json:"root"`
	MovedFrom   string      `json:"moved_from,omitempty"` // the root that it lies in now, if that is another
	Links       []string    `json:"links"`
	Copies      bool        `json:"copies,omitempty"` // at the places of Links are copies
	Files       int         `json:"files"`
	Bytes       int64       `json:"bytes"`
	Permissions Permissions `json:"permissions"`
	Signer      string      `json:"signer"`
	RequiredBy  []string    `json:"required_by,omitempty"` // other skills of the lock
	// Hosts is what the agents of skl.toml do with what was added or updated. It is empty before an Apply.
	Hosts []roots.HostUse `json:"hosts"`

	want lock.Skill
	have Have
	plan plan

	stays []string
}

// Before is the tree digest of the release that is there now, "" if there is none.
func (c Change) Before() string { return string(c.have.Receipt.Tree) }

// Moves reports whether all that changes is the root.
func (c Change) Moves() bool {
	return c.MovedFrom != "" && c.Action == Update && c.have.Strays[0].Receipt.Tree == c.want.Tree
}

// Stays are the paths of copies that someone edited and that stay as they are.
func (c Change) Stays() []string { return c.stays }

// Spared reports whether the skill stays as it is because its receipt cannot be used.
func (c Change) Spared() bool { return c.have.Spared }

// Linked are the paths of links and copies that are made.
func (c Change) Linked() []string { return c.plan.addLinks }

// Unlinked is the paths of links that go.
func (c Change) Unlinked() []string { return c.plan.dropLinks }

// Permissions is how what a skill asks for changes.
type Permissions struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// plan is what a change does to paths.
type plan struct {
	content   bool     // the directory is replaced (or removed)
	backup    bool     // the old directory is kept aside
	receipt   bool     // the receipt is written (or removed)
	addLinks  []string // absolute paths that get a link
	dropLinks []string // absolute paths of our links that go
	keepLinks []string // those of addLinks where an edited copy is kept in a backup
}

// Changes is what an install will do, decided before it writes.
type Changes struct {
	List []Change
	// Conflicts are skills whose place belongs to someone else, or which have
	// local edits that a change would lose. While there is one, nothing is done.
	Conflicts []Conflict
}

// A Conflict is why a change cannot be made.
type Conflict struct {
	Name string
	Path string
	Why  Why
	Diff []string // what differs, for edits: "changed SKILL.md"

	blocks bool // the way: a digest of what is there would say nothing
}

// Why a Conflict exists.
type Why string

const (
	Foreign Why = "foreign" // the path is not skl's
	Edited  Why = "edited"  // it has local edits
	// EditedCopy is a copy in place of a link that has local edits.
	EditedCopy Why = "edited copy"
	// LeftCopy is such a copy of a skill that is removed: an agent would go on loading it.
	LeftCopy Why = "left copy"
	// Disabled is a skill that was put aside, and that its new root would bring back.
	Disabled Why = "disabled"
)

// Any reports whether something would be written.
func (c Changes) Any() bool {
	return slices.ContainsFunc(c.List, func(c Change) bool { return c.Action != Keep && c.Action != Held || c.plan.receipt })
}

// Options of a Diff.
type Options struct {
	Force bool // replace local edits, after a backup
	Hold  bool // leave edited skills as they are instead of a conflict
	Prune bool // remove skills that are not wanted any more
	Links []string
	Copy  bool // link roots hold copies instead of links

	Homes    map[string]string   // by skill: its root, where that is not the one of the Diff
	LinksOf  map[string][]string // by root: instead of Links
	LinksFor map[string][]string // by skill: instead of both
}

// home is the root of a skill, and the directories that get a link to it.
func (o Options) home(root, name string) (home string, links []string) {
	home, links = cmp.Or(o.Homes[name], o.Homes[""], root), o.Links
	if home != root {
		links = o.LinksOf[home]
	}
	if own, ok := o.LinksFor[name]; ok {
		links = own
	}
	return home, links
}

// homes are the roots to which something is written, sorted.
func (c Changes) homes() (dirs []string) {
	for _, change := range c.List {
		if change.plan.receipt && change.Action != Remove {
			dirs = append(dirs, change.Root)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Diff compares what is wanted with what is there. It reads no files.
// Have holds every skill that skl installed in the root, and whatever lies at the place of
// a wanted one.
func Diff(root string, want []lock.Skill, have map[string]Have, opt Options) Changes {
	var out Changes
	for _, w := range want {
		c, conflicts := diffOne(root, w, have[w.Name], opt)
		out.List = append(out.List, c)
		out.Conflicts = append(out.Conflicts, conflicts...)
	}
	for name, h := range have {
		if !opt.Prune || h.Spared || !h.Managed && h.Unusable == "" || slices.ContainsFunc(want, func(s lock.Skill) bool { return s.Name == name }) {
			continue
		}
		c := Change{Action: Remove, Name: name, From: h.Receipt.Version, Version: h.Receipt.Version, Source: h.Receipt.Source,
			Commit: h.Receipt.Commit, Digest: string(h.Receipt.Tree), Root: cmp.Or(opt.Homes[name], opt.Homes[""], root), Links: []string{}, have: h}
		c.plan = plan{content: h.Present || h.Empty, receipt: true, dropLinks: h.OurLinks}
		if h.Unusable != "" { // the directory is skl's if the lock had it
			c.plan.content = h.Present && h.Receipt.Name != ""
			c.plan.backup = c.plan.content && h.Tree != h.Receipt.Tree
		}
		if h.Edits != nil {
			if !opt.Force {
				out.Conflicts = append(out.Conflicts, Conflict{Name: name, Path: h.Path, Why: Edited, Diff: h.Edits})
			}
			c.plan.backup = true
		}
		for _, path := range editedPlaces(h) {
			switch {
			case opt.Force:
				c.plan.keepLinks = append(c.plan.keepLinks, path)
			case slices.Contains(h.Replaced, path):
				c.stays = append(c.stays, path)
			default:
				out.Conflicts = append(out.Conflicts, Conflict{Name: name, Path: path, Why: LeftCopy})
			}
		}
		out.Conflicts = append(out.Conflicts, c.strayEdits(h, opt)...)
		out.List = append(out.List, c)
	}
	sort.Slice(out.List, func(i, j int) bool { return out.List[i].Name < out.List[j].Name }) // slices.SortFunc is 25 kB of program for each large type
	sort.Slice(out.Conflicts, func(i, j int) bool {
		a, b := out.Conflicts[i], out.Conflicts[j]
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) < 0
	})
	for i := range out.List {
		out.List[i].Hosts = []roots.HostUse{}
		p := &out.List[i].Permissions
		p.Added, p.Removed = append([]string{}, p.Added...), append([]string{}, p.Removed...)
	}
	return out
}

func diffOne(root string, w lock.Skill, h Have, opt Options) (Change, []Conflict) {
	var conflicts []Conflict
	root, links := opt.home(root, w.Name)
	c := Change{Name: w.Name, To: w.Version, Version: w.Version, Source: w.Source, Commit: w.Commit, Digest: string(w.Tree),
		Root: root, Links: []string{}, Copies: opt.Copy, Files: w.Files, Bytes: w.Bytes, Signer: signedBy(w.Signer), RequiredBy: w.RequiredBy, want: w, have: h}
	c.Permissions.Added, c.Permissions.Removed = compare(h.Permissions, w.Permissions)
	if h.Spared {
		c.Action, c.From = Held, h.Receipt.Version
		if h.Receipt.Tree != w.Tree {
			conflicts = append(conflicts, Conflict{Name: w.Name, Path: h.Path, Why: Edited, Diff: []string{"its receipt cannot be used"}})
		}
		return c, conflicts
	}
	switch {
	case !h.Present:
		c.Action, c.plan.content, c.plan.receipt = Add, true, true
	case !h.Managed && h.Tree == w.Tree:
		c.Action, c.plan.receipt = Keep, true // the very same files: only the receipt was missing
	case !h.Managed:
		c.Action, c.plan.content, c.plan.receipt, c.plan.backup = Update, true, true, true
		if c.From = h.Receipt.Version; h.Unusable == "" {
			conflicts = append(conflicts, Conflict{Name: w.Name, Path: h.Path, Why: Foreign, blocks: h.Tree == ""})
		}
	case h.Damaged != nil && h.Receipt.Tree == w.Tree:
		c.Action, c.From, c.plan.content, c.plan.receipt = Update, h.Receipt.Version, true, true // nobody's work is lost
	case h.Edits == nil && h.Receipt.Tree == w.Tree:
		c.Action, c.From = Keep, h.Receipt.Version
		c.plan.receipt = OtherRelease(h.Receipt, w) != "" || signedBy(h.Receipt.Signer) != signedBy(w.Signer) || h.Receipt.CopyOf != "" || h.Unmerged
	case h.Edits == nil:
		c.Action, c.From, c.plan.content, c.plan.receipt = Update, h.Receipt.Version, true, true
	case opt.Force:
		c.Action, c.From, c.plan.content, c.plan.receipt, c.plan.backup = Update, h.Receipt.Version, true, true, true
	case h.Receipt.Tree == w.Tree || opt.Hold:
		c.Action, c.From, c.To, c.Version = Held, h.Receipt.Version, h.Receipt.Version, h.Receipt.Version
	default:
		c.Action, c.From = Held, h.Receipt.Version
		conflicts = append(conflicts, Conflict{Name: w.Name, Path: h.Path, Why: Edited, Diff: h.Edits})
	}
	if len(h.Strays) > 0 {
		c.plan.receipt, c.MovedFrom = true, h.Strays[0].Root
		switch c.Action {
		case Keep:
			c.Action = Link
		case Add:
			c.Action, c.From = Update, h.Strays[0].Receipt.Version
		}
	}
	conflicts = append(conflicts, c.strayEdits(h, opt)...)
	opt.Links = links
	conflicts = append(conflicts, c.diffLinks(h, opt)...)
	return c, conflicts
}

// strayEdits are the conflicts of a skill that moved and was edited where it lay.
func (c *Change) strayEdits(h Have, opt Options) (conflicts []Conflict) {
	for _, at := range h.Strays {
		switch {
		case at.Off:
			conflicts = append(conflicts, Conflict{Name: c.Name, Path: at.Path, Why: Disabled})
		case at.Edits != nil && !opt.Force:
			conflicts = append(conflicts, Conflict{Name: c.Name, Path: at.Path, Why: Edited, Diff: at.Edits})
		}
	}
	return conflicts
}

// editedPlaces are the places of copies that someone edited, sorted.
func editedPlaces(h Have) (paths []string) {
	for path, state := range h.Links {
		if state == LinkEdited {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// signedBy is a signer as people know it: an identity, or a key's fingerprint. It is "" for nobody.
func signedBy(s *lock.Signer) string {
	if s == nil {
		return ""
	}
	if s.Kind != "" && s.Identity == "" {
		return s.Kind + " key " + s.Key
	}
	return cmp.Or(s.Identity, s.Key)
}

// diffLinks decides which links are made and dropped. A link that is there and right stays.
func (c *Change) diffLinks(h Have, opt Options) []Conflict {
	var conflicts []Conflict
	if h.Disabled {
		return nil
	}
	for _, path := range opt.Links {
		path = join(path, c.Name)
		if h.Links[path] == LinkHome {
			continue
		}
		c.Links = append(c.Links, path)
		switch h.Links[path] {
		case LinkMissing, LinkStale:
			if c.Action != Held || !opt.Copy || h.Receipt.Tree == c.want.Tree {
				c.plan.addLinks = append(c.plan.addLinks, path)
			}
		case LinkOurs:
			if opt.Copy && c.plan.content {
				c.plan.addLinks = append(c.plan.addLinks, path)
			}
		case LinkForeign:
			conflicts = append(conflicts, Conflict{Name: c.Name, Path: cmp.Or(h.Above[path], path), Why: Foreign, blocks: true})
		case LinkEdited:
			switch {
			case opt.Force:
				c.plan.addLinks, c.plan.keepLinks = append(c.plan.addLinks, path), append(c.plan.keepLinks, path)
			case c.plan.content && c.Before() != c.Digest:
				conflicts = append(conflicts, Conflict{Name: c.Name, Path: path, Why: EditedCopy})
			default:
				c.stays = append(c.stays, path)
			}
		}
	}
	for _, path := range h.OurLinks {
		if !slices.Contains(c.Links, path) {
			c.plan.dropLinks = append(c.plan.dropLinks, path)
		}
	}
	if len(c.plan.addLinks)+len(c.plan.dropLinks) > 0 {
		c.plan.receipt = true
		if c.Action == Keep {
			c.Action = Link
		}
	}
	return conflicts
}

func compare(old, now []string) (added, removed []string) {
	rules := func(p string) bool { return audit.Marked([]string{p}) }
	old, now = slices.DeleteFunc(slices.Clone(old), rules), slices.DeleteFunc(slices.Clone(now), rules)
	for _, p := range now {
		if !slices.Contains(old, p) {
			added = append(added, p)
		}
	}
	for _, p := range old {
		if !slices.Contains(now, p) {
			removed = append(removed, p)
		}
	}
	return added, removed
}
