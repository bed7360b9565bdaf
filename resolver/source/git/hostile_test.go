package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/testdata/long"
)

// A submodule inside a skill is refused by name; it does not keep other skills from being fetched.
func TestSubmoduleIsRefused(t *testing.T) {
	gittest.Need(t)
	dir, _ := library(t)
	s := &Source{Git: "-"}
	skill := lock.Skill{URL: "file://" + filepath.ToSlash(dir), Path: "skills/pdf", Commit: ref.Commit(gittest.Git(t, dir, "rev-parse", "modules"))}
	var got entries
	err := s.Fetch(context.Background(), skill, &got)
	if !isCode(err, "PKG-SUBMODULE") || diag.ClassOf(err) != diag.Refused || !strings.Contains(err.Error(), `"skills/pdf/vendor"`) {
		t.Errorf("Fetch: %v, want PKG-SUBMODULE naming skills/pdf/vendor", err)
	}
	if len(got.m) != 0 {
		t.Errorf("%d entries were handed over before the refusal", len(got.m))
	}
	skill.Path = "skills/ok"
	if err := s.Fetch(context.Background(), skill, &got); err != nil {
		t.Error(err)
	}
}

// A wrong place, commit or path has an error that names it.
func TestErrorsNameTheProblem(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	closed := httptest.NewServer(nil)
	closed.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer busy.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer page.Close()
	good, gone := srv.URL+"/library.git", strings.Repeat("1", 40)
	for _, c := range []struct {
		name, url, path, commit string
		code                    string
		class                   diag.Class
		retryable               bool
		says                    string
	}{
		{"no repository", srv.URL + "/none.git", "", gone, "git_not_found", diag.Failed, false, "/none.git"},
		{"no folder", "file:///no/such/folder", "", gone, "git_not_found", diag.Failed, false, "/no/such/folder"},
		{"nobody listens", closed.URL + "/x.git", "", gone, "network", diag.Failed, true, closed.URL},
		{"server is busy", busy.URL + "/x.git", "", gone, "git_server", diag.Failed, true, "503"},
		{"a web page", page.URL + "/x.git", "", gone, "git_protocol", diag.Failed, false, page.URL},
		{"commit is gone", good, "", gone, "E_COMMIT", diag.Refused, false, gone},
		{"commit is gone from a folder", "file://" + filepath.ToSlash(dir), "", gone, "E_COMMIT", diag.Refused, false, gone},
		{"path is not there", good, "skills/none", commits[0], "unknown_path", diag.Failed, false, "skills/none"},
		{"path is a file", good, "README.md", commits[0], "unknown_path", diag.Failed, false, "README.md"},
		{"short commit", good, "", commits[0][:10], "invalid_commit", diag.Misuse, false, commits[0][:10]},
		{"SHA-256 commit", good, "", strings.Repeat("ab", 32), "git_object_format", diag.Failed, false, "SHA-1"},
		{"a token in the URL", "https://ghp_secret@127.0.0.1:1/x.git", "", gone, "invalid_ref", diag.Misuse, false, "https://127.0.0.1:1/x.git"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Source{HTTP: http.DefaultClient, Git: "-"}
			err := s.Fetch(context.Background(), lock.Skill{URL: c.url, Path: c.path, Commit: ref.Commit(c.commit)}, &entries{})
			e, ok := errors.AsType[*diag.Error](err)
			if !ok || e.Code != c.code || e.Class != c.class || e.Retryable != c.retryable || !strings.Contains(e.Error(), c.says) {
				t.Errorf("%#v (%v), want code %s, class %d, retryable %t, and %q", e, err, c.code, c.class, c.retryable, c.says)
			}
			if strings.Contains(fmt.Sprint(err, e), "ghp_secret") {
				t.Errorf("%v shows a token", err)
			}
		})
	}
}

// A wrong commit is refused on every rung.
func TestCommitGoneOnEveryRung(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	dir, _ := library(t)
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			s, url := w.open(t, dir)
			err := s.Fetch(context.Background(), lock.Skill{URL: url, Commit: ref.Commit(strings.Repeat("1", 40))}, &entries{})
			if !isCode(err, "E_COMMIT") {
				t.Errorf("Fetch: %v, want E_COMMIT", err)
			}
		})
	}
}

// A server that sends other bytes than those of the wanted ids is refused,
// whichever object it changed.
func TestTamperedObjectsAreRefused(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	evil := gittest.Init(t, "library")
	gittest.Commit(t, evil, gittest.Files{"skills/pdf/SKILL.md": pdfSkill, "skills/pdf/run.sh*": "#!/bin/sh\nevil\n"})
	evilSet := newObjectSet(maxObjects)
	f := &folder{url: "file://" + filepath.ToSlash(evil)}
	evilCommit := plumbing.NewHash(gittest.Git(t, evil, "rev-parse", "main"))
	if err := f.objects(context.Background(), evilCommit, evilSet); err != nil {
		t.Fatal(err)
	}
	blob := newObjectSet(maxObjects)
	blob.add(plumbing.BlobObject, []byte("evil\n"))

	for _, c := range []struct {
		name string
		from int // answers that stay as they are
		set  *objectSet
	}{{"another commit", 1, evilSet}, {"another file", 2, blob}} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			srv := gittest.NewServer(t, gittest.Options{Tamper: func(_ string, body []byte) []byte {
				if n++; n <= c.from {
					return body
				}
				return v2Pack(encodePack(c.set.byID))
			}}, dir)
			s := &Source{HTTP: http.DefaultClient, CacheDir: t.TempDir(), Git: "-"}
			var got entries
			err := s.Fetch(context.Background(), lock.Skill{URL: srv.URL + "/library.git", Path: "skills/pdf", Commit: ref.Commit(commits[0])}, &got)
			if !isCode(err, "E_DIGEST") || diag.ClassOf(err) != diag.Refused {
				t.Errorf("Fetch: %v, want E_DIGEST", err)
			}
			if len(got.m) != 0 {
				t.Errorf("%d entries were handed over", len(got.m))
			}
		})
	}
}

// v2Pack is an answer of protocol 2 that holds pack.
func v2Pack(pack []byte) []byte {
	body := appendPkt(nil, "packfile")
	for len(pack) > 0 {
		n := min(len(pack), 60000)
		body = fmt.Appendf(body, "%04x\x01%s", n+5, pack[:n])
		pack = pack[n:]
	}
	return append(body, "0000"...)
}

// An answer that is cut off or changed anywhere is an error, never a shorter skill.
func TestDamagedAnswers(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	dir, commits := library(t)
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"empty", func(b []byte) []byte { return nil }},
		{"half", func(b []byte) []byte { return b[:len(b)/2] }},
		{"without its flush", func(b []byte) []byte { return b[:len(b)-4] }},
		{"one bit", func(b []byte) []byte { b[len(b)-60] ^= 4; return b }},
		{"no pkt-line", func(b []byte) []byte { return []byte("garbage") }},
		{"an error line", func([]byte) []byte { return appendPkt(nil, "ERR out of \x1b[31mluck") }},
		{"an error band", func([]byte) []byte { return append(appendPkt(nil, "packfile"), "0010\x03out of luck0000"...) }},
	} {
		for n := range 3 { // greeting, trees, files
			t.Run(fmt.Sprintf("%s %d", c.name, n), func(t *testing.T) {
				answers := 0
				srv := gittest.NewServer(t, gittest.Options{Tamper: func(_ string, body []byte) []byte {
					if answers++; answers == n+1 {
						return c.damage(body)
					}
					return body
				}}, dir)
				r, err := (&Source{HTTP: http.DefaultClient, Git: "-"}).repo(srv.URL + "/library.git")
				if err != nil {
					t.Fatal(err)
				}
				r.rungs = r.rungs[:1]
				s := &Source{repos: map[string]*repo{r.url: r}}
				var got entries
				err = s.Fetch(context.Background(), lock.Skill{URL: r.url, Path: "skills/pdf", Commit: ref.Commit(commits[0])}, &got)
				if err == nil || len(got.m) != 0 {
					t.Errorf("Fetch: %v with %d entries, want an error and nothing", err, len(got.m))
				}
				if err != nil && strings.Contains(err.Error(), "\x1b") {
					t.Errorf("%q holds an escape sequence", err)
				}
			})
		}
	}
}

// Small trees that hold each other many times over are refused quickly.
func TestTreeBombIsRefused(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	dir := gittest.Init(t, "bomb")
	id := gittest.Input(t, dir, []byte("x"), "hash-object", "-w", "--stdin")
	line := "100644 blob " + id + "\tf%d\n"
	for range 10 {
		var tree strings.Builder
		for i := range 10 {
			fmt.Fprintf(&tree, line, i)
		}
		line = "040000 tree " + gittest.Input(t, dir, []byte(tree.String()), "mktree") + "\td%d\n"
	}
	root := strings.Fields(line)[2]
	commit := gittest.Git(t, dir, "commit-tree", "-m", "bomb", root)
	s := &Source{Git: "-"}
	url := "file://" + filepath.ToSlash(dir)
	start := time.Now()
	if err := s.Fetch(context.Background(), lock.Skill{URL: url, Commit: ref.Commit(commit)}, &entries{}); !isCode(err, "git_too_large") {
		t.Errorf("Fetch: %v, want git_too_large", err)
	}
	if _, err := s.Skills(context.Background(), gitRef(url), source.Release{Commit: ref.Commit(commit)}, nil); !isCode(err, "git_too_large") {
		t.Errorf("Skills: %v, want git_too_large", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("it took %v", d)
	}
}

// A file that is larger than what is kept in memory is refused.
func TestHugeFileIsRefused(t *testing.T) {
	gittest.Need(t)
	dir := gittest.Init(t, "huge")
	commit := gittest.Commit(t, dir, gittest.Files{"SKILL.md": pdfSkill, "zeros.bin": strings.Repeat("\x00", 1<<20)})
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	for _, url := range []string{srv.URL + "/huge.git", "file://" + filepath.ToSlash(dir)} {
		s := &Source{HTTP: http.DefaultClient, Git: "-"}
		r, err := s.repo(url)
		if err != nil {
			t.Fatal(err)
		}
		r.limit = 1 << 20
		err = s.Fetch(context.Background(), lock.Skill{URL: url, Commit: ref.Commit(commit)}, &entries{})
		if !isCode(err, "git_too_large") || diag.ClassOf(err) != diag.Refused {
			t.Errorf("%s: %v, want git_too_large", url, err)
		}
	}
}

// MaxPack bounds what a server can make skl download.
func TestMaxPack(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	for maxPack, fits := range map[int64]bool{100: false, 1 << 20: true} {
		s := &Source{HTTP: http.DefaultClient, Git: "-", MaxPack: maxPack}
		err := s.Fetch(context.Background(), lock.Skill{URL: srv.URL + "/library.git", Path: "skills/pdf", Commit: ref.Commit(commits[0])}, &entries{})
		if fits && err != nil || !fits && !isCode(err, "git_too_large") {
			t.Errorf("MaxPack %d: %v", maxPack, err)
		}
	}
}

// Basic authentication: the Doer's credentials are used, and without them the error says what to set.
func TestAuthentication(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{User: "u", Password: "p"}, dir)
	skill := lock.Skill{URL: srv.URL + "/library.git", Path: "skills/pdf", Commit: ref.Commit(commits[0])}
	s := &Source{HTTP: http.DefaultClient, CacheDir: t.TempDir(), Environ: gittest.Environ(t.TempDir())}
	err := s.Fetch(context.Background(), skill, &entries{})
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || e.Code != "git_auth" || !strings.Contains(strings.Join(e.Hints, " "), "SKL_TOKEN_127_0_0_1___") {
		t.Errorf("without credentials: %#v, want git_auth with a hint", err)
	}
	s = &Source{HTTP: clientFor(srv.URL), Git: "-"}
	if err := s.Fetch(context.Background(), skill, &entries{}); err != nil {
		t.Errorf("with credentials: %v", err)
	}
}

// clientFor is the Doer of the product, with credentials for one origin.
func clientFor(of string) *origin.Client {
	return &origin.Client{Credential: func(_ context.Context, asked string) (origin.Credential, error) {
		if asked == of {
			return origin.Credential{User: "u", Secret: "p"}, nil
		}
		return origin.Credential{}, nil
	}}
}

// The git program finds credentials that the Doer does not have: those of the user's helpers.
func TestCredentialHelperOfTheUser(t *testing.T) {
	gittest.Need(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the helper of this test is a shell script")
	}
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{User: "u", Password: "p"}, dir)
	home := t.TempDir()
	helper := "#!/bin/sh\n[ \"$1\" = get ] && printf 'username=u\\npassword=p\\n'\n"
	if err := os.WriteFile(filepath.Join(home, "helper"), []byte(helper), 0o755); err != nil {
		t.Fatal(err)
	}
	config := "[credential]\n\thelper = " + filepath.Join(home, "helper") + "\n"
	if err := os.WriteFile(filepath.Join(home, "config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Source{HTTP: http.DefaultClient, CacheDir: t.TempDir(),
		Environ: append(gittest.Environ(home), "GIT_CONFIG_GLOBAL="+filepath.Join(home, "config"))}
	var got entries
	if err := s.Fetch(context.Background(), lock.Skill{URL: srv.URL + "/library.git", Path: "skills/pdf", Commit: ref.Commit(commits[0])}, &got); err != nil {
		t.Fatal(err)
	}
	same(t, got.m, truth(t, dir, commits[0], "skills/pdf"))
}

// Where a redirect leads, the next requests go, without the credentials of the
// first host; one from https to http is not followed.
func TestRedirect(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	srv := gittest.NewServer(t, gittest.Options{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if h := r.Header.Get("Authorization"); h != "" {
			t.Errorf("%s carries credentials of another host: %q", r.URL, h)
		}
		return false
	}}, dir)
	asked := 0
	moved := func(w http.ResponseWriter, r *http.Request) {
		asked++
		if _, _, ok := r.BasicAuth(); !ok && r.TLS == nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="old"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		target := srv.URL + strings.Replace(r.URL.RequestURI(), "/old.git", "/library.git", 1)
		http.Redirect(w, r, target, http.StatusMovedPermanently)
	}
	old := httptest.NewServer(http.HandlerFunc(moved))
	defer old.Close()
	s := &Source{HTTP: clientFor(old.URL), Git: "-"}
	if err := s.Fetch(context.Background(), lock.Skill{URL: old.URL + "/old.git", Path: "skills/pdf", Commit: ref.Commit(commits[0])}, &entries{}); err != nil {
		t.Fatal(err)
	}
	if asked != 2 {
		t.Errorf("the old place was asked %d times, want twice: without and with credentials", asked)
	}

	secure := httptest.NewTLSServer(http.HandlerFunc(moved))
	defer secure.Close()
	s = &Source{HTTP: secure.Client(), Git: "-"}
	if _, err := s.Versions(context.Background(), gitRef(secure.URL+"/old.git")); !isCode(err, "git_protocol") {
		t.Errorf("a redirect to http: %v, want git_protocol", err)
	}
}

// Refs whose names could mislead a person, a terminal, a file system or an option parser are left out.
func TestHostileRefsAreLeftOut(t *testing.T) {
	gittest.Need(t)
	dir, commits := library(t)
	bad := []string{"refs/heads/../../etc", "refs/tags/-oProxyCommand=x", "refs/heads/a..b", "refs/heads/\x1b[2J", "refs/tags/v1.0.0.lock",
		"refs/heads/a@{1}", "refs/heads//x", "refs/heads/", "refs/pull/1/head", "refs/tags/a:b", "refs/heads/x.", "refs/tags/\u202ev1.0.0"}
	srv := gittest.NewServer(t, gittest.Options{Tamper: func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/info/refs") {
			return body
		}
		lines := appendPkt(nil, "unborn HEAD symref-target:refs/heads/none")
		for _, name := range append(bad, "refs/heads/good") {
			lines = appendPkt(lines, "%s %s", commits[0], name)
		}
		return append(lines, "0000"...)
	}}, dir)
	s := &Source{HTTP: http.DefaultClient, Git: "-"}
	releases, err := s.Versions(context.Background(), gitRef(srv.URL+"/library.git"))
	if err != nil {
		t.Fatal(err)
	}
	if len(releases) != 1 || releases[0].Name != "good" {
		t.Errorf("releases %+v, want good alone", releases)
	}
}

// URLs and revisions that git, ssh or a shell could take for a program never
// get as far as a program: nothing they name is run, and git is not started.
func TestInjectionNeverReachesGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the program of this test is a shell script")
	}
	home := t.TempDir()
	marker := filepath.Join(home, "marker")
	script := filepath.Join(home, "git")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho ran >>"+marker+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Source{HTTP: http.DefaultClient, CacheDir: t.TempDir(), Git: script, Environ: gittest.Environ(home)}
	ctx := context.Background()
	touch := "touch$IFS" + marker
	for _, u := range []string{
		"--upload-pack=" + touch, "-oProxyCommand=" + touch, "ext::sh -c " + touch, "fd::17", "ssh://-oProxyCommand=" + touch + "/x",
		"ssh://git@-oProxyCommand=" + touch + "/x.git", "ssh://-l@host/x.git", "https://host/--upload-pack=x", "file://host/x.git",
		"https://host/x.git\n--upload-pack=" + touch, "git://host/x.git", "host:path", "/tmp/x.git", "https://u:p@host/x.git", "",
	} {
		if _, err := s.Versions(ctx, gitRef(u)); !isCode(err, "invalid_ref") {
			t.Errorf("Versions of %q: %v, want invalid_ref", u, err)
		}
		if err := s.Fetch(ctx, lock.Skill{URL: u, Commit: ref.Commit(strings.Repeat("1", 40))}, &entries{}); !isCode(err, "invalid_ref") {
			t.Errorf("Fetch of %q: %v, want invalid_ref", u, err)
		}
	}
	for _, commit := range []string{"--upload-pack=" + touch, "HEAD", "main", "", "-", strings.Repeat("g", 40), hex.EncodeToString([]byte("short"))} {
		if err := s.Fetch(ctx, lock.Skill{URL: "ssh://host.invalid/x.git", Commit: ref.Commit(commit)}, &entries{}); !isCode(err, "invalid_commit") {
			t.Errorf("commit %q: %v, want invalid_commit", commit, err)
		}
	}
	if b, err := os.ReadFile(marker); err == nil {
		t.Errorf("a program ran: %s", b)
	}
}

// Programs named by the user's configuration or the cached repository are not run by git.
func TestSystemGitRunsNothingElse(t *testing.T) {
	gittest.Need(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the programs of this test are shell scripts")
	}
	dir, commits := library(t)
	home := t.TempDir()
	marker := filepath.Join(home, "marker")
	trap := filepath.Join(home, "trap")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $*\" >>"+marker+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	hooks := filepath.Join(home, "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{"reference-transaction", "post-checkout", "post-merge", "pre-auto-gc", "fsmonitor-watchman"} {
		if err := os.Symlink(trap, filepath.Join(hooks, h)); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf("[core]\n\thooksPath = %[1]s\n\tfsmonitor = %[2]s\n\tpager = %[2]s\n\taskPass = %[2]s\n[filter \"lfs\"]\n\tsmudge = %[2]s\n\trequired\n"+
		"[protocol]\n\tallow = always\n[diff]\n\texternal = %[2]s\n[remote \"origin\"]\n\tuploadpack = %[2]s\n", hooks, trap)
	file := filepath.Join(home, "config")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(gittest.Environ(home), "GIT_CONFIG_GLOBAL="+file, "GIT_TEMPLATE_DIR="+home, "GIT_ASKPASS="+trap, "GIT_EXTERNAL_DIFF="+trap,
		"GIT_PROXY_COMMAND="+trap, "GIT_DIR="+home, "GIT_TRACE2="+marker, "GIT_ALLOW_PROTOCOL=file:ext")
	for _, lean := range []bool{true, false} {
		srv := gittest.NewServer(t, gittest.Options{}, dir)
		g := &sysgit{program: gittest.Need(t), environ: env, url: srv.URL + "/library.git", cache: t.TempDir(), lean: lean}
		set := newObjectSet(maxObjects)
		commit := plumbing.NewHash(commits[0])
		if err := g.objects(context.Background(), commit, set); err != nil {
			t.Fatal(err)
		}
		if _, err := g.refs(context.Background()); err != nil {
			t.Fatal(err)
		}
		ids := []plumbing.Hash{plumbing.NewHash(gittest.Git(t, dir, "rev-parse", commits[0]+":skills/pdf/raw.bin"))}
		if err := g.blobs(context.Background(), commit, ids, set); err != nil {
			t.Fatal(err)
		}
		if data, ok := set.get(ids[0], plumbing.BlobObject); !ok || string(data) != "\x00\xff\r\n\x1a" {
			t.Errorf("raw.bin is %q", data)
		}
	}
	// Rewritten to a program or a folder, the URL is refused by git itself.
	for _, to := range []string{"ext::" + trap + " ", "file://" + dir + "/../", dir + "/../"} {
		if err := os.WriteFile(file, []byte(fmt.Sprintf("[url %q]\n\tinsteadOf = https://host.invalid/\n", to)), 0o644); err != nil {
			t.Fatal(err)
		}
		g := &sysgit{program: gittest.Need(t), environ: env, url: "https://host.invalid/library.git", cache: t.TempDir(), lean: true}
		if _, err := g.refs(context.Background()); err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("rewritten to %q: %v, want a refusal", to, err)
		}
	}
	if b, err := os.ReadFile(marker); err == nil {
		t.Errorf("a program ran: %s", b)
	}
}

// Trees that programs read differently are refused on every rung, whoever reads them first.
func TestOddTreesAreRefused(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	dir := gittest.Init(t, "odd")
	blob := gittest.Input(t, dir, []byte(pdfSkill), "hash-object", "-w", "--stdin")
	id, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	line := func(mode, name string) string { return mode + " " + name + "\x00" + string(id) }
	skill := line("100644", "SKILL.md")
	for _, c := range []struct{ name, tree, says string }{
		{"no mode", line("", "a") + skill, "mode"},
		{"mode 0", skill + line("0", "a"), `"a"`},
		{"pipe", skill + line("10644", "a"), `"a"`},
		{"link that is executable", skill + line("120755", "a"), `"a"`},
		{"file of a group", skill + line("100611", "a"), `"a"`},
		{"private file", skill + line("100600", "a"), `"a"`},
		{"set-user-id", skill + line("104755", "a"), `"a"`},
		{"tree with bits", skill + line("40755", "a"), `"a"`},
		{"mode with zeros", skill + line("0100644", "a"), `"a"`},
		{"mode with a sign", skill + line("+100644", "a"), `"a"`},
		{"mode beyond 32 bits", skill + line("37777777700100644", "a"), `"a"`},
		{"name twice", skill + skill, `"SKILL.md"`},
		{"file and directory", skill + line("100644", "a") + line("40000", "a"), `"a"`},
		{"file and directory, others between", skill + line("100644", "a") + line("100644", "a-b") + line("40000", "a"), `"a"`},
		{"out of order", line("100644", "b") + line("100644", "a"), `"a"`},
		{"directory in a file's place", line("40000", "a") + line("100644", "a.b"), `"a.b"`},
		{"name with a slash", skill + line("100644", "a/b"), `"a/b"`},
		{"no name", line("100644", "") + skill, `""`},
		{"dots", line("100644", "..") + skill, `".."`},
		{"garbage", skill + "garbage", "malformed"},
		{"id cut short", skill + line("100644", "a")[:20], "malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := gittest.Input(t, dir, []byte(c.tree), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
			commit := gittest.Git(t, dir, "commit-tree", "-m", "odd", tree)
			s := &Source{Git: "-"}
			var got entries
			err := s.Fetch(context.Background(), lock.Skill{URL: "file://" + filepath.ToSlash(dir), Commit: ref.Commit(commit)}, &got)
			if err == nil || !strings.Contains(err.Error(), c.says) || len(got.m) > 0 {
				t.Errorf("Fetch: %v with %d entries, want a refusal that says %s", err, len(got.m), c.says)
			}
		})
	}
	// A server sends such objects; every way of asking for them ends in the same reader.
	tree := gittest.Input(t, dir, []byte(skill+line("0", "a")), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	commit := gittest.Git(t, dir, "commit-tree", "-m", "odd", tree)
	gittest.Git(t, dir, "update-ref", "refs/heads/main", commit)
	for _, w := range ways() {
		t.Run("way/"+w.name, func(t *testing.T) {
			s, url := w.open(t, dir)
			var got entries
			if err := s.Fetch(context.Background(), lock.Skill{URL: url, Commit: ref.Commit(commit)}, &got); err == nil || len(got.m) > 0 {
				t.Errorf("Fetch: %v with %d entries", err, len(got.m))
			}
		})
	}
}
