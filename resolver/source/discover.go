package source

import (
	"cmp"
	"path"
	"slices"
	"strings"
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
// release's files named SKILL.md, sorted by rank and path. It leaves out what lies
// deeper than MaxDepth, in .git or node_modules, or below another skill (the
// root's own SKILL.md excepted, as repositories keep one beside skills/).
// Named holds directories that a plugin manifest lists; they rank as plugins.
func Discover(paths []string, named map[string]bool) []Dir {
	var dirs []Dir
	for _, p := range paths {
		dir, file := path.Split(p)
		dir = strings.TrimSuffix(dir, "/")
		if file != "SKILL.md" || len(dirs) >= MaxSkills {
			continue
		}
		if rank, ok := rankOf(dir, named); ok {
			dirs = append(dirs, Dir{dir, rank})
		}
	}
	slices.SortFunc(dirs, func(a, b Dir) int { return cmp.Compare(a.Path, b.Path) })
	dirs = slices.Compact(dirs)
	have := make(map[string]bool, len(dirs))
	for _, d := range dirs {
		have[d.Path] = true
	}
	dirs = slices.DeleteFunc(dirs, func(d Dir) bool {
		for up := path.Dir(d.Path); d.Path != "" && up != "."; up = path.Dir(up) {
			if have[up] {
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(dirs, func(a, b Dir) int { return cmp.Compare(a.Rank, b.Rank) })
	return dirs
}

func rankOf(dir string, named map[string]bool) (rank int, ok bool) {
	if dir == "" {
		return RankRoot, true
	}
	if named[dir] {
		return RankPlugin, true
	}
	elems := strings.Split(dir, "/")
	if len(elems) > MaxDepth {
		return 0, false
	}
	hidden, fixture := false, false
	for _, e := range elems {
		switch strings.ToLower(e) {
		case ".git", "node_modules":
			return 0, false
		case "test", "tests", "testdata", "fixtures", "__fixtures__", "examples", "templates":
			fixture = true
		}
		hidden = hidden || e[0] == '.'
	}
	// The skill's own directory may carry any of those names.
	switch last := elems[len(elems)-1]; strings.ToLower(last) {
	case "test", "tests", "testdata", "fixtures", "examples", "templates":
		fixture = len(elems) > 2
	}
	switch {
	case elems[0] == "skills":
		return RankSkills, true
	case fixture:
		return RankFixture, true
	case elems[0] == "plugins" && len(elems) > 2 && elems[2] == "skills":
		return RankPlugin, true
	case hidden:
		return RankHidden, true
	}
	return RankOther, true
}
