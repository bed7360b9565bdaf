package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/testdata/long"
)

var update = flag.Bool("update", false, "rewrite the expected output in scripts")

// TestMain makes this test binary answer to "skl" inside the scripts, so they run
// the real command line in a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"skl": func() { os.Exit(cli.Main()) }, "vault": vault})
}

// TestScripts runs testdata/script. Each script has a home, an empty project
// directory $WORK/project to work in, and a forge of its own: bare repositories
// in $WORK/forge/<owner>/<repo>.git, served at $FORGE over smart HTTP by git
// http-backend. github: leads there. See testdata/script/README for the commands.
func TestScripts(t *testing.T) {
	forge := startForge(t)
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup:               forge.setup,
		Cmds: (&corner{t: t}).addTo(commands{
			"publish": forge.publish, "bundle": forge.bundle, "tree": tree, "snapshot": snapshot, "unchanged": unchanged,
			"blobs": blobs, "replace": replace, "flip": flip, "links": links, "exits": exits, "ask": askHTTP,
			"registry": new(registries).command, "service": new(services).command, "oci": startOCI, "model": new(models).command,
		}),
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "git":
				return forge.backend != "", nil
			case "shared":
				return shared() != "", nil
			case "root":
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// scripts are the files of testdata/script; with -short one of twelve.
func scripts(t *testing.T) (files []string) {
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(all) < 100 {
		t.Fatalf("%d scripts: %v", len(all), err)
	}
	for i, file := range all {
		if i%long.Of(12, 1, 1) == 0 {
			files = append(files, file)
		}
	}
	return files
}

// A forgeServer serves the repositories below the work directories of all scripts.
type forgeServer struct {
	url, backend string
}

func startForge(t *testing.T) *forgeServer {
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
	f := &forgeServer{backend: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f, ReadTimeout: time.Minute}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	f.url = "http://" + l.Addr().String()
	return f
}

// ServeHTTP serves /<hex of a directory>/<owner>/<repo>.git/…
func (f *forgeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var dir []byte
	if _, err := fmt.Sscanf(name, "%x", &dir); err != nil {
		http.NotFound(w, r)
		return
	}
	r.URL.Path = "/" + rest
	h := cgi.Handler{Path: f.backend, Root: "/", Stderr: io.Discard, Env: append(gitEnv(string(dir)),
		"GIT_PROJECT_ROOT="+string(dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=uploadpack.allowFilter", "GIT_CONFIG_VALUE_0=true",
		"GIT_CONFIG_KEY_1=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_1=true",
		"GIT_CONFIG_KEY_2=safe.directory", "GIT_CONFIG_VALUE_2=*")}
	h.ServeHTTP(w, r)
}

func gitEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=1700000000 +0000"}
}

func (f *forgeServer) setup(env *testscript.Env) error {
	home, forge, project := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, "forge"), filepath.Join(env.WorkDir, "project")
	for _, dir := range []string{filepath.Join(home, ".config", "skl"), forge, project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(project, ".git"), 0o755); err != nil { // enough to be a project
		return err
	}
	url := fmt.Sprintf("%s/%x", f.url, forge)
	for _, kv := range gitEnv(home) {
		key, value, _ := strings.Cut(kv, "=")
		if key != "PATH" {
			env.Setenv(key, value)
		}
	}
	env.Setenv("FORGE", url)
	env.Setenv("SKL_TEST_REQUIRE", os.Getenv("SKL_TEST_REQUIRE"))
	env.Cd = project
	return os.WriteFile(filepath.Join(home, ".config", "skl", "config.toml"), []byte("[forge.github]\nurl = \""+url+"\"\n"), 0o644)
}

// run runs git in dir with the script's fixed identity.
func runGit(ts *testscript.TestScript, dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, gitEnv(dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// publish DIR OWNER/REPO [TAG]: commits what DIR holds now as the next state of
// the repository's branch main, and tags it. Files that end in .x are stored executable without
// the suffix; files that end in .link become links to their content.
func (f *forgeServer) publish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: publish DIR OWNER/REPO [TAG]")
	}
	src, bare := ts.MkAbs(args[0]), filepath.Join(ts.Getenv("WORK"), "forge", args[1]+".git")
	work := bare + ".work"
	if _, err := os.Stat(bare); err != nil {
		ts.Check(os.MkdirAll(bare, 0o755))
		runGit(ts, bare, "init", "-q", "--bare", "-b", "main", ".")
		runGit(ts, filepath.Dir(bare), "clone", "-q", bare, work)
	}
	entries, err := os.ReadDir(work)
	ts.Check(err)
	for _, e := range entries {
		if e.Name() != ".git" {
			ts.Check(os.RemoveAll(filepath.Join(work, e.Name())))
		}
	}
	ts.Check(filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(src, path)
		to := filepath.Join(work, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".x":
			return os.WriteFile(strings.TrimSuffix(to, ".x"), data, 0o755)
		case ".link":
			return os.Symlink(strings.TrimSpace(string(data)), strings.TrimSuffix(to, ".link"))
		}
		return os.WriteFile(to, data, 0o644)
	}))
	runGit(ts, work, "add", "-A", "-f", ".")
	runGit(ts, work, "commit", "-q", "--allow-empty", "-m", "state")
	if len(args) > 2 {
		runGit(ts, work, "tag", args[2])
	}
	runGit(ts, work, "push", "-q", "--tags", "origin", "HEAD:main")
}

// bundle FILE OWNER/REPO: serves a repository of the shared data. Scripts that use it
// begin with "[!shared] skip".
func (f *forgeServer) bundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bundle FILE OWNER/REPO")
	}
	bare := filepath.Join(ts.Getenv("WORK"), "forge", args[1]+".git")
	ts.Check(os.MkdirAll(filepath.Dir(bare), 0o755))
	runGit(ts, filepath.Dir(bare), "clone", "-q", "--bare", filepath.Join(shared(), args[0]), bare)
}

// shared is the directory of the shared data, "" if there is none.
func shared() string {
	dir, err := os.Getwd()
	for ; err == nil && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		p := filepath.Join(filepath.Dir(dir), "shared", "data")
		if _, err := os.Stat(filepath.Join(p, "superpowers.bundle")); err == nil {
			return p
		}
	}
	return ""
}

// list describes everything below dir: path, mode, and content or link text.
func list(dir string, hash func(path string) string) []string {
	var out []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", info.Mode(), filepath.ToSlash(rel))
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, _ := os.Readlink(path)
			line += " -> " + text
		case d.Type().IsRegular():
			line += hash(path)
		}
		out = append(out, line)
		return nil
	})
	sort.Strings(out)
	return out
}

// tree DIR: prints what is below DIR, without .skl and .git, for stdout to match.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	for _, line := range list(ts.MkAbs(args[0]), func(string) string { return "" }) {
		if !strings.Contains(line, "/.skl/") && !strings.HasSuffix(line, "/.skl") && !strings.Contains(line, ".git/") {
			fmt.Fprintln(ts.Stdout(), line)
		}
	}
}

// content is what snapshot and unchanged compare: every file of the project and
// the home, caches aside, with its content and modification time.
func content(ts *testscript.TestScript) string {
	var out []string
	for _, dir := range []string{"project", "home"} {
		for _, line := range list(filepath.Join(ts.Getenv("WORK"), dir), func(path string) string {
			data, _ := os.ReadFile(path)
			info, _ := os.Lstat(path)
			return fmt.Sprintf(" %d %x", info.ModTime().UnixNano(), data)
		}) {
			if !strings.Contains(line, " .cache") {
				out = append(out, dir+" "+line)
			}
		}
	}
	return strings.Join(out, "\n")
}

// snapshot: remembers the state of project and home.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), ".snapshot"), []byte(content(ts)), 0o600))
}

// unchanged [store]: fails if anything was written to project or home since the snapshot.
// With store, the store aside: it may keep a bundle that was fetched and not installed. What skl remembers of
// the logs of registries is not counted: it moves on whenever a registry is asked.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	was, err := os.ReadFile(filepath.Join(ts.Getenv("WORK"), ".snapshot"))
	ts.Check(err)
	counts := func(line string) bool {
		above := map[string]bool{".local": true, ".local/state": true, ".local/state/skl": true, ".local/share": true, ".local/share/skl": true}
		if f := strings.Fields(line); len(f) > 2 && f[0] == "home" && above[f[2]] || strings.Contains(line, " .local/state/skl/log") {
			return false
		}
		return len(args) == 0 || args[0] != "store" || !strings.Contains(line, " .local/share/skl/store")
	}
	old, differ := map[string]bool{}, false
	for line := range strings.Lines(string(was)) {
		old[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(content(ts)) {
		if line = strings.TrimSpace(line); !old[line] && counts(line) {
			differ = true
			ts.Logf("new or changed: %.200s", line)
		}
		delete(old, line)
	}
	for line := range old {
		if counts(line) {
			differ = true
			ts.Logf("gone: %.200s", line)
		}
	}
	if differ {
		ts.Fatalf("something was written")
	}
}

// exits N PROGRAM ARGS…: runs the program as exec does, and fails unless its exit
// status is N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := 0, ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", args[1], got, want)
	}
}

// blobs OWNER/REPO COMMIT PATH DIR: compares DIR with the blobs of the commit below
// PATH: the same files, bytes, executable bits and links, and nothing else.
func blobs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: blobs OWNER/REPO COMMIT PATH DIR")
	}
	bare, dir := filepath.Join(ts.Getenv("WORK"), "forge", args[0]+".git"), ts.MkAbs(args[3])
	want := map[string]bool{}
	for line := range strings.Lines(runGit(ts, bare, "ls-tree", "-r", "-z", args[1]+":"+strings.Trim(args[2], "/."))) {
		for entry := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\x00") {
			if entry == "" {
				continue
			}
			meta, path, _ := strings.Cut(entry, "\t")
			fields := strings.Fields(meta)
			want[path] = true
			cmd := exec.Command("git", "cat-file", "blob", fields[2])
			cmd.Dir, cmd.Env = bare, gitEnv(bare)
			blob, err := cmd.Output()
			ts.Check(err)
			compareBlob(ts, fields[0], blob, filepath.Join(dir, filepath.FromSlash(path)))
		}
	}
	if len(want) == 0 {
		ts.Fatalf("%s has nothing at %s", args[1], args[2])
	}
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err == nil && !d.IsDir() && !want[filepath.ToSlash(rel)] {
			err = fmt.Errorf("%s is not in the commit", rel)
		}
		return err
	}))
}

func compareBlob(ts *testscript.TestScript, mode string, blob []byte, path string) {
	info, err := os.Lstat(path)
	ts.Check(err)
	switch mode {
	case "120000":
		text, err := os.Readlink(path)
		ts.Check(err)
		if text != string(blob) {
			ts.Fatalf("%s links to %q, want %q", path, text, blob)
		}
		return
	case "100755", "100644":
		if executable := info.Mode()&0o111 != 0; executable != (mode == "100755") {
			ts.Fatalf("%s has mode %v, want %s", path, info.Mode(), mode)
		}
	}
	data, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Equal(data, blob) {
		ts.Fatalf("%s differs from its blob", path)
	}
}

// replace FILE OLD NEW: edits a file as a person would. $VARIABLES are expanded.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	if !strings.Contains(string(data), args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, []byte(strings.Replace(string(data), args[1], args[2], 1)), 0o644))
}

// flip GLOB: changes one byte of every matching file, read-only ones included.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	paths, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(paths) == 0 {
		ts.Fatalf("nothing matches %s", args[0])
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		ts.Check(err)
		data[len(data)/2] ^= 1
		ts.Check(os.Chmod(path, 0o644))
		ts.Check(os.WriteFile(path, data, 0o644))
	}
}

// links PATH TEXT: PATH is a symbolic link with exactly this text.
func links(ts *testscript.TestScript, neg bool, args []string) {
	text, err := os.Readlink(ts.MkAbs(args[0]))
	if neg {
		if err == nil {
			ts.Fatalf("%s is a link to %s", args[0], text)
		}
		return
	}
	ts.Check(err)
	if text != args[1] {
		ts.Fatalf("%s links to %q, want %q", args[0], text, args[1])
	}
}
