package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/testdata/long"
)

func watch(t *testing.T, w *files.Walker) *files.Watcher {
	t.Helper()
	x, err := w.Watch(t.Context())
	if errors.Is(err, files.ErrWatch) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// A log gathers what a watcher tells.
type log struct {
	t     *testing.T
	x     *files.Watcher
	paths map[string]bool
	all   bool
}

// until waits for what a test expects, at most [long.Hang].
func (l *log) until(what string, ok func() bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), long.Hang)
	defer cancel()
	for !ok() {
		if err := l.x.Wait(ctx); err != nil && !errors.Is(err, files.ErrWatch) {
			l.t.Fatalf("%s: %v; told %d paths (%.500q), all %v", what, err, len(l.paths), slices.Sorted(maps.Keys(l.paths)), l.all)
		}
		paths, all := l.x.Changes()
		if !slices.IsSorted(paths) {
			l.t.Errorf("%q are not sorted", paths)
		}
		for _, path := range paths {
			l.paths[path] = true
		}
		l.all = l.all || all
	}
}

func (l *log) has(paths ...string) {
	l.t.Helper()
	l.until(fmt.Sprintf("waiting for %q", paths), func() bool {
		return !slices.ContainsFunc(paths, func(path string) bool { return !l.paths[path] })
	})
	if l.all {
		l.t.Error("everything is said to have changed")
	}
	l.paths = map[string]bool{}
}

func (l *log) everything() {
	l.t.Helper()
	l.until("waiting for everything", func() bool { return l.all })
	l.all = false
}

func do(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// settle makes sure that all events so far were looked at: a file that is written now is told after them.
func (l *log) settle(dir string) {
	l.t.Helper()
	name := fmt.Sprintf("settle-%d", time.Now().UnixNano())
	write(l.t, filepath.Join(dir, name), "")
	l.until("settling", func() bool { return l.paths[name] || l.all })
	delete(l.paths, name)
	do(l.t, os.Remove(filepath.Join(dir, name)))
}

// Each case changes the tree and says what is told of it, and what must not be.
func TestWatch(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(t *testing.T, path func(string) string)
		want   []string
		not    []string
	}{
		{"a write", func(t *testing.T, path func(string) string) {
			write(t, path("a/one.go"), "changed")
		}, []string{"a/one.go"}, nil},
		{"a new file", func(t *testing.T, path func(string) string) {
			write(t, path("a/new.go"), "")
		}, []string{"a/new.go"}, []string{"a/one.go"}},
		{"the atomic save of an editor", func(t *testing.T, path func(string) string) {
			write(t, path("a/.one.go.tmp~"), "saved")
			do(t, os.Rename(path("a/.one.go.tmp~"), path("a/one.go")))
		}, []string{"a/one.go"}, []string{"a/.one.go.tmp~"}},
		{"a save that keeps the old file", func(t *testing.T, path func(string) string) {
			do(t, os.Rename(path("a/one.go"), path("a/one.go~")))
			write(t, path("a/one.go"), "saved")
		}, []string{"a/one.go"}, []string{"a/one.go~"}},
		{"a removal", func(t *testing.T, path func(string) string) {
			do(t, os.Remove(path("a/one.go")))
		}, []string{"a/one.go"}, nil},
		{"a rename", func(t *testing.T, path func(string) string) {
			do(t, os.Rename(path("a/one.go"), path("two.go")))
		}, []string{"a/one.go", "two.go"}, nil},
		{"a change of times alone", func(t *testing.T, path func(string) string) {
			do(t, os.Chtimes(path("a/one.go"), time.Unix(1, 0), time.Unix(1, 0)))
		}, []string{"a/one.go"}, nil},
		{"new directories, and files written in them later", func(t *testing.T, path func(string) string) {
			makeDir(t, path("n/e/w"))
			write(t, path("n/e/w/f"), "")
			time.Sleep(50 * time.Millisecond)
			write(t, path("n/e/w/g"), "")
			write(t, path("n/h"), "")
		}, []string{"n/e/w/f", "n/e/w/g", "n/h"}, nil},
		{"a directory that comes from outside", func(t *testing.T, path func(string) string) {
			plant(t, path("../outside"), map[string]string{"in/f": "", "g": "", "x.o": ""})
			do(t, os.Rename(path("../outside"), path("inside")))
			time.Sleep(50 * time.Millisecond)
			write(t, path("inside/in/later"), "")
		}, []string{"inside/in/f", "inside/g", "inside/in/later"}, []string{"inside/x.o"}},
		{"a directory that goes away", func(t *testing.T, path func(string) string) {
			do(t, os.Rename(path("a"), path("../gone")))
			write(t, path("../gone/one.go"), "not ours any more")
			write(t, path("../gone/deep/down/f"), "nor this")
		}, []string{"a"}, nil},
		{"a directory that moves, and files written in it at the new place", func(t *testing.T, path func(string) string) {
			do(t, os.Rename(path("a"), path("b")))
			time.Sleep(50 * time.Millisecond)
			write(t, path("b/deep/down/f"), "changed")
			write(t, path("b/deep/down/new"), "")
		}, []string{"a", "b/one.go", "b/deep/down/f", "b/deep/down/new"}, []string{"a/deep/down/f", "a/deep/down/new"}},
		{"a tree that is removed", func(t *testing.T, path func(string) string) {
			do(t, os.RemoveAll(path("a")))
		}, []string{"a/one.go", "a/deep/down/f"}, nil},
		{"a directory in the place of a file, and the other way round", func(t *testing.T, path func(string) string) {
			do(t, os.Remove(path("top.go")))
			plant(t, path("top.go"), map[string]string{"f": ""})
			do(t, os.RemoveAll(path("a")))
			write(t, path("a"), "")
		}, []string{"top.go", "top.go/f", "a", "a/one.go"}, nil},
		{"what is ignored", func(t *testing.T, path func(string) string) {
			write(t, path("a/x.o"), "")
			plant(t, path("out"), map[string]string{"f": "", "deep/g": ""})
			plant(t, path("node_modules"), map[string]string{"m/i.js": ""})
			write(t, path("out/f"), "again")
			write(t, path(".git/index"), "work of git")
			do(t, os.Remove(path("a/x.o")))
		}, nil, []string{"a/x.o", "out", "out/f", "out/deep/g", "node_modules/m/i.js", ".git/index", "node_modules"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "root")
			plant(t, root, map[string]string{".git/HEAD": head, ".gitignore": "*.o\n*~\n/out/\n", "top.go": "", "a/one.go": "", "a/deep/down/f": ""})
			l := &log{t: t, x: watch(t, &files.Walker{Root: root, Getenv: quiet}), paths: map[string]bool{}}
			if paths, all := l.x.Changes(); len(paths) > 0 || all {
				t.Errorf("before any change: %q, %v", paths, all)
			}
			test.change(t, func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) })
			told := map[string]bool{}
			l.until(fmt.Sprintf("waiting for %q", test.want), func() bool {
				for path := range l.paths {
					told[path] = true
				}
				return !slices.ContainsFunc(test.want, func(path string) bool { return !told[path] })
			})
			l.settle(root)
			for path := range l.paths {
				told[path] = true
			}
			if l.all {
				t.Error("everything is said to have changed")
			}
			for _, path := range test.not {
				if told[path] {
					t.Errorf("%q is told, with %v", path, told)
				}
			}
		})
	}
}

// Rules that change make everything change, and what they let in is watched.
func TestWatchRules(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{".git/HEAD": head, ".git/info/exclude": "", ".gitignore": "/out/\n", "out/deep/f": "", "src/f": "", "tagged/CACHEDIR.TAG": cacheTag, "tagged/f": ""})
	path := func(p string) string { return filepath.Join(root, filepath.FromSlash(p)) }
	marks, err := filepath.EvalSymlinks(t.TempDir())
	do(t, err)
	l := &log{t: t, x: watch(t, &files.Walker{Root: root, Getenv: quiet, Marks: marks}), paths: map[string]bool{}}

	// heard says whether a write to a file is told, once the rules are in force: until then Sync says that everything changed.
	heard := func(file string) bool {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			write(t, path(file), time.Now().String())
			do(t, l.x.Sync(t.Context()))
			if paths, all := l.x.Changes(); !all {
				return slices.Contains(paths, file)
			}
		}
		t.Fatal("the watcher finds no rest")
		return false
	}
	if heard("out/deep/f") || heard("tagged/f") || !heard("src/f") {
		t.Error("the first rules are not in force")
	}
	write(t, path(".gitignore"), "/src/\n")
	l.everything()
	if !heard("out/deep/f") || heard("src/f") {
		t.Error("the second rules are not in force")
	}
	write(t, path(".git/info/exclude"), "/out/deep\n")
	l.everything()
	if heard("out/deep/f") {
		t.Error("info/exclude is not in force")
	}
	do(t, os.Remove(path("tagged/CACHEDIR.TAG")))
	l.everything()
	if !heard("tagged/f") {
		t.Error("a directory stays a cache without its tag")
	}
	do(t, os.Remove(path(".gitignore")))
	l.everything()
	if !heard("src/f") {
		t.Error("the rules outlive their file")
	}
}

func TestWatchTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 10,001 files")
	}
	root := t.TempDir()
	l := &log{t: t, x: watch(t, &files.Walker{Root: root, Getenv: quiet}), paths: map[string]bool{}}
	outside := filepath.Join(t.TempDir(), "many")
	makeDir(t, outside)
	for i := range files.MaxChanges + 1 {
		write(t, filepath.Join(outside, fmt.Sprint(i)), "")
	}
	if err := os.Rename(outside, filepath.Join(root, "many")); err != nil {
		t.Skip(err)
	}
	// None are taken meanwhile, however long it takes to look at all of them.
	for end, all := time.Now().Add(time.Minute), false; !all; time.Sleep(time.Millisecond) {
		var n int
		if n, all = l.x.Waiting(); n > files.MaxChanges || time.Now().After(end) {
			t.Fatalf("%d paths wait to be told", n)
		}
	}
	if paths, all := l.x.Changes(); len(paths) > 0 || !all {
		t.Errorf("%d paths are told, all %v", len(paths), all)
	}
	l.settle(root)
	l.paths, l.all = map[string]bool{}, false
	write(t, filepath.Join(root, "many", "1"), "changed")
	l.has("many/1")
}

// A root that is moved away cannot be heard of any more, and the watcher says so.
func TestWatchRootGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a watched directory cannot be moved")
	}
	root := filepath.Join(t.TempDir(), "r")
	plant(t, root, map[string]string{"f": ""})
	x := watch(t, &files.Walker{Root: root, Getenv: quiet})
	do(t, os.Rename(root, root+"2"))
	ctx, cancel := context.WithTimeout(t.Context(), long.Hang)
	defer cancel()
	if err := x.Wait(ctx); !errors.Is(err, files.ErrWatch) {
		t.Errorf("Wait says %v", err)
	}
	for range 2 {
		if paths, all := x.Changes(); paths != nil || !all {
			t.Errorf("Changes says %q, %v", paths, all)
		}
	}
}

func TestWatchEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	x := watch(t, &files.Walker{Root: t.TempDir(), Getenv: quiet})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := x.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait says %v when nothing changes", err)
	}
	waiting := make(chan error)
	go func() { waiting <- x.Wait(context.Background()) }()
	do(t, x.Close(), x.Close())
	if err := <-waiting; !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Wait says %v after Close", err)
	}
	for end := time.Now().Add(long.Hang); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestWatchFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "")
	if x, err := (&files.Walker{Root: filepath.Join(dir, "none")}).Watch(t.Context()); !errors.Is(err, fs.ErrNotExist) || x != nil {
		t.Errorf("a missing root: %v", err)
	}
	if x, err := (&files.Walker{Root: filepath.Join(dir, "f")}).Watch(t.Context()); err == nil || x != nil {
		t.Error("a file as root is watched")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x, err := (&files.Walker{Root: dir}).Watch(ctx); !errors.Is(err, context.Canceled) || x != nil {
		t.Errorf("after cancel: %v", err)
	}
}

// Where each watched file has to be open, a tree with more of them than the process should open is not watched, and says so.
func TestWatchOpensFew(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		dir := filepath.Join(root, fmt.Sprintf("d%d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "f.txt"), "x")
	}
	w := &files.Walker{Root: root}
	w.Watchable(30) // of 41
	if x, err := w.Watch(t.Context()); !errors.Is(err, files.ErrWatch) || x != nil {
		t.Errorf("too many files: %v", err)
	}
	w.Watchable(100)
	watch(t, w)
}
