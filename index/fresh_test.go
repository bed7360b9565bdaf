package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/testdata/long"
)

// A change of the files, and what is found after it.
type change struct {
	name string
	do   func(r *repo)
	ask  string
	want []string // in any order
}

var changes = []change{
	{"at first", func(*repo) {}, "alpha", []string{"a.go Alpha", "doc/a.md About alpha"}},
	{"a new file", func(r *repo) { r.put("sub/new.go", "package sub\n\nfunc Beta() {}\n") }, "beta", []string{"sub/new.go Beta"}},
	{"an edit that makes it longer", func(r *repo) {
		r.put("sub/new.go", "package sub\n\n// Up comes first.\nfunc Up() {}\n\nfunc Beta() {}\n")
	}, "beta", []string{"sub/new.go Beta"}},
	{"an edit of the same size", func(r *repo) {
		r.put("sub/new.go", "package sub\n\n// Up comes first.\nfunc Up() {}\n\nfunc Zeta() {}\n")
	}, "zeta", []string{"sub/new.go Zeta"}},
	{"what was there before it", func(*repo) {}, "beta", nil},
	{"a removal", func(r *repo) { r.remove("sub/new.go") }, "zeta", nil},
	{"a rename", func(r *repo) { r.rename("a.go", "b.go") }, "alpha", []string{"b.go Alpha", "doc/a.md About alpha"}},
	{"a directory is moved", func(r *repo) { r.rename("doc", "docs") }, `(section "alpha")`, []string{"docs/a.md About alpha"}},
	{"another takes its name", func(r *repo) { r.put("doc/b.md", "# Gamma\n") }, `(file "doc*/**")`, []string{"doc/b.md file", "docs/a.md file"}},
	{"a directory takes the place of another", func(r *repo) {
		r.rename("doc", "gone")
		r.rename("docs", "doc")
		r.remove("gone")
	}, `(file "doc*/**")`, []string{"doc/a.md file"}},
	{"a file replaces a file", func(r *repo) { r.put("tmp.go", "package a\n\nfunc Delta() {}\n"); r.rename("tmp.go", "b.go") }, `(definition "Delta")`, []string{"b.go Delta"}},
	{"a file becomes a directory", func(r *repo) { r.remove("b.go"); r.put("b.go/c.go", "package c\n\nfunc Eta() {}\n") }, `(file "b.go/**")`, []string{"b.go/c.go file"}},
	{"and its text is found", func(*repo) {}, "eta", []string{"b.go/c.go Eta"}},
	{"a directory becomes a file", func(r *repo) { r.remove("b.go"); r.put("b.go", "package a\n\nfunc Theta() {}\n") }, "theta", []string{"b.go Theta"}},
	{"nothing below it is left", func(*repo) {}, "eta", nil},
	{"a file becomes empty", func(r *repo) { r.put("b.go", "") }, "theta", nil},
	{"and is there all the same", func(*repo) {}, `(file "b.go")`, []string{"b.go file"}},
	{"a file becomes binary", func(r *repo) { r.put("b.go", "package b\n\x00 iota\n") }, `(literal "iota")`, nil},
	{"and text again", func(r *repo) { r.put("b.go", "package b\n\nconst K = iota\n") }, `(literal "iota")`, []string{"b.go K"}},
	{"a file becomes too large", func(r *repo) {
		r.put("b.go", "package b\n\nconst K = iota\n"+strings.Repeat("// pad\n", files.MaxFileBytes/7+1))
	}, `(literal "iota")`, []string{"b.go chunk"}}, // and no symbol of it
	{"and small again", func(r *repo) { r.put("b.go", "package b\n\nconst Kappa = 1\n") }, "kappa", []string{"b.go Kappa"}},
	{"a rule ignores it", func(r *repo) { r.put(".gitignore", "b.go\n") }, "kappa", nil},
	{"the rule is taken back", func(r *repo) { r.put(".gitignore", "c.go\n") }, "kappa", []string{"b.go Kappa"}},
	{"a file of another rule", func(r *repo) {
		r.put("sub/.gitignore", "*.go\n")
		r.put("sub/l.go", "package sub\n\nfunc Lambda() {}\n")
	}, "lambda", nil},
	{"the rule is removed", func(r *repo) { r.remove("sub/.gitignore") }, "lambda", []string{"sub/l.go Lambda"}},
	{"a file becomes a link", func(r *repo) { r.remove("sub/l.go"); r.link("../b.go", "sub/l.go") }, "kappa", []string{"b.go Kappa"}},
	{"a link is no file", func(*repo) {}, "lambda", nil},
	{"a link becomes a file", func(r *repo) { r.remove("sub/l.go"); r.put("sub/l.go", "package sub\n\nfunc Mu() {}\n") }, "mu", []string{"sub/l.go Mu"}},
	{"a directory becomes a link", func(r *repo) { r.rename("sub", "other"); r.link("other", "sub") }, "mu", []string{"other/l.go Mu"}},
	{"all is removed", func(r *repo) {
		for _, p := range []string{"other", "sub", "b.go", "doc", ".gitignore"} {
			r.remove(p)
		}
	}, `(file "**")`, nil},
	{"and comes back", func(r *repo) { r.put("a.go", "package a\n\nfunc Alpha() {}\n") }, "alpha", []string{"a.go Alpha"}},
}

func (r *repo) rename(from, to string) {
	r.t.Helper()
	if err := os.Rename(filepath.Join(r.dir, from), filepath.Join(r.dir, to)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) link(target, path string) {
	r.t.Helper()
	if err := os.Symlink(target, filepath.Join(r.dir, filepath.FromSlash(path))); err != nil {
		r.t.Skip("no links here: ", err)
	}
}

var beginning = map[string]string{"a.go": "package a\n\nfunc Alpha() {}\n", "doc/a.md": "# About alpha\n"}

// Every change of the files is in the next answer: nobody has to ask for an update.
func TestFresh(t *testing.T) {
	for _, mode := range []struct {
		name  string
		watch bool
		blind bool
		wait  time.Duration
	}{
		{"looking before every answer", false, false, 0},
		{"watching", true, false, 10 * time.Second},
		{"when nothing can be watched", true, true, 0},
	} {
		t.Run(mode.name, func(t *testing.T) {
			r := openRepo(t, plant(t, beginning), Options{Watch: mode.watch})
			if mode.blind { // what Open does when the system has no more watches
				r.watcher.Close()
				r.watcher = nil
			}
			var slowest time.Duration
			for _, c := range changes {
				c.do(r)
				start := time.Now()
				got := r.sorted(c.ask)
				for !slices.Equal(got, c.want) && time.Since(start) < mode.wait {
					time.Sleep(2 * time.Millisecond)
					got = r.sorted(c.ask)
				}
				slowest = max(slowest, time.Since(start))
				same(t, c.name+": "+c.ask, got, c.want)
				err := r.counts()
				for ; err != nil && time.Since(start) < mode.wait; err = r.counts() {
					time.Sleep(2 * time.Millisecond)
					r.ask(c.ask)
				}
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if mode.watch && !mode.blind {
				t.Logf("the slowest change was visible after %v", slowest)
			}
		})
	}
}

// counts says whether the index has as many files as there are.
func (r *repo) counts() error {
	list, err := r.walker.Walk(context.Background())
	if err != nil {
		return err
	}
	s, err := r.Status(context.Background())
	if n := len(list.Files) + len(list.TooLarge); err == nil && (s.FilesTotal != n || s.FilesIndexed != n) {
		err = fmt.Errorf("%d of %d files are indexed, there are %d", s.FilesIndexed, s.FilesTotal, n)
	}
	return err
}

// The same changes, with an update instead of a question after each, leave an index that answers as one built anew.
func TestUpdatesEqualFresh(t *testing.T) {
	long.Slow(t)
	dir := plant(t, beginning)
	r := openRepo(t, dir, Options{})
	for _, c := range changes[:len(changes)-2] {
		c.do(r)
		r.update()
		fresh := openRepo(t, dir, Options{})
		same(t, c.name, r.names(c.ask), fresh.names(c.ask))
	}
}

// A file that is written again and again, with the same size, within one tick of the clock of the file system.
func TestSameSizeSameSecond(t *testing.T) {
	r := newRepo(t, map[string]string{"a.go": "package a\n\nfunc F000() {}\n"})
	name := filepath.Join(r.dir, "a.go")
	r.ask("F000")
	for i := 1; i < 100; i++ {
		want := fmt.Sprintf("F%03d", i)
		if err := os.WriteFile(name, []byte("package a\n\nfunc "+want+"() {}\n"), 0o644); err != nil { // in place: the same inode
			t.Fatal(err)
		}
		if i%2 == 0 { // with a time that says nothing changed
			old := time.Now().Add(-time.Hour).Truncate(time.Second)
			if err := os.Chtimes(name, old, old); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "after an edit", r.names(`(definition "`+want+`")`), []string{"a.go " + want})
		same(t, "what was before", r.names(fmt.Sprintf(`(definition "F%03d")`, i-1)), nil)
	}
}

// A file that is only touched is not indexed again, and nothing that was answered becomes stale.
func TestTouchKeepsGeneration(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t, beginning)
	h := r.ask("alpha").Handles[0]
	before, err := r.Generation(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		when := time.Now().Add(time.Duration(i-1) * 24 * time.Hour) // also in the future
		if err := os.Chtimes(filepath.Join(r.dir, "a.go"), when, when); err != nil {
			t.Fatal(err)
		}
		if report := r.update(); report.Changed+report.Added+report.Removed != 0 || report.Unchanged != 2 {
			t.Errorf("touched: %+v", report)
		}
	}
	if after, err := r.Generation(ctx); err != nil || after != before {
		t.Errorf("generation %d, was %d, %v", after, before, err)
	}
	if e := r.expand(h.ID); len(e.Contents) != 1 {
		t.Errorf("%+v", e)
	}
}

// Once a file is older than the ticks of clocks, it is not read again until it changes: not with a TTL, and not in every pass.
func TestSettledFilesAreNotRead(t *testing.T) {
	dir := plant(t, beginning)
	r := openRepo(t, dir, Options{})
	r.update()
	v, err := r.view(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list, err := r.walker.Walk(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Clone(v.Files())
	for i, f := range known {
		c := *f
		c.Read = max(c.Stamp.MTime, c.Stamp.CTime) + int64(racyCoarse) + 1 // as if it had been read long after its change
		known[i] = &c
	}
	if d := compare(list.Files, list.TooLarge, known); !d.none() {
		t.Errorf("%d new, %d unsure, %d removed", len(d.new), len(d.unsure), len(d.removed))
	}
	for i := range known {
		known[i].Read -= int64(racyCoarse) + 1
	}
	if d := compare(list.Files, list.TooLarge, known); len(d.unsure) != len(known) {
		t.Errorf("%d of %d are read again though they may have changed", len(d.unsure), len(known))
	}
}

// Text that was kept is given while its file is what was read, and no longer: also if a change leaves size, time and inode as they were, as
// one within a tick of the clock does.
func TestTextsFollowTheFile(t *testing.T) {
	r := newRepo(t, map[string]string{"a.txt": "text 0000"})
	name := filepath.Join(r.dir, "a.txt")
	file := func() *store.File {
		rec, _, err := newMaker(r.dir).record("a.txt")
		if err != nil {
			t.Fatal(err)
		}
		rec.ID = 7
		return &rec.File
	}
	for i := range 300 {
		kept := newTexts()
		f := file()
		if text, ok := kept.of(r.dir, f, nil); !ok || string(text) != fmt.Sprintf("text %04d", i) {
			t.Fatalf("round %d: %q, %v", i, text, ok)
		}
		w, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteAt(fmt.Appendf(nil, "text %04d", i+1), 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if text, ok := kept.of(r.dir, f, nil); ok {
			t.Fatalf("round %d: %q is given, the file has another text", i, text)
		}
	}
	for what, change := range map[string]func(){
		"longer": func() { r.put("a.txt", "text and more") }, "removed": func() { r.remove("a.txt") },
		"a directory": func() { r.remove("a.txt"); r.put("a.txt/b", "") }, "a link": func() { r.remove("a.txt"); r.link("other", "a.txt") },
	} {
		r.remove("a.txt")
		r.put("a.txt", "text")
		r.put("other", "no text")
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
		kept := newTexts()
		f := file()
		if _, ok := kept.of(r.dir, f, nil); !ok {
			t.Errorf("%s: not given before", what)
		}
		change()
		if text, ok := kept.of(r.dir, f, nil); ok {
			t.Errorf("%s: %q is given", what, text)
		}
	}
}

// A walk that was cancelled is done again: what the watcher told was taken from it and is told no more.
func TestCancelledWalkIsDoneAgain(t *testing.T) {
	r := openRepo(t, plant(t, beginning), Options{Watch: true})
	r.update()
	r.put(".gitignore", "nothing\n") // makes the watcher tell that all may have changed
	r.put("new.go", "package n\n\nfunc Nu() {}\n")
	time.Sleep(150 * time.Millisecond)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := r.list(ended); err == nil {
		t.Skip("the watcher told each file")
	}
	same(t, "after a cancelled question", r.names("nu"), []string{"new.go Nu"})
}

// Files that changed rules let in are found at once, also when they are edited before the watcher has read the rules
// anew.
func TestRulesChangeWhileWatched(t *testing.T) {
	r := openRepo(t, plant(t, map[string]string{"a.go": "package a\n\nfunc Alpha() {}\n", "out/b.go": "package b\n"}), Options{Watch: true})
	for i := range 10 {
		r.put(".gitignore", "/out/\n")
		same(t, "left out", r.names(fmt.Sprintf(`(definition "Beta%d")`, i-1)), nil)
		r.remove(".gitignore")
		same(t, "besides", r.names("alpha"), []string{"a.go Alpha"})
		r.put("out/b.go", fmt.Sprintf("package b\n\nfunc Beta%d() {}\n", i))
		same(t, "let in", r.names(fmt.Sprintf(`(definition "Beta%d")`, i)), []string{fmt.Sprintf("out/b.go Beta%d", i)})
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() <= 0 || runtime.GOOS == "windows" {
		t.Skip("whoever runs this may read every file")
	}
	r := newRepo(t, beginning)
	same(t, "readable", r.sorted("alpha"), []string{"a.go Alpha", "doc/a.md About alpha"})
	for _, path := range []string{"a.go", "doc"} {
		if err := os.Chmod(filepath.Join(r.dir, path), 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(r.dir, path), 0o755)
	}
	same(t, "unreadable", r.sorted("alpha"), nil)
	if err := os.Chmod(filepath.Join(r.dir, "a.go"), 0o644); err != nil {
		t.Fatal(err)
	}
	same(t, "readable again", r.sorted("alpha"), []string{"a.go Alpha"})
}

// A file that cannot be read, for whatever reason, is left out; the others are found.
func TestUnreadableErrors(t *testing.T) {
	for err, want := range map[error]bool{
		errChanging: true, os.ErrNotExist: true,
		&os.PathError{Op: "open", Path: "x", Err: os.ErrPermission}: true,
		context.Canceled: false, context.DeadlineExceeded: false,
	} {
		if unreadable(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

// With a watcher, a change is visible within 100 ms: the median of ten is compared with that, the limit is looser for busy machines.
func TestWatchIsFast(t *testing.T) {
	shopFiles := map[string]string{}
	for i := range 500 {
		shopFiles[fmt.Sprintf("d%02d/f%03d.go", i%20, i)] = fmt.Sprintf("package d\n\nfunc F%03d() {}\n", i)
	}
	r := openRepo(t, plant(t, shopFiles), Options{Watch: true})
	r.update()
	var took []time.Duration
	for i := range 10 {
		name := fmt.Sprintf("Fresh%d", i)
		r.put(fmt.Sprintf("d%02d/f%03d.go", i, i), "package d\n\nfunc "+name+"() {}\n")
		start := time.Now()
		for len(r.ask(`(definition "`+name+`")`).Handles) == 0 {
			if time.Since(start) > long.Within(10*time.Second) {
				t.Fatalf("%s is not visible after %v", name, time.Since(start))
			}
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("a changed file of 500 is visible after %v (median), %v at worst", took[len(took)/2], took[len(took)-1])
}

// A root that is moved away and comes back is found again.
func TestRootComesBack(t *testing.T) {
	for _, watch := range []bool{false, true} {
		parent := plant(t, map[string]string{"root/a.go": "package a\n\nfunc Alpha() {}\n"})
		r := openRepo(t, filepath.Join(parent, "root"), Options{Watch: watch})
		same(t, "before", r.names("alpha"), []string{"a.go Alpha"})
		if err := os.Rename(filepath.Join(parent, "root"), filepath.Join(parent, "away")); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(10 * time.Second)
		for {
			got, err := r.Query(context.Background(), compiled(t, "alpha"))
			if err != nil || len(got.Handles) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("watch %v: %q is answered though the root is gone", watch, shown(got))
			}
			time.Sleep(5 * time.Millisecond)
		}
		put(t, filepath.Join(parent, "root"), "b.go", "package b\n\nfunc Beta() {}\n")
		for watch && len(r.names("beta")) == 0 && time.Now().Before(deadline) {
			time.Sleep(5 * time.Millisecond) // until the watcher has noticed
		}
		same(t, "after", r.names("beta"), []string{"b.go Beta"})
		same(t, "of before", r.names("alpha"), nil)
	}
}

// A context that has ended, or ends in between, ends a query and an update soon, and leaves an index that works.
func TestCancel(t *testing.T) {
	long.Slow(t)
	list := map[string]string{}
	for i := range 1500 {
		list[fmt.Sprintf("d%02d/f%04d.go", i%30, i)] = fmt.Sprintf("package d\n\n// F%04d is common.\nfunc F%04d() {}\n", i, i)
	}
	dir := plant(t, list)
	for _, watch := range []bool{false, true} {
		r := openRepo(t, dir, Options{Watch: watch})
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.Query(ended, compiled(t, "common")); err != context.Canceled {
			t.Errorf("Query: %v", err)
		}
		if _, err := r.Index.Files(ended, compiled(t, `(literal "common")`)); err != context.Canceled {
			t.Errorf("Files: %v", err)
		}
		if _, err := r.Expand(ended, []string{"h0123456789abcdef01234567"}, 0); err != context.Canceled {
			t.Errorf("Expand: %v", err)
		}
		if _, err := r.Update(ended, glob.Glob{}, false); err == nil {
			t.Error("Update with a context that has ended")
		}
		for _, after := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(context.Background(), after)
			start := time.Now()
			_, err := r.Update(ctx, glob.Glob{}, true)
			if took := time.Since(start); took > after+long.Within(2*time.Second) {
				t.Errorf("Update ended %v after its context", took-after)
			}
			if err != nil && ctx.Err() == nil {
				t.Errorf("Update: %v", err)
			}
			start = time.Now()
			_, err = r.Query(ctx, compiled(t, `(literal "common")`))
			if took := time.Since(start); took > long.Within(2*time.Second) || err == nil || ctx.Err() == nil {
				t.Errorf("Query with a context that has ended: %v after %v", err, took)
			}
			cancel()
		}
		r.update()
		if got := r.ask("common"); got.TotalMatches != 1500 || got.NotIndexed != 0 {
			t.Errorf("after all: %d matches, %d not indexed", got.TotalMatches, got.NotIndexed)
		}
	}
}

// A repository that was never indexed is answered from at once, and what is not covered is said. A time that is too short for
// all is not lost: each question goes on where the one before ended.
func TestFirstAnswer(t *testing.T) {
	long.Slow(t)
	list := map[string]string{}
	for i := range 900 { // not enough to choose from: all are read, as far as time allows
		list[fmt.Sprintf("d%02d/f%04d.go", i%30, i)] = fmt.Sprintf("package d\n\n// F%04d is common.\nfunc F%04d() {}\n", i, i)
	}
	r := openRepo(t, plant(t, list), Options{FirstAnswer: 20 * time.Millisecond / patient})
	last := len(list) + 1
	for range 2000 {
		got := r.ask("common")
		if got.NotIndexed >= last && got.NotIndexed > 0 {
			last = got.NotIndexed // no progress this time, as the machine is busy
		} else {
			last = got.NotIndexed
		}
		if (got.Note == "") != (got.NotIndexed == 0) {
			t.Fatalf("%d are not indexed, the note is %q", got.NotIndexed, got.Note)
		}
		if covered, err := r.Covered(context.Background(), glob.Glob{}); err != nil || got.NotIndexed == 0 && got.TotalMatches != len(list) || covered+got.NotIndexed < len(list) {
			t.Fatalf("%d covered, %d not indexed, %d matches, %v", covered, got.NotIndexed, got.TotalMatches, err)
		}
		if got.NotIndexed == 0 {
			return
		}
	}
	t.Errorf("%d of %d are never indexed", last, len(list))
}
