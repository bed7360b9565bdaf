package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Machine is a home and an empty project for the real program.
type Machine struct {
	T                  *testing.T
	Skl, Home, Project string
	Env                []string
}

// NewMachine makes one.
func NewMachine(t *testing.T) *Machine {
	t.Helper()
	skl, err := exec.LookPath("skl") // TestMain makes this binary answer to the name
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := &Machine{T: t, Skl: skl, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")}
	for _, d := range []string{m.Home, filepath.Join(m.Project, ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.Env = append(GitEnv(m.Home), "SKL_DATA_DIR="+filepath.Join(dir, "data"), "SKL_CACHE_DIR="+filepath.Join(dir, "cache"))
	return m
}

// Write writes a file of the project.
func (m *Machine) Write(name string, data []byte) {
	m.T.Helper()
	path := filepath.Join(m.Project, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
		m.T.Fatal(err)
	}
}

// Run runs skl in the project and returns its exit status.
func (m *Machine) Run(args ...string) (status int, stdout, stderr string) {
	m.T.Helper()
	cmd := exec.Command(m.Skl, args...)
	cmd.Dir, cmd.Env = m.Project, m.Env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		m.T.Fatal(err)
	}
	if i := strings.IndexAny(out.String()+errs.String(), "\x1b\x07\u009b\u202e"); i >= 0 && !m.T.Failed() {
		m.T.Errorf("skl %q prints a control character:\n%q\n%q", args, &out, &errs)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// State is everything below project and home.
func (m *Machine) State() string {
	read := func(path string) string { data, _ := os.ReadFile(path); return fmt.Sprintf(" %x", data) }
	return strings.Join(Listing(m.Project, read), "\n") + "\n\n" + strings.Join(Listing(m.Home, read), "\n")
}

// Refuses runs "skl ARGS --json" and wants this status and error code, and nothing written.
func (m *Machine) Refuses(status int, code string, args ...string) {
	m.T.Helper()
	before := m.State()
	got, stdout, stderr := m.Run(append(args, "--json")...)
	var out struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		m.T.Fatalf("skl %q: %v\n%s\n%s", args, err, stdout, stderr)
	}
	if got != status || out.Error.Code != code {
		m.T.Errorf("skl %q: exit %d, %s: %s; want exit %d, %s", args, got, out.Error.Code, out.Error.Message, status, code)
	}
	if m.State() != before {
		m.T.Errorf("skl %q wrote something", args)
	}
}

// A gitForge makes bare repositories out of raw objects, which no ordinary client would write.
type gitForge struct {
	t    *testing.T
	dir  string
	Http string // address of the directory
}

func NewGitForge(t *testing.T) *gitForge {
	forge := StartForge(t)
	dir := t.TempDir()
	return &gitForge{t, dir, fmt.Sprintf("%s/%x", forge.URL, dir)}
}

func (f *gitForge) git(dir, stdin string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, GitEnv(dir), strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, &errs)
	}
	return strings.TrimSpace(string(out))
}

// A Node of a tree: "100644 name" and content, or nodes below a directory.
type Node struct {
	Mode, Name, Text string
	Id               string // instead of text, of an object that need not exist
	sub              []Node
}

// tree writes nodes in git's order, in which a directory stands where its name with a slash would.
func (f *gitForge) tree(bare string, nodes []Node) string {
	var raw bytes.Buffer
	key := func(n Node) string {
		if n.sub != nil {
			return n.Name + "/"
		}
		return n.Name
	}
	nodes = slices.SortedStableFunc(slices.Values(nodes), func(a, b Node) int { return strings.Compare(key(a), key(b)) })
	for _, n := range nodes {
		id := n.Id
		switch {
		case id != "":
		case n.sub != nil:
			id = f.tree(bare, n.sub)
		default:
			id = f.git(bare, n.Text, "hash-object", "-w", "--stdin")
		}
		fmt.Fprintf(&raw, "%s %s\x00", n.Mode, n.Name)
		for i := 0; i < len(id); i += 2 {
			b, _ := strconv.ParseUint(id[i:i+2], 16, 8)
			raw.WriteByte(byte(b))
		}
	}
	return f.git(bare, raw.String(), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
}

// Repository makes NAME.git, whose branch main holds nodes, and returns it.
func (f *gitForge) Repository(name string, nodes []Node) (bare string) {
	f.t.Helper()
	bare = filepath.Join(f.dir, name+".git")
	if err := os.MkdirAll(bare, 0o755); err != nil {
		f.t.Fatal(err)
	}
	f.git(bare, "", "init", "-q", "--bare", "-b", "main", ".")
	commit := f.git(bare, "", "commit-tree", "-m", "state", f.tree(bare, nodes))
	f.git(bare, "", "update-ref", "refs/heads/main", commit)
	return bare
}

func File(name, text string) Node { return Node{Mode: "100644", Name: name, Text: text} }

func Dir(name string, nodes ...Node) Node { return Node{Mode: "40000", Name: name, sub: nodes} }

// Serve starts a registry with its data beside the machine's project, and returns its address and the
// file of its admin token.
func (m *Machine) Serve(args ...string) (ready ReadyLine) {
	m.T.Helper()
	cmd := exec.Command(m.Skl, append([]string{"registry", "serve", "--addr", "127.0.0.1:0", "--json"}, args...)...)
	cmd.Dir, cmd.Env = m.Project, m.Env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.T.Fatal(err)
	}
	m.T.Cleanup(func() {
		kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		if cmd.Process.Signal(os.Interrupt) != nil {
			cmd.Process.Kill()
		}
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &ready)
	}
	if err != nil {
		m.T.Fatalf("the registry does not start: %v\n%s", err, errs.String())
	}
	return ready
}
