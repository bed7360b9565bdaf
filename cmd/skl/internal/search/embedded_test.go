package search

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

// The unpacked files are those that were embedded, whatever was there before; files that are right already are not
// written.
func TestUnpack(t *testing.T) {
	fsys := fstest.MapFS{"one/SKILL.md": {Data: []byte("# One\n")}, "one/scripts/run.sh": {Data: []byte("true\n")}, "two/SKILL.md": {Data: []byte("# Two\n")}}
	dir := filepath.Join(t.TempDir(), "embedded")
	check := func() {
		t.Helper()
		if err := unpack(fsys, dir); err != nil {
			t.Fatal(err)
		}
		if err := fstest.TestFS(os.DirFS(dir), "one/SKILL.md", "one/scripts/run.sh", "two/SKILL.md"); err != nil {
			t.Error(err)
		}
		var names []string
		for path, f := range fsys {
			if data, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(data) != string(f.Data) {
				t.Errorf("%s: %q, %v", path, data, err)
			}
		}
		for _, pattern := range []string{"*", "*/*", "*/*/*"} {
			found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, found...)
		}
		if len(names) != 6 {
			slices.Sort(names)
			t.Errorf("there are %q", names)
		}
	}
	check()
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	kept := filepath.Join(dir, "one", "SKILL.md")
	if err := os.Chtimes(kept, old, old); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() error{
		func() error { return os.WriteFile(filepath.Join(dir, "two", "SKILL.md"), []byte("# Too\n"), 0o644) },
		func() error { return os.Remove(filepath.Join(dir, "two", "SKILL.md")) },
		func() error { return os.MkdirAll(filepath.Join(dir, "three", "deep"), 0o755) },
		func() error { return os.WriteFile(filepath.Join(dir, "one", "more.md"), nil, 0o644) },
		func() error {
			if err := os.RemoveAll(filepath.Join(dir, "one", "scripts")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "one", "scripts"), nil, 0o644)
		},
		func() error { return os.MkdirAll(filepath.Join(dir, "two", "SKILL.md", "x"), 0o755) },
	} {
		if change() != nil { // the last: where a file stands
			if err := os.Remove(filepath.Join(dir, "two", "SKILL.md")); err != nil {
				t.Fatal(err)
			}
			if err := change(); err != nil {
				t.Fatal(err)
			}
		}
		check()
	}
	if info, err := os.Stat(kept); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("a file that is right was written: %v, %v", info, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check()
}
