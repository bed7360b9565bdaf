package files_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gitindex "github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/testdata/long"
)

// Of random trees, some files of which are tracked whatever ignores them, Untracked and Tracked have the files that git says, from any directory.
func TestUntrackedIsGits(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	found := 0
	for seed := range long.Of(6, 40, 300) {
		g := &grower{rand: rand.New(rand.NewPCG(uint64(seed), 11)), git: git, base: t.TempDir()}
		g.grow(t)
		g.run(t, "", "-C", g.root, "config", "index.version", []string{"2", "3", "4"}[seed%3])
		dir := g.someDir()
		var all, add []string
		for path, isDir := range g.paths {
			if rel, err := filepath.Rel(dir, filepath.Join(g.root, path)); err == nil && !isDir && filepath.IsLocal(rel) {
				all = append(all, filepath.ToSlash(rel))
			}
			same := func(other string) bool { return strings.EqualFold(other, path) } // git adds one of them where names fold
			if !isDir && g.rand.IntN(3) == 0 && !slices.ContainsFunc(add, same) {
				add = append(add, path)
			}
		}
		slices.Sort(all)
		if len(add) > 0 {
			g.run(t, strings.Join(add, "\x00")+"\x00", "--literal-pathspecs", "-C", g.root, "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul")
		}
		want := g.run(t, "", "-C", dir, "ls-files", "-oi", "--exclude-standard", "-z")
		slices.Sort(want)
		got, err := (&files.Tracker{Getenv: g.getenv}).Untracked(dir, all)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Fatalf("seed %d, in %q:\nfound %q\n  git %q\ntracked %q\n%s", seed, dir[len(g.root):], got, want, add, g.describe())
		}
		want = g.run(t, "", "-C", dir, "ls-files", "-c", "-z")
		slices.Sort(want)
		if got, err := (&files.Tracker{Getenv: g.getenv}).Tracked(dir, all); err != nil || !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Fatalf("seed %d, in %q: tracked are %q, %v\n  git %q", seed, dir[len(g.root):], got, err, want)
		}
		found += len(got)
	}
	if long.All() && found < 100 {
		t.Errorf("%d files are too few to show anything", found)
	}
}

// Of random trees Hidden names the file, line and pattern that git check-ignore names, and a .gitignore that is to be written counts as if it were.
func TestHiddenIsGits(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	found := 0
	for seed := range long.Of(6, 40, 300) {
		g := &grower{rand: rand.New(rand.NewPCG(uint64(seed), 17)), git: git, base: t.TempDir()}
		g.grow(t)
		var all []string
		for path, isDir := range g.paths {
			if !isDir {
				all = append(all, path)
			}
		}
		slices.Sort(all)
		k := &files.Tracker{Getenv: g.getenv}
		compare := func(got []files.Hidden, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			want := map[string]string{}
			out := g.run(t, strings.Join(all, "\x00")+"\x00", "-C", g.root, "check-ignore", "-v", "-z", "--stdin", "--no-index")
			for ; len(out) >= 4; out = out[4:] {
				if !strings.HasPrefix(out[2], "!") {
					file := out[0]
					if !filepath.IsAbs(file) {
						file = filepath.Join(g.root, file)
					}
					want[out[3]] = file + ":" + out[1] + ":" + out[2]
				}
			}
			for _, h := range got {
				if said := fmt.Sprintf("%s:%d:%s", h.File, h.Line, h.Pattern); said != want[h.Path] {
					t.Fatalf("seed %d: %q is hidden by %q, git says %q\n%s", seed, h.Path, said, want[h.Path], g.describe())
				}
				delete(want, h.Path)
				found++
			}
			if len(want) > 0 {
				t.Fatalf("seed %d: git hides %q too\n%s", seed, want, g.describe())
			}
		}
		compare(k.Hidden(g.root, all, nil))
		at := filepath.Join(g.root, ".gitignore")
		text, _ := os.ReadFile(at)
		next := string(text) + "\n*.c\n!/a/**\n"
		would, err := k.Hidden(g.root, all, map[string]string{at: next})
		write(t, at, next)
		compare(would, err)
	}
	if found == 0 {
		t.Error("no tree hides anything")
	}
}

// Files tracked by a work tree of its own, by a submodule or by a sparse index count as tracked; an index that cannot
// be read is an error.
func TestUntracked(t *testing.T) {
	base := t.TempDir()
	k := &files.Tracker{Getenv: quiet} // one for all: it sees each change
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+base, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %q: %v: %s", args, err, out)
		}
	}
	untracked := func(dir string, paths ...string) []string {
		t.Helper()
		got, err := k.Untracked(dir, paths)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if _, err := k.Untracked(base, []string{"a"}); !errors.Is(err, files.ErrNoRepository) {
		t.Errorf("without a repository: %v", err)
	}
	repo := filepath.Join(base, "r")
	plant(t, repo, map[string]string{".gitignore": "*.pyc\n", "s/a.pyc": "a", "s/b.pyc": "b", "t/c.pyc": "c"})
	run(base, "init", "-q", "r")
	if got := untracked(filepath.Join(repo, "s"), "a.pyc", "b.pyc"); len(got) != 2 {
		t.Errorf("without an index: %q", got)
	}
	run(repo, "add", "-f", ".gitignore", "s/a.pyc", "t")
	run(repo, "commit", "-qm", "one")
	if got := untracked(filepath.Join(repo, "s"), "a.pyc", "b.pyc", "../t/c.pyc"); !slices.Equal(got, []string{"b.pyc"}) {
		t.Errorf("of a clone: %q", got)
	}
	run(repo, "worktree", "add", "-q", filepath.Join(base, "w"))
	write(t, filepath.Join(base, "w", "s", "b.pyc"), "b")
	if got := untracked(filepath.Join(base, "w", "s"), "a.pyc", "b.pyc"); !slices.Equal(got, []string{"b.pyc"}) {
		t.Errorf("of a work tree: %q", got)
	}
	run(repo, "-c", "protocol.file.allow=always", "clone", "-q", repo, "sub")
	run(repo, "add", "sub")
	os.RemoveAll(filepath.Join(repo, "sub", ".git"))
	write(t, filepath.Join(repo, "sub", "x.pyc"), "x")
	if got := untracked(filepath.Join(repo, "sub"), "x.pyc", "s/a.pyc"); len(got) != 0 {
		t.Errorf("below a submodule: %q", got)
	}
	run(repo, "update-index", "--split-index")
	if got, err := k.Untracked(repo, []string{"s/b.pyc"}); err == nil {
		t.Errorf("with a split index: %q and no error", got)
	}
	write(t, filepath.Join(repo, ".git", "index"), "DIRC, not quite")
	if got, err := k.Untracked(repo, []string{"s/b.pyc"}); err == nil {
		t.Errorf("with a damaged index: %q and no error", got)
	}
}

// No index makes the reader fail otherwise than by an error.
func FuzzGitIndex(f *testing.F) {
	for _, version := range []uint32{2, 4} {
		var b strings.Builder
		idx := &gitindex.Index{Version: version, Entries: []*gitindex.Entry{{Name: "a/b.pyc", Mode: 0o100644}, {Name: "a/c", Mode: 0o160000}}}
		if err := gitindex.NewEncoder(&b).Encode(idx); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(b.String()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		plant(t, dir, map[string]string{".git/HEAD": head, ".git/index": string(data), ".gitignore": "*\n"})
		got, err := (&files.Tracker{Getenv: quiet}).Untracked(dir, []string{"a/b.pyc", "a/c/d"})
		if err != nil && len(got) > 0 {
			t.Errorf("%q and %v", got, err)
		}
	})
}

// A hundred directories of a repository with 20,000 files: the index is read once.
func BenchmarkUntracked(b *testing.B) {
	dir := b.TempDir()
	idx := &gitindex.Index{Version: 2}
	for i := range 20_000 {
		idx.Entries = append(idx.Entries, &gitindex.Entry{Name: fmt.Sprintf("d%03d/file%d.go", i%200, i), Mode: 0o100644})
	}
	var text strings.Builder
	if err := gitindex.NewEncoder(&text).Encode(idx); err != nil {
		b.Fatal(err)
	}
	plant(b, dir, map[string]string{".git/HEAD": head, ".git/index": text.String(), ".gitignore": "__pycache__/\n"})
	for i := range 100 {
		makeDir(b, filepath.Join(dir, fmt.Sprintf("s%d", i)))
	}
	for b.Loop() {
		k := &files.Tracker{Getenv: quiet}
		for i := range 100 {
			if got, err := k.Untracked(filepath.Join(dir, fmt.Sprintf("s%d", i)), []string{"__pycache__/a.pyc"}); err != nil || len(got) != 1 {
				b.Fatal(got, err)
			}
		}
	}
}
