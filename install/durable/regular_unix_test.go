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
	for _, name := range []string{"pipe", "link", "zero"} {
		done := make(chan [2]error, 1)
		go func() {
			_, err := ReadFile(filepath.Join(dir, name))
			_, err2 := fs.ReadFile(DirFS(dir), name)
			done <- [2]error{err, err2}
		}()
		select {
		case errs := <-done:
			for _, err := range errs {
				if !errors.Is(err, ErrIrregular) {
					t.Errorf("%s: %v", name, err)
				}
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: it hangs", name)
		}
	}
}
