package harness

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/testdata/long"
)

// Update is the flag -update.
var Update = flag.Bool("update", false, "rewrite the expected output in scripts")

// RunScripts runs the scripts in testdata/script, with -short one of twenty. Each has a home, an empty project directory
// $WORK/project to work in, and a forge of its own: bare repositories in $WORK/forge/<owner>/<repo>.git, served at $FORGE over smart
// HTTP by git http-backend. github: leads there. See the README of the folder test for the commands.
func RunScripts(t *testing.T) {
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(all) < 50 {
		t.Fatalf("%d scripts: %v", len(all), err)
	}
	var files []string
	for i, file := range all {
		if i%long.Of(20, 1, 1) == 0 {
			files = append(files, file)
		}
	}
	testscript.Run(t, ScriptParams(t, files))
}

// ScriptParams run files as scripts, with a forge of their own.
func ScriptParams(t *testing.T, files []string) testscript.Params {
	forge := StartForge(t)
	return testscript.Params{
		Files:               files,
		UpdateScripts:       *Update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-") + ".txtar"
			i := slices.IndexFunc(files, func(file string) bool { return filepath.Base(file) == name })
			text, err := os.ReadFile(files[i])
			if err = errors.Join(err, forge.Setup(env)); err == nil {
				noteEnvLines(env, string(text))
			}
			return err
		},
		Cmds: (&Corner{T: t}).AddTo(Commands{
			"publish": forge.Publish, "universe": forge.Universe, "follow": follow, "bundle": forge.Bundle, "skl": inProcess, "tree": Tree, "snapshot": snapshot, "unchanged": unchanged,
			"blobs": blobs, "replace": Replace, "flip": flip, "spoil": spoil, "links": links, "exits": Exits, "refused": refused, "ask": askHTTP, "rule": rule, "files": serveFiles,
			"registry": new(Registries).Command, "database": StartDatabase, "bucket": StartBucket, "service": new(Services).Command, "oci": StartOCI, "issuer": startIssuer, "identity": identity, "catch": catchRequests, "model": new(Models).Command,
		}),
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "git":
				return forge.backend != "", nil
			case "shared":
				return Shared() != "", nil
			case "root":
				return os.Getuid() == 0, nil
			}
			return HasStores(cond)
		},
	}
}

// HasStores is the conditions of scripts that use "database" and "bucket".
func HasStores(cond string) (bool, error) {
	switch cond {
	case "postgres":
		return postgrestest.Available(), nil
	case "s3":
		_, err := s3test.Endpoint()
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// Shared is the directory of the shared data, "" if there is none.
func Shared() string {
	dir, err := os.Getwd()
	for ; err == nil && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		p := filepath.Join(filepath.Dir(dir), "shared", "data")
		if _, err := os.Stat(filepath.Join(p, "superpowers.bundle")); err == nil {
			return p
		}
	}
	return ""
}

// Listing describes everything below dir: path, mode, and content or link text.
func Listing(dir string, hash func(path string) string) []string {
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

// Tree DIR: prints what is below DIR, without .skl and .git, for stdout to match.
func Tree(ts *testscript.TestScript, neg bool, args []string) {
	for _, line := range Listing(ts.MkAbs(args[0]), func(string) string { return "" }) {
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
		for _, line := range Listing(filepath.Join(ts.Getenv("WORK"), dir), func(path string) string {
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

// Exits N skl ARGS…, exits N exec PROGRAM ARGS…: runs the command line, and fails unless its exit status is N.
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	usage := func() { ts.Fatalf("usage: exits N skl ARGS… or exits N exec PROGRAM ARGS…") }
	if neg || len(args) < 2 {
		usage()
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	switch {
	case args[1] == "skl":
		got = runSkl(ts, args[2:])
	case args[1] == "exec" && len(args) > 2:
		got = execStatus(ts, args[2], args[3:])
	default:
		usage()
	}
	if got != want {
		ts.Fatalf("exits with %d, want %d", got, want)
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
	objects := catFiles(ts, bare)
	defer objects.end()
	for line := range strings.Lines(RunGit(ts, bare, "ls-tree", "-r", "-z", args[1]+":"+strings.Trim(args[2], "/."))) {
		for entry := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\x00") {
			if entry == "" {
				continue
			}
			meta, path, _ := strings.Cut(entry, "\t")
			fields := strings.Fields(meta)
			want[path] = true
			compareBlob(ts, fields[0], objects.blob(ts, fields[2]), filepath.Join(dir, filepath.FromSlash(path)))
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

// A gitObjects is a git that is asked for objects, one after the other.
type gitObjects struct {
	ask io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func catFiles(ts *testscript.TestScript, bare string) *gitObjects {
	cmd := exec.Command("git", "cat-file", "--batch")
	cmd.Dir, cmd.Env = bare, GitEnv(bare)
	ask, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	return &gitObjects{ask, bufio.NewReader(out), cmd}
}

func (g *gitObjects) end() {
	g.ask.Close()
	g.cmd.Wait()
}

// blob is the content of a blob.
func (g *gitObjects) blob(ts *testscript.TestScript, id string) []byte {
	_, err := fmt.Fprintln(g.ask, id)
	ts.Check(err)
	var is, kind string
	var size int
	_, err = fmt.Fscanf(g.out, "%s %s %d\n", &is, &kind, &size)
	ts.Check(err)
	if is != id || kind != "blob" {
		ts.Fatalf("%s is %s, not a blob", id, kind)
	}
	data := make([]byte, size+1) // and the end of the line
	_, err = io.ReadFull(g.out, data)
	ts.Check(err)
	return data[:size]
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

// Replace FILE OLD NEW: edits a file as a person would. $VARIABLES are expanded.
func Replace(ts *testscript.TestScript, neg bool, args []string) {
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

// spoil GLOB OFFSET LENGTH: overwrites a part of every matching file; with LENGTH "cut" the file ends at OFFSET.
func spoil(ts *testscript.TestScript, neg bool, args []string) {
	paths, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(paths) == 0 {
		ts.Fatalf("nothing matches %s", args[0])
	}
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	for _, path := range paths {
		if args[2] == "cut" {
			ts.Check(os.Truncate(path, offset))
			continue
		}
		length, err := strconv.Atoi(args[2])
		ts.Check(err)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		ts.Check(err)
		_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, length), offset)
		ts.Check(errors.Join(err, f.Close()))
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
