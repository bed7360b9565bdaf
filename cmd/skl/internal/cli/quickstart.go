package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/tree/check"
)

type quickstartResult struct {
	Dir      string   `json:"dir"`
	Commands []string `json:"commands"`
}

func quickstartCommand() command {
	return command{name: "quickstart", usage: "try skl out in a new folder, with a registry of your own, without a network and without a model", output: quickstartResult{},
		example: "skl quickstart\nskl quickstart --dir ./try-skl",
		flags:   []cli.Flag{&cli.StringFlag{Name: "dir", Usage: "make the folder `DIR` (default: a temporary one)"}},
		run:     runQuickstart}
}

// runQuickstart starts a registry on loopback, publishes signed releases of a skill to it, installs the
// first into a fresh project with a home of its own, shows shadowing, updates, verifies, searches, and runs a tree by replay.
func runQuickstart(ctx context.Context, w *world, c *cli.Context) error {
	dir, err := w.demoDir(c.String("dir"))
	if err != nil {
		return err
	}
	d := demo{w: w, dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	if err := d.prepare(); err != nil {
		return err
	}
	err = d.withRegistry(ctx, func(url, token string) error { return d.steps(ctx, url, token) })
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(quickstartResult{dir, d.commands})
	}
	w.ui.Print("")
	w.ui.Print("everything is in %s: look at project/skl.toml, project/skl.lock and project/.agents/skills", dir)
	w.ui.Hint("skl registry serve --data %s", filepath.Join(dir, "registry"))
	w.ui.Hint("cd %s && HOME=%s skl list --shadowed", d.project, d.home)
	return nil
}

func (w *world) demoDir(named string) (string, error) {
	dir, err := named, error(nil)
	if named == "" {
		dir, err = os.MkdirTemp("", "skl-quickstart-")
	} else {
		dir = scope.Absolute(w.Cwd, named)
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// A demo is a folder with a registry, a project and a home of its own.
type demo struct {
	w                  *world
	dir, home, project string
	commands           []string
}

// prepare makes the project, and a copy of the skill in the home that will hide the installed one.
func (d *demo) prepare() error {
	own := filepath.Join(d.home, ".claude", "skills", "release-notes")
	for _, dir := range []string{filepath.Join(d.project, ".claude"), own} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	mine := "---\nname: release-notes\ndescription: My own way to write release notes.\n---\n\nJust list the commits.\n"
	return os.WriteFile(filepath.Join(own, "SKILL.md"), []byte(mine), 0o644)
}

// withRegistry serves a new registry on a free port of loopback while fn runs.
func (d *demo) withRegistry(ctx context.Context, fn func(url, token string) error) (err error) {
	s, err := server.Open(ctx, server.Config{Data: filepath.Join(d.dir, "registry"), Addr: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	l, err := s.Listen(ctx)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Serve(serving, l) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	return fn("http://"+l.Addr().String(), s.AdminToken)
}

// steps is what a person would type, in order.
func (d *demo) steps(ctx context.Context, url, token string) error {
	key := filepath.Join(d.dir, "release.key")
	skill := filepath.Join(d.dir, "release-notes")
	do := func(dir, stdin string, args ...string) func() error {
		return func() error { return d.run(ctx, dir, stdin, args) }
	}
	steps := []func() error{
		do(d.dir, token, "login", url, "--name", "quickstart", "--default", "--token-stdin"),
		do(d.dir, "", "registry", "namespace", "create", "demo", "--public"),
		do(d.dir, "", "key", "new", "-o", "release.key"),
		func() error { return demoSkill(skill, 1) },
		do(d.dir, "", "publish", "release-notes", "demo/release-notes@1.0.0", "--sign", "release.key"),
		func() error { return demoSkill(skill, 2) },
		do(d.dir, "", "publish", "release-notes", "demo/release-notes@2.0.0", "--sign", "release.key", "--quiet"),
		func() error { return d.believe(key + ".pub") },
		do(d.project, "", "init", "--host", "claude-code", "--host", "github-copilot"),
		do(d.project, "", "install", "demo/release-notes@^1.0"),
		do(d.project, "", "list", "--shadowed", "--host", "claude-code", "--host", "github-copilot"),
		do(d.project, "", "outdated"),
		do(d.project, "", "update", "--latest"),
		do(d.project, "", "verify"),
		do(d.project, "", "search", "changelog"),
		func() error { return demoTree(filepath.Join(d.dir, "announce"), filepath.Join(d.dir, "answers.jsonl")) },
		do(d.project, "", "graph", "../announce"),
		do(d.project, "", "run", "../announce", "2.0.0", "--model", "replay:../answers.jsonl", "--answer", "Send it?=Yes", "--allow", "run"),
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// run is one command, printed before its output.
func (d *demo) run(ctx context.Context, dir, stdin string, args []string) error {
	line := "skl " + strings.Join(args, " ")
	d.commands = append(d.commands, line)
	e := d.w.env
	e.cwd, e.terminal = dir, false
	e.getenv = demoEnv(d.w.Getenv, d.home)
	e.stdin = strings.NewReader(stdin)
	if d.w.ui.JSON {
		e.stdout = d.w.env.stderr
	}
	fmt.Fprintf(e.stdout, "\n$ %s\n", line)
	if status := invoke(ctx, args, e); status != 0 {
		return fmt.Errorf("%s ended with exit %d", line, status)
	}
	return nil
}

// believe makes the publisher's key one whose signatures are wanted, as a team would roll it out.
func (d *demo) believe(public string) error {
	path := filepath.Join(d.home, ".config", "skl", "config.toml")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\n[[signer]]\nnamespace = \"demo\"\nkey = %q\nrequired = true\n", filepath.ToSlash(public))
	return errors.Join(err, f.Close())
}

// demoEnv is the environment of a person whose home is dir.
func demoEnv(getenv func(string) string, dir string) func(string) string {
	return func(name string) string {
		switch {
		case name == "HOME" || name == "USERPROFILE":
			return dir
		case strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "SKL_"), strings.HasSuffix(name, "_CONFIG_DIR"), name == "APPDATA", name == "LOCALAPPDATA",
			name == "CI", name == "DOCKER_CONFIG", name == "NETRC":
			return ""
		}
		return getenv(name)
	}
}

// demoTree writes a small skill with a tree, and what a model once answered to its leaves.
func demoTree(dir, answers string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := `---
name: announce
description: Announces a version. Use when asked to announce a release.
compatibility: ` + check.CanonicalCompatibility + `
metadata:
  canopy-features: [interaction]
---

` + check.CanonicalGuard + `

Version: $ARGUMENTS

## Tree

* announce
  * IF << $ARGUMENTS is not a valid semver
    * END Not a version: $ARGUMENTS
  * Write one sentence that announces version $ARGUMENTS >> sentence
  * SHOW_PLAN >> sentence
  * ASK << Send it? | Yes | No
  * IF << No
    * END

## Rules

- Promise nothing.

## Response: sentence
`
	answer := `{"node":"SKILL.md#/1","value":{"sentence":"Version 2.0.0 leaves out what only developers notice."}}` + "\n"
	return errors.Join(os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644), os.WriteFile(answers, []byte(answer), 0o644))
}

// demoSkill writes a small skill as it is in its first or second version.
func demoSkill(dir string, version int) error {
	if err := os.MkdirAll(filepath.Join(dir, "scripts"), 0o755); err != nil {
		return err
	}
	script := "#!/bin/sh\n# Lists the commits since the last tag.\nexec git log --oneline \"$(git describe --tags --abbrev=0)..HEAD\"\n"
	if err := os.WriteFile(filepath.Join(dir, "scripts", "commits.sh"), []byte(script), 0o755); err != nil {
		return err
	}
	body := "1. Run scripts/commits.sh.\n2. Group the commits by what a user notices.\n"
	if version > 1 {
		body += "3. Leave out what only developers notice.\n4. Put breaking changes first.\n"
	}
	text := "---\nname: release-notes\ndescription: Writes release notes from git history. Use when the user asks for a changelog or release notes.\n---\n\n# Release notes\n\n" + body
	return os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644)
}
