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

func TestExchange(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, p := range []string{a, b} {
		if err := os.Mkdir(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before, err := Inode(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := Exchange(a, b); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("skipped: this file system cannot exchange two paths")
	} else if err != nil {
		t.Fatal(err)
	}
	if after, err := Inode(b); err != nil || after != before {
		t.Errorf("b is %d, %v; want what a was, %d", after, err, before)
	}
}

func TestSyncTree(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := SyncTree(dir); err != nil {
		t.Error(err)
	}
	if err := syncEach(dir); err != nil {
		t.Error(err)
	}
	if err := SyncTree(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing directory was synced")
	}
}
