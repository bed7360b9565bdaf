//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// Pipes, devices and sockets are errors at once, however they are reached.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "pipe", "zero": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"pipe", "link", "zero"} {
		done := make(chan [2]error, 1)
		go func() {
			_, err := OpenFile(filepath.Join(dir, name))
			_, err2 := fs.ReadFile(RootFS(root), name)
			done <- [2]error{err, err2}
		}()
		select {
		case errs := <-done:
			if !errors.Is(errs[0], ErrIrregular) {
				t.Errorf("OpenFile(%s): %v", name, errs[0])
			}
			if leaves := name == "zero"; errs[1] == nil || !leaves && !errors.Is(errs[1], ErrIrregular) {
				t.Errorf("reading %s in a root: %v", name, errs[1])
			}
		case <-time.After(long.Hang):
			t.Fatalf("%s: it hangs", name)
		}
	}
}
