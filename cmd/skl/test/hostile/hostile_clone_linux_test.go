package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// This file clones repositories of an attacker and runs skl in them, as a user does who
// only looks around. What a clone may do outside itself is nothing:
//
//	L1  outside the clone and skl's own directories no byte, mode, time or entry changes
//	L2  no program starts besides skl
//	L3  no socket opens, but to a server that the user's configuration names
//	L4  every command ends in time, in bounded memory, with an exit status of the table, and
//	    prints no control characters
//	L5  commands that only read leave the clone as it is, and none changes its .git or the
//	    settings of other programs
//	L6  nothing that the user keeps secret gets into the clone or into what is printed
//
// The repositories are in hostile_clone_worlds_linux_test.go, and what watches in
// hostile_clone_watch_linux_test.go.

// A deed is one command of the user. NAME stands for a skill of the clone, PATH for its
// folder, and CLONE for the clone.
type deed struct {
	args  string // separated by spaces; '' is an empty argument
	reads bool   // changes nothing in the clone
	nets  bool   // may ask the forge that the user configured
	raw   bool   // prints files as they are
	agent bool   // serves an agent, who asks over standard input
}

// few are the commands that every clone sees, and turns those that it sees half of, and the next clone the other
// half. SKL_TEST_LONG=every lets every clone see all of them.
var (
	few   = []string{"ci", "install", "update", "check", "doctor --fix", "run NAME", "mcp --allow-run"}
	turns = []string{"list", "status", "verify", "query evil", "completion bash", "__complete -- remove ''", "init", "remove --force NAME"}
)

// looks are commands that only read; all of them, and all below, are run in one clone of ten, and in one of five with
// SKL_TEST_LONG=every.
var looks = []deed{
	{args: "list", reads: true},
	{args: "list --all --json", reads: true},
	{args: "list --shadowed", reads: true},
	{args: "status", reads: true},
	{args: "verify", reads: true},
	{args: "check", reads: true, nets: true},
	{args: "doctor", reads: true},
	{args: "outdated", reads: true, nets: true},
	{args: "diff NAME", reads: true, nets: true},
	{args: "which NAME", reads: true},
	{args: "why NAME", reads: true},
	{args: "info NAME", reads: true},
	{args: "read NAME", reads: true, raw: true},
	{args: "search evil", reads: true, nets: true},
	{args: "run NAME --dry-run", reads: true},
	{args: "run ./PATH --dry-run", reads: true},
	{args: "graph ./PATH", reads: true},
	{args: "query evil", reads: true},
	{args: "query --skills evil", reads: true},
	{args: "evidence what is evil", reads: true},
	{args: "index", reads: true},
	{args: "index status", reads: true},
	{args: "mcp", reads: true, agent: true},
	{args: "mcp --allow-run", reads: true, agent: true},
	{args: "completion bash", reads: true},
	{args: "__complete -- remove ''", reads: true},
	{args: "lint", reads: true},
	{args: "fmt --check", reads: true},
	{args: "trust list", reads: true},
	{args: "install --dry-run", reads: true, nets: true},
	{args: "ci --dry-run", reads: true, nets: true},
	{args: "init --dry-run", reads: true},
}

// acts are commands that write, each in a fresh clone.
var acts = []deed{
	{args: "ci", nets: true},
	{args: "install", nets: true},
	{args: "install --host claude-code --host github-copilot --force --all -y", nets: true},
	{args: "update", nets: true},
	{args: "update --latest --force", nets: true},
	{args: "lock", nets: true},
	{args: "doctor --fix", nets: true},
	{args: "init"},
	{args: "init --no-vendor"},
	{args: "remove NAME", nets: true}, // and installs what is missing
	{args: "remove --force NAME", nets: true},
	{args: "activate"},
	{args: "activate --host claude-code --host github-copilot"},
	{args: "disable NAME"},
	{args: "enable NAME", nets: true},
	{args: "ack W_TRUST_DOWNGRADE NAME --reason x"},
	{args: "run NAME", nets: true},
	{args: "run ./PATH"},
	{args: "test NAME"},
	{args: "fmt"},
	{args: "lint --fix"},
}

// trusted are done one after the other by a user who believed the clone.
var trusted = []deed{
	{args: "trust allow CLONE", reads: true},
	{args: "list --all", reads: true},
	{args: "mcp --allow-run", reads: true, agent: true},
	{args: "run NAME"},
	{args: "install", nets: true},
	{args: "update", nets: true},
	{args: "disable NAME"},
	{args: "enable NAME", nets: true},
	{args: "doctor --fix", nets: true},
	{args: "remove --force NAME"},
	{args: "ci", nets: true},
}

// A breach is a law that did not hold.
type breach struct{ world, command, law, what string }

// breaches are collected while worlds run side by side.
type breaches struct {
	mu  sync.Mutex
	all []breach
}

func (b *breaches) add(all ...breach) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, all...)
}

// report fails the test with one line for each breach.
func (b *breaches) report(t *testing.T) {
	if len(b.all) == 0 {
		return
	}
	slices.SortStableFunc(b.all, func(x, y breach) int { return strings.Compare(x.world, y.world) })
	worlds := map[string]bool{}
	for _, x := range b.all {
		worlds[x.world] = true
	}
	t.Errorf("%d laws were broken in %d clones:\n%s", len(b.all), len(worlds), table(b.all))
}

// table has one line for each breach.
func table(all []breach) string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, x := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.world, x.command, x.law, strings.ReplaceAll(x.what, "\t", " "))
	}
	w.Flush()
	return text.String()
}

// TestHostileClones runs every command in every clone, with SKL_TEST_LONG=every. Else it takes the first clone of each kind, and every
// twentieth, or with SKL_TEST_LONG=all every twelfth: all of them take 13 minutes on two slow cores.
func TestHostileClones(t *testing.T) {
	long.Slow(t)
	forge := newHonest(t)
	trap := newTrap(t)
	tracer := findTracer(t)
	worlds := clones()
	singles := len(worlds)
	if singles < 60 {
		t.Fatalf("there are %d hostile clones, want at least 60", singles)
	}
	worlds = append(worlds, pairs(worlds)...)
	found := &breaches{}
	var commands atomic.Int64
	every, whole := long.Every(), long.Of(120, 120, 9)
	if every {
		whole = 5
	}
	firsts, first := map[int]bool{}, 0
	for _, kind := range kinds() {
		firsts[first], first = true, first+len(kind)
	}
	start := time.Now()
	t.Run("clones", func(t *testing.T) {
		for i, c := range worlds {
			n := turn(c.name)
			if !every && n%long.Of(60, 20, 12) != 0 && (testing.Short() || !firsts[i]) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if c.stranger && os.Getuid() != 0 {
					t.Skip("skipped: needs root, to give files to another user")
				}
				w := raise(t, c, forge, trap, tracer)
				w.commands = &commands
				var seen []string // nil is all
				if n%whole != 0 || i >= singles || testing.Short() {
					seen = slices.Clone(few)
					for k, command := range turns {
						if every || (n+k)%2 == 0 && !testing.Short() {
							seen = append(seen, command)
						}
					}
				}
				mine := w.live(seen)
				found.add(mine...)
				if len(mine) > 0 {
					t.Errorf("%d laws were broken:\n%s", len(mine), table(mine))
				}
			})
		}
	})
	if n := len(trap.seen()); n > 0 && !slices.ContainsFunc(found.all, func(b breach) bool { return strings.HasSuffix(b.what, trap.address) }) {
		found.add(breach{"any", "any", "L3", fmt.Sprintf("the server that nobody configured was called %d times", n)})
	}
	found.report(t)
	t.Logf("%d hostile clones to choose from, %d pairs of them among these, %d commands, %s", len(worlds), len(worlds)-singles, commands.Load(), time.Since(start).Round(time.Second))
}

// turn is a number by which samples take a clone: that of its name, so that another clone, or one less, changes nothing for it.
func turn(name string) int { return int(crc32.ChecksumIEEE([]byte(name)) % (1 << 30)) }

// live runs the commands in w that are listed; nil is all of them, and afterwards what a user does who trusts the clone.
func (w *world) live(listed []string) (out []breach) {
	all := listed == nil
	for _, d := range looks {
		if all || slices.Contains(listed, d.args) {
			out = append(out, w.does(d)...)
		}
	}
	for _, d := range acts {
		if all || slices.Contains(listed, d.args) {
			w.reset()
			out = append(out, w.does(d)...)
		}
	}
	if !all {
		return out
	}
	w.reset()
	w.refuses = nil // an update among these may write an honest lock, and then ci is right to take it
	for _, d := range trusted {
		for _, b := range w.does(d) {
			if w.given && b.law == "L6" && strings.Contains(b.what, " is in "+filepath.Join(w.clone, ".agents", "skills")+"/") {
				continue
			}
			b.command = "trusted: " + b.command
			out = append(out, b)
		}
	}
	return out
}

// words are the arguments of d in w.
func (w *world) words(d deed) []string {
	args := strings.Fields(d.args)
	for i, a := range args {
		switch a {
		case "''":
			args[i] = ""
		case "NAME":
			args[i] = w.skill
		case "CLONE":
			args[i] = w.clone
		case "./PATH":
			args[i] = "./.agents/skills/" + w.skill
			if w.cwd != w.clone {
				args[i], _ = filepath.Rel(w.cwd, filepath.Join(w.clone, ".agents/skills", w.skill))
			}
		}
	}
	return args
}

// does runs one command and says which laws did not hold.
func (w *world) does(d deed) (out []breach) {
	if w.late > 2 {
		return nil // it hangs: that was said
	}
	w.commands.Add(1)
	args := w.words(d)
	say := func(law, format string, args ...any) {
		out = append(out, breach{w.name, d.args, law, fmt.Sprintf(format, args...)})
	}
	before, inside := w.outside(), look(w.clone, nil)
	end := w.run(args, d)
	after, now := w.outside(), look(w.clone, nil)
	several("L1", slices.DeleteFunc(differ(before, after), func(change string) bool { return end.probed && change == "tmp: entries changed" }), say)
	changed := differ(inside, now)
	several("L5", slices.DeleteFunc(slices.Clone(changed), func(change string) bool { return !d.reads && !untouchable(change, d.args) }), say)
	for _, program := range end.programs {
		say("L2", "started %s", program)
	}
	for _, s := range end.sockets {
		if !d.nets || !strings.HasSuffix(s, " "+w.forge) {
			say("L3", "%s", s)
		}
	}
	w.ended(end, d, say)
	for _, secret := range w.leaked(changed, end) {
		say("L6", "%s", secret)
	}
	if w.refuses[strings.Fields(d.args)[0]] && !d.reads && end.status == 0 {
		say("L4", "exit 0, but the clone has to be refused")
	}
	return out
}

// several says the first of many changes, and how many more there are.
func several(law string, changes []string, say func(law, format string, args ...any)) {
	for i, change := range changes {
		if i == 2 && len(changes) > 3 {
			say(law, "and %d more paths", len(changes)-i)
			return
		}
		say(law, "%s", change)
	}
}

// untouchable reports whether no command may make this change in the clone.
func untouchable(change, command string) bool {
	path, _, _ := strings.Cut(change, ": ")
	switch path {
	case ".mcp.json", ".claude/settings.json", ".vscode/settings.json", ".gitmodules":
		return true
	case "AGENTS.md", "CLAUDE.md":
		return !strings.HasPrefix(command, "activate")
	}
	// The directory .git gets a new time when a file is renamed into place in it, and that is a change too.
	return path == ".git" || strings.HasPrefix(path, ".git/")
}

// ended is L4: how a command ended and what it printed.
func (w *world) ended(end ending, d deed, say func(law, format string, args ...any)) {
	switch {
	case end.late:
		w.late++
		say("L4", "did not end within %s", patience)
	case end.status < 0 || end.status > 5:
		say("L4", "exit %d: %.200q", end.status, end.stderr)
	}
	for _, sign := range []string{"panic:", "goroutine ", "fatal error:"} {
		if strings.Contains(end.stderr, sign) {
			say("L4", "%.300q", end.stderr)
			break
		}
	}
	if end.peak > maxResident {
		say("L4", "took %d MiB", end.peak>>10)
	}
	if d.agent {
		for line := range strings.Lines(end.stdout) {
			if !json.Valid([]byte(line)) {
				say("L4", "said %.200q to an agent", line)
			}
		}
		if !end.answered && !end.late {
			say("L4", "did not answer the agent: exit %d: %.200q", end.status, end.stderr)
		}
	}
	if c := control(end.stdout); c != "" && !d.raw && !d.agent { // JSON that no terminal shows
		say("L4", "prints %s on stdout", c)
	}
	if c := control(end.stderr); c != "" {
		say("L4", "prints %s on stderr", c)
	}
}

// control is the first control or bidirectional character of text with what is around it, or "".
func control(text string) string {
	for i, r := range text {
		bad := r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x061c || r == 0x200e || r == 0x200f ||
			r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		if r == '\ufffd' {
			bad = text[i] >= 0x80 && text[i] < 0xa0 // a C1 character in one byte
		}
		if bad {
			return fmt.Sprintf("%q in %q", r, text[max(0, i-30):min(len(text), i+30)])
		}
	}
	return ""
}

// leaked finds the user's secrets in what was printed and in files of the clone that changed.
func (w *world) leaked(changed []string, end ending) (out []string) {
	if strings.Contains(end.stdout, canary) || strings.Contains(end.stderr, canary) {
		out = append(out, "a secret of the user was printed")
	}
	for _, change := range changed {
		path, _, _ := strings.Cut(change, ": ")
		path = filepath.Join(w.clone, path)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue // a link may lead to a device
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(canary)) {
			out = append(out, "a secret of the user is in "+path)
		}
	}
	return out
}

// outside is everything of the place but the clone and skl's own directories.
func (w *world) outside() map[string]string {
	return look(w.place, map[string]bool{"src/clone": true, "logs": true, "pristine": true,
		"home/.config/skl": true, "home/.local/share/skl": true, "home/.local/state/skl": true, "home/.cache/skl": true})
}

// A trap is a server on loopback that nobody configured; who calls it was led there.
type trap struct {
	address string
	mu      sync.Mutex
	callers []string
}

func newTrap(t *testing.T) *trap {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	tr := &trap{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tr.mu.Lock()
			tr.callers = append(tr.callers, c.RemoteAddr().String())
			tr.mu.Unlock()
			c.Close()
		}
	}()
	return tr
}

func (tr *trap) seen() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Clone(tr.callers)
}

// An honest is a forge with a good skill, and what an install of it puts into a project.
type honest struct {
	url, address string            // of the forge
	config       string            // that the user wrote
	files        map[string]string // of the project; links are "-> TARGET"
	modes        map[string]string
}

func newHonest(t *testing.T) *honest {
	f := harness.NewGitForge(t)
	f.Repository("good/tools", []harness.Node{harness.Dir("skills",
		harness.Dir("good", harness.File("SKILL.md", "---\nname: good\ndescription: Is fine. Use it for good.\n---\n# Good\n"), harness.Dir("scripts", harness.File("run.sh", "echo good\n"))),
		harness.Dir("second", harness.File("SKILL.md", "---\nname: second\ndescription: Is fine too.\n---\n# Second\n")))})
	m := harness.NewMachine(t)
	h := &honest{url: f.Http, files: map[string]string{}, modes: map[string]string{}}
	h.address = strings.SplitN(strings.TrimPrefix(f.Http, "http://"), "/", 2)[0]
	h.config = fmt.Sprintf("[forge.github]\nurl = %q\n", f.Http)
	config := filepath.Join(m.Home, ".config", "skl", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(h.config), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := m.Run("install", "good/tools", "--all", "--host", "claude-code", "--host", "github-copilot"); status != 0 {
		t.Fatalf("exit %d: %s%s", status, stdout, stderr)
	}
	for path, is := range look(m.Project, map[string]bool{".git": true}) {
		full := filepath.Join(m.Project, path)
		switch is[0] {
		case '-':
			data, err := os.ReadFile(full)
			if err != nil {
				t.Fatal(err)
			}
			h.files[path], h.modes[path] = string(data), "100644"
		case 'L':
			target, err := os.Readlink(full)
			if err != nil {
				t.Fatal(err)
			}
			h.files[path], h.modes[path] = target, "120000"
		}
	}
	return h
}

// TestHonestClone is the measure of the laws above: in a clone without malice the commands
// do what they are for, and every law holds.
func TestHonestClone(t *testing.T) {
	long.Slow(t)
	tracer := findTracer(t)
	var commands atomic.Int64
	w := raise(t, clone{name: "honest", plant: func(*planter) {}}, newHonest(t), newTrap(t), tracer)
	w.commands = &commands
	found := &breaches{all: w.live(long.Of(few, nil, nil))}
	found.report(t)
	for _, args := range []string{"ci", "install", "check", "verify", "list", "update", "doctor --fix", "remove good", "init"} {
		w.reset()
		if end := w.run(strings.Fields(args), deed{args: args, nets: true}); end.status != 0 {
			t.Errorf("skl %s: exit %d in an honest clone\n%s%s", args, end.status, end.stdout, end.stderr)
		}
	}
}

// TestWatchSees puts a program in the place of skl that breaks each law once: a watch that
// sees nothing would let every clone pass.
func TestWatchSees(t *testing.T) {
	long.Slow(t)
	tracer := findTracer(t)
	h, tr := newHonest(t), newTrap(t)
	host, port, _ := strings.Cut(tr.address, ":")
	for _, c := range []struct{ law, script string }{
		{"L1", "echo x >>\"$HOME/.bashrc\""},
		{"L1", "chmod 600 \"$HOME/.gitconfig\""},
		{"L1", "touch \"$HOME/.config/other/settings.json\""},
		{"L1", ": >\"$HOME/new\"; rm \"$HOME/new\""},
		{"L2", "/bin/true"},
		{"L3", "exec 3<>/dev/tcp/" + host + "/" + port},
		{"L4", "exit 7"},
		{"L4", "echo panic: oh >&2; exit 2"},
		{"L4", "printf '\\033[2J'"},
		{"L4", "while :; do :; done"},
		{"L5", ": >here"},
		{"L6", "read -r line <\"$HOME/.netrc\"; echo \"$line\""},
	} {
		t.Run(c.law+" "+c.script, func(t *testing.T) {
			if tracer == "" && (c.law == "L2" || c.law == "L3") {
				t.Skip("skipped: strace is not installed")
			}
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Skip("skipped: bash is not installed")
			}
			w := raise(t, clone{name: "broken", plant: func(*planter) {}}, h, tr, tracer)
			w.commands = new(atomic.Int64)
			w.patience = time.Second
			w.skl = filepath.Join(w.place, "logs", "skl")
			if err := os.WriteFile(w.skl, []byte("#!"+bash+"\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			laws := map[string]bool{}
			for _, b := range w.does(deed{args: "list", reads: true}) {
				laws[b.law] = true
			}
			if !laws[c.law] {
				t.Errorf("%s was not seen, only %v", c.law, slices.Collect(maps.Keys(laws)))
			}
		})
	}
}
