package roots

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/order"
)

// Bounds of the search below one root.
const (
	maxDepth = 6    // directories between a root and a SKILL.md, the skill's own included
	maxDirs  = 2000 // directories read; those of skills are not
)

// A candidate is a directory with a SKILL.md below a root, or a link to one.
type candidate struct {
	rel      string // relative to the root, slash-separated
	real     string // absolute path without links
	disabled bool
	linked   bool // its SKILL.md is a link
	escaped  bool // a link out of the project; it was not followed

	skillFile stamp // of its SKILL.md; zero if it was not looked at
}

// A searcher looks for skills below one root, breadth first and in byte order.
type searcher struct {
	root     string            // as it is configured
	aliases  []string          // other paths of it
	boundary string            // links may not lead out of it; "" for no limit
	linked   map[string]string // see Config.Linked
	found    []candidate
	strays   []stray
	warnings []Warning
	isWhole  bool            // a SKILL.md is directly in the root
	visited  map[string]bool // real paths of linked directories that were entered
	dirs     int
}

// A stray is a small file where a link to a skill may have been: a checkout
// without links leaves one.
type stray struct {
	rel    string
	target string // what it holds
}

type pending struct {
	rel, real string
	depth     int
}

// search finds the skills of the root at real, its real path. Its error says
// that the root itself cannot be read.
func (s *searcher) search(real string) ([]candidate, error) {
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil, err
	}
	queue := s.look(pending{real: real}, entries)
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		if s.dirs++; s.dirs >= maxDirs {
			s.warn("W_TRUNCATED", "only the first %d directories are searched", maxDirs)
			break
		}
		entries, err := os.ReadDir(dir.real)
		if err != nil {
			s.warn("W_UNREADABLE", "%s: %v", dir.rel, err)
			continue
		}
		queue = append(queue, s.look(dir, entries)...)
	}
	s.lookDisabled(real)
	order.Sort(s.found, func(a, b candidate) int { return cmp.Compare(a.rel, b.rel) })
	return s.found, nil
}

// look takes the skills among entries and returns the directories to read next.
func (s *searcher) look(dir pending, entries []fs.DirEntry) []pending {
	var next []pending
	below := statBelow(dir.real, entries)
	for i, e := range entries {
		name := e.Name()
		sub := pending{path.Join(dir.rel, name), filepath.Join(dir.real, name), dir.depth + 1}
		switch {
		case name == ".git", name == "node_modules", strings.HasPrefix(name, stateDir):
			continue // .skl, and what an install stages beside its target
		case name == skillFile && dir.depth == 0:
			s.isWhole = true
			s.warn("W_ROOT_SKILL", "a SKILL.md directly in a root is ignored: a skill needs a directory of its own")
			continue
		case e.Type()&fs.ModeSymlink != 0 || e.Type()&fs.ModeIrregular != 0:
			if !s.follow(&sub) {
				continue
			}
		case e.Type().IsRegular():
			s.stray(sub, e)
			continue
		case !e.IsDir():
			continue
		}
		st, ok := below[i].status, below[i].isSkill
		if !e.IsDir() { // a link
			st, ok = statSkill(sub.real)
		}
		if ok {
			s.found = append(s.found, candidate{rel: sub.rel, real: sub.real, linked: st.kind == link, skillFile: st.stamp})
		} else if sub.depth < maxDepth {
			next = append(next, sub)
		}
	}
	return next
}

// A skillStat says whether a directory has a SKILL.md.
type skillStat struct {
	status
	isSkill bool
}

// statBelow looks for the SKILL.md of each directory among the entries of dir, in parallel: a root may have thousands.
func statBelow(dir string, entries []fs.DirEntry) []skillStat {
	list := make([]skillStat, len(entries))
	inParallel(len(entries), func(_ *scanner, i int) {
		if entries[i].IsDir() {
			list[i].status, list[i].isSkill = statSkill(filepath.Join(dir, entries[i].Name()))
		}
	})
	return list
}

// follow resolves a link to a directory. A link out of the boundary becomes a
// candidate that is not followed.
func (s *searcher) follow(sub *pending) bool {
	real, err := filepath.EvalSymlinks(sub.real)
	if err != nil {
		s.warn("W_UNREADABLE", "%s: the link leads nowhere", sub.rel)
		return false
	}
	if st, err := statPath(real); err != nil || st.kind != directory {
		return false
	}
	own := s.linked[filepath.Join(s.root, filepath.FromSlash(sub.rel))] == real
	if s.boundary != "" && !inside(s.boundary, real) && !own {
		if isSkill(real) {
			s.found = append(s.found, candidate{rel: sub.rel, real: real, escaped: true})
		}
		return false
	}
	sub.real = real
	if !isSkill(real) {
		if s.visited[real] {
			return false
		}
		if s.visited == nil {
			s.visited = make(map[string]bool)
		}
		s.visited[real] = true
	}
	return true
}

// maxStrayBytes is more than the text of any link to a skill.
const maxStrayBytes = 1024

func (s *searcher) stray(sub pending, e fs.DirEntry) {
	if path.Ext(sub.rel) != "" {
		return
	}
	info, err := e.Info()
	if err != nil || info.Size() > maxStrayBytes {
		return
	}
	data, _, err := readFile(sub.real, nil)
	if text := strings.TrimSpace(string(data)); err == nil && strings.HasPrefix(text, "../") && !strings.ContainsAny(text, "\n\x00") {
		s.strays = append(s.strays, stray{sub.rel, text})
	}
}

// lookDisabled finds what "skl disable" put away, aside of the root by each of its names: as it is configured, those of its aliases,
// and its real path.
func (s *searcher) lookDisabled(real string) {
	var seen []string
	for _, name := range append([]string{s.root, real}, s.aliases...) {
		above, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil || s.boundary != "" && !inside(s.boundary, above) {
			continue
		}
		if dir := disabledIn(filepath.Join(above, filepath.Base(name))); !slices.Contains(seen, dir) {
			seen = append(seen, dir)
			s.lookAside(dir, disabledIn(name))
		}
	}
}

// lookAside takes the skills in dir, which is called name where its root is.
func (s *searcher) lookAside(dir, name string) {
	for above := dir; filepath.Base(above) != stateDir; { // no link leads to what was put aside
		if above = filepath.Dir(above); checkState(above) != nil {
			return
		}
	}
	if checkState(dir) != nil {
		return // there is none
	}
	rel, err := filepath.Rel(s.root, name)
	if err != nil {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if sub := filepath.Join(dir, e.Name()); e.IsDir() && isSkill(sub) {
			s.found = append(s.found, candidate{rel: filepath.ToSlash(rel) + "/" + e.Name(), real: sub, disabled: true})
		}
	}
}

func (s *searcher) warn(code, format string, args ...any) {
	s.warnings = append(s.warnings, Warning{code, s.root + ": " + fmt.Sprintf(format, args...)})
}

func isSkill(dir string) bool {
	_, ok := statSkill(dir)
	return ok
}

// statSkill is the stat of the SKILL.md in dir, which may be a link. ok is false if dir is no skill.
func statSkill(dir string) (st status, ok bool) {
	st, err := statPath(dir + string(filepath.Separator) + skillFile)
	return st, err == nil && st.kind != directory && st.kind != other
}

// inside reports whether path is dir or below it; both are clean and absolute.
func inside(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}
