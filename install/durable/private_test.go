//go:build unix

package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestMkdirPrivate(t *testing.T) {
	mode := func(path string) fs.FileMode {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	shared := t.TempDir() // stands for ~/.local/share
	if err := os.Chmod(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(shared, "skl", "store")
	for range 2 {
		if err := MkdirPrivate(own); err != nil {
			t.Fatal(err)
		}
		if mode(own) != 0o700 || mode(filepath.Dir(own)) != 0o700 || mode(shared) != 0o755 {
			t.Errorf("modes %v, %v below %v", mode(own), mode(filepath.Dir(own)), mode(shared))
		}
		if err := os.Chmod(own, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A link is not followed, and what is narrower stays.
	link := filepath.Join(shared, "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	if err := Narrow(link); err != nil || mode(own) != 0o755 {
		t.Errorf("through a link: %v, %v", mode(own), err)
	}
	if err := os.Chmod(own, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := Narrow(own); err != nil || mode(own) != 0o500 {
		t.Errorf("a narrower one: %v, %v", mode(own), err)
	}
	if err := Narrow(filepath.Join(shared, "absent")); err != nil {
		t.Error(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(own, 12345, -1); err != nil {
			t.Fatal(err)
		}
		os.Chmod(own, 0o755)
		if err := Narrow(own); err != nil || mode(own) != 0o755 {
			t.Errorf("one of another user: %v, %v", mode(own), err)
		}
	}
}
