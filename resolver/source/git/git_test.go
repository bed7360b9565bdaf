package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/testdata/long"
)

// entries is a bundle.Sink that keeps what it is given, as "MODE CONTENT" by path.
type entries struct {
	mu sync.Mutex
	m  map[string]string
}

func (e *entries) put(path, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.m == nil {
		e.m = make(map[string]string)
	}
	if _, twice := e.m[path]; twice {
		return fmt.Errorf("%s came twice", path)
	}
	e.m[path] = text
	return nil
}

func (e *entries) File(path string, executable bool, size int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if int64(len(data)) != size {
		return fmt.Errorf("%s: %d bytes announced, %d came", path, size, len(data))
	}
	mode := "100644 "
	if executable {
		mode = "100755 "
	}
	return e.put(path, mode+string(data))
}

func (e *entries) Link(path, target string) error { return e.put(path, "120000 "+target) }

// truth is what git itself says of the files below path in a commit, in the form of entries.
func truth(t *testing.T, dir, commit, path string) map[string]string {
	t.Helper()
	var names, modes []string
	var ids strings.Builder
	for line := range strings.SplitSeq(gittest.Git(t, dir, "ls-tree", "-r", "-z", commit+":"+path), "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok {
			f := strings.Fields(meta)
			names, modes = append(names, name), append(modes, f[0])
			fmt.Fprintln(&ids, f[2])
		}
	}
	blobs := bytes.NewBuffer(gittest.Bytes(t, dir, []byte(ids.String()), "cat-file", "--batch=%(objectsize)"))
	out := make(map[string]string)
	for i, name := range names {
		var size int
		if _, err := fmt.Fscanf(blobs, "%d\n", &size); err != nil {
			t.Fatal(err)
		}
		out[name] = modes[i] + " " + string(blobs.Next(size))
		blobs.Next(1) // newline
	}
	return out
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	for name, w := range want {
		if g := got[name]; g != w {
			t.Errorf("%s is %.80q, want %.80q", name, g, w)
		}
	}
}

const pdfSkill = "---\nname: pdf\ndescription: Reads forms.\n---\nRead the form.\n"

// library makes a repository with three commits, two tags, three branches and
// everything that a checkout or an archive would change. It returns the
// directory and the commits, oldest first.
func library(t testing.TB) (dir string, commits []string) {
	dir = gittest.Init(t, "library")
	commits = append(commits, gittest.Commit(t, dir, gittest.Files{
		"README.md":             "three skills\n",
		".gitattributes":        "* text=auto eol=crlf ident\nskills/pdf/secret.txt export-ignore\nskills/pdf/ver.txt export-subst\n*.bin filter=lfs\n",
		"skills/pdf/SKILL.md":   pdfSkill,
		"skills/pdf/crlf.md":    "one\r\ntwo\r\n",
		"skills/pdf/run.sh*":    "#!/bin/sh\n",
		"skills/pdf/start@":     "run.sh",
		"skills/pdf/secret.txt": "kept\n",
		"skills/pdf/ver.txt":    "$Format:%H$ $Id$\n",
		"skills/pdf/raw.bin":    "\x00\xff\r\n\x1a",
		"skills/notes/SKILL.md": "---\nname: release-notes\ndescription: Writes notes.\n---\n",
		"tools/a/b/SKILL.md":    "---\nname: odd\ndescription: Elsewhere.\n---\n",
		"tests/pdf/SKILL.md":    "---\nname: pdf\ndescription: A fixture.\n---\n",
	}))
	gittest.Git(t, dir, "tag", "v1.0.0")
	commits = append(commits, gittest.Commit(t, dir, gittest.Files{"skills/pdf/new.md": "new\n"}))
	gittest.Git(t, dir, "tag", "-a", "-m", "notes", "release-notes-v2.1.0")
	gittest.Git(t, dir, "branch", "feature/links")
	commits = append(commits, gittest.Commit(t, dir, gittest.Files{"skills/pdf/new.md": "newer\n"}))
	gittest.CommitTo(t, dir, "modules", gittest.Files{
		"skills/pdf/SKILL.md": pdfSkill,
		"skills/pdf/vendor=":  commits[0],
		"skills/ok/SKILL.md":  "---\nname: ok\ndescription: No submodule here.\n---\n",
	})
	return dir, commits
}

// at finds a release by name.
func at(t testing.TB, releases []source.Release, name string) source.Release {
	t.Helper()
	i := slices.IndexFunc(releases, func(r source.Release) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no release %q in %v", name, releases)
	}
	return releases[i]
}

func gitRef(url string) ref.Ref { return ref.Ref{Kind: ref.Git, URL: url} }

// A way forces one rung of the ladder.
type way struct {
	name    string
	options gittest.Options
	only    func(rung) bool // which rungs remain; nil for all
	reach   bool            // also commits that are neither tag nor branch
}

func ways() []way {
	isWire := func(g rung) bool { _, ok := g.(*wire); return ok }
	system := func(lean bool) func(rung) bool {
		return func(g rung) bool { s, ok := g.(*sysgit); return ok && s.lean == lean }
	}
	goGit := func(whole bool) func(rung) bool {
		return func(g rung) bool { s, ok := g.(*gogit); return ok && s.whole == whole }
	}
	v0 := gittest.Options{V0: true}
	poor := gittest.Options{V0: true, NoFilter: true, NoAnySHA1: true}
	return []way{
		{"wire v2", gittest.Options{}, isWire, true},
		{"wire v0", v0, isWire, true},
		{"system git lean", gittest.Options{}, system(true), true},
		{"system git lean v0", v0, system(true), true},
		{"system git lean, poor server", poor, system(true), true},
		{"system git whole", gittest.Options{NoFilter: true}, system(false), true},
		{"system git whole, poor server", poor, system(false), true},
		{"go-git shallow", gittest.Options{NoFilter: true}, goGit(false), true},
		{"go-git shallow, poor server", poor, goGit(false), false},
		{"go-git whole", poor, goGit(true), true},
		{"ladder, rich server", gittest.Options{}, nil, true},
		{"ladder, no filter", gittest.Options{NoFilter: true}, nil, true},
		{"ladder, no single files", gittest.Options{V0: true, NoAnySHA1: true}, nil, true},
		{"ladder, poor server", poor, nil, true},
	}
}

// open makes a Source whose ladder has only the way's rungs, at a new server.
func (w way) open(t *testing.T, dir string) (*Source, string) {
	srv := gittest.NewServer(t, w.options, dir)
	s := &Source{HTTP: http.DefaultClient, CacheDir: t.TempDir(), Environ: gittest.Environ(t.TempDir())}
	url := srv.URL + "/" + filepath.Base(dir)
	if w.only != nil {
		r, err := s.repo(url)
		if err != nil {
			t.Fatal(err)
		}
		r.rungs = slices.DeleteFunc(r.rungs, func(g rung) bool { return !w.only(g) })
		r.cache = nil
		if len(r.rungs) != 1 {
			t.Fatalf("%s leaves %d rungs", w.name, len(r.rungs))
		}
	}
	return s, url
}

// Every way gives the same refs and the same bytes, which are those of the
// commit's blobs: attributes, filters and line endings of a checkout take no part.
func TestEveryRung(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	dir, commits := library(t)
	ctx := context.Background()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s, url := w.open(t, dir)
			releases, err := s.Versions(ctx, gitRef(url))
			if err != nil {
				t.Fatal(err)
			}
			checkReleases(t, releases, commits)
			revisions := []string{commits[2], string(at(t, releases, "feature/links").Commit)}
			if w.reach {
				revisions = append(revisions, gittest.Git(t, dir, "rev-parse", "main~2"))
			}
			for _, commit := range revisions {
				found, err := s.Skills(ctx, gitRef(url), source.Release{Kind: source.Commit, Commit: ref.Commit(commit)}, []string{"pdf"})
				if err != nil {
					t.Fatal(err)
				}
				if len(found) == 0 || found[0].Lock.Path != "skills/pdf" || found[0].Rank != source.RankSkills {
					t.Fatalf("found %+v, want skills/pdf first", found)
				}
				var got entries
				if err := s.Fetch(ctx, found[0].Lock, &got); err != nil {
					t.Fatal(err)
				}
				same(t, got.m, truth(t, dir, commit, "skills/pdf"))
			}
		})
	}
}

func checkReleases(t *testing.T, got []source.Release, commits []string) {
	t.Helper()
	want := []source.Release{
		{Kind: source.Tag, Name: "release-notes-v2.1.0", Skill: "release-notes", Version: "2.1.0", Commit: ref.Commit(commits[1])},
		{Kind: source.Tag, Name: "v1.0.0", Version: "1.0.0", Commit: ref.Commit(commits[0])},
		{Kind: source.Branch, Name: "feature/links", Commit: ref.Commit(commits[1])},
		{Kind: source.Branch, Name: "main", Commit: ref.Commit(commits[2]), Default: true},
	}
	got = slices.DeleteFunc(slices.Clone(got), func(r source.Release) bool { return r.Name == "modules" })
	if !slices.Equal(got, want) {
		t.Errorf("releases\n%v, want\n%v", got, want)
	}
}

// A file URL is read in this process, from a bare repository or from one with a work tree.
func TestFileURL(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	tree := filepath.Join(t.TempDir(), "tree")
	gittest.Git(t, dir, "clone", "--quiet", "--no-checkout", ".", tree)
	linked := filepath.Join(t.TempDir(), "linked")
	gittest.Git(t, tree, "worktree", "add", "--quiet", "--no-checkout", linked)
	ctx := context.Background()
	for _, dir := range []string{dir, tree, linked} {
		url := "file://" + filepath.ToSlash(dir)
		s := &Source{Git: "-", Offline: true}
		releases, err := s.Versions(ctx, gitRef(url))
		if err != nil {
			t.Fatal(err)
		}
		if got := at(t, releases, "v1.0.0"); got.Commit != ref.Commit(commits[0]) || got.Version != "1.0.0" {
			t.Errorf("%s: v1.0.0 is %+v", dir, got)
		}
		if got := at(t, releases, "release-notes-v2.1.0"); got.Commit != ref.Commit(commits[1]) {
			t.Errorf("%s: the annotated tag is %+v, want it peeled to %s", dir, got, commits[1])
		}
		var got entries
		if err := s.Fetch(ctx, lock.Skill{URL: url, Path: "skills/pdf", Commit: ref.Commit(commits[1])}, &got); err != nil {
			t.Fatal(err)
		}
		same(t, got.m, truth(t, dir, commits[1], "skills/pdf"))
	}
}

// Content fetched once is there offline; for anything else the error says that it is needed.
func TestOffline(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	url := srv.URL + "/library.git"
	skill := lock.Skill{Source: "git", URL: url, Path: "skills/pdf", Commit: ref.Commit(commits[1])}
	ctx := context.Background()
	cacheDir := t.TempDir()
	online := &Source{HTTP: http.DefaultClient, CacheDir: cacheDir, Git: "-"}
	if err := online.Fetch(ctx, skill, &entries{}); err != nil {
		t.Fatal(err)
	}
	srv.Reset()
	offline := &Source{HTTP: http.DefaultClient, CacheDir: cacheDir, Git: "-", Offline: true}
	var got entries
	if err := offline.Fetch(ctx, skill, &got); err != nil {
		t.Fatal(err)
	}
	same(t, got.m, truth(t, dir, commits[1], "skills/pdf"))
	other := skill
	other.Commit = ref.Commit(commits[0])
	if err := offline.Fetch(ctx, other, &entries{}); !isCode(err, "offline") {
		t.Errorf("Fetch of another commit: %v, want code offline", err)
	}
	other = skill
	other.Path = "skills/notes"
	if err := offline.Fetch(ctx, other, &entries{}); !isCode(err, "offline") {
		t.Errorf("Fetch of files never fetched: %v, want code offline", err)
	}
	if _, err := offline.Versions(ctx, gitRef(url)); !isCode(err, "offline") {
		t.Errorf("Versions: %v, want code offline", err)
	}
	if n := srv.Requests(); n != 0 {
		t.Errorf("%d requests were made offline", n)
	}
}

// A damaged cache is as good as none.
func TestDamagedCache(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	skill := lock.Skill{Source: "git", URL: srv.URL + "/library.git", Path: "skills/pdf", Commit: ref.Commit(commits[1])}
	cacheDir := t.TempDir()
	for _, damage := range []func(string){
		func(string) {},
		func(p string) { os.Truncate(p, 40) },
		func(p string) { os.WriteFile(p, encodePack(nil), 0o600) },
		func(p string) { os.WriteFile(p, []byte("no pack at all"), 0o600) },
	} {
		packs, err := filepath.Glob(filepath.Join(cacheDir, "git", "*", "*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packs {
			damage(p)
		}
		var got entries
		s := &Source{HTTP: http.DefaultClient, CacheDir: cacheDir, Git: "-"}
		if err := s.Fetch(context.Background(), skill, &got); err != nil {
			t.Fatal(err)
		}
		same(t, got.m, truth(t, dir, commits[1], "skills/pdf"))
	}
}

// Many skills of one commit cost one request for all of their files, however
// many goroutines fetch them.
func TestPrefetchIsOneRequest(t *testing.T) {
	gittest.Need(t)
	dir := gittest.Init(t, "many")
	files := gittest.Files{}
	for i := range 60 {
		files[fmt.Sprintf("skills/s%d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%d\ndescription: d\n---\n", i)
		files[fmt.Sprintf("skills/s%d/more.md", i)] = fmt.Sprintf("more of %d\n", i)
	}
	commit := gittest.Commit(t, dir, files)
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	s := &Source{HTTP: http.DefaultClient, Git: "-"}
	var skills []lock.Skill
	for i := range 60 {
		skills = append(skills, lock.Skill{Source: "git", URL: srv.URL + "/many.git", Path: fmt.Sprintf("skills/s%d", i), Commit: ref.Commit(commit)})
	}
	ctx := context.Background()
	if err := s.Prefetch(ctx, skills); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, skill := range skills {
		wg.Go(func() {
			var got entries
			if err := s.Fetch(ctx, skill, &got); err != nil {
				t.Error(err)
			}
			if want := fmt.Sprintf("100644 more of %d\n", i); got.m["more.md"] != want || len(got.m) != 2 {
				t.Errorf("%s has %v", skill.Path, got.m)
			}
		})
	}
	wg.Wait()
	if n := srv.Requests(); n != 3 {
		t.Errorf("%d requests, want 3: greeting, trees, files", n)
	}
}

// Calls that overlap ask a server once.
func TestConcurrentCallsShareRequests(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	s := &Source{HTTP: http.DefaultClient, Git: "-"}
	url := srv.URL + "/library.git"
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := s.Versions(context.Background(), gitRef(url)); err != nil {
				t.Error(err)
			}
			if _, err := s.Skills(context.Background(), gitRef(url), source.Release{Commit: ref.Commit(commits[2])}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := srv.Requests(); n != 4 {
		t.Errorf("%d requests, want 4: greeting, refs, trees, files", n)
	}
}

// A caller can stop waiting for a slow server, even when another caller sent the request.
func TestCancel(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	release := make(chan struct{})
	defer close(release)
	srv := gittest.NewServer(t, gittest.Options{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return true
	}}, dir)
	s := &Source{HTTP: http.DefaultClient, Git: "-"}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			err := s.Fetch(ctx, lock.Skill{URL: srv.URL + "/library.git", Commit: ref.Commit(commits[0])}, &entries{})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Fetch: %v, want the context's error", err)
			}
		})
	}
	wg.Wait()
	if d := time.Since(start); d > long.Within(5*time.Second) {
		t.Errorf("it took %v", d)
	}
}

// ssh URLs go through the git program and the user's ssh.
func TestSSH(t *testing.T) {
	gittest.Need(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the ssh of this test is a shell script")
	}
	dir, commits := library(t)
	home := t.TempDir()
	ssh := filepath.Join(home, "ssh")
	// The last argument is what runs on the other side, the one before it the host.
	script := "#!/bin/sh\nfor a; do host=$last last=$a; done\n[ \"$host\" = git@git.example ] || exit 1\nunset GIT_DIR\nexec sh -c \"$last\"\n"
	if err := os.WriteFile(ssh, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	env := append(gittest.Environ(home), "GIT_SSH_COMMAND="+ssh, "GIT_SSH_VARIANT=ssh")
	s := &Source{CacheDir: t.TempDir(), Environ: env}
	url := "ssh://git@git.example" + filepath.ToSlash(dir)
	releases, err := s.Versions(context.Background(), gitRef(url))
	if err != nil {
		t.Fatal(err)
	}
	checkReleases(t, releases, commits)
	var got entries
	if err := s.Fetch(context.Background(), lock.Skill{URL: url, Path: "skills/pdf", Commit: ref.Commit(commits[1])}, &got); err != nil {
		t.Fatal(err)
	}
	same(t, got.m, truth(t, dir, commits[1], "skills/pdf"))
	if _, err := s.Versions(context.Background(), gitRef("ssh://other.example/x.git")); err == nil {
		t.Error("another host was reached")
	}
	// The error has ssh's own words as its cause, and a hint.
	for says, want := range map[string]string{
		"ssh: Could not resolve hostname git.example: Name or service not known": "cannot be reached: ssh: Could not resolve hostname git.example",
		"ssh: connect to host git.example port 22: Connection refused":           "cannot be reached: ssh: connect to host git.example port 22: Connection refused",
		"git@git.example: Permission denied (publickey).":                        "asks for credentials or does not exist",
		"error: cannot run ssh: No such file or directory":                       "needs ssh, which is not installed",
	} {
		script := "#!/bin/sh\necho '" + says + "' >&2\nexit 255\n"
		if err := os.WriteFile(ssh, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := (&Source{CacheDir: t.TempDir(), Environ: env}).Versions(context.Background(), gitRef(url))
		if e, ok := errors.AsType[*diag.Error](err); !ok || !strings.Contains(e.Error(), want) || len(e.Hints) == 0 {
			t.Errorf("ssh says %q: %v, want %q and a hint", says, err, want)
		}
	}
}
