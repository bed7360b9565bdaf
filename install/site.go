package install

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// A Site is where an installation is: its root, what it may write to, and where its
// journal is kept. Paths are absolute and clean.
type Site struct {
	Base   string            // directory that links in receipts are relative to: the project or the home directory
	Root   string            // canonical root
	Homes  map[string]string // by skill, "" is any other: the root that it is installed in, where that is not Root
	Roots  []string          // those of Homes, and others in which skills of the installation may be left from before; without Root
	Dir    *within.Dir       // all reading and writing goes through it
	Places []string          // directories below which a transaction may change something
	State  string            // the user's state directory; journals are below it, never in Base
	Caches roots.Caches      // what is known of the roots
	Own    roots.Own         // the residue that passes; nil for none
}

// Confine returns a Site whose Dir is confined to base, the top directory of a project.
func Confine(base, root, state string) (Site, error) {
	dir, err := within.Open(base)
	if err != nil {
		return Site{}, err
	}
	return Site{Base: base, Root: root, Dir: dir, Places: []string{base}, State: state}, nil
}

// compares is a comparison of every byte.
func (s Site) compares() roots.Look { return roots.Look{Own: s.Own} }

// Home is the root that the skill of a name is installed in.
//
//go:noinline
func (s Site) Home(name string) string { return cmp.Or(s.Homes[name], s.Homes[""], s.Root) }

// All are Root and the other roots.
func (s Site) All() []string { return append([]string{s.Root}, s.Roots...) }

// Receipts are the usable receipts of the skills of s, sorted by name, and an error for each that is not. Those of copies that
// agents load are left out, and those of skills that moved: see Strays.
func (s Site) Receipts() (receipts []roots.Receipt, bad []error) {
	for i, root := range s.All() {
		found, errs := roots.Receipts(root)
		bad = append(bad, errs...)
		for _, r := range found {
			if home := s.Home(r.Name); home == root && (i == 0 || r.CopyOf == "") {
				receipts = append(receipts, r)
			}
		}
	}
	sort.Slice(receipts, func(i, j int) bool { return receipts[i].Name < receipts[j].Name }) // slices.SortFunc is 25 kB of program for each large type
	return receipts, bad
}

// A Stray is a skill of an installation that lies in another of its roots than where it belongs, because that changed.
type Stray struct {
	Root    string // the one that it lies in
	Path    string
	Off     bool // it is disabled, and Path is aside of Root
	Receipt roots.Receipt
	Edits   []string // local edits, nil if there are none
}

// Strays finds skills that lie where they no longer belong, by name.
func (s Site) Strays() (map[string][]Stray, error) {
	strays := map[string][]Stray{}
	for _, root := range s.All() {
		found, _ := roots.Receipts(root) // what cannot be used is an error of Receipts
		for _, r := range found {
			if r.CopyOf != "" || s.Home(r.Name) == root {
				continue
			}
			at := Stray{Root: root, Receipt: r}
			at.Path, at.Off = s.placeIn(root, r.Name)
			d, err := s.compares().Check(filepath.Dir(at.Path), r.Name, r)
			if err != nil {
				return nil, err
			}
			if s.Dir.Exists(at.Path) && d.Edited() {
				at.Edits = d.List()
			}
			strays[r.Name] = append(strays[r.Name], at)
		}
	}
	return strays, nil
}

// allows reports whether a transaction of s may change path: it is below one of the places, and
// but for skl's own directories every element could be one of a bundle, so that none is taken for .git.
func (s Site) allows(path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	for _, place := range s.Places {
		rel, err := filepath.Rel(place, path)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		for _, e := range strings.Split(filepath.ToSlash(rel), "/") {
			if own := e == ".skl" || strings.HasPrefix(e, besidePrefix); !own && bundle.CheckPath(e) != nil {
				return false
			}
		}
		return true
	}
	return false
}

// aside is roots.Aside, or a directory in the root if that is on another file system.
func (s Site) aside() string {
	if s.Dir.Exists(s.Root) && !s.Dir.SameFileSystem(s.Root, filepath.Dir(s.Root)) {
		return filepath.Join(s.Root, ".skl")
	}
	return roots.Aside(s.Root)
}

// journalPath is where the journal of s is: in the user's own directory, under a name that
// stands for the real path of the root. Nothing in the root can be taken for it.
func (s Site) journalPath() string {
	return filepath.Join(s.State, "journals", sum([]byte(s.realRoot()))[:32]+".json")
}

func (s Site) realRoot() string {
	real, err := within.Resolve(s.Root)
	if err != nil {
		return s.Root
	}
	return real
}

// Interrupted reports whether an earlier transaction of s was cut off.
func (s Site) Interrupted() bool { return within.Anywhere().Exists(s.journalPath()) }

// inTheWay is what keeps dir from being a directory: a file, or a link that leads nowhere, at its place or above it. It is "" if
// nothing does, and for a link that leads out, which is refused by whatever uses it.
func inTheWay(s *Site, dir string) string {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := s.Dir.Stat(at)
		switch {
		case err == nil && info.IsDir(), errors.Is(err, diag.Code("E_ROOT_ESCAPE")):
			return ""
		case err == nil || s.Dir.Exists(at):
			return at
		}
	}
	return ""
}

// CheckRoots refuses roots that cannot be directories, because something else stands there.
func CheckRoots(s *Site) error {
	for _, root := range s.All() {
		if at := inTheWay(s, filepath.Join(root, ".skl")); at != "" {
			return diag.New(diag.Unmet, "in_the_way", "%s is not a directory, and skills are installed in %s", at, root).Hint("move %s away, then skl install", at)
		}
	}
	return nil
}

// CheckPlanted refuses, with code E_JOURNAL, a root that brings a journal along. Whoever made
// the content of the root could have written it, so it is never read. It refuses what CheckRoots does, too.
func (s Site) CheckPlanted() error {
	if err := CheckRoots(&s); err != nil {
		return err
	}
	path := filepath.Join(s.Root, ".skl", "journal")
	switch _, err := s.Dir.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, diag.Code("E_ROOT_ESCAPE")):
		return nil // what leads out is refused by whatever uses it
	case err != nil:
		return err
	}
	return diag.New(diag.Refused, "E_JOURNAL", "%s is a journal that came with the directory; it was not read", path).
		Hint("skl keeps its journals in %s; remove that file, and commit its removal if git tracks it", filepath.Join(s.State, "journals"))
}
