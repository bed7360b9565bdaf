package within

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStaging removes what a process left that is gone, and nothing that may still be needed.
func TestStaging(t *testing.T) {
	top := t.TempDir()
	put := func(name string) string {
		t.Helper()
		at := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return at
	}
	dir, d := filepath.Join(top, "s"), Anywhere()
	busy, done, err := d.Staging(dir)
	if err != nil {
		t.Fatal(err)
	}
	lone := put(".s.skl-1/s/SKILL.md") // s is not there: this is what is left of it
	_, end, err := d.Staging(dir)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := os.Stat(lone); err != nil {
		t.Error(err)
	}
	_, end, err = d.Staging(dir)
	if err != nil {
		t.Fatal(err)
	}
	put("s/SKILL.md")
	end()
	if _, err := os.Stat(lone); !os.IsNotExist(err) {
		t.Errorf("s is there now, and %s stays: %v", lone, err)
	}
	kept := []string{put(".s.skl-2/s/SKILL.md"), put(".s.skl-3/s/references/a.md")}
	others := []string{put(".s.skl-4/mine.md"), put(".s.skl-x/s/SKILL.md"), put(".other.skl-5/other/SKILL.md"), put(".s.skl-/s/SKILL.md")}
	temp, end, err := d.Staging(dir)
	if err != nil || !strings.HasPrefix(filepath.Base(temp), ".s.skl-") {
		t.Fatal(temp, err)
	}
	for _, at := range append(kept, lone) {
		if _, err := os.Lstat(filepath.Join(top, strings.SplitN(filepath.ToSlash(strings.TrimPrefix(at, top)), "/", 3)[1])); !os.IsNotExist(err) {
			t.Errorf("%s stays: %v", at, err)
		}
	}
	for _, at := range append(others, busy, temp) {
		if _, err := os.Lstat(at); err != nil {
			t.Error(err)
		}
	}
	end()
	done()
	left, err := filepath.Glob(filepath.Join(top, ".s.skl-[0-9]*"))
	if err != nil || len(left) != 1 || left[0] != filepath.Dir(others[0]) {
		t.Errorf("%v, %v", left, err)
	}
}
