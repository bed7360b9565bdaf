package plan

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
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

// digestOf reads every file of the skill once. Unlike in a release nothing is left out but .git: a tree may read any file, and a
// script may run what it finds.
func digestOf(s *tree.Skill) (string, error) {
	g := bundle.NewGuard(nil, bundle.InstallLimits)
	g.NoSkillMD = true // agent files and skill.md have none
	err := bundle.ExactFS(s.FS, g)
	if err == nil {
		sum, err := g.Close()
		if err == nil {
			return string(sum.Tree), nil
		}
	}
	if e, ok := diag.Own(err); ok && e.Code == bundle.CodePathGit {
		err = e.Hint("move it out of the skill: files in .git have no digest, so nobody can agree to them")
	}
	return "", fmt.Errorf("reading the skill %s: %w", s.Name, err)
}
