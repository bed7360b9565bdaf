package git_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/testdata/long"
)

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// After random edits, commits and merges, Changed and LastCommit are what git says, in the whole repository and in a folder of it.
func TestWorkTreeIsGits(t *testing.T) {
	for seed := range long.Of(3, 12, 60) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		top := t.TempDir()
		gittest.Git(t, top, "init", "-q", "-b", "main")
		gittest.Git(t, top, "config", "index.version", fmt.Sprint(2+seed%3))
		put(t, filepath.Join(top, "a", "base"), "base")
		gittest.Git(t, top, "add", ".")
		gittest.Git(t, top, "commit", "-qm", "base")
		if seed%2 == 0 { // a file that a sparse checkout leaves out
			put(t, filepath.Join(top, "a", "sparse"), "sparse")
			gittest.Git(t, top, "add", ".")
			gittest.Git(t, top, "commit", "-qm", "sparse")
			gittest.Git(t, top, "update-index", "--skip-worktree", "a/sparse")
			os.Remove(filepath.Join(top, "a", "sparse"))
		}
		edit := func() {
			at := filepath.Join(top, []string{"a", "b", "a/deep/er", "c"}[r.IntN(4)], fmt.Sprintf("f%d", r.IntN(5)))
			switch r.IntN(6) {
			case 0:
				os.Remove(at)
			case 1:
				if os.Remove(at); os.Symlink("base", at) != nil {
					put(t, at, "no link")
				}
			case 2:
				if _, err := os.Stat(at); err == nil {
					os.Chmod(at, 0o755)
				}
			default:
				os.Remove(at)
				put(t, at, strings.Repeat(fmt.Sprint(r.IntN(9)), 1+r.IntN(3)))
			}
		}
		for range 12 {
			edit()
			switch r.IntN(4) {
			case 0:
				gittest.Git(t, top, "add", "-A")
				gittest.Git(t, top, "commit", "-q", "--allow-empty", "-m", "more")
			case 1:
				gittest.Git(t, top, "add", "-A")
			case 2:
				gittest.Git(t, top, "stash", "-q", "-u")
				gittest.Git(t, top, "checkout", "-q", "-B", "side", "HEAD")
				edit()
				gittest.Git(t, top, "add", "-A")
				gittest.Git(t, top, "commit", "-q", "--allow-empty", "-m", "side")
				gittest.Git(t, top, "checkout", "-q", "main")
				gittest.Git(t, top, "merge", "-q", "--no-ff", "-m", "merge", "side")
			}
			for _, dir := range []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "deep")} {
				if _, err := os.Stat(dir); err != nil {
					continue
				}
				compare(t, seed, dir)
			}
		}
	}
}

func compare(t *testing.T, seed int, dir string) {
	t.Helper()
	var want, found []string
	status := strings.Split(gittest.Git(t, dir, "status", "--porcelain", "-z", "--no-renames", "-uall", "--", "."), "\x00")
	prefix := strings.TrimSpace(gittest.Git(t, dir, "rev-parse", "--show-prefix"))
	for _, line := range status {
		if len(line) > 3 {
			want = append(want, strings.TrimPrefix(line[3:], prefix))
		}
	}
	slices.Sort(want)
	for _, p := range strings.Split(gittest.Git(t, dir, "ls-files", "-co", "--exclude-standard", "-z"), "\x00") {
		if _, err := os.Lstat(filepath.Join(dir, p)); err == nil && p != "" {
			found = append(found, p)
		}
	}
	w, err := git.OpenWorkTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Changed(t.Context(), found, 1<<20)
	if err != nil || !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Fatalf("seed %d, %s: changed %q, %v; git says %q", seed, prefix, got, err, want)
	}
	id, when, err := w.LastCommit(t.Context())
	said := ""
	if id != "" {
		said = fmt.Sprintf("%d %s", when.Unix(), id)
	}
	log := strings.TrimSpace(gittest.Git(t, dir, "log", "-1", "--format=%ct %H", "--", "."))
	if kept, keptErr := w.Committed(t.Context()); err != nil || keptErr != nil || said != log && len(kept) > 0 || len(kept) == 0 != (id == "") {
		t.Fatalf("seed %d, %s: last %q, %v, %d files, %v; git says %q", seed, prefix, said, err, len(kept), keptErr, log)
	}
}

// No configuration and no attribute of a repository makes a program run; a bare repository is no work tree.
func TestWorkTreeRunsNothing(t *testing.T) {
	top := t.TempDir()
	marker := filepath.Join(t.TempDir(), "ran")
	gittest.Git(t, top, "init", "-q", "-b", "main")
	put(t, filepath.Join(top, "a.txt"), "one")
	gittest.Git(t, top, "add", ".")
	gittest.Git(t, top, "commit", "-qm", "one")
	put(t, filepath.Join(top, ".gitattributes"), "* filter=x diff=x\n")
	config, err := os.ReadFile(filepath.Join(top, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(top, ".git", "config"), string(config)+"[core]\n\tfsmonitor = touch "+marker+"\n[filter \"x\"]\n\tclean = touch "+marker+"\n\tprocess = touch "+marker+"\n[remote \"origin\"]\n\turl = https://example.com/a/b.git\n")
	if err := os.Chtimes(filepath.Join(top, "a.txt"), time.Now(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	w, err := git.OpenWorkTree(top)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Changed(t.Context(), []string{".gitattributes", "a.txt"}, 1<<20)
	if err != nil || !slices.Equal(got, []string{".gitattributes"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got := w.Origin(); got != "https://example.com/a/b.git" {
		t.Errorf("origin %q", got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program ran")
	}
	bare := t.TempDir()
	gittest.Git(t, bare, "init", "-q", "--bare")
	if _, err := git.OpenWorkTree(bare); !errors.Is(err, git.ErrNoWorkTree) {
		t.Errorf("bare: %v", err)
	}
	if _, err := git.OpenWorkTree(t.TempDir()); !errors.Is(err, git.ErrNoWorkTree) {
		t.Errorf("none: %v", err)
	}
}
