//go:build unix

package durable

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnlocksForCopies holds that a lock ends although the descriptor has a copy, as it has in a program that is being started.
func TestUnlocksForCopies(t *testing.T) {
	dir := t.TempDir()
	one, other := lock{dir: dir}, lock{dir: dir}
	if ok, err := one.try(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	child, err := unix.Dup(int(one.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	if ok, err := other.try(); ok || err != nil {
		t.Fatalf("locked twice: %v", err)
	}
	one.end()
	if ok, err := other.try(); !ok || err != nil {
		t.Errorf("still locked: %v", err)
	}
	other.end()
}
