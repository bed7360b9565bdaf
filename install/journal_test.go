package install

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

// A planted world is a project beside files that no journal may touch.
func planted(t testing.TB) (s Site, victim string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, home := filepath.Join(top, "project"), filepath.Join(top, "home")
	for _, dir := range []string{filepath.Join(project, ".agents", "skills", ".skl"), filepath.Join(project, ".agents", ".skl", "skills", "stage-1"), filepath.Join(project, ".git", "hooks"), home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(home, "key"), filepath.Join(project, ".git", "config"), filepath.Join(project, ".agents", ".skl", "skills", "stage-1", "old-0")} {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err = Confine(project, filepath.Join(project, ".agents", "skills"), filepath.Join(top, "state"))
	if err != nil {
		t.Fatal(err)
	}
	return s, filepath.Join(home, "key")
}

// honest is a journal as a transaction of s writes it.
func honest(s Site) journal {
	stage := filepath.Join(s.aside(), "stage-1")
	return journal{
		Version: journalVersion, Root: s.realRoot(), Stage: stage, Made: []string{filepath.Join(s.Base, ".claude")},
		Ops: []op{
			{Target: filepath.Join(s.Root, "pdf"), Staged: filepath.Join(stage, "tree-pdf"), Backup: filepath.Join(stage, "old-0")},
			{Target: filepath.Join(s.Root, "old"), Backup: filepath.Join(s.aside(), backups, "old")},
		},
		Commit: op{Target: filepath.Join(s.Base, "skl.lock"), Staged: filepath.Join(stage, "new-2"), Backup: filepath.Join(stage, "old-2")},
		New:    "x",
	}
}

// Every path of a journal is looked at before the first is used.
func TestJournalPaths(t *testing.T) {
	s, victim := planted(t)
	if bad, ok := honest(s).check(s); !ok {
		t.Fatalf("an honest journal is refused for %q", bad)
	}
	hostile := []string{victim, filepath.Join(s.Base, "..", "home", "key"), filepath.Join(s.Base, ".git", "hooks", "pre-commit"), filepath.Join(s.Base, ".GIT", "config"),
		"skl.lock", "", s.Base, "/", s.Base + "/./x", filepath.Join(s.Base, "a\x00b"), s.Base + "x"}
	fields := map[string]func(*journal) *string{
		"root": func(j *journal) *string { return &j.Root }, "stage": func(j *journal) *string { return &j.Stage }, "made": func(j *journal) *string { return &j.Made[0] },
		"target": func(j *journal) *string { return &j.Ops[0].Target }, "staged": func(j *journal) *string { return &j.Ops[0].Staged }, "backup": func(j *journal) *string { return &j.Ops[0].Backup },
		"removed": func(j *journal) *string { return &j.Ops[1].Target }, "kept": func(j *journal) *string { return &j.Ops[1].Backup },
		"lock": func(j *journal) *string { return &j.Commit.Target }, "new lock": func(j *journal) *string { return &j.Commit.Staged }, "old lock": func(j *journal) *string { return &j.Commit.Backup },
	}
	for name, field := range fields {
		for _, path := range hostile {
			if name == "staged" && path == "" {
				continue // a removal
			}
			j := honest(s)
			*field(&j) = path
			text, err := json.Marshal(j)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.parseJournal(text); !errors.Is(err, diag.Code("E_JOURNAL")) {
				t.Errorf("%s = %q: error %v, want E_JOURNAL", name, path, err)
			}
		}
	}
}

// A journal of another directory that had this path, and one that lies in the root, are refused.
func TestJournalElsewhere(t *testing.T) {
	s, _ := planted(t)
	j := honest(s)
	inode, err := s.Dir.Inode(s.Base)
	if err != nil || inode == 0 {
		t.Skip("skipped: directories have no numbers here")
	}
	j.Base = inode + 1
	tx := &Transaction{site: s, j: j}
	if err := tx.write(); err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(s); !errors.Is(err, diag.Code("E_JOURNAL")) {
		t.Errorf("that of another directory: error %v, want E_JOURNAL", err)
	}
	if err := os.Remove(s.journalPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Root, ".skl", "journal"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(s); !errors.Is(err, diag.Code("E_JOURNAL")) {
		t.Errorf("one in the root: error %v, want E_JOURNAL", err)
	}
	if _, err := Begin(s); !errors.Is(err, diag.Code("E_JOURNAL")) {
		t.Errorf("beginning beside it: error %v, want E_JOURNAL", err)
	}
}

// FuzzJournal holds that whatever stands in a journal, settling it changes nothing outside of
// the project and nothing in .git.
func FuzzJournal(f *testing.F) {
	s, victim := planted(f)
	add := func(edit func(*journal)) {
		j := honest(s)
		edit(&j)
		text, err := json.Marshal(j)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	gitConfig := filepath.Join(s.Base, ".git", "config")
	stolen := filepath.Join(s.aside(), "stage-1", "old-0")
	add(func(*journal) {})
	add(func(j *journal) { j.Ops[0].Target = victim })
	add(func(j *journal) { j.Ops[0].Staged = victim })
	add(func(j *journal) { j.Ops[0] = op{Target: gitConfig, Backup: stolen} })
	add(func(j *journal) { j.Undone = true; j.Stage = filepath.Dir(victim) })
	add(func(j *journal) { j.Made = []string{filepath.Dir(victim), filepath.Join(s.Base, ".git", "hooks")} })
	add(func(j *journal) { j.Commit.Target = victim })
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.MkdirAll(filepath.Dir(s.journalPath()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.journalPath(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		Recover(s)
		os.Remove(s.journalPath())
		for _, path := range []string{victim, gitConfig} {
			if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
				t.Fatalf("%s is now %q, %v", path, data, err)
			}
		}
		if entries, err := os.ReadDir(filepath.Join(s.Base, ".git", "hooks")); err != nil || len(entries) != 0 {
			t.Fatalf(".git/hooks holds %v, %v", entries, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(entries) != 1 {
			t.Fatalf("outside there is now %v, %v", entries, err)
		}
	})
}
