package skillsearch

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/spec/skill"
)

// corpus returns the skills of two public repositories, in the order of their names: those that a search of a root finds, which are not
// inside of another skill.
func corpus(tb testing.TB) []Skill {
	tb.Helper()
	var paths []string
	for _, name := range []string{"awesome-copilot.bundle", "superpowers.bundle"} {
		paths = append(paths, sharedData(tb, name))
	}
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not here")
	}
	skills, err := readCorpus(paths)
	if err != nil {
		tb.Fatal(err)
	}
	return slices.Clone(skills)
}

var corpusOnce sync.Once
var corpusSkills []Skill
var corpusErr error

// readCorpus reads the corpus once for all tests: it takes as long as all of them.
func readCorpus(paths []string) ([]Skill, error) {
	corpusOnce.Do(func() {
		dir, err := os.MkdirTemp("", "skillsearch")
		if err != nil {
			corpusErr = err
			return
		}
		defer os.RemoveAll(dir)
		for _, p := range paths {
			to := filepath.Join(dir, strings.TrimSuffix(filepath.Base(p), ".bundle"))
			if out, err := exec.Command("git", "clone", "--quiet", p, to).CombinedOutput(); err != nil {
				corpusErr = &os.PathError{Op: "clone " + string(out), Path: p, Err: err}
				return
			}
			found, err := filepath.Glob(filepath.Join(to, "skills", "*", skill.FileName))
			if err != nil {
				corpusErr = err
				return
			}
			for _, f := range found {
				k, err := readSkill(f)
				if err != nil {
					corpusErr = err
					return
				}
				if k.Name != "" {
					corpusSkills = append(corpusSkills, k)
				}
			}
		}
		slices.SortFunc(corpusSkills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	})
	return corpusSkills, corpusErr
}

// readSkill returns the zero Skill for a file that is none.
func readSkill(file string) (Skill, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return Skill{}, err
	}
	d, err := skill.Read(src)
	if err != nil {
		return Skill{}, nil
	}
	dir := filepath.Dir(file)
	k := fromDocument(d, src, int64(len(src)))
	k.Headings = Headings(k.Body)
	k.Name = filepath.Base(dir)
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			k.Files = append(k.Files, filepath.ToSlash(rel))
		}
		return err
	})
	return k, err
}

// sharedData finds a file of test data beside the repository, or skips.
func sharedData(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "shared", "data", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Skipf("no shared/data/%s above the repository", name)
	return ""
}

// judging reports whether a skill or a sentence belongs to the half that nothing was tuned on.
func judging(s string) bool {
	return hash(s)%2 == 0
}
