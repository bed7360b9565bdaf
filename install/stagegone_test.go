package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/testdata/long"
)

// The stage of a transaction may be deleted before it is settled, for example by git clean, alone or together with
// everything that git does not track. It is settled nevertheless: no skill that is there goes, none is half, and the
// next install reaches its state.
func TestStageGone(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	base, one, two, steps := states(t)
	stride := long.Of(60, 23, 3)
	for at := steps; at >= 1; at -= stride {
		for what, take := range map[string]func(dir string){
			"stage":      func(dir string) { os.RemoveAll(filepath.Join(dir, ".agents", ".skl")) },
			"half of it": func(dir string) { halve(t, filepath.Join(dir, ".agents", ".skl", "skills")) },
			"all":        func(dir string) { os.RemoveAll(filepath.Join(dir, ".agents", ".skl")); reset(t, base, dir) },
			"changes":    func(dir string) { reset(t, base, dir) },
		} {
			dir := crashed(t, base, at)
			if err := child(dir, at).Run(); err == nil {
				t.Fatalf("step %d: the child was not killed", at)
			}
			take(dir)
			before := skillsIn(t, dir)
			if _, err := Recover(siteIn(dir)); err != nil {
				t.Fatalf("step %d, %s: %v", at, what, err)
			}
			if siteIn(dir).Interrupted() {
				t.Fatalf("step %d, %s: the journal is still there", at, what)
			}
			whole(t, dir)
			after := skillsIn(t, dir)
			for name := range before {
				if !after[name] && filepath.Base(name) < "s40" { // what was new is taken back
					t.Errorf("step %d, %s: %s is gone", at, what, name)
				}
			}
			if what == "all" {
				os.RemoveAll(filepath.Join(dir, ".agents", ".skl"))
				if now := look(t, dir); now != one {
					t.Errorf("step %d, %s: not the state before:\n%s", at, what, difference(one, now))
				}
				if err := move(dir, 2, nil); err != nil {
					t.Fatal(err)
				}
				if now := look(t, dir); now != two {
					t.Errorf("step %d, %s: the next install does not reach its state:\n%s", at, what, difference(two, now))
				}
			}
			if t.Failed() {
				t.FailNow()
			}
			os.RemoveAll(dir)
		}
	}
}

// halve removes every second entry of the stages in aside.
func halve(t *testing.T, aside string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(aside, stagePrefix+"*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(paths); i += 2 {
		if err := os.RemoveAll(paths[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// reset makes the files of dir those of base, as git reset --hard and git clean do: directories that are there stay.
func reset(t *testing.T, base, dir string) {
	t.Helper()
	here, there := paths(t, dir), paths(t, base)
	for path, mode := range here {
		if there[path] != mode && !mode.IsDir() && !strings.HasPrefix(path, filepath.Join(".agents", ".skl")) {
			if err := os.Remove(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, mode := range here {
		for ; there[path] == 0 && mode.IsDir() && path != "."; path = filepath.Dir(path) {
			os.Remove(filepath.Join(dir, path)) // if it is empty
		}
	}
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(base, path)
		to := filepath.Join(dir, rel)
		switch {
		case err != nil || d.IsDir():
			return errors.Join(err, os.MkdirAll(to, 0o755))
		case d.Type()&fs.ModeSymlink != 0:
			text, err := os.Readlink(path)
			os.Remove(to)
			return errors.Join(err, os.Symlink(text, to))
		}
		data, err := os.ReadFile(path)
		if now, readErr := os.ReadFile(to); err != nil || readErr == nil && string(now) == string(data) {
			return err
		}
		os.Remove(to)
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// paths are all below dir, and what each is.
func paths(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	out := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		out[rel] = d.Type() | 1 // 0 is what is not there
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// skillsIn are the directories of skills in the roots of dir.
func skillsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, root := range []string{".agents/skills", ".claude/skills", "tools/skills"} {
		found, err := filepath.Glob(filepath.Join(dir, root, "s*", "SKILL.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if info, err := os.Lstat(filepath.Dir(path)); err == nil && info.IsDir() {
				rel, _ := filepath.Rel(dir, filepath.Dir(path))
				out[filepath.ToSlash(rel)] = true
			}
		}
	}
	return out
}

// The stage is out of the reach of git clean before it holds anything, and nothing of that stays.
func TestStageIsIgnored(t *testing.T) {
	dir := t.TempDir()
	tx, err := Begin(siteIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, ".agents", ".skl", ".gitignore"))
	if err != nil || string(data) != ignoredAside {
		t.Errorf("the .gitignore aside of the root is %q, %v", data, err)
	}
	if err := tx.Rollback(nil); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("a rollback leaves %v, %v", entries, err)
	}
}
