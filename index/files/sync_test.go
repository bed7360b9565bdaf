package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// Files written before Sync are told after it, however busy the system is.
func TestSync(t *testing.T) {
	root, marks := realDir(t), realDir(t)
	w := &Walker{Root: root, Marks: marks}
	x, err := w.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // other events that have to be looked at
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				os.WriteFile(filepath.Join(root, fmt.Sprintf("noise%d", i%50)), []byte("x"), 0o600)
			}
		}
	}()
	for i := range 200 {
		name := fmt.Sprintf("dir%d/file%d", i%7, i)
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := x.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if paths, all := x.Changes(); !all && !slices.Contains(paths, name) {
			t.Fatalf("%s was not told after Sync", name)
		}
	}
	if left, _ := os.ReadDir(marks); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// Files that changed rules let in are told after Sync, even if they are written before the rules were read anew.
func TestSyncRules(t *testing.T) {
	long.Slow(t)
	root, marks := realDir(t), realDir(t)
	path := func(name string) string { return filepath.Join(root, name) }
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x, err := (&Walker{Root: root, Marks: marks}).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	told := func() ([]string, bool) {
		t.Helper()
		if err := x.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		return x.Changes()
	}
	for i := range 20 {
		name := fmt.Sprintf("file%d.x", i)
		put(".gitignore", "*.x\n")
		for _, all := told(); all; _, all = told() { // until the rules are in force
			time.Sleep(time.Millisecond)
		}
		put(name, "")
		if paths, all := told(); !all && len(paths) > 0 { // a slow system may say everything
			t.Fatalf("%s is ignored; told %q", name, paths)
		}
		if err := os.Remove(path(".gitignore")); err != nil {
			t.Fatal(err)
		}
		if _, all := told(); !all {
			t.Fatal("rules changed, and not everything is said to have changed")
		}
		put(name, "changed")
		if paths, all := told(); !all && !slices.Contains(paths, name) {
			t.Fatalf("round %d: %s was not told after Sync", i, name)
		}
	}
}

func TestSyncWithoutItsDirectory(t *testing.T) {
	root, marks := realDir(t), realDir(t)
	x, err := (&Walker{Root: root, Marks: marks}).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := os.RemoveAll(marks); err != nil {
		t.Fatal(err)
	}
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, all := x.Changes(); !all {
		t.Error("nothing says that changes may be missing")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if err := x.Sync(ctx); err == nil {
		t.Error("Sync does not obey its context")
	}
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func BenchmarkSync(b *testing.B) {
	dir := b.TempDir()
	x, err := (&Walker{Root: b.TempDir(), Marks: dir}).Watch(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for b.Loop() {
		if err := x.Sync(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
