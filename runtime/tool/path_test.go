package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// world makes a directory with a working directory, a skill in it, and secrets around it.
func world(t testing.TB) (d *Dispatcher, work, secret string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret = filepath.Join(base, "secret")
	put(t, secret, "SECRET")
	put(t, filepath.Join(base, "workspace", "x"), "SECRET")
	work = filepath.Join(base, "work")
	put(t, filepath.Join(work, ".git", "config"), "[core]\n")
	put(t, filepath.Join(work, ".agents", "skills", "pdf", "SKILL.md"), "skill")
	put(t, filepath.Join(work, ".agents", "skills", "pdf", "references", "r.md"), "reference")
	put(t, filepath.Join(work, "sub", "a.txt"), "a")
	d, _ = open(t, Config{
		WorkDir: work, SkillDir: filepath.Join(work, ".agents", "skills", "pdf"), Consent: yes,
		Protected: []string{filepath.Join(work, ".agents", "skills"), filepath.Join(work, ".claude", "skills")},
	})
	return d, work, secret
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip("no symbolic links here")
	}
}

func TestNothingOutsideIsReached(t *testing.T) {
	d, work, secret := world(t)
	link(t, "../secret", filepath.Join(work, "rel"))
	link(t, secret, filepath.Join(work, "abs"))
	link(t, "..", filepath.Join(work, "up"))
	link(t, "/", filepath.Join(work, "root"))
	link(t, "loop", filepath.Join(work, "loop"))
	link(t, "sub/../up2", filepath.Join(work, "chain"))
	link(t, "../work/../secret", filepath.Join(work, "up2"))
	link(t, "/proc/self/root", filepath.Join(work, "proc"))
	for _, path := range []string{
		"../secret", "sub/../../secret", "./../secret", secret, filepath.Dir(work), "/etc/passwd", "/", "..", "../workspace/x", work + "space/x", work + "/../secret",
		"rel", "abs", "up/secret", "up/work/../secret", "root" + secret, "loop", "loop/x", "chain", "up2",
		"/proc/self/root" + secret, "/proc/self/cwd/x", "proc" + secret, "/dev/stdin", "/dev/null", "/dev/fd/0",
		"skill:../../../../secret", "skill:/../x", "skill:" + secret, "sub/a.txt/../../../secret", "sub\x00/../../secret", strings.Repeat("a/", 3000),
		"missing/../../secret", "~/secret", "file://" + secret, "..\\secret", "....//secret", "sub/a.txt/", "sub/a.txt/.", "sub/a.txt/../a.txt",
	} {
		for _, c := range []struct {
			tool   string
			fields []any
		}{
			{"read", []any{"path", path}},
			{"edit", []any{"path", path, "old_string", "SECRET", "new_string", "x"}},
			{"grep", []any{"path", path, "pattern", "SECRET"}},
			{"glob", []any{"path", path, "pattern", "**"}},
			{"list", []any{"path", path}},
		} {
			if text, denied := call(d, c.tool, c.fields...); !denied && !strings.HasPrefix(text, "error: ") {
				t.Errorf("%s %q: %s", c.tool, path, text)
			}
		}
		if _, err := d.ReadFile(path); err == nil {
			t.Errorf("ReadFile %q", path)
		}
		call(d, "write", "path", path, "content", "overwritten")
		d.WriteFile(context.Background(), path, []byte("overwritten"))
	}
	for _, outside := range []string{secret, filepath.Join(filepath.Dir(work), "workspace", "x")} {
		if data, err := os.ReadFile(outside); err != nil || string(data) != "SECRET" {
			t.Errorf("%s is now %q, %v", outside, data, err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(work)); len(entries) != 3 {
		t.Errorf("there are new files outside: %v", entries)
	}
	if _, err := d.ReadFile("../secret"); !errors.Is(err, diag.Code(CodeOutside)) || err.Error() != `"../secret" is outside of the working directory` || diag.ClassOf(err) != diag.Refused {
		t.Errorf("%v", err)
	}
}

func TestWhatIsReached(t *testing.T) {
	d, work, _ := world(t)
	link(t, "sub/a.txt", filepath.Join(work, "in"))
	link(t, filepath.Join(work, "sub"), filepath.Join(work, "absin"))
	link(t, "nowhere", filepath.Join(work, "sub", "dangling"))
	for path, want := range map[string]string{
		"sub/a.txt": "a", "./sub/../sub/a.txt": "a", filepath.Join(work, "sub", "a.txt"): "a", "in": "a", "absin/a.txt": "a", "absin/../sub/a.txt": "a",
		"skill:SKILL.md": "skill", "skill:references/r.md": "reference", filepath.Join(work, ".agents/skills/pdf/SKILL.md"): "skill", ".agents/skills/pdf/SKILL.md": "skill",
	} {
		if text, _ := call(d, "read", "path", path); text != want {
			t.Errorf("%s: %q", path, text)
		}
	}
	if text, _ := call(d, "read", "path", ".git/config"); !strings.Contains(text, "holds secrets") {
		t.Error(text)
	}
	if text, _ := call(d, "write", "path", "sub/dangling", "content", "x"); !strings.Contains(text, "to sub/nowhere") {
		t.Error(text)
	}
	if text, _ := call(d, "write", "path", "new/deep/../er/file", "content", "x"); !strings.HasSuffix(text, "to new/er/file") {
		t.Error(text)
	}
	for path, want := range map[string]bool{"sub": true, "sub/a.txt": true, "none": false, "none/../sub": true, ".": true} {
		if ok, err := d.Exists(path); ok != want || err != nil {
			t.Errorf("Exists(%s) = %v, %v", path, ok, err)
		}
	}
}

func TestWhatIsNeverWritten(t *testing.T) {
	_, work, _ := world(t)
	// A file that an agent reads by another name is protected by that name too.
	put(t, filepath.Join(work, "rules", "of", "agents.txt"), "a")
	put(t, filepath.Join(work, "real", "x"), "a")
	link(t, "rules/of/agents.txt", filepath.Join(work, "AGENTS.md"))
	link(t, "AGENTS.md", filepath.Join(work, "n"))
	link(t, "real", filepath.Join(work, ".cursor"))
	link(t, ".cursor", filepath.Join(work, "r"))
	d, _ := open(t, Config{
		WorkDir: work, SkillDir: filepath.Join(work, ".agents", "skills", "pdf"), Consent: yes, Agents: []string{".newagent", "NEWAGENT.md"},
		Protected: []string{filepath.Join(work, ".agents", "skills"), filepath.Join(work, ".claude", "skills")},
	})
	link(t, ".git", filepath.Join(work, "g"))
	link(t, ".agents/skills/pdf", filepath.Join(work, "s"))
	for _, path := range []string{
		".git/config", ".git", ".git/hooks/pre-commit", ".GIT/config", "sub/.git/config", "g/config", "g", ".git./x", ".git /x", "git~1/x", ".g\u200cit/x", ".git::$DATA", "sub/../.git/x",
		"CLAUDE.md", "sub/AGENTS.md", "Claude.MD", "gemini.md.", "CLAUDE.md::$DATA", ".claude/settings.json", ".claude", "sub/.claude/agents/a.md", ".cursor/rules/x", ".CODEX/config.toml",
		".mcp.json", ".vscode/tasks.json", ".vscode/Settings.json", ".github/copilot-instructions.md", ".github/hooks/x", ".github/skills/x/SKILL.md", "sub/.agents/skills/x/SKILL.md",
		".envrc", "sub/.bashrc", ".opencode/plugin/x.ts", "opencode.json", "OpenCode.jsonc", ".github/workflows/x.yml", ".gitlab-ci.yml", ".circleci/config.yml", "jenkinsfile",
		".forgejo/workflows/x", "sub/.devcontainer/x", ".devcontainer.json", ".idea/x", "lefthook.yml", ".gitmodules", ".npmrc", ".hg/hgrc", ".Rprofile", "mise.toml", "sitecustomize.py", ".cargo/config.toml",
		"skl.toml", "sub/skl.lock", "policy.toml", ".corteza/skills/x/SKILL.md", ".newagent/x", "sub/NEWAGENT.md", "n", "rules/of/agents.txt", "r/x",
		".agents/skills/pdf/SKILL.md", ".agents/skills/other/SKILL.md", "s/SKILL.md", "skill:SKILL.md", "skill:new", ".claude/skills/x/SKILL.md", ".claude/skills", ".Claude/Skills/x",
	} {
		text, denied := call(d, "write", "path", path, "content", "x")
		if !denied {
			t.Errorf("write %q: %s", path, text)
		}
		if _, err := d.WriteFile(context.Background(), path, nil); !errors.Is(err, diag.Code(CodeProtected)) {
			t.Errorf("WriteFile %q: %v", path, err)
		}
	}
	for _, path := range []string{".gitignore", ".github/dependabot.yml", "conftest.py", "Makefile", "package.json", ".env", ".hg/x", "git/x", ".agents/notes", "x.git", ".vscode/extensions.json", "docs/CLAUDE.md.txt", "my-agents.md", "github/skills", "notes/claude"} {
		if text, denied := call(d, "write", "path", path, "content", "x"); denied || !strings.HasPrefix(text, "wrote") {
			t.Errorf("write %q: %s", path, text)
		}
	}
}

// A name that leads to a file and then to a link out, as fast as it can, never leads out.
func TestLinkRace(t *testing.T) {
	d, work, secret := world(t)
	link(t, secret, filepath.Join(work, "probe"))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		name, spare := filepath.Join(work, "race"), filepath.Join(work, "spare")
		for !stop.Load() {
			os.WriteFile(spare, []byte("inside"), 0o666)
			os.Rename(spare, name)
			os.Symlink(secret, spare)
			os.Rename(spare, name)
			os.Symlink(".git/config", spare)
			os.Rename(spare, name)
			os.RemoveAll(filepath.Join(work, "d"))
			os.Mkdir(filepath.Join(work, "d"), 0o777)
			os.WriteFile(filepath.Join(work, "d", "x"), []byte("inside"), 0o666)
			os.RemoveAll(filepath.Join(work, "d"))
			os.Symlink("..", filepath.Join(work, "d"))
			os.Remove(filepath.Join(work, "d"))
			os.Symlink(".git", filepath.Join(work, "d"))
		}
	}()
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		for _, path := range []string{"race", "d/x", "d/secret", "d/work/../secret"} {
			if text, _ := call(d, "read", "path", path); strings.Contains(text, "SECRET") {
				t.Fatalf("%s: %s", path, text)
			}
		}
		if text, _ := call(d, "grep", "pattern", "SECRET"); strings.Contains(text, "SECRET") {
			t.Fatal(text)
		}
		call(d, "write", "path", "race", "content", "inside")
		call(d, "write", "path", "d/config", "content", "overwritten")
	}
	stop.Store(true)
	<-done
	if data, _ := os.ReadFile(secret); string(data) != "SECRET" {
		t.Errorf("the secret is %q", data)
	}
	if data, _ := os.ReadFile(filepath.Join(work, ".git", "config")); string(data) != "[core]\n" {
		t.Errorf(".git/config is %q", data)
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no FIFOs")
	}
	d, work, _ := world(t)
	fifo := filepath.Join(work, "fifo")
	if err := mkfifo(fifo); err != nil {
		t.Skip(err)
	}
	done := make(chan string, 1)
	go func() {
		a, _ := call(d, "read", "path", "fifo")
		b, _ := call(d, "grep", "path", "fifo", "pattern", "x")
		c, _ := call(d, "write", "path", "fifo", "content", "x")
		e, _ := call(d, "grep", "pattern", "x")
		done <- a + b + c + e
	}()
	select {
	case text := <-done:
		if !strings.Contains(text, `not allowed: "fifo" is not a regular file`) {
			t.Error(text)
		}
	case <-time.After(long.Hang):
		t.Error("a FIFO holds up its reader")
	}
	if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Error("the FIFO was replaced")
	}
}

// FuzzPath: whatever a path says, what is found is below the directory.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"sub/a.txt", "../secret", "up/secret", "skill:../x", "abs", "in/../../x", "/proc/self/root/etc", "sub//./..//up", "\x00", "a/../../b"} {
		f.Add(s)
	}
	base, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	work := filepath.Join(base, "work")
	put(f, filepath.Join(base, "secret"), "SECRET")
	put(f, filepath.Join(work, "sub", "a.txt"), "a")
	put(f, filepath.Join(work, "skill", "SKILL.md"), "s")
	for name, target := range map[string]string{"up": "..", "abs": base, "in": "sub", "sub/out": "../../secret", "sub/self": ".", "root": "/"} {
		os.Symlink(target, filepath.Join(work, name))
	}
	d, err := New(Config{WorkDir: work, SkillDir: filepath.Join(work, "skill")})
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	f.Fuzz(func(t *testing.T, path string) {
		p, err := d.find(path)
		if err != nil {
			return
		}
		defer p.close()
		rel := p.rel()
		if !filepath.IsLocal(filepath.FromSlash(rel)) || strings.Contains("/"+rel+"/", "/../") {
			t.Fatalf("%q leads to %q", path, rel)
		}
		// The place is where its name without links says, and that is inside.
		if p.info != nil {
			real, err := filepath.EvalSymlinks(filepath.Join(p.tree.real, rel))
			if err != nil || real != filepath.Join(p.tree.real, rel) || !holds(work, real) {
				t.Fatalf("%q leads to %q, which is %q: %v", path, rel, real, err)
			}
		}
		if data, err := d.ReadFile(path); err == nil && strings.Contains(string(data), "SECRET") {
			t.Fatalf("%q reads the secret", path)
		}
	})
}

// Nothing is written when the working directory is a skill, or in one.
func TestWorkInSkill(t *testing.T) {
	base := t.TempDir()
	put(t, filepath.Join(base, "docs", "a.md"), "a")
	for _, c := range []Config{
		{WorkDir: base, SkillDir: base},
		{WorkDir: filepath.Join(base, "docs"), SkillDir: base},
		{WorkDir: filepath.Join(base, "docs"), Protected: []string{base}},
	} {
		c.Consent, c.Policy = yes, tools(t, "allow: read(**/a.md), write")
		d, _ := open(t, c)
		if text, denied := call(d, "write", "path", "x", "content", "x"); !denied {
			t.Errorf("%+v: %s", c, text)
		}
		if text, denied := call(d, "read", "path", filepath.Join(base, "docs", "a.md")); denied || text != "a" {
			t.Errorf("%s in %s: %s", c.SkillDir, c.WorkDir, text)
		}
	}
}
