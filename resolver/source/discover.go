package source

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
)

// Bounds of discovery inside one release.
const (
	MaxDepth  = 8     // directories between the root of a release and a SKILL.md
	MaxSkills = 5_000 // SKILL.md files looked at
)

// A Dir is a directory of a release that holds a SKILL.md.
type Dir struct {
	Path string // slash path, "" is the root
	Rank int    // smaller is a better place for a skill to be published from
}

// Ranks of a Dir. A name that is found in several places means the one with the
// smallest rank; two of the same rank are ambiguous.
const (
	RankRoot    = iota // SKILL.md at the root
	RankSkills         // below skills/ (groups included)
	RankPlugin         // below plugins/*/skills/, or named by a plugin manifest
	RankOther          // anywhere else that is visible
	RankHidden         // in an agent's own directory: .agents/skills, .claude/skills, …
	RankFixture        // below tests, fixtures, examples or templates
)

// Discover returns the directories of skills among paths, the slash paths of a
// release's files named SKILL.md in any case, sorted by rank and path, and what it passes over: what is not written SKILL.md, or lies deeper than MaxDepth, in .git or
// node_modules, or below another skill (the root's own SKILL.md excepted, as repositories
// keep one beside skills/).
// Named holds directories that a plugin manifest lists; they rank as plugins.
func Discover(paths []string, named map[string]bool) ([]Dir, []Passed) {
	var dirs []Dir
	var passed []Passed
	pass := func(p, why string) { passed = append(passed, Passed{p, why}) }
	for _, p := range paths {
		dir, file := path.Split(p)
		dir = strings.TrimSuffix(dir, "/")
		if file != skill.FileName {
			if strings.EqualFold(file, skill.FileName) {
				pass(p, "a skill's file is called "+skill.FileName)
			}
			continue
		}
		switch rank, why := rankOf(dir, named); {
		case why != "":
			pass(p, why)
		case len(dirs) >= MaxSkills:
			pass(p, "only "+strconv.Itoa(MaxSkills)+" skills are looked at")
		default:
			dirs = append(dirs, Dir{dir, rank})
		}
	}
	order.Sort(dirs, func(a, b Dir) int { return cmp.Compare(a.Path, b.Path) })
	dirs = slices.Compact(dirs)
	have := make(map[string]bool, len(dirs))
	for _, d := range dirs {
		have[d.Path] = true
	}
	dirs = slices.DeleteFunc(dirs, func(d Dir) bool {
		for up := path.Dir(d.Path); d.Path != "" && up != "."; up = path.Dir(up) {
			if have[up] {
				pass(d.Path+"/"+skill.FileName, "below the skill "+up)
				return true
			}
		}
		return false
	})
	order.Stable(dirs, func(a, b Dir) int { return cmp.Compare(a.Rank, b.Rank) })
	return dirs, passed
}

// rankOf is the rank of a directory with a SKILL.md, or why it is passed over.
func rankOf(dir string, named map[string]bool) (rank int, why string) {
	if dir == "" {
		return RankRoot, ""
	}
	if named[dir] {
		return RankPlugin, ""
	}
	elems := strings.Split(dir, "/")
	hidden, fixture := false, false
	for _, e := range elems {
		switch strings.ToLower(e) {
		case ".git", "node_modules":
			return 0, "in " + e
		case "test", "tests", "testdata", "fixtures", "__fixtures__", "examples", "templates":
			fixture = true
		}
		hidden = hidden || e[0] == '.'
	}
	if len(elems) > MaxDepth {
		return 0, "deeper than " + strconv.Itoa(MaxDepth) + " directories"
	}
	// The skill's own directory may carry any of those names.
	switch last := elems[len(elems)-1]; strings.ToLower(last) {
	case "test", "tests", "testdata", "fixtures", "examples", "templates":
		fixture = len(elems) > 2
	}
	switch {
	case elems[0] == "skills":
		return RankSkills, ""
	case fixture:
		return RankFixture, ""
	case elems[0] == "plugins" && len(elems) > 2 && elems[2] == "skills":
		return RankPlugin, ""
	case hidden:
		return RankHidden, ""
	}
	return RankOther, ""
}

// A Lookout collects what looks like a skill at a place, for [Passer].
type Lookout struct {
	paths  []string
	links  []Passed // their Reason is where they lead
	passed []Passed
}

// Pass notes what is passed over.
func (l *Lookout) Pass(p, why string) { l.passed = append(l.passed, Passed{p, why}) }

// File takes a regular file.
func (l *Lookout) File(p string) {
	if strings.EqualFold(path.Base(p), skill.FileName) {
		l.paths = append(l.paths, p)
	}
}

// Link takes a link.
func (l *Lookout) Link(p, to string) { l.links = append(l.links, Passed{p, strings.TrimSpace(to)}) }

// Passed is what [Discover] passes over, and the links that lead to a skill of the place. Whole says that a SKILL.md at the top makes the
// place that one skill.
func (l *Lookout) Passed(named map[string]bool, whole bool) []Passed {
	slices.Sort(l.paths)
	dirs, passed := Discover(l.paths, named)
	passed = append(l.passed, passed...)
	for i, d := range dirs {
		if whole && i > 0 && dirs[0].Path == "" {
			passed = append(passed, Passed{path.Join(d.Path, skill.FileName), "below the skill that the place itself is"})
		}
	}
	for _, link := range l.links {
		to := path.Join(path.Dir(link.Path), link.Reason)
		i, there := slices.BinarySearch(l.paths, to)
		if i < len(l.paths) && strings.HasPrefix(l.paths[i], to+"/") || there || to == "." || strings.EqualFold(path.Base(link.Path), skill.FileName) {
			passed = append(passed, Passed{link.Path, "a link to " + link.Reason})
		}
	}
	return passed
}

// maxPassed is the number of entries that Few keeps.
const maxPassed = 2000

// Few are the entries of list, sorted by path, that are in a plugin, of which has knows the directories; nil is no plugin. Of very many, the
// last says how many more there are.
func Few(list []Passed, has func(dir string) bool) (out []Passed) {
	order.Sort(list, func(a, b Passed) int { return strings.Compare(a.Path, b.Path) })
	more := 0
	for _, p := range list {
		dir := path.Dir(p.Path)
		for has != nil && dir != "." && !has(dir) {
			dir = path.Dir(dir)
		}
		if has != nil && dir == "." {
			continue
		}
		if len(out) < maxPassed {
			out = append(out, p)
		} else {
			more++
		}
	}
	if more > 0 {
		out = append(out, Passed{"…", strconv.Itoa(more) + " more"})
	}
	return out
}
