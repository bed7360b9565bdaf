package documents

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/guide"
	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// TestDocs runs what README.md and the guides tell people to type, and compares what they show with what is
// printed. Each page has a script in testdata/docs that prepares what its commands need and says
// "section HEADING" where the blocks below that heading are run; with -update, the pages get the new output.
//
//   - console blocks are run line by line, and what is printed is compared; "# exit 3" behind a command is its status.
//   - sh blocks are run, and what they print is not shown.
//   - blocks of other languages are files: "snippet HEADING FILE" writes one, so that what a page shows is what was used.
//   - a server that a page starts gets a free port of loopback, and runs until the script says "stopped" or ends.
//   - "stands TEXT REAL" lets TEXT of the page stand for REAL, "input FILE" is what commands read, and "typed FILE" what
//     somebody types at the terminal of the next one.
//   - "<!-- not run: reason -->" before a block excuses it. testdata/docs/not_run.golden lists these.
//
// Every block of a page is used, and no script names a section that is not there.
func TestDocs(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the pages are written for a POSIX shell")
	}
	d := &docs{dir: filepath.Join("testdata", "docs"), pages: map[string]*docPage{}}
	if harness.Shared() != "" {
		d.read(t, "readme", filepath.Join(harness.Repository, "README.md"))
	} else {
		t.Log("README.md is left out: it needs the copy of a public repository")
	}
	for _, g := range guide.All() {
		d.read(t, g.Name, filepath.Join("..", "..", "internal", "guide", g.Name+".md"))
	}
	d.run(t)
	if t.Failed() && !*harness.Update {
		return
	}
	if excused, all := d.finish(t); all {
		compareFile(t, filepath.Join(d.dir, "not_run.golden"), strings.Join(excused, "\n")+"\n")
	}
}

// docs are the pages while their scripts run.
type docs struct {
	dir   string   // of the scripts
	names []string // of the pages, in their order
	pages map[string]*docPage
	width int // of the terminal that commands have, 0 for a pipe
}

// run runs the scripts of the pages.
func (d *docs) run(t *testing.T) {
	forge := harness.StartForge(t)
	var scripts []string
	for _, name := range d.names {
		if d.pages[name].scripted {
			scripts = append(scripts, filepath.Join(d.dir, name+".txtar"))
		}
	}
	t.Run("pages", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Files:               scripts,
			RequireExplicitExec: true,
			Setup:               func(env *testscript.Env) error { return d.setup(forge, env) },
			Condition:           harness.HasStores,
			Cmds: (&harness.Corner{T: t}).AddTo(harness.Commands{
				"publish": forge.Publish, "bundle": forge.Bundle, "universe": forge.Universe, "tree": harness.Tree, "replace": harness.Replace, "exits": harness.Exits, "oci": harness.StartOCI,
				"registry": new(harness.Registries).Command, "database": harness.StartDatabase, "bucket": harness.StartBucket, "service": new(harness.Services).Command, "model": new(harness.Models).Command,
				"section": d.section, "snippet": d.snippet, "picture": d.picture, "pictured": d.pictured, "stands": stands, "input": input, "stopped": stopped, "typed": typed,
			}),
		})
	})
}

func (d *docs) read(t *testing.T, name, path string) {
	p, err := parsePage(name, path)
	if err != nil {
		t.Fatal(err)
	}
	d.pages[name] = p
	d.names = append(d.names, name)
	_, err = os.Stat(filepath.Join(d.dir, name+".txtar"))
	if p.scripted = err == nil; !p.scripted && slices.ContainsFunc(p.blocks, (*docBlock).commands) {
		t.Errorf("%s has commands and no script runs them: %v", path, err)
	}
}

// finish wants every block to have been used or excused, and writes the pages for -update. It returns the blocks that
// were excused, and whether all pages were run.
func (d *docs) finish(t *testing.T) (excused []string, all bool) {
	ran := 0
	all = true
	for _, name := range d.names {
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
		if text := p.rewritten(); *harness.Update && text != strings.Join(p.lines, "\n") {
			if err := os.WriteFile(p.path, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
			t.Logf("%s is rewritten", p.path)
		}
	}
	t.Logf("%d commands of %d pages were run; %d blocks were not:\n%s", ran, len(d.pages), len(excused), strings.Join(excused, "\n"))
	return excused, all
}

// compareFile compares a file with what it should hold, or with -update writes it.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if *harness.Update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): go test ./cmd/skl/test/documents -run TestDocs -update\ngot:\n%s\nwant:\n%s", path, err, got, want)
	}
}

// A docShell is where the commands of one page run.
type docShell struct {
	page  *docPage
	dir   string            // working directory, which a command may change
	shown map[string]string // what the page writes for what is really there, in both directions
	only  [][2]string       // the same for what is printed only
	input string            // file that commands read
	typed []string          // lines that the next command reads from its terminal, nil for none
	stops []func()          // end the servers of the page
	names names
}

type docShellKey struct{}

func (d *docs) setup(forge *harness.Forge, env *testscript.Env) error {
	if err := forge.Setup(env); err != nil {
		return err
	}
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	page := d.pages[name]
	if page == nil {
		return fmt.Errorf("there is no page %q", name)
	}
	page.started = true
	env.Defer(func() {
		if t, ok := env.T().(interface{ Skipped() bool }); ok && t.Skipped() {
			page.started = false // nothing of it was run
		}
	})
	forgeHost := strings.TrimPrefix(forge.URL, "http://")
	top, err := filepath.Abs(harness.Repository)
	if err != nil {
		return err
	}
	env.Setenv("REPOSITORY", top)
	env.Values[docShellKey{}] = &docShell{page: page, dir: filepath.Join(env.WorkDir, "project"),
		shown: map[string]string{"/srv/": filepath.Join(env.WorkDir, "srv") + "/"},
		only: [][2]string{{env.Getenv("FORGE"), "https://github.com"}, {filepath.Join(env.WorkDir, "project"), "/home/you/project"},
			{filepath.Join(env.WorkDir, "home"), "/home/you"}, {env.WorkDir, "/home/you"},
			{forgeHost, "127.0.0.1:8080"}, {strings.NewReplacer(".", "_", ":", "___").Replace(forgeHost), "127_0_0_1___8080"}}, input: os.DevNull}
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
			if d.width > 0 {
				s.show(ts, b, d.width)
			} else {
				s.run(ts, b)
			}
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
		if pairs, ok := sameOutput(settled(step.shown), settled(output)); ok {
			now = append(now, s.namesIn(ts, b, step.shown, pairs)...)
			continue
		}
		if !*harness.Update || elided(step.shown) { // what to leave out is for a person to say
			ts.Fatalf("%s:%d: $ %s\nthe page shows:\n%s\nit prints:\n%s", s.page.path, b.line, step.command, strings.Join(step.shown, "\n"), strings.Join(output, "\n"))
		}
		now = append(now, s.names.known(output)...)
	}
	if b.lang == "console" && *harness.Update {
		b.now = now
	}
}

// namesIn are lines of a page with the names that the page gave to what they are about; they fail where they have others, or get them with
// -update.
func (s *docShell) namesIn(ts *testscript.TestScript, b *docBlock, lines []string, pairs [][2]string) []string {
	out := slices.Clone(lines)
	for _, pair := range pairs {
		should, wrong := s.names.check(pair[0], pair[1])
		if wrong == "" {
			continue
		}
		if !*harness.Update {
			ts.Fatalf("%s:%d: %s\n%s", s.page.path, b.line, wrong, pair[0])
		}
		if i := slices.Index(out, pair[0]); i >= 0 {
			out[i] = should
		}
	}
	return out
}

// stands TEXT REAL: from here on, TEXT of the page stands for what is really REAL. With /PATTERN/ it is the first match
// in what the last command of the script printed.
func stands(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[1] == "" {
		ts.Fatalf("usage: stands TEXT REAL")
	}
	real := args[1]
	if len(real) > 2 && real[0] == '/' && strings.HasSuffix(real, "/") {
		stdout := ts.ReadFile("stdout")
		if real = regexp.MustCompile(real[1 : len(real)-1]).FindString(stdout); real == "" {
			ts.Fatalf("%s is not in\n%s", args[1], stdout)
		}
	}
	ts.Value(docShellKey{}).(*docShell).shown[args[0]] = real
}

// input FILE: what commands read from here on.
func input(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: input FILE")
	}
	ts.Value(docShellKey{}).(*docShell).input = ts.MkAbs(args[0])
}

// typed FILE: the next command of the page has a terminal, at which somebody types FILE. "ttyin -stdin FILE" precedes it.
func typed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: typed FILE")
	}
	ts.Value(docShellKey{}).(*docShell).typed = strings.Split(ts.ReadFile(args[0]), "\n")
}

// stopped ends the servers that the page has started so far.
func stopped(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(docShellKey{}).(*docShell)
	for _, stop := range s.stops {
		stop()
	}
	s.stops = nil
}

// real is text of a page with what is really there.
func (s *docShell) real(text string) string {
	for _, shown := range slices.SortedFunc(maps.Keys(s.shown), longer) {
		text = strings.ReplaceAll(text, shown, s.shown[shown])
	}
	return text
}

// longer puts a text before those that it may contain.
func longer(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }

// do carries out one command in the shell's directory, and returns what it printed, as the page would show it, and its status.
func (s *docShell) do(ts *testscript.TestScript, step docStep) ([]string, int) {
	if host := ts.Getenv("REGISTRY_HOST"); host != "" { // of "registry start"
		s.shown["127.0.0.1:5080"] = host
	}
	command := s.real(step.command)
	if serves.MatchString(command) {
		return s.serve(ts, step, command), 0
	}
	out, pwd := filepath.Join(ts.Getenv("WORK"), ".out"), filepath.Join(ts.Getenv("WORK"), ".pwd")
	exit := 0
	shell := "sh"
	if strings.Contains(command, "<(") {
		shell = "bash"
	}
	streams := fmt.Sprintf(">%q 2>&1 <%q", out, s.input)
	if s.typed != nil {
		streams = fmt.Sprintf(">%q 2>/dev/tty\nstty cols 118 -echo\nexport NO_COLOR=1 LC_ALL=C.UTF-8", out)
	}
	err := ts.Exec(shell, "-c", fmt.Sprintf("exec %s\ncd %q || exit 99\n%s\nstatus=$?\npwd >%q\nexit $status", streams, s.dir, command, pwd))
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		exit, err = failed.ExitCode(), nil
	}
	ts.Check(err)
	if dir, err := os.ReadFile(pwd); err == nil {
		s.dir = strings.TrimSpace(string(dir))
	}
	output := s.printed(ts, out)
	if s.typed != nil {
		ts.Check(os.WriteFile(out, []byte(s.terminal(ts.ReadFile("ttyout"))), 0o600))
		output = append(output, s.printed(ts, out)...)
		s.typed = nil
	}
	return output, exit
}

// question is a line of a terminal behind which somebody types, redraw goes up some lines and erases what is below, keys is
// what stands there while a question waits for a key.
var (
	question = regexp.MustCompile(`(?m)^(\? .*\[y/N\] |(?:> )+)`)
	redraw   = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)
	keys     = regexp.MustCompile(`(?s)\x1b\[\?25l.*?\x1b\[\?25h`)
)

// terminal is what a terminal shows in the end, without the echo of what is typed, which comes before a question or behind it.
func (s *docShell) terminal(text string) string {
	text = "\n" + strings.ReplaceAll(text, "\r", "")
	for _, line := range s.typed {
		if line != "" {
			text = strings.ReplaceAll(text, "\n"+line+"\n", "\n")
			text = strings.ReplaceAll(strings.ReplaceAll(text, "] "+line+"\n", "] "), "> "+line+"\n", "> ")
		}
	}
	text = question.ReplaceAllString(keys.ReplaceAllString(text, ""), "$1\n")
	for at := redraw.FindStringSubmatchIndex(text); at != nil; at = redraw.FindStringSubmatchIndex(text) {
		up, _ := strconv.Atoi(text[at[2]:at[3]])
		lines := strings.SplitAfter(text[:at[0]], "\n")
		text = strings.Join(lines[:max(0, len(lines)-1-up)], "") + text[at[1]:]
	}
	return strings.TrimPrefix(text, "\n")
}

// printed is what a file of output shows, line by line.
func (s *docShell) printed(ts *testscript.TestScript, path string) []string {
	data, err := os.ReadFile(path)
	ts.Check(err)
	text := string(data)
	for _, shown := range slices.SortedFunc(maps.Keys(s.shown), func(a, b string) int { return cmp.Or(longer(s.shown[a], s.shown[b]), longer(a, b)) }) {
		text = strings.ReplaceAll(text, s.shown[shown], shown)
	}
	if skl, err := harness.LookIn(ts.Getenv("PATH"), "skl"); err == nil {
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

// serves is a command that stays.
var serves = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )?skl (registry serve|index serve|mcp --allow-run)\b`)

var listens = regexp.MustCompile(`\b127\.0\.0\.1:[0-9]+`)

// serve starts a server that the page starts, and leaves it running until the end of the script or "stopped". One that listens on
// its standard port gets a free one; one that is spoken to over its standard input reads what "input" named, and no end.
func (s *docShell) serve(ts *testscript.TestScript, step docStep, command string) []string {
	env, flags, _ := strings.Cut(command, "skl ")
	args := strings.Fields(flags)
	port := map[string]string{"registry serve": "5080", "index serve": "3000"}[serves.FindStringSubmatch(command)[1]]
	if at := slices.Index(args, "--addr"); at >= 0 && at+1 < len(args) && args[at+1] != "127.0.0.1:0" {
		port = strings.TrimPrefix(args[at+1], "127.0.0.1:")
		args = slices.Delete(args, at, at+2)
	}
	if port != "" {
		args = append(args, "--addr", "127.0.0.1:0")
	}
	skl, err := harness.LookIn(ts.Getenv("PATH"), "skl")
	ts.Check(err)
	log, err := os.CreateTemp(ts.Getenv("WORK"), ".serve")
	ts.Check(err)
	cmd := exec.Command(skl, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = append(append(harness.GitEnv(filepath.Join(ts.Getenv("WORK"), "home")), "PATH="+ts.Getenv("PATH")), strings.Fields(env)...)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} { // of "bucket"
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	said, err := os.ReadFile(s.input)
	ts.Check(err)
	ts.Check(cmd.Start())
	log.Close()
	exited := make(chan struct{})
	go func() {
		stdin.Write(said)
		cmd.Wait()
		close(exited)
	}()
	stop := func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			<-exited
		}
	}
	s.stops = append(s.stops, stop)
	ts.Defer(stop)
	var got []string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if port != "" { // it says where it listens as soon as it does
			said, err := os.ReadFile(log.Name())
			ts.Check(err)
			addr := listens.Find(said)
			if addr == nil {
				continue
			}
			s.shown["127.0.0.1:"+port], port = string(addr), ""
		}
		before := got
		got = s.printed(ts, log.Name())
		if _, same := sameOutput(step.shown, got); same && len(got) > 0 || *harness.Update && len(got) > 0 && slices.Equal(got, before) {
			return got
		}
	}
	return got
}
