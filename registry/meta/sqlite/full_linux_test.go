package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk fills a small file system of its own, where that is allowed.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("mounting a small file system:", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, filepath.Join(dir, "meta.db"), Options{})
	fillUp(t, s)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := set(t, s, "after", 10_000); err != nil || !has(t, s, "after") {
		t.Errorf("with space again: %v", err)
	}
}
