package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/guide"
	"github.com/skl-project/skl/testdata/long"
)

// repository is the root of the repository.
var repository = filepath.Join("..", "..")

// TestDocs runs what README.md and the guides tell people to type, and compares what they show with what is
// printed. Each page has a script in testdata/docs that prepares what its commands need and says
// "section HEADING" where the blocks below that heading are run; with -update, the pages get the new output.
//
//   - console blocks are run line by line, and what is printed is compared; "# exit 3" behind a command is its status.
//   - sh blocks are run, and what they print is not shown.
//   - blocks of other languages are files: "snippet HEADING FILE" writes one, so that what a page shows is what was used.
//   - "<!-- not run: reason -->" before a block excuses it. testdata/docs/not_run.golden lists these.
//
// Every block of a page is used, and no script names a section that is not there.
func TestDocs(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the pages are written for a POSIX shell")
	}
	d := &docs{pages: map[string]*docPage{}}
	d.read(t, "readme", filepath.Join(repository, "README.md"))
	for _, g := range guide.All() {
		d.read(t, g.Name, filepath.Join("internal", "guide", g.Name+".md"))
	}
	forge := startForge(t)
	t.Run("pages", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 filepath.Join("testdata", "docs"),
			RequireExplicitExec: true,
			Setup:               func(env *testscript.Env) error { return d.setup(forge, env) },
			Cmds: (&corner{t: t}).addTo(commands{
				"publish": forge.publish, "tree": tree, "replace": replace, "exits": exits,
				"registry": new(registries).command, "service": new(services).command, "model": new(models).command,
				"section": d.section, "snippet": d.snippet, "picture": picture,
			}),
		})
	})
	if t.Failed() && !*update {
		return
	}
	d.finish(t)
}

// docs are the pages while their scripts run.
type docs struct {
	pages map[string]*docPage
}

func (d *docs) read(t *testing.T, name, path string) {
	p, err := parsePage(name, path)
	if err != nil {
		t.Fatal(err)
	}
	d.pages[name] = p
	_, err = os.Stat(filepath.Join("testdata", "docs", name+".txtar"))
	if p.scripted = err == nil; !p.scripted && slices.ContainsFunc(p.blocks, (*docBlock).commands) {
		t.Errorf("%s has commands and no script runs them: %v", path, err)
	}
}

// finish wants every block to have been used or excused, and writes the pages for -update.
func (d *docs) finish(t *testing.T) {
	var excused []string
	ran := 0
	all := true
	for _, name := range append([]string{"readme"}, guide.Names()...) {
		p := d.pages[name]
		if p.scripted && !p.started { // -run chose others
			all = false
			continue
		}
		for _, b := range p.blocks {
			switch {
			case b.skip != "":
				excused = append(excused, fmt.Sprintf("%s, %s: %s", name, b.section, b.skip))
			case !b.used && b.lang != "text":
				t.Errorf("%s:%d: nothing runs this block of %q", p.path, b.line, b.section)
			case b.commands():
				ran += len(b.steps())
			}
		}
		if text := p.rewritten(); *update && text != strings.Join(p.lines, "\n") {
			if err := os.WriteFile(p.path, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
			t.Logf("%s is rewritten", p.path)
		}
	}
	t.Logf("%d commands of %d pages were run; %d blocks were not:\n%s", ran, len(d.pages), len(excused), strings.Join(excused, "\n"))
	if !all {
		return
	}
	compareFile(t, filepath.Join("testdata", "docs", "not_run.golden"), strings.Join(excused, "\n")+"\n")
}

// compareFile compares a file with what it should hold, or with -update writes it.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): go test ./cmd/skl -run TestDocs -update\ngot:\n%s\nwant:\n%s", path, err, got, want)
	}
}

// A docShell is where the commands of one page run.
type docShell struct {
	page  *docPage
	dir   string            // working directory, which a command may change
	shown map[string]string // what the page writes for what is really there, in both directions
	only  [][2]string       // the same for what is printed only
}

type docShellKey struct{}

func (d *docs) setup(forge *forgeServer, env *testscript.Env) error {
	if err := forge.setup(env); err != nil {
		return err
	}
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	page := d.pages[name]
	if page == nil {
		return fmt.Errorf("there is no page %q", name)
	}
	page.started = true
	top, err := filepath.Abs(repository)
	if err != nil {
		return err
	}
	env.Setenv("REPOSITORY", top)
	env.Values[docShellKey{}] = &docShell{page: page, dir: filepath.Join(env.WorkDir, "project"),
		shown: map[string]string{"/srv/": filepath.Join(env.WorkDir, "srv") + "/"},
		only: [][2]string{{env.Getenv("FORGE"), "https://github.com"}, {filepath.Join(env.WorkDir, "project"), "/home/you/project"},
			{filepath.Join(env.WorkDir, "home"), "/home/you"}, {env.WorkDir, "/home/you"}}}
	return os.MkdirAll(filepath.Join(env.WorkDir, "srv"), 0o755)
}

// section implements: section HEADING. It runs the blocks below the heading of the page, up to the next.
func (d *docs) section(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: section HEADING")
	}
	s := ts.Value(docShellKey{}).(*docShell)
	found := false
	for _, b := range s.page.blocks {
		if b.section == args[0] && b.skip == "" && b.commands() && !b.used {
			found, b.used = true, true
			s.run(ts, b)
		}
	}
	if !found {
		ts.Fatalf("%s has no commands below %q", s.page.path, args[0])
	}
}

// snippet implements: snippet HEADING FILE. It appends the next block below the heading that is a file, no command, to FILE.
func (d *docs) snippet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snippet HEADING FILE")
	}
	s := ts.Value(docShellKey{}).(*docShell)
	for _, b := range s.page.blocks {
		if b.section == args[0] && b.skip == "" && !b.commands() && b.lang != "text" && !b.used {
			b.used = true
			path := ts.MkAbs(args[1])
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			old, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				ts.Check(err)
			}
			ts.Check(os.WriteFile(path, []byte(string(old)+s.real(strings.Join(b.lines, "\n"))+"\n"), 0o644))
			return
		}
	}
	ts.Fatalf("%s shows no further file below %q", s.page.path, args[0])
}

func (s *docShell) run(ts *testscript.TestScript, b *docBlock) {
	var now []string
	for i, step := range b.steps() {
		if i > 0 && b.lang == "console" && slices.Contains(b.lines, "") {
			now = append(now, "")
		}
		now = append(now, step.lines...)
		output, exit := s.do(ts, step)
		if exit != step.exit {
			ts.Fatalf("%s:%d: %s\nexits with %d, want %d\n%s", s.page.path, b.line, step.command, exit, step.exit, strings.Join(output, "\n"))
		}
		if b.lang == "sh" {
			continue
		}
		if sameOutput(settled(step.shown), settled(output)) {
			now = append(now, step.shown...)
			continue
		}
		if !*update || elided(step.shown) { // what to leave out is for a person to say
			ts.Fatalf("%s:%d: $ %s\nthe page shows:\n%s\nit prints:\n%s", s.page.path, b.line, step.command, strings.Join(step.shown, "\n"), strings.Join(output, "\n"))
		}
		now = append(now, output...)
	}
	if b.lang == "console" && *update {
		b.now = now
	}
}

// real is text of a page with what is really there.
func (s *docShell) real(text string) string {
	for shown, real := range s.shown {
		text = strings.ReplaceAll(text, shown, real)
	}
	return text
}

// do carries out one command in the shell's directory, and returns what it printed, as the page would show it, and its status.
func (s *docShell) do(ts *testscript.TestScript, step docStep) ([]string, int) {
	if host := ts.Getenv("REGISTRY_HOST"); host != "" { // of "registry start"
		s.shown["127.0.0.1:5080"] = host
	}
	command := s.real(step.command)
	if strings.HasPrefix(command, "skl registry serve") || strings.HasPrefix(command, "skl index serve") {
		return s.serve(ts, step, command), 0
	}
	out, pwd := filepath.Join(ts.Getenv("WORK"), ".out"), filepath.Join(ts.Getenv("WORK"), ".pwd")
	exit := 0
	err := ts.Exec("sh", "-c", fmt.Sprintf("exec >%q 2>&1 </dev/null\ncd %q || exit 99\n%s\nstatus=$?\npwd >%q\nexit $status", out, s.dir, command, pwd))
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		exit, err = failed.ExitCode(), nil
	}
	ts.Check(err)
	if dir, err := os.ReadFile(pwd); err == nil {
		s.dir = strings.TrimSpace(string(dir))
	}
	return s.printed(ts, out), exit
}

// printed is what a file of output shows, line by line.
func (s *docShell) printed(ts *testscript.TestScript, path string) []string {
	data, err := os.ReadFile(path)
	ts.Check(err)
	text := string(data)
	for shown, real := range s.shown {
		text = strings.ReplaceAll(text, real, shown)
	}
	if skl, err := lookIn(ts.Getenv("PATH"), "skl"); err == nil {
		text = strings.ReplaceAll(text, skl, "/usr/local/bin/skl")
	}
	for _, pair := range s.only {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// serve starts a server that the page starts on its standard port, on a free one, and leaves it running until the end of the script.
func (s *docShell) serve(ts *testscript.TestScript, step docStep, command string) []string {
	port := map[bool]string{true: "5080", false: "3000"}[strings.HasPrefix(command, "skl registry")]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	addr := l.Addr().String()
	l.Close()
	s.shown["127.0.0.1:"+port] = addr
	skl, err := lookIn(ts.Getenv("PATH"), "skl")
	ts.Check(err)
	path := filepath.Join(ts.Getenv("WORK"), ".serve"+port)
	log, err := os.Create(path)
	ts.Check(err)
	cmd := exec.Command(skl, append(strings.Fields(command)[1:], "--addr", addr)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = append(gitEnv(filepath.Join(ts.Getenv("WORK"), "home")), "PATH="+ts.Getenv("PATH"))
	ts.Check(cmd.Start())
	log.Close()
	exited := make(chan struct{})
	go func() {
		cmd.Wait()
		close(exited)
	}()
	ts.Defer(func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			<-exited
		}
	})
	var got []string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		before := got
		if got = s.printed(ts, path); !reachable(addr) {
			continue
		}
		if sameOutput(step.shown, got) && len(got) > 0 || *update && len(got) > 0 && slices.Equal(got, before) {
			return got
		}
	}
	return got
}

func reachable(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		c.Close()
	}
	return err == nil
}
