// Package demo is the quickstart: a folder with a registry, a project and a home of its own, and the command lines that
// a person would type there. Whoever runs it carries them out and shows what they print.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
)

// A Demo is a folder with a registry, a project and a home of its own.
type Demo struct {
	Dir, Home, Project, Registry string

	admin *admin.Admin
}

// A Line is a command line of skl.
type Line struct {
	Dir   string // where it is typed
	Args  []string
	Stdin string
}

// String is what a person types.
func (l Line) String() string { return "skl " + strings.Join(l.Args, " ") }

// New makes the folder of a demo, which must not be there yet; "" is a temporary one.
func New(sc *scope.Scope, named string) (*Demo, error) {
	dir, err := named, error(nil)
	if named == "" {
		dir, err = os.MkdirTemp("", "skl-quickstart-")
	} else {
		dir = scope.Absolute(sc.Cwd, named)
		err = os.Mkdir(dir, 0o755)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	d := &Demo{Dir: dir, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Registry: filepath.Join(dir, "registry"), admin: &admin.Admin{Scope: sc}}
	return d, d.prepare()
}

// prepare makes the project, and a copy of the skill in the home that will hide the installed one.
func (d *Demo) prepare() error {
	own := filepath.Join(d.Home, ".claude", "skills", "release-notes")
	for _, dir := range []string{filepath.Join(d.Project, ".claude"), own} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	mine := "---\nname: release-notes\ndescription: My own way to write release notes.\n---\n\nJust list the commits.\n"
	return os.WriteFile(filepath.Join(own, "SKILL.md"), []byte(mine), 0o644)
}

// Run serves the registry and hands each command line to do, in order; the first error ends it. The lines publish signed
// releases of a skill, install the first into the project, show shadowing, update, verify, search, and run a tree by replay.
func (d *Demo) Run(ctx context.Context, do func(Line) error) (err error) {
	serving, stop := context.WithCancel(ctx)
	ready, done := make(chan admin.Serving, 1), make(chan error, 1)
	go func() {
		done <- d.admin.Serve(serving, admin.ServeRequest{Addr: "127.0.0.1:0", Data: d.Registry, Log: slog.DiscardHandler, Ready: func(s admin.Serving) error {
			ready <- s
			return nil
		}})
	}()
	select {
	case err := <-done:
		stop()
		return err
	case s := <-ready:
		defer func() {
			stop()
			err = errors.Join(err, <-done)
		}()
		if err := s.Shown(); err != nil { // the first line takes the token
			return err
		}
		return d.steps(s.URL, s.AdminToken, do)
	}
}

// steps is what a person would type, in order, and what they would write in between.
func (d *Demo) steps(url, token string, do func(Line) error) error {
	skill, tree, answers := filepath.Join(d.Dir, "release-notes"), filepath.Join(d.Dir, "announce"), filepath.Join(d.Dir, "answers.jsonl")
	above := func(args ...string) func() error { return func() error { return do(Line{Dir: d.Dir, Args: args}) } }
	inside := func(args ...string) func() error { return func() error { return do(Line{Dir: d.Project, Args: args}) } }
	for _, step := range []func() error{
		func() error {
			return do(Line{Dir: d.Dir, Stdin: token, Args: []string{"login", url, "--name", "quickstart", "--default", "--token-stdin"}})
		},
		above("registry", "namespace", "create", "demo", "--public"),
		above("key", "new", "-o", "release.key"),
		func() error { return writeSkill(skill, 1) },
		above("publish", "release-notes", "demo/release-notes@1.0.0", "--sign", "release.key"),
		func() error { return writeSkill(skill, 2) },
		above("publish", "release-notes", "demo/release-notes@2.0.0", "--sign", "release.key", "--quiet"),
		func() error { return d.believe(filepath.Join(d.Dir, "release.key.pub")) },
		inside("init", "--host", "claude-code", "--host", "github-copilot"),
		inside("install", "demo/release-notes@^1.0"),
		inside("list", "--shadowed", "--host", "claude-code", "--host", "github-copilot"),
		inside("outdated"),
		inside("update", "--latest"),
		inside("verify"),
		inside("search", "changelog"),
		func() error { return writeTree(tree, answers) },
		inside("graph", "../announce"),
		inside("run", "../announce", "2.0.0", "--model", "replay:../answers.jsonl", "--answer", "Send it?=Yes", "--allow", "run"),
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// believe makes the publisher's key one whose signatures are wanted, as a team would roll it out.
func (d *Demo) believe(public string) error {
	path := filepath.Join(d.Home, ".config", "skl", "config.toml")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\n[[signer]]\nnamespace = \"demo\"\nkey = %q\nrequired = true\n", filepath.ToSlash(public))
	return errors.Join(err, f.Close())
}

// Getenv is the environment of a person whose home is the demo's.
func (d *Demo) Getenv(getenv func(string) string) func(string) string {
	return func(name string) string {
		switch {
		case name == "HOME" || name == "USERPROFILE":
			return d.Home
		case strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "SKL_"), strings.HasSuffix(name, "_CONFIG_DIR"), name == "APPDATA", name == "LOCALAPPDATA",
			name == "CI", name == "DOCKER_CONFIG", name == "NETRC":
			return ""
		}
		return getenv(name)
	}
}
