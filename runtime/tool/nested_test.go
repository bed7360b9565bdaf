package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
)

// nested is a working directory with a package, a repository and a submodule in it, and programs in the real sandbox.
func nested(t *testing.T) (d *Dispatcher, work string) {
	t.Helper()
	if tier := sandbox.Probe().Tier; tier != sandbox.Tier1 {
		t.Skip("this needs mounts of one's own: ", tier)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	work = t.TempDir()
	put(t, filepath.Join(work, "pkg", "CLAUDE.md"), "mine\n")
	put(t, filepath.Join(work, "pkg", "main.go"), "package main\n")
	put(t, filepath.Join(work, "deep", "a", "b", "c", "x.txt"), "x\n")
	put(t, filepath.Join(work, "node_modules", "x", "index.js"), "x\n")
	put(t, filepath.Join(work, "inner", ".git"), "gitdir: ../.git/modules/inner\n")
	cmd := exec.Command("git", "init", "-q", "vend")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d, _ = open(t, Config{WorkDir: work, Consent: yes, Exec: sandbox.Run, Aside: t.TempDir(), Path: os.Getenv("PATH"), Home: os.Getenv("HOME")})
	return d, work
}

// Names protected at the top are protected in every directory below, whoever made it.
func TestNothingNested(t *testing.T) {
	d, work := nested(t)
	state := func() string {
		var b strings.Builder
		filepath.WalkDir(work, func(path string, e os.DirEntry, err error) error {
			rel, _ := filepath.Rel(work, path)
			if err == nil && !strings.HasPrefix(rel, "free") && !e.IsDir() {
				data, _ := os.ReadFile(path)
				fmt.Fprintf(&b, "%s %q\n", rel, data)
			}
			return nil
		})
		return b.String()
	}
	before := state()
	for _, command := range []string{
		"echo x >pkg/CLAUDE.md", "rm pkg/CLAUDE.md", "mv pkg elsewhere", "echo x >pkg/AGENTS.md", "echo x >pkg/Claude.MD", "echo x >deep/a/b/c/GEMINI.md", "mkdir -p pkg/.claude && echo x >pkg/.claude/settings.json",
		"mkdir -p pkg/.vscode && echo x >pkg/.vscode/tasks.json", "echo x >pkg/.envrc", "echo x >pkg/.mcp.json", "mkdir -p pkg/.agents/skills/x && echo x >pkg/.agents/skills/x/SKILL.md", "echo x >pkg/skl.toml",
		"echo x >>vend/.git/config", "echo x >vend/.git/hooks/pre-commit", "mv vend/.git vend/g", "echo x >vend/.git/commondir", "echo 'gitdir: ../evil' >inner/.git", "rm inner/.git; mkdir inner/.git",
		"mkdir -p new/.git && echo x >new/.git/config", "echo 'gitdir: ../evil' >deep/.git", "ln -s ../vend/.git deep/.git",
		"mkdir -p bare/objects bare/refs && echo x >bare/HEAD && echo x >bare/config",
		"mkdir -p fresh/one/two && echo x >fresh/one/two/CLAUDE.md && chmod 0 fresh/one", "mkdir -p made/.husky && echo x >made/.husky/pre-commit",
		"echo x >node_modules/CLAUDE.md; rm node_modules/CLAUDE.md",
	} {
		r, _, err := d.Script(context.Background(), run.Script{Path: "x.sh", Text: "(" + command + ") 2>/dev/null; rm -rf free; mkdir free; true"})
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if after := state(); after != before {
			t.Errorf("%s (%q) left\n%s", command, r.Text, after)
		}
	}
	// Everything else goes on as usual, also git in the repositories below.
	text, denied := call(d, "bash", "command", "cd vend && echo y >a && git add a && git -c user.name=a -c user.email=a@example.org commit -qm one && git log --oneline | wc -l && mkdir -p ../new/dir && echo z >../new/dir/z && mv ../deep/a ../deep/d")
	if denied || strings.TrimSpace(text) != "1" {
		t.Errorf("%q", text)
	}
	for _, dir := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(work, "bare", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.WriteFile(context.Background(), "bare/HEAD", []byte("x")); !errors.Is(err, diag.Code(CodeProtected)) {
		t.Errorf("a directory of git was made: %v", err)
	}
	// In packages of others nobody looks.
	if text, denied := call(d, "bash", "command", "echo x >node_modules/x/CLAUDE.md && echo done"); denied || text != "done\n" {
		t.Errorf("%q", text)
	}
}

// Looking again reads only the directories that changed.
func BenchmarkSurvey(b *testing.B) {
	work := b.TempDir()
	for i := range 2_000 {
		dir := filepath.Join(work, fmt.Sprint(i%40), fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 10 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j, ".go")), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	d, err := New(Config{WorkDir: work, Home: "/home/nobody"})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			d.nest.dirs = nil
			d.survey()
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			d.survey()
		}
	})
}

// A denial of reading holds for every spelling of a path, and for what tells of the content.
func TestReadDeniedByAnyPath(t *testing.T) {
	p := &plain{}
	config := everything(p)
	config.Policy = tools(t, "deny: read(private/**)")
	d, work := open(t, config)
	put(t, filepath.Join(work, "private", "p.txt"), "PRIVATE\n")
	put(t, filepath.Join(work, ".env"), "SECRET=1\n")
	link(t, "/proc/self/cwd", filepath.Join(work, "sub", "here"))
	base := filepath.Base(work)
	for _, path := range []string{"private/p.txt", "../" + base + "/private/p.txt", "sub/../../" + base + "/private/p.txt", work + "/private/p.txt", filepath.Dir(work) + "/./" + base + "/private/p.txt",
		"/proc/self/cwd/private/p.txt", "/proc/thread-self/cwd/private/p.txt", "/proc/self/root" + work + "/private/p.txt", "/dev/fd/../cwd/private/p.txt", "/dev/.." + work + "/private/p.txt", "sub/here/private/p.txt", ".."} {
		p.last = sandbox.Command{}
		if text, denied := call(d, "bash", "command", "cat "+path); !denied || p.last.Argv != nil {
			t.Errorf("cat %s: %q", path, text)
		}
	}
	for _, path := range []string{"sub/a.txt", "../" + base + "/sub/a.txt", "/dev/null", "/etc/hostname"} {
		if text, denied := call(d, "bash", "command", "cat "+path); denied {
			t.Errorf("cat %s: %q", path, text)
		}
	}
	if text, denied := call(d, "edit", "path", "private/p.txt", "old_string", "NOT THERE", "new_string", "x"); !denied || strings.Contains(text, "occur") {
		t.Errorf("edit: %q, %v", text, denied)
	}
	if text, denied := call(d, "bash", "command", "cat ../"+base+"/.env"); !strings.Contains(text, "its name says that it holds secrets") {
		t.Errorf("%q, %v", text, denied)
	}
}

// Of a skill that is a repository, what is in .git is none of its files.
func TestNoGitOfASkill(t *testing.T) {
	d, work, _ := world(t)
	own := filepath.Join(work, ".agents", "skills", "pdf")
	put(t, filepath.Join(own, ".git", "x"), "SECRET\n")
	for _, path := range []string{"skill:.git/x", "skill:references/../.git/x", filepath.Join(own, ".git", "x")} {
		if text, denied := call(d, "read", "path", path); !denied || !strings.Contains(text, "not a file of the skill") {
			t.Errorf("read %s: %q", path, text)
		}
	}
}

// Leave for a command by name is none for a file that its redirection writes.
func TestNamedCallWritesNothing(t *testing.T) {
	p := &plain{}
	config := everything(p)
	config.Consent = nil
	for _, tt := range []struct {
		allow, command string
		runs           bool
	}{
		{"bash(cat a.txt)", "cat a.txt", true},
		{"bash(cat a.txt)", "cat a.txt 2>/dev/null", true},
		{"bash(cat a.txt)", "cat a.txt > main.go", false},
		{"bash(cat a.txt)", "cat a.txt >> Makefile", false},
		{"bash(cat a.txt)", "cat a.txt 2> q", false},
		{"bash(cat a.txt)", "cat a.txt &> q", false},
		{"bash(cat *)", "cat a.txt >| q", false},
		{"bash(cat a.txt),write(out/**)", "cat a.txt > out/x", true},
		{"bash(cat a.txt),write(out/**)", "cat a.txt > src/x", false},
		{"bash(cat a.txt),filesystem", "cat a.txt > src/x", true},
		{"bash", "cat a.txt > src/x", true},
	} {
		grant, err := ParseGrant(tt.allow)
		if err != nil {
			t.Fatal(err)
		}
		config.Grants = []Grant{grant}
		d, _ := open(t, config)
		p.last = sandbox.Command{}
		call(d, "bash", "command", tt.command)
		if ran := p.last.Argv != nil; ran != tt.runs {
			t.Errorf("--allow %s: %q ran: %v", tt.allow, tt.command, ran)
		}
	}
}

// Tools read nothing of a skill that is disabled.
func TestDisabledIsNotRead(t *testing.T) {
	d, work, _ := world(t)
	path := ".agents/.skl/skills/disabled/x/SKILL.md"
	put(t, filepath.Join(work, path), "HIDDEN\n")
	if text, denied := call(d, "read", "path", path); !denied || !strings.Contains(text, "disabled") {
		t.Errorf("%q", text)
	}
	if text, _ := call(d, "grep", "pattern", "HIDDEN"); strings.Contains(text, "HIDDEN") {
		t.Errorf("%q", text)
	}
	if _, err := d.ReadFile(path); !errors.Is(err, diag.Code(CodeProtected)) {
		t.Errorf("%v", err)
	}
}
