package within_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/install/within"
)

// A directory that FS reads is not open between two calls, and may be moved: on Windows it could not be replaced until the garbage
// collector had closed it.
func TestFS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skill")
	if err := os.MkdirAll(filepath.Join(dir, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"SKILL.md": "a", "scripts/run.sh": "b"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fsys := within.FS(dir)
	if err := fstest.TestFS(fsys, "SKILL.md", "scripts/run.sh"); err != nil {
		t.Error(err)
	}
	held, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range held {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, dir) {
			t.Errorf("%s is still open", to)
		}
	}
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Error(err)
	}
	if _, err := fs.ReadFile(fsys, "SKILL.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that was moved: %v", err)
	}
	if err := os.Rename(dir+"2", dir); err != nil {
		t.Error(err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "secret"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, "out")); err == nil {
		if _, err := fs.ReadFile(fsys, "out/secret"); err == nil {
			t.Error("a link leads out")
		}
	}
}
