package plan

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/tree"
)

// digest names everything that a run of p can take from skills: the whole tree of its own, with op files, scripts
// and resources, and the whole tree of each skill that it found beside it. A skill that uses no other has its tree
// digest; else it is "plan-sha256:" and the SHA-256 over a line "tree-sha256:…" of its own, then a line
// "NAME tree-sha256:…" of each other skill, sorted by name. Names of skills hold neither spaces nor line breaks.
func (p *Plan) digest() (string, error) {
	own, err := digestOf(p.Skill)
	if err != nil || len(p.siblings) == 0 {
		return own, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", own)
	for _, name := range slices.Sorted(maps.Keys(p.siblings)) {
		tree, err := digestOf(p.siblings[name])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", name, tree)
	}
	return fmt.Sprintf("plan-sha256:%x", h.Sum(nil)), nil
}

// digestOf reads every file of the skill once. Unlike in a release, compiled Python beside a script counts, because a
// script that imports a module may run it. What Python keeps in __pycache__ does not: scripts are run without it.
func digestOf(s *tree.Skill) (string, error) {
	g := bundle.NewGuard(nil, bundle.InstallLimits)
	g.NoSkillMD = true // agent files and skill.md have none
	err := bundle.ExactFS(withoutCaches{s.FS}, g)
	if err == nil {
		sum, err := g.Close()
		if err == nil {
			return string(sum.Tree), nil
		}
	}
	return "", fmt.Errorf("reading the skill %s: %w", s.Name, err)
}

// withoutCaches is a skill's folder without what systems and interpreters keep in it.
type withoutCaches struct{ fs.FS }

// ReadDir implements [fs.ReadDirFS].
func (f withoutCaches) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == ".DS_Store" || path.Base(name) == "__pycache__" && strings.HasSuffix(e.Name(), ".pyc")
	}), err
}

// ReadLink and Lstat implement [fs.ReadLinkFS].
func (f withoutCaches) ReadLink(name string) (string, error)   { return fs.ReadLink(f.FS, name) }
func (f withoutCaches) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }
