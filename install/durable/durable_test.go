package durable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("read %q, %v; want %q", got, err, text)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := WriteFile(filepath.Join(path, "x"), nil, 0o600); err == nil {
		t.Error("a file below a file was written")
	}
}

// The second waits until the first is done, or its context is.
func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	waited := 0
	if _, err := Lock(ctx, dir, func() { waited++ }); !errors.Is(err, ErrLocked) || waited != 1 {
		t.Errorf("second lock: %v, waiting was said %d times", err, waited)
	}
	done := make(chan error)
	go func() {
		again, err := Lock(context.Background(), dir, nil)
		if err == nil {
			again()
		}
		done <- err
	}()
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("the lock left %v", entries)
	}
}

func TestSyncTree(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := SyncTree(open, os.DirFS(dir)); err != nil {
		t.Error(err)
	}
	if err := syncEach(os.DirFS(dir)); err != nil {
		t.Error(err)
	}
	if err := syncEach(os.DirFS(filepath.Join(dir, "missing"))); err == nil {
		t.Error("a missing directory was synced")
	}
}
