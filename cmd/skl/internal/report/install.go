package report

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// Installed is what --json prints of install, update, remove, ci and lock.
type Installed struct {
	OK      bool             `json:"ok"`
	Changes []install.Change `json:"changes"`
	Lock    string           `json:"lock"`                  // changed or unchanged
	Refused []apply.Held     `json:"refused,omitempty"`     // of a dry run: updates that need --accept
	Held    []apply.Held     `json:"held,omitempty"`        // of --all: what was left out, and why; then "ok" is false
	Passed  []apply.Passed   `json:"passed_over,omitempty"` // what looks like a skill there and is none to skl
	Gone    []apply.Gone     `json:"gone,omitempty"`        // skills that their source no longer holds, which stay
	Ungated []apply.Ungated  `json:"ungated,omitempty"`     // limits that skills set and agents do not keep
	Unmet   []apply.Unmet    `json:"unmet,omitempty"`       // what skills that are new here say they need, and is not there
	Kept    []apply.Kept     `json:"kept,omitempty"`        // skills that were not to have what they ask for anew, which stay

	Budgets []roots.HostBudget `json:"budgets,omitempty"` // of the agents that tell their models a part only of the skills that are here now

	Merged  []scope.Merged     `json:"merged,omitempty"`  // of lock: what was taken of two sides of a merge
	Derived []apply.Derivation `json:"derived,omitempty"` // skills made from another package than before, or derived from one by hand

	Resolved []string `json:"resolved,omitempty"` // of lock: the files that held the markers of a merge
	Next     []string `json:"next,omitempty"`     // of such a lock: the commands that end the merge
	Unlinked []string `json:"unlinked,omitempty"` // of remove: names that were links, whose folders stay
}

// A Desk puts reports together that need more than the result of a use case: how a path is written, which agents read a root, what the
// store holds of two releases. It changes nothing.
type Desk struct {
	Scope   *scope.Scope
	Apply   *apply.Applier
	Inspect *inspect.Inspector
}

// Install is the report of an install, an update, a removal or a ci. Where skills were held it ends with exit 3; a dry run ends with exit 4 where
// the command itself would, since nobody agreed to what a skill asks for.
func (d *Desk) Install(r apply.Result) Report {
	return d.report(r, func(t *Text) { d.installText(t, r) })
}

func (d *Desk) report(r apply.Result, text func(*Text)) Report {
	out := Report{Result: installed(r), Text: text}
	switch {
	case len(r.Asks.Refused) > 0: // of a dry run
		out.End = Refused(r.Asks.Refused[0].Code)
	case slices.ContainsFunc(r.Stays.Held, func(h apply.Held) bool { return h.Code == "blocked" }):
		out.End = Refused("blocked")
	case len(r.Stays.Held) > 0:
		out.End = Unmet("held")
	}
	return out
}

// Lock is the report of a lock, which installs nothing. It ends as Install does.
func (d *Desk) Lock(r apply.Result) Report {
	return d.report(r, func(t *Text) {
		for _, wish := range r.Asks.Wishes {
			wish.Warn(t)
		}
		for _, m := range r.Remarks.Merged {
			t.Print("%s", m)
		}
		if at := filepath.Join(d.Scope.Base, "skl.toml"); slices.Contains(r.Remarks.Resolved, at) {
			t.Print("%s: both sides in one", d.Scope.Short(at))
		}
		t.Print("%s: %s, %s", d.Scope.Short(filepath.Join(d.Scope.Base, "skl.lock")), diag.Count(len(r.Lock.Skills), "skill"), r.LockState)
		if !r.DryRun {
			for _, next := range r.Remarks.Next {
				t.Hint("%s", next)
			}
		}
		if held := r.Stays.Held; len(held) > 0 {
			t.held(held)
			t.Note("held %s", diag.Count(len(held), "skill"))
		}
	})
}

func installed(r apply.Result) Installed {
	return Installed{OK: len(r.Stays.Held)+len(r.Asks.Refused) == 0, Changes: append([]install.Change{}, r.Changes.List...), Lock: r.LockState,
		Held: r.Stays.Held, Gone: r.Stays.Gone, Kept: r.Stays.Kept, Refused: r.Asks.Refused,
		Passed: r.Remarks.Passed, Unmet: r.Remarks.Unmet, Ungated: r.Remarks.Ungated, Derived: r.Remarks.Derived, Budgets: r.Remarks.Budgets,
		Merged: r.Remarks.Merged, Resolved: r.Remarks.Resolved, Next: r.Remarks.Next, Unlinked: r.Unlinked}
}

func (d *Desk) installText(t *Text, r apply.Result) {
	t.Passed(r.Remarks.Passed)
	for _, name := range r.Unlinked {
		t.Note("%s was a link; its folder is left as it is", name)
	}
	held := r.Stays.Held
	if len(held) == 0 || len(r.Changes.List) > 0 {
		d.changes(t, r)
	}
	if len(held) > 0 {
		t.held(held)
		t.Note("held %s%s", diag.Count(len(held), "skill"), map[bool]string{true: "; --all --strict installs all or nothing"}[r.All])
	}
}

// Passed says what was passed over beside the skills that were taken.
func (t *Text) Passed(passed []apply.Passed) {
	for _, p := range passed[:min(len(passed), MostNamed)] {
		t.Warn("passed over %s: %s", p.Path, p.Reason)
	}
	if n := len(passed) - MostNamed; n > 0 {
		t.Warn("passed over %d more; to see which, and why: add --list", n)
	}
}

// MostNamed is the number of things of one kind that are named one by one beside what was asked for.
const MostNamed = 8

func (t *Text) held(held []apply.Held) {
	t.Page(func(k screen.Look) string { return draw.Held(k, held) }, func(t *Text) {
		for _, h := range held {
			name := cmp.Or(h.Name, h.Path)
			t.Print("held %s  %s", name, h.Why)
			for _, hint := range h.Hints {
				t.Hint("%s: %s", name, hint)
			}
		}
	})
}

// changes says what became of each skill, and what that means.
func (d *Desk) changes(t *Text, r apply.Result) {
	for _, g := range r.Stays.Gone {
		t.Warn("%s is gone upstream %s, and stays as it is; to remove it: skl remove %s", Versioned(g.Name, g.Version), g.Since, g.Name)
	}
	for _, k := range r.Stays.Kept {
		t.Warn("kept %s", Versioned(k.Name, k.Version))
	}
	for _, wish := range r.Asks.Wishes {
		wish.Warn(t)
	}
	if len(r.Changes.List) == 0 && len(r.Unlinked) > 0 {
		return // there was nothing but links
	}
	if r.DryRun {
		d.planned(t, r)
	} else {
		t.Either(func(t *Text) { d.drawn(t, r) }, func(t *Text) { d.listed(t, r) })
	}
	t.unmet(r.Remarks.Unmet)
	d.ungated(t, r.Remarks.Ungated)
}

// planned says what a dry run would do.
func (d *Desk) planned(t *Text, r apply.Result) {
	for _, h := range r.Asks.Refused {
		t.Print("would hold %s  %s", h.Name, h.Why)
		for _, hint := range h.Hints {
			t.Note("hint: %s", hint)
		}
	}
	if len(r.Asks.Refused) > 0 {
		t.Note("nothing was changed (--dry-run), and the command would change nothing either")
		return
	}
	for _, c := range r.Changes.List {
		d.change(t, c, r, "would")
	}
	d.why(t, r)
	if d.done(t, r, "nothing was changed (--dry-run)") {
		t.Note("nothing was changed (--dry-run)")
	}
}

// listed is what became of skills line by line, none cut.
func (d *Desk) listed(t *Text, r apply.Result) {
	for _, c := range r.Changes.List {
		d.change(t, c, r, screen.Done)
	}
	d.why(t, r)
	if d.done(t, r, "done") {
		d.after(t, r, d.sequel(r))
	}
}

// drawn is the same on a terminal: what was added as one page, and below it the changes of others.
func (d *Desk) drawn(t *Text, r apply.Result) {
	var added []draw.Added
	for _, c := range r.Changes.List {
		if c.Action == install.Add {
			added = append(added, d.added(c, r.Lock, r.Asks.Asked))
			d.kept(t, c.Name, r)
		}
	}
	sequel := d.sequel(r)
	if len(added) > 0 {
		sequel.Undo = undoAdded(added, r.Lock)
		t.Draw(func(k screen.Look) string { return draw.After(k, added, sequel, d.Apply.AgentsOf, diag.Size) })
	}
	d.why(t, r)
	for _, c := range r.Changes.List {
		switch {
		case c.Action == install.Add:
		case d.isUpdate(c):
			t.Draw(func(k screen.Look) string {
				return draw.Update(k, draw.Updated{Name: c.Name, From: c.From, To: c.To, Content: d.Apply.ContentChange(c), Asks: changesOf(r, c)})
			})
			d.stays(t, c, r)
		default:
			d.change(t, c, r, screen.Done)
		}
	}
	if !d.done(t, r, "done") || len(added) > 0 {
		return
	}
	if sequel.Undo = undo(r); sequel.Undo != "" {
		t.Draw(func(k screen.Look) string { return draw.Next(k, sequel) })
		return
	}
	d.after(t, r, sequel)
}

// sequel is what agents make of changes, and what git is to be given; without the way back.
func (d *Desk) sequel(r apply.Result) draw.Sequel {
	s := draw.Sequel{Commit: d.Apply.Committable(r)}
	s.Notes, s.Usual = d.usesOf(r.Changes)
	for _, b := range r.Remarks.Budgets {
		s.Notes = append(s.Notes, inspect.BudgetLine(b)+"; skl doctor says what helps")
	}
	return s
}

// undoAdded is the command that takes away what was added: by what the skills come from, if that is shorter than their names.
func undoAdded(added []draw.Added, l *lock.Lock) string {
	names := make([]string, len(added))
	for i, a := range added {
		names[i] = a.Name
	}
	if len(names) > fewNames {
		if from := apply.Origin(l, names); from != "" {
			return "skl remove --from " + diag.Quote(from)
		}
	}
	if len(names) > manyNames {
		return ""
	}
	return "skl remove " + strings.Join(names, " ")
}

// why says of the first skills that were added where nobody said where that they are in the user's own directory.
func (d *Desk) why(t *Text, r apply.Result) {
	adds := slices.ContainsFunc(r.Changes.List, func(c install.Change) bool { return c.Action == install.Add })
	switch {
	case !adds || !d.Scope.ByDefault():
	case d.Scope.MayStart():
		t.Note("for you, in every project: this directory is in none. For this directory alone: skl init, then the same here")
	default:
		t.Note("for you, in every project")
	}
}

// isUpdate reports whether a change is another version, or other bytes of one.
func (d *Desk) isUpdate(c install.Change) bool {
	switch c.Action {
	case install.Update:
		return !c.Moves() && (c.From != c.To || c.Before() != c.Digest)
	case install.Keep:
		return c.From != "" && c.From != c.To
	}
	return false
}

// done sums up, and reports whether anything changed: then more is to be said.
func (d *Desk) done(t *Text, r apply.Result, verb string) bool {
	c := r.Changes
	if !c.Any() && r.LockState == "unchanged" {
		if len(c.List) == 0 {
			t.none()
			return false
		}
		with := " with skl.lock" // and nobody asked whether there is anything else
		if r.Compared {
			with = ""
		}
		t.Print("%s up to date%s in %s", diag.Count(len(c.List), "skill"), with, d.rootsOf(c.List))
		return false
	}
	count := map[install.Action]int{}
	for _, change := range c.List {
		count[change.Action]++
	}
	var parts []string
	for _, a := range []install.Action{install.Add, install.Update, install.Remove, install.Link, install.Held} {
		if count[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[a], a))
		}
	}
	t.Detail("%s: %s", verb, strings.Join(parts, ", "))
	return true
}

// after says what to commit, and which agents load what is new.
func (d *Desk) after(t *Text, r apply.Result, s draw.Sequel) {
	if r.LockState == "changed" {
		wrote := []string{d.Scope.Short(filepath.Join(d.Scope.Base, "skl.toml")), d.Scope.Short(filepath.Join(d.Scope.Base, "skl.lock"))}
		commit := ""
		if len(s.Commit) > 0 {
			commit = ": commit them"
			if rest := slices.DeleteFunc(slices.Clone(s.Commit), func(at string) bool { return path.Base(at) == "skl.toml" || path.Base(at) == "skl.lock" }); len(rest) > 0 {
				commit += " with " + strings.Join(rest, " and ")
			}
		}
		t.Note("wrote %s%s", strings.Join(wrote, " and "), commit)
	}
	if !slices.ContainsFunc(r.Changes.List, func(c install.Change) bool { return c.Action == install.Add || c.Action == install.Update }) {
		return
	}
	for _, n := range s.Notes {
		t.Warn("%s", n)
	}
	if s.Usual != "" {
		t.Note("%s", s.Usual)
	}
}

// none says that there is nothing to say anything about.
func (t *Text) none() {
	t.Note("no skills are installed here")
	t.Hint("skl install OWNER/REPO")
}

// undo is the command that takes an update back: "" where it would not be one of a few versions that can be named.
func undo(r apply.Result) string {
	command, n := "skl install", 0
	for _, c := range r.Changes.List {
		if c.Action != install.Update && c.Action != install.Keep || c.From == c.To || c.From == "" {
			continue
		}
		s, _ := r.Lock.Skill(c.Name)
		parsed, err := ref.Parse(s.Ref)
		if n++; err != nil || s.RefKind != lock.Range || n > 3 {
			return ""
		}
		parsed.Version = c.From
		command += " " + diag.Quote(parsed.String())
	}
	if n == 0 {
		return ""
	}
	return command
}

// unmet says what skills need and is not there.
func (t *Text) unmet(all []apply.Unmet) {
	for _, u := range all {
		if u.Needs == "" {
			t.Warn("%s: %s", u.Name, u.Why)
			continue
		}
		t.Warn("%s", u)
		switch {
		case u.Why != "":
			t.Hint("%s", u.Why)
		case ref.IsWord(u.Needs):
			t.Hint("its files do not say where %s is: skl search %s", u.Needs, u.Needs)
		}
	}
}

// fewNames is how many skills a command that undoes an install names before it names what they come from.
const fewNames = 4

// manyNames is how many it names at most where they do not come from one place.
const manyNames = 12

// few is how many programs, hosts and others of a kind a line names.
const few = 5

// neededBy says which other skills a skill is there for.
func neededBy(c install.Change) string { return "needed by " + strings.Join(c.RequiredBy, ", ") }

// Proposed are the skills that an install is about to add.
func (d *Desk) Proposed(p apply.Proposal) (added []draw.Added) {
	for _, c := range p.Add {
		added = append(added, d.added(c, p.Lock, p.Asked))
	}
	return added
}

// added is a skill that is added, in the words of a reader.
func (d *Desk) added(c install.Change, l *lock.Lock, asked map[string]apply.Asked) draw.Added {
	s, _ := l.Skill(c.Name)
	a := draw.Added{Name: c.Name, Version: c.To, Source: draw.From(c.Source, s.URL), Files: c.Files, Bytes: c.Bytes, Signed: d.Apply.SignedWord(c, l), Root: d.Scope.Short(c.Root), Copies: c.Copies, Asks: asked[c.Name].Report.Summary(few)}
	for _, link := range c.Links {
		a.Links = append(a.Links, d.Scope.Short(filepath.Dir(link)))
	}
	if len(c.RequiredBy) > 0 {
		a.Asks = append([]string{neededBy(c)}, a.Asks...)
	}
	return a
}

// Versioned is a name with its version, if it has one.
func Versioned(name, version string) string { return strings.TrimSpace(name + " " + version) }

// change is one change, line by line, behind a mark or a word.
func (d *Desk) change(t *Text, c install.Change, r apply.Result, mark any) {
	where := d.Scope.Short(filepath.Join(c.Root, c.Name))
	kind := map[bool]string{false: "link", true: "copy"}[c.Copies]
	for _, l := range c.Links {
		where += ", " + kind + " in " + d.Scope.Short(filepath.Dir(l))
	}
	switch {
	case c.Action == install.Add:
		t.Print("%s add %s  %s, %s, %s  %s", mark, Versioned(c.Name, c.To), diag.Count(c.Files, "file"), diag.Size(c.Bytes), d.Apply.SignedWord(c, r.Lock), where)
		if len(c.RequiredBy) > 0 {
			t.Print("    %s", neededBy(c))
		}
		for _, line := range r.Asks.Asked[c.Name].Report.Summary(few) {
			t.Print("    %s", line)
		}
	case c.Action == install.Update && c.Moves():
		t.Print("%s move %s  %s → %s", mark, Versioned(c.Name, c.To), d.Scope.Short(c.MovedFrom), where)
	case c.Action == install.Update && !d.isUpdate(c):
		t.Print("%s restore %s  %s", mark, Versioned(c.Name, c.To), where)
	case d.isUpdate(c):
		versions := ""
		if c.From+c.To != "" {
			versions = " " + OrDash(c.From) + " → " + OrDash(c.To)
		}
		t.Print("%s update %s%s  %s%s", mark, c.Name, versions, d.Apply.ContentChange(c), where)
		for _, line := range changesOf(r, c) {
			t.Print("    %s", line)
		}
	case c.Action == install.Remove:
		t.Print("%s remove %s", mark, Versioned(c.Name, c.From))
	case c.Action == install.Link:
		if gone := c.Unlinked(); len(gone) > 0 {
			t.Print("%s unlink %s  %s", mark, c.Name, d.Scope.Short(gone[0]))
			break
		}
		t.Print("%s link %s  %s", mark, c.Name, where)
	case c.Spared():
		t.Warn("the receipt of %s cannot be used, so it stays as it is; skl check says why", c.Name)
	case c.Action == install.Held:
		t.Warn("%s has local edits and stays as it is; skl diff %s shows them", c.Name, c.Name)
	}
	d.stays(t, c, r)
}

// stays says which copies of a skill stay as they are, and where replaced files are.
func (d *Desk) stays(t *Text, c install.Change, r apply.Result) {
	for _, path := range c.Stays() {
		if c.Action == install.Remove {
			t.Warn("%s is not skl's and stays as it is; to have it gone, move it away", d.Scope.Short(path))
			continue
		}
		t.Warn("%s is a copy of %s that has local edits and stays as it is; skl install --force replaces it, after a backup", d.Scope.Short(path), c.Name)
	}
	d.kept(t, c.Name, r)
}

// changesOf is what an update asks for anew, and no longer.
func changesOf(r apply.Result, c install.Change) (lines []string) {
	for _, p := range r.Asks.Asked[c.Name].Changes {
		lines = append(lines, p.String())
	}
	return lines
}

// kept says what became of files that were replaced or damaged.
func (d *Desk) kept(t *Text, name string, r apply.Result) {
	for _, path := range r.Report.Backups[name] {
		t.Note("%s: the replaced files are kept in %s", name, d.Scope.Short(path))
	}
	if slices.Contains(r.Report.Healed, name) {
		t.Note("%s: the stored copy was damaged; it was fetched again", name)
	}
}
