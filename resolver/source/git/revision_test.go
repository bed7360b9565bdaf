package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// Revisions are what git rev-parse takes them for, or are refused where this package knows no such form.
func TestReadRevision(t *testing.T) {
	long.Slow(t)
	bare := gittest.Init(t, "project")
	var ids []string
	for i := range 4 {
		ids = append(ids, gittest.Commit(t, bare, gittest.Files{"sub/skl.lock": fmt.Sprintf("version %d\n", i), "readme": fmt.Sprint(i)}))
	}
	gittest.Git(t, bare, "tag", "v1", ids[0])
	gittest.Git(t, bare, "tag", "-a", "-m", "two", "v2", ids[1])
	gittest.Git(t, bare, "tag", "-a", "-m", "again", "v2-again", "v2")
	gittest.Git(t, bare, "branch", "feature/x", ids[2])
	side := gittest.CommitTo(t, bare, "side", gittest.Files{"sub/skl.lock": "side\n"})
	merge := gittest.Git(t, bare, "commit-tree", "-p", ids[3], "-p", side, "-m", "merge", ids[3]+"^{tree}")
	gittest.Git(t, bare, "update-ref", "refs/heads/main", merge)
	gittest.Git(t, bare, "update-ref", "refs/heads/none", gittest.CommitTo(t, bare, "none", gittest.Files{"other": "x"}))

	dir := t.TempDir()
	gittest.Git(t, dir, "clone", "--quiet", bare, "work")
	work := filepath.Join(dir, "work")
	gittest.Git(t, work, "branch", "local", ids[1])
	gittest.Git(t, work, "pack-refs", "--all")
	gittest.Git(t, work, "branch", "loose", ids[0])
	gittest.Git(t, work, "worktree", "add", "--quiet", "--detach", filepath.Join(dir, "second"), ids[2])
	for _, tree := range []string{work, filepath.Join(dir, "second")} {
		for _, rev := range []string{
			"HEAD", "@", "main", "local", "loose", "origin/main", "origin/feature/x", "refs/heads/main", "heads/main", "remotes/origin/side", "origin", "v1", "v2",
			"v2-again", "tags/v2", "v2^{}", "v2^{commit}", "v2-again~1", "HEAD~1", "main~2", "main^", "main^1", "main^2", "main^^", "main~1^1", "main^0", "main~0", "main^2~0",
			ids[2], ids[2][:7], ids[2][:8] + "~1", "v2-1-g" + ids[2][:7], "origin/none", side,
			// Revisions that are unknown to git and to ReadRevision.
			"nowhere", "main^3", "main~99", "side", "v3", "", "main^5000000000000", "0123456789012345678901234567890123456789", "ab", "../main", "refs/../HEAD", "main..loose", "-x", "main^{tree}", "config", "HEAD:readme",
		} {
			want, known := exec.Command(gittest.Need(t), "-C", tree, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}"), true
			want.Env = gittest.Environ(tree)
			id, err := want.Output()
			if err != nil || rev == "" {
				known = false
			}
			got, err := ReadRevision(t.Context(), filepath.Join(tree, "sub"), rev, "skl.lock")
			switch {
			case known && err != nil:
				t.Errorf("%q in %s: %v", rev, filepath.Base(tree), err)
			case !known && !errors.Is(err, diag.Code("unknown_revision")):
				t.Errorf("%q in %s: %q, %v", rev, filepath.Base(tree), got, err)
			case known:
				show := exec.Command(gittest.Need(t), "-C", tree, "show", strings.TrimSpace(string(id))+":sub/skl.lock")
				show.Env = gittest.Environ(tree)
				text, err := show.Output()
				if string(text) != string(got) || (err != nil) != (got == nil) {
					t.Errorf("%q in %s is %q, and git shows %q", rev, filepath.Base(tree), got, text)
				}
			}
		}
	}
}

// Where there is no repository, or none that can be read, the error says which.
func TestReadRevisionNowhere(t *testing.T) {
	refused := func(dir, want string) {
		t.Helper()
		if _, err := ReadRevision(t.Context(), dir, "HEAD", "skl.lock"); !errors.Is(err, diag.Code("no_repository")) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	dir := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	refused(dir, "there is no git repository")
	put("pointer/.git", "see elsewhere")
	refused(filepath.Join(dir, "pointer"), "does not begin with gitdir")
	put("empty/.git/config", "")
	refused(filepath.Join(dir, "empty"), "there is no git repository")
	put("new/.git/HEAD", "ref: refs/heads/main\n")
	put("new/.git/config", "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n")
	refused(filepath.Join(dir, "new"), "refstorage = reftable")
	put("newer/.git/HEAD", "ref: refs/heads/main\n")
	put("newer/.git/config", "[core]\nrepositoryformatversion = 2\n")
	refused(filepath.Join(dir, "newer"), `"2" is not known`)
	put("sha/.git/HEAD", "ref: refs/heads/main\n")
	put("sha/.git/config", "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n")
	refused(filepath.Join(dir, "sha"), "SHA-256")
}
