package files_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skl-project/skl/index/files"
)

// Two directories that swap names are both watched under their new ones.
func TestWatchExchange(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"a/in/f": "", "b/in/g": ""})
	l := &log{t: t, x: watch(t, &files.Walker{Root: root, Getenv: quiet}), paths: map[string]bool{}}
	err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(root, "a"), unix.AT_FDCWD, filepath.Join(root, "b"), unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	do(t, err)
	l.has("a", "b", "a/in/g", "b/in/f")
	time.Sleep(20 * time.Millisecond)
	l.settle(root)
	l.paths = map[string]bool{}
	write(t, filepath.Join(root, "a", "in", "g"), "changed")
	write(t, filepath.Join(root, "b", "in", "f"), "changed")
	l.has("a/in/g", "b/in/f")
}
