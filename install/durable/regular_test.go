package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

func TestRootFS(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/c"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := fstest.TestFS(RootFS(root), "a/b/c"); err != nil {
		t.Error(err)
	}
	if _, err := fs.ReadFile(RootFS(root), "../x"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a path out of the directory: %v", err)
	}
	if _, err := fs.ReadFile(RootFS(root), "a"); !errors.Is(err, ErrIrregular) {
		t.Errorf("a directory: %v", err)
	}
}

// A file whose size would fill the memory is refused; it is sparse here.
func TestReadFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(MaxFile + 1); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := fs.ReadFile(RootFS(root), "huge"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ReadFile: %v", err)
	}
}
