//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/skl-project/skl/testdata/long"

	"golang.org/x/sys/unix"
)

func put(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// project makes a working directory with something of everything that is protected, and with things that are not there.
func project(t testing.TB) (dir string, c Command) {
	t.Helper()
	dir = t.TempDir()
	for path, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n", ".git/hooks/pre-commit": "#!/bin/sh\n",
		".git/objects/info/x": "", ".git/refs/heads/x": "", ".git/modules/sub/config": "[core]\n", "CLAUDE.md": "notes\n",
		".claude/settings.json": "{}", ".claude/agents/a.md": "a", "demo/SKILL.md": "skill", ".github/workflows/w.yml": "w", ".agents/README": "r",
		"real/rules.md": "rules", "free.txt": "free", "sub/deep/er/SKILL.md": "skill",
	} {
		put(t, filepath.Join(dir, path), text)
	}
	must(t, os.Symlink("CLAUDE.md", filepath.Join(dir, "AGENTS.md")))
	must(t, os.Symlink("../real", filepath.Join(dir, ".agents/rules")))
	for _, name := range strings.Fields(".git/config .git/hooks .git/modules/sub/config .git/modules/sub/hooks CLAUDE.md AGENTS.md .claude .claude/skills .cursor " +
		".mcp.json .envrc demo .github/skills .github/hooks .vscode/tasks.json .agents/rules/rules.md sub/deep/er") {
		c.Protect = append(c.Protect, filepath.Join(dir, name))
	}
	for _, name := range []string{".git/commondir", "GEMINI.md"} {
		c.Watch = append(c.Watch, filepath.Join(dir, name))
	}
	c.Dir, c.Timeout = dir, time.Minute
	return dir, c
}

// contents is everything below the paths, seen without the package's own eyes.
func contents(t *testing.T, paths []string) map[string]string {
	out := map[string]string{}
	for _, top := range paths {
		filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := d.Info()
			must(t, err)
			text := ""
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				text, _ = os.Readlink(path)
				data, _ := os.ReadFile(path)
				text += string(data)
			case info.Mode().IsRegular():
				data, err := os.ReadFile(path)
				must(t, err)
				text = string(data)
			}
			out[path] = info.Mode().String() + " " + text
			return nil
		})
	}
	return out
}

// attempts are ways to change what is protected. All of them work outside.
var attempts = []struct {
	name, script string
	late         bool // even tier 1 finds it out afterwards only
}{
	{name: "write git's configuration", script: "echo x >.git/config"},
	{name: "append to it", script: "echo x >>.git/config"},
	{name: "replace it", script: "echo x >n; mv -f n .git/config"},
	{name: "remove it", script: "rm -f .git/config"},
	{name: "let git write it", script: "git config core.fsmonitor ./evil"},
	{name: "make a hook", script: "echo x >.git/hooks/post-commit"},
	{name: "change a hook", script: "echo evil >>.git/hooks/pre-commit"},
	{name: "make a hook executable", script: "chmod 777 .git/hooks/pre-commit"},
	{name: "move the hooks away", script: "mv .git/hooks .git/h; mkdir .git/hooks; echo x >.git/hooks/post-checkout"},
	{name: "move the repository away", script: "mv .git g; mkdir -p .git/hooks; echo x >.git/config"},
	{name: "move another repository over it", script: "cp -r .git g2; echo x >g2/config; rm -rf .git; mv -T g2 .git"},
	{name: "exchange the repository", script: "cp -r .git g2; echo x >g2/config; $HOSTILE __exchange g2 .git"},
	{name: "exchange the configuration", script: "echo x >n; $HOSTILE __exchange n .git/config"},
	{name: "lead the repository outside", script: "mv .git g; ln -s /etc .git"},
	{name: "lead the settings outside", script: "mv .claude c; ln -s /etc .claude"},
	{name: "exchange what is above, and fill it", script: "mkdir o; mkdir o/hooks; echo x >o/hooks/h; mv .github g; ln -s o .github"},
	{name: "a directory for a file", script: "rm CLAUDE.md; mkdir -p CLAUDE.md/a/b; echo x >CLAUDE.md/a/b/c"},
	{name: "nobody may read it", script: "echo x >.git/hooks/post-commit; chmod 0 .git/hooks"},
	{name: "remove the repository", script: "rm -rf .git; mkdir .git; echo x >.git/config"},
	{name: "make the repository a link", script: "mv .git g; cp -r g h; echo x >h/config; ln -s h .git"},
	{name: "configure a submodule", script: "echo x >.git/modules/sub/config"},
	{name: "move the submodules away", script: "mv .git/modules m; mkdir -p .git/modules/sub; echo x >.git/modules/sub/config"},
	{name: "give a submodule a hook", script: "mkdir -p .git/modules/sub/hooks; echo x >.git/modules/sub/hooks/pre-commit"},
	{name: "lead git elsewhere", script: "echo ../x >.git/commondir", late: true},
	{name: "write notes", script: "echo x >>CLAUDE.md"},
	{name: "edit notes in place", script: "sed -i s/notes/evil/ CLAUDE.md"},
	{name: "empty notes", script: ": >CLAUDE.md"},
	{name: "overwrite bytes", script: "printf N | dd of=CLAUDE.md conv=notrunc"},
	{name: "reopen a descriptor", script: "exec 3<CLAUDE.md; echo x >/dev/fd/3; echo x >>CLAUDE.md"},
	{name: "by a hard link", script: "ln CLAUDE.md hard && echo x >>hard"},
	{name: "through a link", script: "echo x >>AGENTS.md"},
	{name: "replace a link", script: "echo x >evil; ln -sfn evil AGENTS.md"},
	{name: "remove a link", script: "rm -f AGENTS.md"},
	{name: "a directory of links", script: "echo x >>real/rules.md"},
	{name: "move what a link leads to", script: "mv real r; mkdir real; echo x >real/rules.md"},
	{name: "replace a link to a directory", script: "mkdir evil; echo x >evil/rules.md; ln -sfn ../evil .agents/rules"},
	{name: "write settings", script: "echo x >.claude/settings.json"},
	{name: "add settings", script: "echo x >.claude/settings.local.json"},
	{name: "add skills", script: "mkdir -p .claude/skills/x"},
	{name: "replace the settings' directory", script: "mv .claude c; mkdir .claude; echo x >.claude/settings.json"},
	{name: "by relative paths", script: "cd .claude/agents; echo x >../settings.json"},
	{name: "make a directory", script: "mkdir -p .cursor/rules; echo x >.cursor/rules/a"},
	{name: "move a directory in", script: "mkdir -p c/rules; echo x >c/rules/a; rmdir .cursor 2>/dev/null; mv -T c .cursor"},
	{name: "exchange an absent one", script: "mkdir -p c/rules; echo x >c/rules/a; mkdir .cursor 2>/dev/null; $HOSTILE __exchange c .cursor"},
	{name: "make a link", script: "mkdir c; rmdir .cursor 2>/dev/null; ln -sT c .cursor"},
	{name: "make a file", script: "rmdir .mcp.json 2>/dev/null; echo '{}' >.mcp.json"},
	{name: "move a file in", script: "echo x >n; rmdir .envrc 2>/dev/null; mv -T n .envrc"},
	{name: "link a file in", script: "echo x >n; rmdir .envrc 2>/dev/null; ln -T n .envrc"},
	{name: "make a pipe", script: "rmdir .envrc 2>/dev/null; mkfifo .envrc"},
	{name: "make it writable first", script: "chmod 777 .cursor 2>/dev/null; mkdir -p .cursor/x"},
	{name: "below a directory that is there", script: "mkdir -p .github/skills/x"},
	{name: "replace that directory", script: "mv .github g; mkdir -p .github/hooks; echo x >.github/hooks/h"},
	{name: "below one that is not", script: "mkdir .vscode; echo x >.vscode/tasks.json", late: true},
	{name: "move such a one in", script: "mkdir v; echo x >v/tasks.json; mv v .vscode", late: true},
	{name: "a watched one", script: "echo x >GEMINI.md", late: true},
	{name: "a skill", script: "echo x >>demo/SKILL.md"},
	{name: "a new file of a skill", script: "echo x >demo/run.sh"},
	{name: "replace a skill", script: "rm -rf demo; mkdir demo; echo x >demo/SKILL.md"},
	{name: "rename a directory half-way", script: "mv sub/deep sub/d; mkdir -p sub/deep/er; echo x >sub/deep/er/SKILL.md"},
	{name: "rename the first directory", script: "mv sub s; mkdir -p sub/deep/er; echo x >sub/deep/er/SKILL.md"},
	{name: "exchange the first directory", script: "mkdir -p s/deep/er; echo x >s/deep/er/SKILL.md; $HOSTILE __exchange s sub"},
	{name: "in the background", script: "setsid sh -c 'sleep 0.05; echo x >>demo/SKILL.md; mv .git g; mkdir .git' & sleep 0.2"},
	{name: "and then die", script: "echo x >>demo/SKILL.md; kill -9 $$"},
}

// TestProtect: in tier 1 nothing changes but what is late; elsewhere, and then, the result says what did, and it is as it was again.
func TestProtect(t *testing.T) {
	long.Slow(t)
	if Probe().Tier == None {
		t.Skip("nothing can be confined here")
	}
	program := copyOfTest(t)
	denied := 0
	for i, a := range attempts {
		for _, tier := range append(tiers(), None) {
			if tier == Tier3 && i%5 != 0 {
				continue // it goes the way of tier 2
			}
			name := a.name + " in " + tier.String()
			dir, c := project(t)
			all := slices.Concat(c.Protect, c.Watch)
			before := contents(t, all)
			var out bytes.Buffer
			c.Argv, c.Stdout, c.Stderr, c.ceiling, c.Off = []string{"bash", "-c", a.script}, &out, &out, tier, tier == None
			c.Env, c.Read = []string{"HOSTILE=" + program}, []string{filepath.Dir(program)}
			r, err := Run(context.Background(), c)
			must(t, err)
			after := contents(t, all)
			defer os.Chmod(filepath.Join(dir, ".git/hooks"), 0o755)
			var changed []string
			for path := range before {
				if before[path] != after[path] {
					changed = append(changed, path)
				}
			}
			for path := range after {
				if _, ok := before[path]; !ok {
					changed = append(changed, path)
				}
			}
			switch {
			case tier == None:
				if len(changed) == 0 {
					t.Errorf("%s changes nothing, so it tests nothing: %s", name, out.String())
				}
			case tier == Tier1 && !a.late:
				if len(changed)+len(r.Changed) > 0 {
					t.Errorf("%s: %q is different, reported is %q\n%s", name, changed, r.Changed, out.String())
				}
				denied++
			case len(changed) > 0 || !slices.Equal(r.Changed, r.Restored):
				t.Errorf("%s: %q is different, reported is %q, restored %q\n%s", name, changed, r.Changed, r.Restored, out.String())
			case len(r.Changed) == 0:
				t.Errorf("%s changes nothing, or it is not reported: %s", name, out.String())
			}
			if r.Aside != "" {
				defer os.RemoveAll(r.Aside)
			}
			for _, path := range r.Changed {
				if !strings.HasPrefix(path, dir) {
					t.Errorf("%s: %s is reported", name, path)
				}
			}
			placeholders(t, c.Protect)
		}
	}
	t.Logf("uid %d: %d attempts, %d denied in tier 1", os.Geteuid(), len(attempts), denied)
}

// placeholders complains about any that are left.
func placeholders(t *testing.T, protect []string) {
	t.Helper()
	for _, path := range protect {
		if info, err := os.Lstat(path); err == nil && IsPlaceholder(info) {
			t.Errorf("%s is left", path)
		}
	}
}

// exchange swaps two paths at once.
func exchange(a, b string) {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestProtectedGit: git goes on working, and takes no notice of what stands in for absent files.
func TestProtectedGit(t *testing.T) {
	if _, err := os.Stat("/usr/bin/git"); err != nil {
		t.Skip("there is no git")
	}
	for _, tier := range tiers() {
		dir := t.TempDir()
		cmd := exec.Command("/bin/sh", "-c", "git init -q . && git config user.name a && git config user.email a@example.org && mkdir .github && echo a >.github/a && echo a >a && git add . && git commit -qm one")
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + t.TempDir(), "PATH=" + defaultPath}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		c := Command{Dir: dir, Argv: []string{"sh", "-ec", "git status --short; echo b >b; echo c >>a; git add -A; git status --short; git commit -qm two; git checkout -q -b x; git mv b c; " +
			"git commit -qm three; git tag t; git stash list; git branch -D master main >/dev/null 2>&1 || true; git gc -q; git log --oneline | wc -l; git status --short; ls"}, ceiling: tier}
		for _, name := range strings.Fields(".git/config .git/hooks .claude .cursor .codex .mcp.json .envrc .github/skills .github/hooks") {
			c.Protect = append(c.Protect, filepath.Join(dir, name))
		}
		c.Watch = []string{filepath.Join(dir, ".git/commondir"), filepath.Join(dir, "CLAUDE.md")}
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		r, err := Run(context.Background(), c)
		if want := "M  a\nA  b\n3\na\nc\n"; err != nil || r.ExitCode != 0 || out.String() != want || len(r.Changed) > 0 {
			t.Errorf("%v: %+v, %v: %q, want %q; %s", tier, r, err, out.String(), want, errs.String())
		}
		placeholders(t, c.Protect)
	}
}

// TestPlaceholders: programs that run at once share them, and a run after one that was killed removes what it left.
func TestPlaceholders(t *testing.T) {
	long.Slow(t)
	if Probe().Tier != Tier1 {
		t.Skip("there are no mounts of one's own here")
	}
	dir := t.TempDir()
	left := filepath.Join(dir, ".claude")
	must(t, os.Mkdir(left, 0o555|fs.ModeSticky)) // as a killed process would leave it
	protect := []string{left, filepath.Join(dir, ".mcp.json")}
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			for range 4 {
				script := fmt.Sprintf("sleep 0.0%d; if echo x 2>/dev/null >.mcp.json || mkdir .claude/x 2>/dev/null || rmdir .claude 2>/dev/null; then echo yes; fi", i%10)
				var out bytes.Buffer
				r, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", script}, Dir: dir, Stdout: &out, Protect: protect})
				if err != nil || len(r.Changed) > 0 || out.Len() > 0 {
					t.Errorf("%+v, %v, %q", r, err, out.String())
				}
			}
		})
	}
	wait.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	// A directory that the person makes meanwhile is not removed.
	started := make(chan struct{})
	wait.Go(func() {
		<-started
		path := filepath.Join(dir, ".claude")
		must(t, os.Remove(path))
		must(t, os.Mkdir(path, 0o755))
		must(t, os.WriteFile(filepath.Join(path, "settings.json"), nil, 0o600))
	})
	r, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", "echo; sleep 0.5"}, Dir: dir, Protect: protect, Stdout: writer(func() { close(started) })})
	wait.Wait()
	if _, statErr := os.Stat(filepath.Join(dir, ".claude/settings.json")); statErr != nil || err != nil || len(r.Changed) != 1 {
		t.Errorf("%+v, %v, %v", r, err, statErr)
	}
}

// A writer says when something is written.
type writer func()

func (w writer) Write(b []byte) (int, error) { w(); return len(b), nil }

// TestProtectLimits: where the program can write nowhere nothing is prepared; a directory above Dir that may be
// written is held too; a stopped run still says what it changed.
func TestProtectLimits(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // for what is set aside
	for _, tier := range tiers() {
		dir, c := project(t)
		c.Argv, c.ceiling, c.ReadOnly = []string{"sh", "-c", "ls -A"}, tier, true
		var out bytes.Buffer
		c.Stdout = &out
		if r, err := Run(context.Background(), c); err != nil || len(r.Changed) > 0 || strings.Contains(out.String(), ".cursor") {
			t.Errorf("%v: %+v, %v, %s", tier, r, err, out.String())
		}
		outer := t.TempDir()
		must(t, os.Rename(dir, filepath.Join(outer, "p")))
		dir = filepath.Join(outer, "p")
		r, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", "cd ..; mv p q; mkdir -p p; echo x >p/CLAUDE.md"}, Dir: dir,
			Write: []string{outer}, Protect: []string{filepath.Join(dir, "CLAUDE.md")}, ceiling: tier})
		if data, _ := os.ReadFile(filepath.Join(dir, "CLAUDE.md")); err != nil || string(data) != "notes\n" || (tier == Tier1) != (len(r.Changed) == 0) {
			t.Errorf("%v: %+v, %v, %q", tier, r, err, data)
		}
		work := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		_, err = Run(ctx, Command{Argv: []string{"sh", "-c", "echo x >GEMINI.md; echo; sleep 60"}, Dir: work, ceiling: tier,
			Watch: []string{filepath.Join(work, "GEMINI.md")}, Stdout: writer(cancel)})
		if err == nil || !strings.Contains(err.Error(), "GEMINI.md") || ctx.Err() == nil {
			t.Errorf("%v: %v", tier, err)
		}
	}
	dir := t.TempDir()
	for _, path := range []string{"x", dir, filepath.Dir(dir), "/etc", dir + "/../x", dir + "/a\x00"} {
		if _, err := Run(context.Background(), Command{Argv: []string{"true"}, Dir: dir, Protect: []string{path}}); err == nil {
			t.Errorf("%q is taken", path)
		}
	}
}
