package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage"
	"github.com/rogpeppe/go-internal/testscript"
)

// A Forge serves the repositories below the work directories of all scripts.
type Forge struct {
	URL, backend string
}

// StartForge starts one that ends with the test, which is skipped where git is missing.
func StartForge(t *testing.T) *Forge {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatal("git is not installed")
		}
		t.Skip("skipped: git is not installed")
	}
	out, err := exec.Command(git, "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := &Forge{backend: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f, ReadTimeout: time.Minute}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	f.URL = "http://" + l.Addr().String()
	return f
}

// ServeHTTP serves /<hex of a directory>/<owner>/<repo>.git/…
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var dir []byte
	if _, err := fmt.Sscanf(name, "%x", &dir); err != nil {
		http.NotFound(w, r)
		return
	}
	env := append(GitEnv(string(dir)), "GIT_PROJECT_ROOT="+string(dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=uploadpack.allowFilter", "GIT_CONFIG_VALUE_0=true",
		"GIT_CONFIG_KEY_1=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_1=true",
		"GIT_CONFIG_KEY_2=safe.directory", "GIT_CONFIG_VALUE_2=*")
	if repo, ok := strings.CutSuffix(rest, "/git-upload-pack"); ok && r.Method == http.MethodPost && r.Header.Get("Content-Encoding") == "" {
		uploadPack(w, r, filepath.Join(string(dir), filepath.FromSlash(path.Clean("/"+repo))), env)
		return
	}
	r.URL.Path = "/" + rest
	h := cgi.Handler{Path: f.backend, Root: "/", Stderr: io.Discard, Env: env}
	h.ServeHTTP(w, r)
}

// uploadPack answers as git-http-backend does, which would start this very program: most requests of scripts are for it.
func uploadPack(w http.ResponseWriter, r *http.Request, bare string, env []string) {
	cmd := exec.CommandContext(r.Context(), "git", "upload-pack", "--stateless-rpc", bare)
	cmd.Stdin, cmd.Stdout = r.Body, w
	cmd.Env = append(env, "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		http.Error(w, err.Error(), http.StatusInternalServerError) // else git says in what it sent why it refused
	}
}

// GitEnv is an environment that depends on nothing but the PATH, with home for HOME.
func GitEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"SKL_INDEX_BACKGROUND=off", // nothing outlives a test
		"SKL_KEYRING=off",          // which is that of whoever runs the tests
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=1700000000 +0000"}
}

// Setup lays out the directories and variables of a script.
func (f *Forge) Setup(env *testscript.Env) error {
	home, forge, project := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, "forge"), filepath.Join(env.WorkDir, "project")
	for _, dir := range []string{filepath.Join(home, ".config", "skl"), forge, project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(project, ".git"), 0o755); err != nil { // enough to be a project
		return err
	}
	url := fmt.Sprintf("%s/%x", f.URL, forge)
	for _, kv := range GitEnv(home) {
		key, value, _ := strings.Cut(kv, "=")
		if key != "PATH" {
			env.Setenv(key, value)
		}
	}
	if built != "" {
		env.Setenv("PATH", builtDir+string(filepath.ListSeparator)+env.Getenv("PATH"))
	}
	env.Setenv("FORGE", url)
	env.Setenv("SKL_TEST_REQUIRE", os.Getenv("SKL_TEST_REQUIRE"))
	env.Cd = project
	noteVariables(env)
	return os.WriteFile(filepath.Join(home, ".config", "skl", "config.toml"), []byte("[forge.github]\nurl = \""+url+"\"\n"), 0o644)
}

// RunGit runs git in dir with the script's fixed identity.
func RunGit(ts *testscript.TestScript, dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, GitEnv(dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Publish DIR OWNER/REPO [TAG]: commits what DIR holds now as the next state of
// the repository's branch main, and tags it. Files that end in .x are stored executable without
// the suffix; files that end in .link become links to their content. Nearly every script does this, so no program is started for it;
// git reads what was written whenever skl asks for it.
func (f *Forge) Publish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: publish DIR OWNER/REPO [TAG]")
	}
	bare := filepath.Join(ts.Getenv("WORK"), "forge", args[1]+".git")
	repo, err := gogit.PlainOpen(bare)
	if errors.Is(err, gogit.ErrRepositoryNotExists) {
		repo, err = gogit.PlainInitWithOptions(bare, &gogit.PlainInitOptions{InitOptions: gogit.InitOptions{DefaultBranch: "refs/heads/main"}, Bare: true})
	}
	ts.Check(err)
	by := object.Signature{Name: "Test", Email: "test@example.com", When: time.Unix(1_700_000_000, 0).UTC()}
	commit := object.Commit{Author: by, Committer: by, Message: "state\n"}
	commit.TreeHash, err = storeTree(repo.Storer, ts.MkAbs(args[0]))
	ts.Check(err)
	switch main, err := repo.Reference("refs/heads/main", true); {
	case err == nil:
		commit.ParentHashes = append(commit.ParentHashes, main.Hash())
	case !errors.Is(err, plumbing.ErrReferenceNotFound):
		ts.Fatalf("%v", err)
	}
	id, err := storeObject(repo.Storer, commit.Encode)
	ts.Check(err)
	ts.Check(repo.Storer.SetReference(plumbing.NewHashReference("refs/heads/main", id)))
	if len(args) > 2 {
		tag := plumbing.ReferenceName("refs/tags/" + args[2])
		if _, err := repo.Reference(tag, false); err == nil {
			ts.Fatalf("%s has a tag %s already", args[1], args[2])
		}
		ts.Check(repo.Storer.SetReference(plumbing.NewHashReference(tag, id)))
	}
}

// storeTree writes what a directory holds as objects.
func storeTree(to storage.Storer, dir string) (plumbing.Hash, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var t object.Tree
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		one := object.TreeEntry{Name: e.Name(), Mode: filemode.Regular}
		if e.IsDir() {
			if one.Hash, err = storeTree(to, path); err != nil {
				return plumbing.ZeroHash, err
			}
			if one.Mode = filemode.Dir; one.Hash.String() == emptyTree {
				continue
			}
			t.Entries = append(t.Entries, one)
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		switch name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())); filepath.Ext(path) {
		case ".x":
			one.Name, one.Mode = name, filemode.Executable
		case ".link":
			one.Name, one.Mode, data = name, filemode.Symlink, bytes.TrimSpace(data)
		}
		one.Hash, err = storeObject(to, func(o plumbing.EncodedObject) error {
			o.SetType(plumbing.BlobObject)
			w, err := o.Writer()
			if err == nil {
				_, err = w.Write(data)
			}
			return err
		})
		if err != nil {
			return plumbing.ZeroHash, err
		}
		t.Entries = append(t.Entries, one)
	}
	sort.Sort(object.TreeEntrySorter(t.Entries))
	return storeObject(to, t.Encode)
}

// emptyTree is what git never writes of a directory.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

func storeObject(to storage.Storer, encode func(plumbing.EncodedObject) error) (plumbing.Hash, error) {
	o := to.NewEncodedObject()
	if err := encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return to.SetEncodedObject(o)
}

// Bundle implements: bundle FILE OWNER/REPO: serves a repository of the shared data. Scripts that use it
// begin with "[!shared] skip".
func (f *Forge) Bundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bundle FILE OWNER/REPO")
	}
	bare := filepath.Join(ts.Getenv("WORK"), "forge", args[1]+".git")
	ts.Check(os.MkdirAll(filepath.Dir(bare), 0o755))
	RunGit(ts, filepath.Dir(bare), "clone", "-q", "--bare", filepath.Join(Shared(), args[0]), bare)
}
