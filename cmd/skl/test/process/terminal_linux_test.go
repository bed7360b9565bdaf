package process

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui/vt"
	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/testdata/long"
)

// A terminal is the real program on a pseudo-terminal of some size.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	ended  chan struct{}

	mu     sync.Mutex // guards screen
	screen vt.Screen
}

// A desk is a home and a project on which commands are tried.
type desk struct{ home, project string }

func newDesk(t *testing.T) desk {
	dir := t.TempDir()
	p := desk{filepath.Join(dir, "home"), filepath.Join(dir, "project")}
	for _, d := range []string{p.home + "/.claude", p.home + "/.codex", p.project + "/.git", p.project + "/.claude", p.project + "/.cursor"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// write makes a file in the project.
func (p desk) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(p.project, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// start runs skl on a new terminal.
func (p desk) start(t *testing.T, width, height int, env []string, args ...string) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "skl" // see TestMain
	return p.open(t, width, height, env, cmd)
}

// open runs a program on a new terminal, from which it also reads unless something else is its input.
func (p desk) open(t *testing.T, width, height int, env []string, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, slave, err := harness.OpenTerminal(width, height)
	if err != nil {
		t.Skip("needs a pseudo-terminal: ", err)
	}
	defer slave.Close()
	x := &terminal{t: t, master: master, cmd: cmd, ended: make(chan struct{}), screen: vt.Screen{Width: width}}
	x.cmd.Dir = p.project
	x.cmd.Env = append([]string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}, env...)
	harness.Controls(slave, x.cmd)
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(x.ended)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			x.mu.Lock()
			x.screen.Write(b[:n])
			x.mu.Unlock()
			if err != nil {
				return // the last process closed it
			}
		}
	}()
	t.Cleanup(func() {
		x.cmd.Process.Kill()
		x.cmd.Wait()
		master.Close()
	})
	return x
}

func (x *terminal) resize(width, height int) {
	if err := harness.ResizeTerminal(x.master, width, height); err != nil {
		x.t.Fatal(err)
	}
	x.mu.Lock()
	x.screen.Width = width
	x.mu.Unlock()
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen.Text()
}

// until waits for text on the screen.
func (x *terminal) until(text string) {
	x.t.Helper()
	for range 1000 {
		if strings.Contains(x.text(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	x.t.Fatalf("no %q on the screen:\n%s", text, x.text())
}

// untilAsked waits for a question about leave below a text. Its choices are drawn once keys are read one by one: before that, ctrl-c is
// a signal and no answer.
func (x *terminal) untilAsked(text string) {
	x.t.Helper()
	for range 1000 {
		if _, below, ok := strings.Cut(x.text(), text); ok && strings.Contains(below, "[s]how") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	x.t.Fatalf("no question below %q on the screen:\n%s", text, x.text())
}

// press sends keys, each once the one before it was read.
func (x *terminal) press(keys ...string) {
	x.t.Helper()
	for _, k := range keys {
		if _, err := x.master.WriteString(k); err != nil {
			x.t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// end waits for the program and returns its exit status; the screen was clean, and as wide as it may be.
func (x *terminal) end() int {
	x.t.Helper()
	timer := time.AfterFunc(30*time.Second, func() { x.cmd.Process.Kill() })
	defer timer.Stop()
	x.cmd.Wait()
	<-x.ended
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.screen.Hidden || len(x.screen.Refused) > 0 {
		x.t.Errorf("the cursor is hidden: %v; sequences that nobody knows: %v", x.screen.Hidden, x.screen.Refused)
	}
	return x.cmd.ProcessState.ExitCode()
}

// shot runs a command that asks nothing and returns what is on the screen; no row is as wide as the terminal.
func (p desk) shot(t *testing.T, width int, env []string, args ...string) string {
	t.Helper()
	x := p.start(t, width, 40, env, args...)
	x.end()
	for row := range strings.Lines(x.text()) {
		if w := screen.Width(strings.TrimSuffix(row, "\n")); w > width {
			t.Errorf("%v: %q is %d wide", args, row, w)
		}
	}
	if x.screen.Wrapped > 0 {
		t.Errorf("%v at %d columns: %d rows were wrapped by the terminal:\n%s", args, width, x.screen.Wrapped, x.text())
	}
	return x.text()
}

// manySkills are 46 skills in two folders.
func (p desk) manySkills(t *testing.T) {
	for _, group := range []string{"hunting", "cleaning"} {
		for i := range 23 {
			name := fmt.Sprintf("%s-%d", group, i)
			p.write(t, "repo/skills/"+group+"/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Does thing "+fmt.Sprint(i)+" of "+group+". Use when asked for it.\n---\n# x\n")
		}
	}
}

// Skills chosen by keys are installed, and each question leaves one line.
func TestTerminalInstall(t *testing.T) {
	long.Slow(t)
	p := newDesk(t)
	p.manySkills(t)
	x := p.start(t, 80, 30, nil, "install", "./repo")
	x.until("0 of 46 chosen")
	x.press("clean", "ing-7")
	x.until("1 match")
	x.resize(60, 30)
	x.until("cleaning-7  Does thing 7 of cleaning. Use when ask")
	x.press("\t")
	x.until("1 of 46 chosen")
	x.press("\x1b")
	x.until("/ filter")
	x.press("/", "hunting-2")
	x.press("\r", " ", "\r")
	x.until("skl install ./repo -s cleaning-7 -s hunting-2")
	x.until("Install for which agents?")
	x.until("[x] Claude Code")
	x.until("~/.codex")
	x.press("\r")
	x.until("? install for Claude Code, Cursor?  [Y]es  [f]iles  [n]o")
	x.press("f")
	x.until("cleaning-7/SKILL.md")
	x.press("y")
	if code := x.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	text := x.text()
	for _, want := range []string{"? Which skills of ./repo?  cleaning-7, hunting-2\n", "? Install for which agents?  Claude Code, Cursor\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the screen:\n%s", want, text)
		}
	}
	if strings.Contains(text, "[x]") || strings.Contains(text, "esc leave") {
		t.Errorf("rows of the pickers stay:\n%s", text)
	}
	for _, name := range []string{"hunting-2", "cleaning-7"} {
		if _, err := os.Stat(filepath.Join(p.project, ".agents/skills", name, "SKILL.md")); err != nil {
			t.Error(err)
		}
	}
}

// From 100 columns on, the pane shows what the files of the cursor's skill are and ask for. They are those of the commit, and
// looking at them installs nothing.
// A yes to all installs on a terminal as it does without one, where no agent is recorded and none was found, too.
func TestTerminalYes(t *testing.T) {
	p := newDesk(t)
	for _, dir := range []string{p.home + "/.claude", p.home + "/.codex", p.project + "/.claude", p.project + "/.cursor"} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	p.manySkills(t)
	x := p.start(t, 80, 30, nil, "install", "./repo", "cleaning-7", "--yes")
	if code := x.end(); code != 0 || !strings.Contains(x.text(), "for others add") {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	if _, err := os.Stat(filepath.Join(p.project, ".agents/skills/cleaning-7/SKILL.md")); err != nil {
		t.Error(err)
	}
}

func TestTerminalInstallPreview(t *testing.T) {
	p := newDesk(t)
	source := gittest.Init(t, "handbook")
	triage := "---\nname: fuzz-triage\ndescription: Sort crashes by cause. Use when a fuzzer found several.\nlicense: MIT\n---\nRun scripts/sort.py.\n"
	gittest.Commit(t, source, gittest.Files{
		"skills/fuzz-triage/SKILL.md": triage, "skills/fuzz-triage/scripts/sort.py": "import subprocess\nsubprocess.run(['gdb', '-q'])\nopen('report.md', 'w').write('x')\n",
		"skills/fuzz-triage/scripts/a.py": "print(1)\n", "skills/fuzz-triage/references/gdb.md": "# gdb\n",
		"skills/zebra/SKILL.md": "---\nname: zebra\ndescription: Draws stripes. Use when asked.\nunheard: of\n---\n# x\n",
	})
	x := p.start(t, 120, 40, nil, "install", "git+file://"+source, "--offline")
	x.until("0 of 2 chosen")
	x.until("| fuzz-triage  ")
	x.until("4 files, 226 B: SKILL.md, references/, scripts/ (2)")
	x.until("asks for  runs gdb, python3 (2 files) · names no host · writes\n")
	x.until("findings  none · licence MIT · unsigned")
	x.press("j")
	x.until("| zebra")
	x.until("asks for  nothing")
	x.until("licence none stated · unsigned")
	x.resize(80, 40)
	x.until("Draws stripes. Use when asked.\n")
	x.press("\x1b")
	if code := x.end(); code != 130 {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	for _, name := range []string{"skl.toml", "skl.lock", ".agents", ".claude/skills"} {
		if _, err := os.Lstat(filepath.Join(p.project, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// Leaving by esc or ctrl-c changes nothing and is exit 130.
func TestTerminalLeft(t *testing.T) {
	for _, key := range []string{"\x1b", "\x03"} {
		p := newDesk(t)
		p.manySkills(t)
		x := p.start(t, 80, 30, nil, "install", "./repo")
		x.until("0 of 46 chosen")
		x.press(key)
		if code := x.end(); code != 130 {
			t.Errorf("%q: exit %d:\n%s", key, code, x.text())
		}
		if _, err := os.Stat(filepath.Join(p.project, "skl.toml")); err == nil {
			t.Errorf("%q: something was written", key)
		}
	}
}

// In a directory of no project a terminal asks where skills go; the answer decides it, and a no changes nothing.
func TestTerminalWhere(t *testing.T) {
	for key, where := range map[string]string{"h": "home", "\r": "home", "t": "project", "n": "", "\x1b": ""} {
		p := newDesk(t)
		if err := os.RemoveAll(filepath.Join(p.project, ".git")); err != nil {
			t.Fatal(err)
		}
		p.write(t, "one/SKILL.md", "---\nname: one\ndescription: Does one thing. Use when asked.\n---\n# x\n")
		x := p.start(t, 80, 30, nil, "install", "./one", "--host", "claude-code")
		x.until("? this directory is in no project: install where?  [H]ome, for all projects:")
		x.press(key)
		if where != "" {
			x.until("? install for Claude Code?")
			x.press("y")
		}
		if code, want := x.end(), map[bool]int{true: 130, false: 0}[where == ""]; code != want {
			t.Errorf("%q: exit %d, want %d:\n%s", key, code, want, x.text())
		}
		for place, dir := range map[string]string{"home": p.home, "project": p.project} {
			_, err := os.Lstat(filepath.Join(dir, ".agents", "skills", "one"))
			if (err == nil) != (place == where) {
				t.Errorf("%q: in the directory of %s: %v", key, place, err)
			}
		}
		if strings.Contains(x.text(), "git add") {
			t.Errorf("%q: git add, where no repository is:\n%s", key, x.text())
		}
	}
}

// On a terminal quickstart waits before each part but the first; a no ends it there, and --yes does not wait.
func TestTerminalQuickstart(t *testing.T) {
	p := newDesk(t)
	x := p.start(t, 80, 40, nil, "quickstart", "--dir", "try")
	x.until("1 of 8")
	x.until("? go on?  [Y]es  [n]o")
	if strings.Contains(x.text(), "2 of 8") {
		t.Errorf("it did not wait:\n%s", x.text())
	}
	x.press("\r")
	x.until("2 of 8")
	x.until("[n]o\n")
	x.press("n")
	if code := x.end(); code != 0 || strings.Contains(x.text(), "3 of 8") || !strings.Contains(x.text(), "files made so far are in") || strings.Contains(x.text(), "everything is in") {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	if _, err := os.Stat(filepath.Join(p.project, "try", "registry")); err != nil {
		t.Error(err)
	}
	x = p.start(t, 80, 200, nil, "quickstart", "--dir", "again", "--yes")
	if code := x.end(); code != 0 || strings.Contains(x.text(), "go on?") || !strings.Contains(x.text(), "8 of 8") || !strings.Contains(x.text(), "hint: skl install anthropics/skills/pdf") {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	// Stopped by ctrl-c, it leaves nothing behind, as is said.
	x = p.start(t, 80, 40, nil, "quickstart", "--dir", "stopped")
	x.until("? go on?")
	x.press("\x03")
	if code := x.end(); code != 130 || !strings.Contains(x.text(), "nothing half-done is left behind") {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	if _, err := os.Stat(filepath.Join(p.project, "stopped")); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}

// A no at the end installs nothing.
func TestTerminalNo(t *testing.T) {
	p := newDesk(t)
	p.write(t, "one/SKILL.md", "---\nname: one\ndescription: Does one thing. Use when asked.\n---\n# x\n")
	x := p.start(t, 80, 30, nil, "install", "./one", "--host", "claude-code")
	x.until("? install for Claude Code?")
	x.press("n")
	if code := x.end(); code != 130 || !strings.Contains(x.text(), "nothing was changed") {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	for _, name := range []string{"skl.toml", "skl.lock", ".agents/skills/one"} {
		if _, err := os.Lstat(filepath.Join(p.project, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// With SKL_PLAIN=1 nothing moves: a word, then numbers.
func TestTerminalPlain(t *testing.T) {
	p := newDesk(t)
	p.manySkills(t)
	x := p.start(t, 80, 30, []string{"SKL_PLAIN=1"}, "install", "./repo")
	x.until("a word to filter by")
	x.press("hunting\r")
	x.until("3 more; another word narrows")
	x.press("hunting-4\r")
	x.until("Install for which agents?")
	x.press("\r") // of many agents, the first 20
	x.press("\r") // those that were found
	x.until("[Y]es")
	x.press("yes\r")
	if code := x.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if text := x.text(); strings.ContainsAny(text, "✓▸…·→") {
		t.Errorf("signs on the screen:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(p.project, ".agents/skills/hunting-4")); err != nil {
		t.Error(err)
	}
}

// forge serves acme/tools at 1.0.0 to this desk; next publishes 1.1.0, in which pdf runs a command when an agent loads it.
func (p desk) forge(t *testing.T) (next func()) {
	t.Helper()
	work, served := filepath.Join(t.TempDir(), "work"), filepath.Join(t.TempDir(), "forge")
	bare := filepath.Join(served, "acme", "tools.git")
	release := func(version, pdf, notes string) {
		for name, body := range map[string]string{"pdf": pdf, "notes": notes} {
			file := filepath.Join(work, "skills", name, "SKILL.md")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("---\nname: "+name+"\ndescription: Does "+name+". Use when asked.\n---\n"+body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		gittest.Git(t, work, "add", "-A")
		gittest.Git(t, work, "commit", "-q", "-m", version)
		gittest.Git(t, work, "tag", version)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, work, "init", "-q", "-b", "main")
	release("v1.0.0", "# PDF\n", "# Notes\n")
	gittest.Git(t, work, "clone", "-q", "--bare", work, bare)
	config := filepath.Join(p.home, ".config/skl/config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("[forge.github]\nurl = \"file://"+served+"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return func() {
		release("v1.1.0", "# PDF\n!`git status`\n", "# Notes\nmore\n")
		gittest.Git(t, work, "push", "-q", "--tags", bare, "main")
	}
}

// An update that asks for more than was accepted is shown with what it asks for, and taken or left by itself: d shows what
// changed, k keeps the version that is here, esc changes nothing at all. --yes answers none of it.
func TestTerminalUpdate(t *testing.T) {
	long.Slow(t)
	for _, c := range []struct {
		keys []string
		pdf  string
		exit int
	}{{[]string{"d", "k"}, "1.0.0", 0}, {[]string{"a"}, "1.1.0", 0}, {[]string{"\x1b"}, "", 130}} {
		p := newDesk(t)
		next := p.forge(t)
		x := p.start(t, 80, 40, nil, "install", "acme/tools", "--all", "--host", "claude-code", "-y")
		if x.end() != 0 {
			t.Fatalf("install:\n%s", x.text())
		}
		if !strings.Contains(p.shot(t, 80, nil, "list", "--host", "claude-code"), "\ngithub.com/acme/tools  1.0.0\n") {
			t.Errorf("list does not say where they are from:\n%s", p.shot(t, 80, nil, "list", "--host", "claude-code"))
		}
		next()
		x = p.start(t, 80, 40, nil, "update", "--latest", "-y")
		x.until("pdf 1.0.0 → 1.1.0\n  + load-command  SKILL.md:6")
		x.until("? pdf asks for more than was accepted:  [d]iff  [a]ccept  [k]eep 1.0.0")
		for _, k := range c.keys {
			x.press(k)
			if k == "d" {
				x.until("+!`git status`")
			} else if k == "a" {
				x.until("? why? skl.toml keeps it for those who read it later; Enter for none >")
				x.press("it shows the branch\r")
			}
		}
		if code := x.end(); code != c.exit {
			t.Errorf("%q: exit %d:\n%s", c.keys, code, x.text())
		}
		locked, err := os.ReadFile(filepath.Join(p.project, "skl.lock"))
		if err != nil {
			t.Fatal(err)
		}
		declared, err := os.ReadFile(filepath.Join(p.project, "skl.toml"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(declared), "reason = \"it shows the branch\"") != (c.pdf == "1.1.0") {
			t.Errorf("%q: skl.toml does not say why:\n%s", c.keys, declared)
		}
		for name, version := range map[string]string{"pdf": c.pdf, "notes": map[bool]string{true: "1.1.0", false: "1.0.0"}[c.exit == 0]} {
			_, entry, _ := strings.Cut(string(locked), "name = \""+name+"\"")
			if _, entry, _ = strings.Cut(entry, "\nversion = \""); !strings.HasPrefix(entry, version) {
				t.Errorf("%q: %s is not at %s:\n%s", c.keys, name, version, locked)
			}
		}
		if c.exit == 0 && !strings.Contains(x.text(), "undo  skl install acme/tools/notes@1.0.0") {
			t.Errorf("%q: the way back is not said:\n%s", c.keys, x.text())
		}
		if back := p.start(t, 80, 40, nil, "install", "acme/tools/notes@1.0.0", "--dry-run"); c.exit == 0 && (back.end() != 0 || !strings.Contains(back.text(), "notes 1.1.0 → 1.0.0")) {
			t.Errorf("%q: the way back:\n%s", c.keys, back.text())
		}
		if c.pdf == "1.0.0" && !strings.Contains(x.text(), "kept pdf 1.0.0") {
			t.Errorf("what was kept is not said:\n%s", x.text())
		}
		if x = p.start(t, 80, 40, nil, "ci"); x.end() != 0 {
			t.Errorf("%q: ci:\n%s", c.keys, x.text())
		}
	}
}

// A difference that is higher than the terminal goes through the pager, a short one does not, nor does any where nothing
// may move or there is no terminal to read it on.
func TestTerminalPager(t *testing.T) {
	p := newDesk(t)
	p.write(t, "one/SKILL.md", "---\nname: one\ndescription: Does one thing. Use when asked.\n---\n"+strings.Repeat("line\n", 60))
	if x := p.start(t, 80, 40, nil, "install", "./one", "--host", "claude-code", "-y"); x.end() != 0 {
		t.Fatal(x.text())
	}
	p.write(t, ".agents/skills/one/SKILL.md", "---\nname: one\ndescription: Does one thing. Use when asked.\n---\n"+strings.Repeat("other\n", 60))
	for _, c := range []struct {
		env    []string
		height int
		paged  bool
	}{
		{[]string{"PAGER=sed s/^/paged:/"}, 24, true},
		{[]string{"PAGER=no-such-pager", "SKL_PAGER=sed s/^/paged:/"}, 24, true},
		{[]string{"PAGER=sed s/^/paged:/"}, 200, false},
		{[]string{"PAGER=sed s/^/paged:/", "SKL_PLAIN=1"}, 24, false},
		{[]string{"PAGER=no-such-pager"}, 24, false},
		{[]string{"PAGER=cat"}, 24, false},
	} {
		x := p.start(t, 80, c.height, c.env, "diff", "one")
		if code := x.end(); code != 0 || strings.Contains(x.text(), "paged:one ") != c.paged || strings.Count(x.text(), "+other") != 60 {
			t.Errorf("%v, %d rows: exit %d\n%s", c.env, c.height, code, x.text())
		}
	}
}

// Ctrl-Z in a picker stops the job, what started skl included, with the terminal as it was before; fg shows the picker again, where it
// was.
func TestTerminalStopped(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		gittest.Skip(t, "bash is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := newDesk(t)
	for _, name := range []string{"ocr", "pdf", "tex"} {
		p.write(t, "repo/skills/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Does a thing. Use when asked for it.\n---\n# x\n")
	}
	const job = `
skl() { (exec -a skl "$SELF" install ./repo); }
JOB; echo "stopped with $?"
stty -a | grep -q -e '[^-]icanon' && stty -a | grep -q -e '[^-]echo ' && echo as before
read line; fg; echo "ended with $?"`
	for name, command := range map[string]string{"alone": "skl", "in a wrapper": "(skl; true)"} {
		x := p.open(t, 80, 30, []string{"SELF=" + self}, exec.Command(bash, "--norc", "-m", "-c", strings.Replace(job, "JOB", command, 1)))
		x.until("0 of 3 chosen")
		x.press(" ")
		x.until("1 of 3 chosen")
		x.press("\x1a")
		x.until("stopped with 148")
		x.until("as before")
		x.press("\n")
		x.until("1 of 3 chosen")
		x.press("\x1b[B", " ")
		x.until("2 of 3 chosen")
		x.press("\x03")
		x.until("ended with")
		if x.end(); strings.Contains(x.text(), "of 3 chosen") {
			t.Errorf("%s: the picker is left on the screen:\n%s", name, x.text())
		}
	}
}

// A run whose question is left waits, says how far it came, and names the line that answers.
func TestTerminalSuspended(t *testing.T) {
	p := newDesk(t)
	p.write(t, "demo/SKILL.md", "---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n* bind a = 1\n* ASK << Publish these notes? | Publish | Stop\n* bind b = 2\n")
	for _, width := range []int{60, 80, 120} {
		x := p.start(t, width, 40, nil, "run", "./demo", "--allow", "run")
		x.until("? Publish these notes?")
		x.press("\x04")
		if code := x.end(); code != 5 {
			t.Errorf("exit %d:\n%s", code, x.text())
		}
		for _, want := range []string{"! demo waits for you: Publish these notes?", "1 of 3 steps done", "0 tokens so far; nothing done is", "next  skl resume 2"} {
			if !strings.Contains(x.text(), want) {
				t.Errorf("%d columns: no %q:\n%s", width, want, x.text())
			}
		}
		_, line, _ := strings.Cut(x.text(), "next  skl ")
		line, _, _ = strings.Cut(line, "\n")
		words := strings.Fields(line)
		again := p.start(t, width, 40, nil, "resume", words[1], "--answer", strings.Trim(strings.Join(words[3:], " "), "'"))
		if code := again.end(); code != 0 {
			t.Errorf("%q: exit %d:\n%s", line, code, again.text())
		}
	}
}

// On a terminal a run is told in plain words with who decided at the right; with -v as it is written; where nothing may
// move, line by line.
func TestTerminalRun(t *testing.T) {
	p := newDesk(t)
	p.write(t, "demo/SKILL.md", "---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n* bind a = 1\n* ASK << Go on? | Yes | No\n* IF << Yes\n  * bind b = 2\n")
	for _, c := range []struct {
		env, args []string
		want      string
	}{
		{nil, nil, "✓ a = 1\n✓ Go on?  = Yes" + strings.Repeat(" ", 60) + "flag\n▸ if Yes  = true"},
		{[]string{"NO_COLOR=1"}, []string{"-v"}, "✓ bind a = 1\n✓ ASK << Go on? | Yes | No  = Yes"},
		{nil, []string{"--no-unicode"}, "ok a = 1\nok Go on?  = Yes"},
		{[]string{"SKL_PLAIN=1"}, nil, "skl: ok bind a = 1\nskl: ok ASK"},
	} {
		x := p.start(t, 80, 40, c.env, append([]string{"run", "./demo", "--allow", "run", "--answer", "Go on?=Yes"}, c.args...)...)
		if code := x.end(); code != 0 || !strings.Contains(x.text(), c.want) {
			t.Errorf("%v %v: exit %d, no %q:\n%s", c.env, c.args, code, c.want, x.text())
		}
	}
}

// A question of a tree is answered by the key of a digit; what is no answer says why; escape leaves the question for later, and
// ctrl-c stops the run. Neither is an answer.
func TestTerminalAnswer(t *testing.T) {
	long.Slow(t)
	p := newDesk(t)
	p.write(t, "demo/SKILL.md", "---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n* ASK << Publish these notes? | Publish | Edit | Stop >> what\n* ASK << Its name? >> name\n")
	for _, c := range []struct {
		keys  []string
		exit  int
		shows string
	}{
		{[]string{"9", "2", "x\r"}, 0, "✓ Publish these notes?  = Edit"},
		{[]string{"pub\r", "x\r"}, 0, "✓ Publish these notes?  = Publish"},
		{[]string{"\x1b"}, 5, "demo waits for you: Publish these notes?"},
		{[]string{"1", "\x04"}, 5, "demo waits for you: Its name?"},
		{[]string{"\x03"}, 130, "skl resume 2"},
	} {
		x := p.start(t, 80, 40, nil, "run", "./demo", "--allow", "run")
		x.until("? Publish these notes?   1 Publish   2 Edit   3 Stop")
		for _, k := range c.keys {
			x.press(k)
			switch {
			case k == "9":
				x.until(`"9" is not one of them: type a number from 1 to 3`)
			case len(c.keys) > 1 && k != "x\r" && k != "\x04":
				x.until("? Its name?")
			}
		}
		if code := x.end(); code != c.exit || !strings.Contains(x.text(), c.shows) || strings.Contains(x.text(), "1 Publish") {
			t.Errorf("%q: exit %d, want %d and %q:\n%s", c.keys, code, c.exit, c.shows, x.text())
		}
	}
}

const leafSkill = "---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n* Note it >> a\n* Say it >> b\n"

// All that a run is known to want is asked once, before it begins: no leaves nothing behind, once is for one run, yes for all.
func TestTerminalLeave(t *testing.T) {
	long.Slow(t)
	p := newDesk(t)
	p.write(t, "demo/SKILL.md", "---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n* Read `scripts/make.sh` >> made\n* Read `assets/templates/notes.md` and write it to `notes.md`\n")
	p.write(t, "demo/scripts/make.sh", "touch made.txt\n")
	p.write(t, "demo/assets/templates/notes.md", "made\n")
	made := func() bool {
		_, err := os.Stat(filepath.Join(p.project, "made.txt"))
		return err == nil
	}
	for i, c := range []struct {
		keys []string
		exit int
		made bool
		asks bool
	}{
		{[]string{"s", "n"}, 4, false, true},
		{[]string{"\r"}, 4, false, true},
		{[]string{"o"}, 0, true, true},
		{[]string{"y"}, 0, true, true},
		{[]string{"a"}, 0, true, true}, // another terminal
		{nil, 0, true, false},
	} {
		os.Remove(filepath.Join(p.project, "made.txt"))
		x := p.start(t, 80, 40, nil, "run", "./demo")
		if c.asks {
			x.until("demo wants to write files here: notes.md\n")
			x.until("demo wants to run commands and scripts: scripts/make.sh\n")
			x.until("? allow?  [y]es, in this session  [a]lways  [o]nce  [N]o  [s]how")
		}
		for _, k := range c.keys {
			x.press(k)
			if k == "s" {
				x.until("WHAT COULD HAPPEN")
				x.until("asks first")
			}
		}
		if code := x.end(); code != c.exit || made() != c.made || strings.Contains(x.text(), "allow?") != c.asks {
			t.Errorf("%d %q: exit %d, made %v:\n%s", i, c.keys, code, made(), x.text())
		}
		if _, err := os.Stat(filepath.Join(p.home, ".local/state/skl/runs")); err == nil && c.exit == 4 {
			t.Errorf("%q: there is a record of a run", c.keys)
		}
	}
}

// An unforeseen permission is asked for when it is wanted, with the exact action. A no lets the run go on without it,
// takes the tool from the steps that follow, and is no success; a question that is left suspends the run.
func TestTerminalUnforeseen(t *testing.T) {
	for _, c := range []struct {
		key, shows, status string
		exit               int
	}{
		{"n", "write is denied by you; the run goes on where the tree allows it", "ok", 4},
		{"\x03", "demo waits for your leave to write files here (filesystem): write made.txt", "suspended", 5},
		{"o", "wrote", "ok", 0},
	} {
		p := newDesk(t)
		p.write(t, "demo/SKILL.md", leafSkill)
		turns, err := modeltest.ParseTurns([]byte(`{"match":"Note it","tools":[{"name":"write","input":{"path":"made.txt","content":"x"}}]}
{"match":"Note it","value":{"a":"1"}}
{"match":"Say it","value":{"b":"2"}}
`))
		if err != nil {
			t.Fatal(err)
		}
		server := modeltest.NewAnthropic(modeltest.Turns(turns...))
		defer server.Close()
		x := p.start(t, 80, 40, []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-test"}, "run", "./demo", "--allow", "run")
		x.untilAsked("demo wants to write files here, by write: write made.txt")
		x.press("s")
		x.untilAsked(`"content":"x"`)
		x.press(c.key)
		code := x.end()
		if _, err := os.Stat(filepath.Join(p.project, "made.txt")); code != c.exit || (err == nil) != (c.key == "o") || c.key != "o" && !strings.Contains(x.text(), c.shows) {
			t.Errorf("%q: exit %d, %v:\n%s", c.key, code, err, x.text())
		}
		if !strings.Contains(x.text(), ": "+c.status+" (") {
			t.Errorf("%q is not %s:\n%s", c.key, c.status, x.text())
		}
		for _, r := range server.Requests() {
			if strings.Contains(r.Text, "Say it") && strings.Contains(string(r.Body), `"name":"write"`) == (c.key == "n") {
				t.Errorf("%q: the tools of the next step are %s", c.key, r.Body)
			}
		}
	}
}

// A run that waits for leave is gone on with at a terminal: the person is asked for the call that waited, as it was recorded, and
// that call is made before the model is asked again, or not at all.
func TestTerminalResumeAsks(t *testing.T) {
	for key, want := range map[string]int{"o": 0, "n": 4} {
		p := newDesk(t)
		p.write(t, "demo/SKILL.md", leafSkill)
		turns, err := modeltest.ParseTurns([]byte(`{"match":"Note it","tools":[{"name":"write","input":{"path":"made.txt","content":"x"}}]}
{"match":"Calls before the interruption","value":{"a":"1"}}
{"match":"Say it","value":{"b":"2"}}
`))
		if err != nil {
			t.Fatal(err)
		}
		server := modeltest.NewAnthropic(modeltest.Turns(turns...))
		defer server.Close()
		env := []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-test"}
		x := p.start(t, 80, 40, env, "run", "./demo", "--allow", "run")
		x.untilAsked("demo wants to write files here, by write: write made.txt")
		x.press("\x03")
		if code := x.end(); code != 5 {
			t.Fatalf("exit %d:\n%s", code, x.text())
		}
		asked := len(server.Requests())
		x = p.start(t, 80, 40, env, "resume")
		x.untilAsked("demo wants to write files here, by write: write made.txt")
		x.press("s")
		x.untilAsked(`"content":"x"`)
		if n := len(server.Requests()); n != asked {
			t.Errorf("the model was asked %d times before the person was", n-asked)
		}
		x.press(key)
		code := x.end()
		if _, err := os.Stat(filepath.Join(p.project, "made.txt")); code != want || (err == nil) != (key == "o") {
			t.Errorf("%q: exit %d, %v:\n%s", key, code, err, x.text())
		}
	}
}

// A conversational skill without a tree talks: what the model says is shown line by line, the person answers in words, and an
// empty line ends it.
func TestTerminalConversation(t *testing.T) {
	p := newDesk(t)
	p.write(t, "tutor/SKILL.md", "---\nskill_format: corteza.skill/v1\nname: tutor\ndescription: Teaches. Use when asked.\ninteraction: conversational\n---\n\nTeach tides.\n")
	server := modeltest.NewAnthropic(modeltest.Turns(
		modeltest.Turn{Match: "The person: The moon, I think", Text: "Right.\n\nThat is all."},
		modeltest.Turn{Match: "Teach tides.", Text: "There are two a day.\n\nWhat pulls the \x1b[31msea?"},
	))
	defer server.Close()
	x := p.start(t, 80, 40, []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-test"}, "run", "./tutor", "--allow", "run")
	x.until("There are two a day.\n")
	x.until("sea?")
	x.press("The moon, I think\r")
	x.until("Right.\n")
	x.until("That is all.")
	x.press("\r")
	if code := x.end(); code != 0 || !strings.Contains(x.text(), ": ok (2 model calls") {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	t.Log(x.text())
}

// With --quiet a terminal shows results and errors only.
func TestTerminalQuiet(t *testing.T) {
	p := newDesk(t)
	p.manySkills(t)
	text := p.shot(t, 80, nil, "install", "./repo", "hunting-1", "-y", "-q")
	if strings.Contains(text, "next") || strings.Contains(text, "skl:") || strings.Contains(text, "start") || !strings.Contains(text, "hunting-1") {
		t.Errorf("install -q:\n%s", text)
	}
	if text := p.shot(t, 80, nil, "list", "-q"); strings.Contains(text, "hint") || !strings.Contains(text, "hunting-1") {
		t.Errorf("list -q:\n%s", text)
	}
}

// A server on a terminal shows the token alone on its line, a line per request, and ends cleanly by ctrl-c.
func TestTerminalServe(t *testing.T) {
	p := newDesk(t)
	x := p.start(t, 80, 30, nil, "registry", "serve", "--addr", "127.0.0.1:0", "--data", "data")
	x.until("admin token, shown this once")
	x.until("skl login http://127.0.0.1:")
	_, after, _ := strings.Cut(x.text(), "stored nowhere:\n")
	token, _, _ := strings.Cut(after, "\n")
	if len(token) < 20 || strings.Contains(token, " ") {
		t.Errorf("the token's line is %q", token)
	}
	_, url, _ := strings.Cut(x.text(), "skl login ")
	url, _, _ = strings.Cut(url, " ")
	if r, err := http.Get(url + "/v2/nobody/nothing/tags/list"); err != nil {
		t.Error(err)
	} else {
		r.Body.Close()
		x.until("/v2/nobody/nothing/tags/list")
	}
	x.press("\x03")
	x.end()
	if text := x.text(); strings.Contains(text, "method=") || x.screen.Wrapped > 0 {
		t.Errorf("the screen:\n%s", text)
	}
}

// Bare skl is a page of at most 14 lines of 72 columns, in a project below a line of its status.
func TestTerminalBare(t *testing.T) {
	p := newDesk(t)
	p.manySkills(t)
	short := p.shot(t, 80, nil)
	p.start(t, 80, 24, nil, "install", "./repo", "hunting-1", "-y").end()
	sound := p.shot(t, 80, nil)
	p.write(t, ".agents/skills/hunting-1/SKILL.md", "---\nname: hunting-1\ndescription: Edited. Use when asked.\n---\n")
	edited := p.shot(t, 80, nil)
	for text, want := range map[string]string{short: "skl installs agent skills", sound: "✓ 1 skill, all as skl.lock says\n", edited: "! 1 skill, 1 skill edited or missing: skl status\n"} {
		if !strings.HasPrefix(text, want) || strings.Count(text, "\n") > 14 {
			t.Errorf("want %q first and at most 14 lines:\n%s", want, text)
		}
		for line := range strings.Lines(text) {
			if screen.Width(line) > 73 {
				t.Errorf("%q is %d wide", line, screen.Width(line)-1)
			}
		}
	}
}

// Colours and signs follow the flags, the variables and each stream.
func TestTerminalLooks(t *testing.T) {
	p := newDesk(t)
	p.write(t, "one/SKILL.md", "---\nname: one\ndescription: Does one thing. Use when asked.\n---\n# x\n")
	for _, c := range []struct {
		env    []string
		args   []string
		colour bool
		sign   string
	}{
		{nil, nil, true, "✓"},
		{[]string{"NO_COLOR=1"}, nil, false, "✓"},
		{[]string{"NO_COLOR=1", "CLICOLOR_FORCE=1"}, nil, false, "✓"},
		{nil, []string{"--no-color"}, false, "✓"},
		{nil, []string{"--no-unicode"}, true, "ok"},
		{[]string{"LANG=C"}, nil, true, "ok"},
		{[]string{"TERM=dumb"}, nil, false, "ok"},
		{[]string{"TERM=dumb", "CLICOLOR_FORCE=1"}, nil, true, "ok"},
		{[]string{"SKL_PLAIN=1"}, nil, true, "ok"},
	} {
		x := p.start(t, 80, 24, c.env, append([]string{"install", "./one", "-y", "--force"}, c.args...)...)
		x.end()
		painted := x.screen.Painted()
		if got := strings.Contains(painted, "{32:"); got != c.colour {
			t.Errorf("%v %v: green %v, want %v:\n%s", c.env, c.args, got, c.colour, painted)
		}
		if !strings.Contains(x.text(), c.sign+" ") {
			t.Errorf("%v %v: no %q:\n%s", c.env, c.args, c.sign, x.text())
		}
		os.RemoveAll(filepath.Join(p.project, ".agents"))
		os.Remove(filepath.Join(p.project, "skl.toml"))
		os.Remove(filepath.Join(p.project, "skl.lock"))
	}
}

// Every command that prints much fits the terminal from 60 columns on, with and without Unicode, and says in colours what it
// says without.
func TestTerminalShots(t *testing.T) {
	long.Slow(t)
	p := newDesk(t)
	p.manySkills(t)
	p.write(t, "odd/SKILL.md", "---\nname: other\ndescription: Short\n---\nSee [x](missing.md).\n")
	for i := range 7 {
		p.start(t, 80, 24, nil, "install", "./repo", fmt.Sprintf("hunting-%d", i), "-y").end()
	}
	p.write(t, ".agents/skills/hunting-1/SKILL.md", "---\nname: hunting-1\ndescription: Edited here, so that there is a difference to show. Use when asked for a difference.\n---\n# y\n")
	p.write(t, "../home/.claude/skills/hunting-2/SKILL.md", "---\nname: hunting-2\ndescription: Another copy. Use when asked.\n---\n# z\n")
	for _, c := range []struct{ args, want string }{
		{"install ./repo cleaning-1 --dry-run", "cleaning-1"},
		{"list", "hunting-1"},
		{"list --shadowed", "2 copies, they differ"},
		{"list --all", "hunting-6"},
		{"list --roots", "PRIORITY"},
		{"list --host claude-code", "Claude Code"},
		{"info hunting-1", "holds"},
		{"info ./repo/skills/cleaning/cleaning-1", "not installed"},
		{"search thing number hunting", "hunting"},
		{"outdated", "none outdated"},
		{"diff hunting-1", "SKILL.md"},
		{"check", "check failed"},
		{"status", "agents"},
		{"doctor", "fine"},
		{"lint odd", "SPEC-NAME-DIR"},
		{"install acme", "one word"},
		{"install ./nowhere/at/all", "nowhere"},
		{"runs", ""},
		{"help errors", "usage"},
		{"help", "Skills"},
		{"install --help", "Usage:"},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(c.args)
			bare := p.shot(t, 80, []string{"NO_COLOR=1"}, args...)
			if !strings.Contains(bare, c.want) {
				t.Errorf("no %q:\n%s", c.want, bare)
			}
			if painted := p.shot(t, 80, nil, args...); painted != bare && !strings.HasPrefix(c.args, "doctor") {
				t.Errorf("colours change\n%sto\n%s", bare, painted)
			}
			if ascii := p.shot(t, 80, nil, append(args, "--no-unicode")...); strings.ContainsAny(ascii, "✓✗▸▾◌") {
				t.Errorf("without Unicode:\n%s", ascii)
			}
			p.shot(t, 60, nil, args...)
			p.shot(t, 120, nil, args...)
		})
	}
}

// Conflicts that no rule of a merge decides are asked by lock: o and t are the sides, and leaving the question changes
// nothing. --yes is no answer.
func TestTerminalLockMerge(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	const both = "[skills]\n<<<<<<< HEAD\nnotes = { ref = \"acme/tools/notes\", version = \"~1.0.0\" }\n=======\nnotes = { ref = \"acme/tools/notes\", version = \"~1.1.0\" }\n>>>>>>> side\n"
	p := newDesk(t)
	p.forge(t)()
	for _, c := range []struct {
		key  string
		args []string
		exit int
		want string // of skl.lock, "" for no lock and the manifest as it was
	}{
		{"o", []string{"lock"}, 0, "version = \"1.0.0\""},
		{"t", []string{"lock", "--yes"}, 0, "version = \"1.1.0\""},
		{"\x1b", []string{"lock"}, 130, ""},
		{"\x03", []string{"lock"}, 130, ""},
		{"t", []string{"lock", "--dry-run"}, 0, ""},
	} {
		os.Remove(filepath.Join(p.project, "skl.lock"))
		p.write(t, "skl.toml", both)
		x := p.start(t, 200, 40, nil, c.args...)
		x.until("Which?  [o]urs  [t]heirs")
		x.press(c.key)
		code := x.end()
		text, _ := os.ReadFile(filepath.Join(p.project, "skl.toml"))
		locked, err := os.ReadFile(filepath.Join(p.project, "skl.lock"))
		if code != c.exit || c.want == "" && (err == nil || string(text) != both) || c.want != "" && (!strings.Contains(string(locked), c.want) || strings.Contains(string(text), "<<<<")) {
			t.Errorf("%q: exit %d, want %d and %q\n%s\n%s\n%s", c.key, code, c.exit, c.want, text, locked, x.text())
		}
	}
}

// Init asks once, when it starts a project or a clone lacks its driver, whether git merges by skl; Enter is no, and --yes is no answer.
func TestTerminalMergeDriver(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	p := newDesk(t)
	os.RemoveAll(filepath.Join(p.project, ".git"))
	gittest.Git(t, p.project, "init", "-q", "-b", "main")
	config, attributes := filepath.Join(p.project, ".git", "config"), filepath.Join(p.project, ".gitattributes")
	has := func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "__merge-driver") || strings.Contains(string(text), "merge=skl")
	}
	init := func(key string, asks bool) {
		t.Helper()
		x := p.start(t, 200, 40, nil, "init", "--host", "claude-code", "--yes")
		if asks {
			x.until("Let skl merge skl.toml")
			x.press(key)
		}
		if code := x.end(); code != 0 || asks != strings.Contains(x.text(), "Let skl merge") {
			t.Errorf("exit %d\n%s", code, x.text())
		}
	}
	init("\r", true)
	if has(config) || has(attributes) {
		t.Error("Enter is a yes")
	}
	init("", false) // somebody decided
	os.Remove(filepath.Join(p.project, "skl.toml"))
	init("y", true)
	if !has(config) || !has(attributes) {
		t.Error("yes sets no driver")
	}
	init("", false)
	gittest.Git(t, p.project, "config", "--unset-all", "merge.skl.driver")
	init("y", true)
	if !has(config) {
		t.Error("a clone without a driver stays without")
	}
}
