package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
)

// Paths kept from a program, with files there and without.
func TestGuarded(t *testing.T) {
	d, work, _ := world(t)
	put(t, filepath.Join(work, "CLAUDE.md"), "x")
	put(t, filepath.Join(work, ".git", "modules", "a", "b", "HEAD"), "x")
	put(t, filepath.Join(work, ".git", "worktrees", "w", "commondir"), "x")
	names := func(paths []string) []string {
		for i := range paths {
			rel, err := filepath.Rel(work, paths[i])
			if err != nil {
				t.Fatal(err)
			}
			paths[i] = filepath.ToSlash(rel)
		}
		return paths
	}
	protect, watch, _, all := d.guarded()
	protect, watch = names(protect), names(watch)
	for _, want := range []string{".git/config", ".git/hooks", ".git/modules/a/b/config", ".git/modules/a/b/hooks", ".git/worktrees/w/commondir", "CLAUDE.md", ".claude", ".cursor", ".codex",
		".mcp.json", ".envrc", ".bashrc", ".github/skills", ".github/hooks", ".github/copilot-instructions.md", ".agents/skills", ".agents/skills/pdf", ".claude/skills",
		".github/workflows", ".github/actions", ".circleci", ".gitea/workflows", ".husky", ".opencode"} {
		if !slices.Contains(protect, want) {
			t.Errorf("%s is not protected", want)
		}
	}
	for _, want := range []string{".git/commondir", ".git/config.worktree", "AGENTS.md", "GEMINI.md", ".vscode/tasks.json", ".zshrc", ".gitlab-ci.yml", "Jenkinsfile", ".pre-commit-config.yaml", "opencode.json", ".devcontainer", ".npmrc", ".Rprofile", "skl.toml", "skl.lock", "policy.toml", ".corteza", ".hg/hgrc"} {
		if !slices.Contains(watch, want) || slices.Contains(protect, want) {
			t.Errorf("%s is not watched", want)
		}
	}
	for _, open := range []string{".", ".git", ".git/index", ".git/objects", ".git/modules/a", "sub", "sub/a.txt"} {
		if slices.Contains(protect, open) || all {
			t.Errorf("%s is protected", open)
		}
	}
	// A file in the place of .git names the directory of git.
	if err := os.RemoveAll(filepath.Join(work, ".git")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(work, ".git"), "gitdir: /elsewhere\n")
	if protect, _, _, _ := d.guarded(); !slices.Contains(names(protect), ".git") {
		t.Error("the file .git is not protected")
	}
	// A working directory that belongs to a skill as a whole is read only.
	p := &plain{}
	config := everything(p)
	config.WorkDir, config.Protected = filepath.Join(work, ".agents", "skills", "pdf", "references"), []string{filepath.Join(work, ".agents", "skills")}
	d, _ = open(t, config)
	if _, denied := call(d, "bash", "command", "true"); denied || !p.last.ReadOnly || p.last.Protect != nil {
		t.Errorf("%+v", p.last)
	}
}

// A change that the sandbox could not prevent is an error that names the files, whatever the program's own status.
func TestChangedIsAnError(t *testing.T) {
	config := everything(&plain{})
	result := sandbox.Result{}
	config.Aside = t.TempDir()
	config.Exec = func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
		for _, name := range []string{".git/hooks/pre-commit", "CLAUDE.md"} {
			result.Changed = append(result.Changed, filepath.Join(c.Dir, name))
		}
		return result, nil
	}
	d, _ := open(t, config)
	const want = "while bash ran, this was changed, which programs may not write: .git/hooks/pre-commit, CLAUDE.md; nothing was restored"
	if text, denied := call(d, "bash", "command", "true"); denied || text != "error: "+want {
		t.Errorf("%q, %v", text, denied)
	}
	result = sandbox.Result{Restored: []string{filepath.Join(result.Changed[0])}, Aside: "/tmp/kept"}
	partly := "; it was restored, but for CLAUDE.md; the files that were there instead are in /tmp/kept"
	if text, denied := call(d, "bash", "command", "true"); denied || !strings.HasSuffix(text, partly) {
		t.Errorf("%q, %v", text, denied)
	}
	result = sandbox.Result{TimedOut: true, ExitCode: -1}
	if r, _, err := d.Script(context.Background(), run.Script{Path: "x.sh", Text: "true"}); err != nil || !r.IsError || !strings.Contains(r.Text, "while x.sh ran") {
		t.Errorf("%+v", r)
	}
	config.Exec = func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{}, errors.Join(diag.New(diag.Failed, "sandbox_start", "it ended"), errors.New("CLAUDE.md was changed"))
	}
	d, _ = open(t, config)
	if text, _ := call(d, "bash", "command", "true"); !strings.Contains(text, "CLAUDE.md") {
		t.Error(text)
	}
}

// TestNothingStays: with the real sandbox, programs leave nothing behind that runs later outside of it, and git works.
func TestNothingStays(t *testing.T) {
	aside := t.TempDir()
	if tier := sandbox.Probe().Tier; tier != sandbox.Tier1 {
		t.Skip("this needs mounts of one's own: ", tier)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	_, work, _ := world(t)
	if err := os.RemoveAll(filepath.Join(work, ".git")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "init", "-q", ".")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	put(t, filepath.Join(work, "CLAUDE.md"), "x\n")
	config := Config{WorkDir: work, SkillDir: filepath.Join(work, ".agents", "skills", "pdf"), Protected: []string{filepath.Join(work, ".agents", "skills")},
		Consent: yes, Exec: sandbox.Run, Aside: aside, Path: os.Getenv("PATH"), Home: os.Getenv("HOME")}
	d, _ := open(t, config)
	for _, command := range []string{
		"echo x >> .git/config", "git config core.fsmonitor evil", "touch .git/hooks/pre-commit", "echo x >> CLAUDE.md", "rm CLAUDE.md", "mkdir .claude", "mkdir -p .claude/agents", "mkdir .cursor/x",
		"echo > .mcp.json", "mv .git g", "mv .agents a", "touch .agents/skills/pdf/x", "touch .agents/skills/new", "echo x > .envrc", "rm -rf .agents/skills",
	} {
		r, _, err := d.Script(context.Background(), run.Script{Path: "x.sh", Text: "if " + command + " 2>/dev/null; then echo yes; else echo no; fi"})
		if err != nil || r.Text != "no\n" {
			t.Errorf("%s: %+v", command, r)
		}
	}
	text, denied := call(d, "bash", "command", "echo y > sub/b && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm one && git status --short && git log --oneline | wc -l")
	if denied || strings.TrimSpace(text) != "1" {
		t.Errorf("%q", text)
	}
	if text, _ := call(d, "bash", "command", "echo x > evil.code-workspace; mkdir x.sublime-project"); !strings.Contains(text, "evil.code-workspace, x.sublime-project; all of it was restored") {
		t.Error(text)
	}
	put(t, filepath.Join(work, "mine.code-workspace"), "{}\n")
	if text, _ := call(d, "bash", "command", "if echo x > mine.code-workspace; then echo yes; else echo kept; fi"); !strings.Contains(text, "kept") {
		t.Error(text)
	}
	os.Remove(filepath.Join(work, "mine.code-workspace"))
	if text, _ := call(d, "bash", "command", "echo x > AGENTS.md"); !strings.Contains(text, "AGENTS.md; all of it was restored; the files that were there instead are in "+aside) {
		t.Error(text)
	}
	entries, err := os.ReadDir(work)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := ".agents .git CLAUDE.md sub"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("%q is there, want %q", names, want)
	}
}

// Files that run code, or are told to an agent, when somebody opens the folder, enters it, starts a tool in it for
// something else, or commits, listed by the program that reads them. Files that run when somebody builds or tests the
// project stay open.
func TestSpots(t *testing.T) {
	d, _, _ := world(t)
	for who, paths := range map[string]string{
		"VS Code":             "x.code-workspace sub/Team.Code-Workspace .vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode/mcp.json .vscode/c_cpp_properties.json .vscode/cmake-kits.json omnisharp.json",
		"containers":          ".devcontainer/devcontainer.json .devcontainer.json .gitpod.yml devfile.yaml .devfile.yaml .codesandbox/tasks.json .stackblitzrc .replit replit.nix .idx/dev.nix",
		"other editors":       ".idea/workspace.xml .zed/tasks.json .fleet/run.json .vs/launch.vs.json x.sublime-project .kateproject .helix/languages.toml",
		"vim and emacs":       ".exrc .vimrc .lvimrc .vim/coc-settings.json .nvim.lua .nvimrc .lazy.lua .neoconf.json .dir-locals.el .emacs .emacs.d/init.el",
		"agents":              ".cursor/hooks.json .windsurf/hooks.json .augment/rules/x .augment-guidelines .cody/commands.json .kilocodemodes crush.json .amp/x .vibe/config.toml replit.md",
		"hooks of git":        ".husky/pre-commit .githooks/x .git-hooks/x .hooks/pre-push lefthook.toml .lefthook.json .config/lefthook.yml .overcommit.yml .pre-commit-config.yaml",
		"directories":         ".envrc .direnv/flake-profile.rc .shadowenv.d/x.lisp .flox/env/manifest.toml mise.toml .mise/config.toml mise/config.toml .config/mise/config.toml .config/mise.toml .tool-versions .autoenv_leave.zsh",
		"toolchains":          "rust-toolchain.toml rust-toolchain .prototools .cargo/config.toml .yarn/releases/yarn.cjs .yarn/plugins/x.cjs .yarnrc.yml .npmrc",
		"interpreters":        ".Rprofile .RData .irbrc .pryrc .iex.exs .ghci .ocamlinit .erlang .byebugrc .rdbgrc .pdbrc sitecustomize.py jupyter_server_config.py",
		"a home":              ".bashrc .bash_aliases .xprofile .ssh/authorized_keys .gitconfig .config/git/config .config/fish/config.fish .config/autostart/x.desktop .config/systemd/user/x.service",
		"services that build": ".github/workflows/x.yml .gitlab-ci.yml bamboo-specs/x.yaml .prow.yaml .vela.yml screwdriver.yaml .readthedocs.yaml",
	} {
		for path := range strings.FieldsSeq(paths) {
			if !d.marks.hold(path) {
				t.Errorf("%s: %s may be written", who, path)
			}
		}
	}
	for path := range strings.FieldsSeq("Makefile package.json conftest.py .vscode/extensions.json .env x.code-workspace.md code-workspace config.toml hooks/x docs/mise.md src/ssh/x .nvmrc flake.nix eslint.config.js .venv/bin/activate vim/x amp/x") {
		if d.marks.hold(path) {
			t.Errorf("%s may not be written", path)
		}
	}
}

// Tools that change nothing may overlap.
func TestOverlap(t *testing.T) {
	d, _ := open(t, everything(&plain{}))
	var overlap []string
	for _, m := range d.For(false) {
		if m.ReadOnly {
			overlap = append(overlap, m.Name)
		}
	}
	if got := strings.Join(overlap, " "); got != "fetch glob grep list read" {
		t.Errorf("%s overlap", got)
	}
}
