package apply

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// Codes of what git does not carry from here to a clone.
const (
	codeIgnored  = "W_IGNORED"
	codeFileMode = "W_FILEMODE"
)

// An Uncarried is what a clone will not have of a skill that is committed, and why.
type Uncarried struct {
	Code, Message string
	Mend          string // what to do
}

// String is one line about it, for people.
func (u Uncarried) String() string { return u.Message + " [" + u.Code + "]" }

// committed are the files of skills that git is to carry, relative to the project and with slashes.
type committed struct {
	paths   []string
	scripts []string          // those that are executable
	skill   map[string]string // by path
	root    map[string]string // by path
}

// committed lists what the receipts of the project name, and the receipts, of skills that names holds. Directories that are reached by
// links hold nothing of the project.
func (a *Applier) committed(names func(string) bool) committed {
	c := committed{skill: map[string]string{}, root: map[string]string{}}
	if a.Scope.Kind != hosts.Project {
		return c
	}
	receipts, _ := a.Scope.Site.Receipts() // those that cannot be used are said elsewhere
	for i := range receipts {
		r := &receipts[i]
		home := a.Scope.Site.Home(r.Name)
		rel, err := filepath.Rel(a.Scope.Project, home)
		if _, off := a.Scope.Site.Place(r.Name); off || !names(r.Name) || err != nil || !filepath.IsLocal(rel) ||
			scope.Resolved(home) != filepath.Join(scope.Resolved(a.Scope.Project), rel) {
			continue
		}
		root := filepath.ToSlash(rel)
		add := func(p string) {
			c.paths = append(c.paths, p)
			c.skill[p], c.root[p] = r.Name, root
		}
		if at, err := filepath.Rel(a.Scope.Project, roots.ReceiptPath(home, r.Name)); err == nil {
			add(filepath.ToSlash(at))
		}
		for p, f := range r.Files {
			add(path.Join(root, r.Name, p))
			if f.Mode == bundle.Executable {
				c.scripts = append(c.scripts, path.Join(root, r.Name, p))
			}
		}
	}
	slices.Sort(c.paths)
	slices.Sort(c.scripts)
	return c
}

// addable are the paths that `git add` takes, from the working directory, to have skl.toml, skl.lock and the places: the directories of files
// of skills, by the files' paths in the project. What git ignores is left out, and what is neither there nor tracked. They are none outside of a repository.
func (a *Applier) addable(places map[string]string) []string {
	places = maps.Clone(places)
	for _, name := range []string{"skl.toml", "skl.lock"} {
		places[name] = name
	}
	paths := slices.Sorted(maps.Keys(places))
	hidden, err := a.Scope.Tracker.Hidden(a.Scope.Project, paths, nil)
	if errors.Is(err, files.ErrNoRepository) {
		return nil
	}
	for _, h := range hidden {
		delete(places, h.Path)
	}
	tracked, err := a.Scope.Tracker.Tracked(a.Scope.Project, paths) // a split index tells neither: then git says of a path what is wrong with it
	maps.DeleteFunc(places, func(p, _ string) bool {
		return err == nil && !slices.Contains(tracked, p) && !scope.Exists(filepath.Join(a.Scope.Project, filepath.FromSlash(p)))
	})
	var out []string
	for _, at := range slices.Compact(slices.SortedFunc(maps.Values(places), func(x, y string) int {
		return cmp.Or(cmp.Compare(rankOf(x), rankOf(y)), cmp.Compare(x, y))
	})) {
		at = filepath.Join(a.Scope.Project, filepath.FromSlash(at))
		if rel, err := filepath.Rel(a.Scope.WorkingDir, at); err == nil {
			at = rel
		}
		out = append(out, filepath.ToSlash(at))
	}
	return out
}

// rankOf is the order in which files are named: what a person writes, what skl wrote of it, and the rest.
func rankOf(place string) int {
	if i := slices.Index([]string{"skl.toml", "skl.lock"}, place); i >= 0 {
		return i
	}
	return 2
}

// Committable is what `git add` takes to have what a result changed: [Applier.addable]. They are none where the lock is as it was, and outside
// of a project.
func (a *Applier) Committable(r Result) []string {
	if r.LockState != "changed" || a.Scope.Kind != hosts.Project {
		return nil
	}
	places := map[string]string{}
	put := func(at string, copied bool) {
		rel, err := filepath.Rel(a.Scope.Project, at)
		if err != nil || !filepath.IsLocal(rel) {
			return
		}
		rel = filepath.ToSlash(rel)
		dir := path.Dir(rel)
		if copied {
			rel += "/SKILL.md"
		}
		places[rel] = dir
	}
	for _, c := range r.Changes.List {
		if c.Action != install.Held && (c.Action != install.Keep || c.From != c.To) {
			put(filepath.Join(c.Root, c.Name), true)
		}
		if c.MovedFrom != "" {
			put(filepath.Join(c.MovedFrom, c.Name), true)
		}
		for _, link := range slices.Concat(c.Linked(), c.Unlinked()) {
			put(link, c.Copies)
		}
	}
	return a.addable(places)
}

// Uncarried says which files of the skills that names holds a clone will not have as they are here: git ignores them, changes their bytes, or does not see
// that they are executable. vendor is that of skl.toml: with false nothing is committed, and with nil a project that ignores whole
// roots does not mean to. Nothing is known outside of a repository. No program is run.
func (a *Applier) Uncarried(vendor *bool, names func(string) bool) ([]Uncarried, error) {
	c := a.committed(names)
	if len(c.paths) == 0 || vendor != nil && !*vendor {
		return nil, nil
	}
	hidden, err := a.Scope.Tracker.Hidden(a.Scope.Project, c.paths, nil)
	if errors.Is(err, files.ErrNoRepository) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if vendor == nil {
		hidden = slices.DeleteFunc(hidden, c.whole)
	}
	var out []Uncarried
	if len(hidden) > 0 {
		if out, err = a.ignored(c, hidden); err != nil {
			return nil, err
		}
	}
	lost, err := a.Scope.Tracker.Unmarked(a.Scope.Project, slices.DeleteFunc(c.scripts, func(p string) bool {
		return slices.ContainsFunc(hidden, func(h files.Hidden) bool { return h.Path == p })
	}))
	for len(lost) > 0 {
		skill := c.skill[lost[0]]
		n := slices.IndexFunc(lost, func(p string) bool { return c.skill[p] != skill })
		if n < 0 {
			n = len(lost)
		}
		u := Uncarried{Code: codeFileMode, Message: fmt.Sprintf("core.fileMode is false here, so git does not see that %s of %s %s executable: a clone will not have that",
			diag.Count(n, "file"), skill, diag.IsAre(n)), Mend: "git update-index --add --chmod=+x"}
		for _, p := range lost[:n] {
			u.Mend += " " + diag.Quote(p)
		}
		out, lost = append(out, u), lost[n:]
	}
	if err != nil {
		return out, err
	}
	changed, err := a.converted(c)
	return append(out, changed...), err
}

// whole reports whether all of a root is ignored with h.
func (c committed) whole(h files.Hidden) bool { return len(h.At) <= len(c.root[h.Path]) }

// ignored puts hidden files into words, one line for each skill and pattern.
func (a *Applier) ignored(c committed, hidden []files.Hidden) (out []Uncarried, err error) {
	lines, rest, err := a.unhidden(c)
	if err != nil {
		return nil, err
	}
	by := func(h files.Hidden) string { return fmt.Sprint(c.skill[h.Path], "\x00", h.File, "\x00", h.Line) }
	count := map[string]int{}
	for _, h := range hidden {
		count[by(h)]++
	}
	for _, h := range hidden {
		n := count[by(h)]
		if n == 0 {
			continue // said
		}
		count[by(h)] = 0
		u := Uncarried{Code: codeIgnored, Message: fmt.Sprintf("%s of %s %s ignored by %s:%d (%s): a clone will not have %s", diag.Count(n, "file"), c.skill[h.Path], diag.IsAre(n),
			diag.Printable(a.Scope.Short(h.File)), h.Line, diag.Brief(diag.Printable(h.Pattern), 80), map[bool]string{true: "it", false: "them"}[n == 1])}
		stays := slices.ContainsFunc(rest, func(r files.Hidden) bool { return c.skill[r.Path] == c.skill[h.Path] })
		switch {
		case stays || len(lines) == 0:
			u.Mend = "git add -f " + diag.Quote(path.Join(c.root[h.Path], c.skill[h.Path]))
		case c.whole(h):
			u.Mend = "skl init --vendor takes the skills out of .gitignore; skl init --no-vendor says that they are not committed"
		default:
			u.Mend = "skl init writes the lines into .gitignore that mend it: " + diag.Brief(diag.Printable(strings.Join(lines, " ")), 200)
		}
		out = append(out, u)
	}
	return out, nil
}

// unhidden returns the lines of skl's block in .gitignore with which git ignores none of c, and what it ignores all the same: where a
// .gitignore further down says so. Only what was found to be ignored is taken back, since other files may be ignored for a reason.
func (a *Applier) unhidden(c committed) (lines []string, rest []files.Hidden, err error) {
	at := filepath.Join(a.Scope.Project, ".gitignore")
	old, err := a.Scope.Site.Dir.ReadFile(at, scope.MaxEdited)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for range 32 { // directories within each other
		if rest, err = a.Scope.Tracker.Hidden(a.Scope.Project, c.paths, map[string]string{at: string(setBlock(old, lines))}); err != nil {
			return nil, nil, err
		}
		before := len(lines)
		for _, h := range rest {
			line, exact := c.unhide(h)
			if slices.Contains(lines[:before], line) {
				line = exact // it was not enough
			}
			if !slices.Contains(lines, line) && !below(filepath.Dir(h.File), scope.Resolved(a.Scope.Project)) {
				lines = append(lines, line)
			}
		}
		if len(lines) == before {
			break
		}
	}
	return lines, rest, nil
}

// below reports whether dir is a directory in top, and not of git's own.
func below(dir, top string) bool {
	return dir != top && scope.Below(top, dir) && !scope.Below(filepath.Join(top, ".git"), dir)
}

// unhide is the line that takes back the pattern of h in its root, and the one that takes back what the pattern matched and nothing else.
// Compiled Python is never taken back by its pattern: what comes to be beside the skill's own is to stay ignored.
func (c committed) unhide(h files.Hidden) (line, exact string) {
	exact = "!/" + escaped(h.At)
	if h.AtDir {
		exact += "/"
	}
	if root := c.root[h.Path]; h.AnyDepth() && !c.whole(h) && !bundle.Residue(h.Path) {
		return "!/" + escaped(root) + "/**/" + h.Pattern, exact
	}
	return exact, exact
}

// escaped is a path as a pattern of .gitignore.
func escaped(p string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(p)
}

// tellUncarried warns of what a clone, or another system, will not have of the skills that names holds.
func (a *Applier) tellUncarried(vendor *bool, names func(string) bool) {
	list, err := a.Uncarried(vendor, names)
	if err != nil {
		a.Scope.Tell.Warn("which files of skills git carries to a clone is not known: %s", diag.Clip(diag.Printable(err.Error()), 300))
	}
	for _, u := range append(list, a.Unportable(names)...) {
		a.Scope.Tell.Warn("%s; %s", u, u.Mend)
	}
}
