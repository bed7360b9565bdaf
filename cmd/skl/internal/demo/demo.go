// Package demo is the quickstart: a folder with a registry, a project and a home of its own, and the command lines that
// a person would type there. The caller runs them and shows their output.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
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

	Chapter int    // from 1 to Chapters; 0 of a line that goes on with the one before
	About   string // what a chapter shows, one line
}

// String is what a person types.
func (l Line) String() string {
	text := "skl"
	for _, arg := range l.Args {
		text += " " + diag.Quote(arg)
	}
	return text
}

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
	d := at(sc, dir)
	return d, d.prepare()
}

// Remove takes the folder away, which nobody had before New.
func (d *Demo) Remove() error { return os.RemoveAll(d.Dir) }

// Planned is the demo that New would make, and the lines that it would carry out; nothing is made.
func Planned(sc *scope.Scope, named string) (*Demo, []Line, error) {
	dir := filepath.Join(os.TempDir(), "skl-quickstart-NUMBER")
	if named != "" {
		dir = scope.Absolute(sc.Cwd, named)
		if _, err := os.Lstat(dir); err == nil {
			return nil, nil, &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
		}
		if _, err := os.Stat(filepath.Dir(dir)); err != nil {
			return nil, nil, err
		}
	}
	d := at(sc, dir)
	var lines []Line
	for _, s := range d.steps("http://127.0.0.1:PORT", "") {
		if s.make == nil {
			lines = append(lines, s.line)
		}
	}
	return d, lines, nil
}

func at(sc *scope.Scope, dir string) *Demo {
	return &Demo{Dir: dir, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Registry: filepath.Join(dir, "registry"), admin: &admin.Admin{Scope: sc}}
}

// prepare makes the project, and a copy of the skill in the home that will hide the installed one.
func (d *Demo) prepare() error {
	own := filepath.Join(d.Home, ".claude", "skills", "release-notes")
	for _, dir := range []string{filepath.Join(d.Project, ".claude"), own} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	// Inside of a repository the project would be that one.
	if err := os.WriteFile(filepath.Join(d.Project, "skl.toml"), nil, 0o644); err != nil {
		return err
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
		for _, step := range d.steps(s.URL, s.AdminToken) {
			if step.make != nil {
				err = step.make()
			} else {
				err = do(step.line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// A step is a command line, or something that a person would write in between.
type step struct {
	line Line
	make func() error // instead of the line
}

// Chapters is how many parts a demo has.
const Chapters = 8

// steps is what a person would do, in order.
func (d *Demo) steps(url, token string) []step {
	skill, tree, answers := filepath.Join(d.Dir, "release-notes"), filepath.Join(d.Dir, "announce"), filepath.Join(d.Dir, "answers.jsonl")
	above := func(args ...string) step { return step{line: Line{Dir: d.Dir, Args: args}} }
	inside := func(args ...string) step { return step{line: Line{Dir: d.Project, Args: args}} }
	chapter := 0
	begin := func(about string, s step) step {
		chapter++
		s.line.Chapter, s.line.About = chapter, about
		return s
	}
	return []step{
		begin("A registry of your own, served from a folder: you sign in as its admin.", step{line: Line{Dir: d.Dir, Stdin: token, Args: []string{"login", url, "--name", "quickstart", "--default", "--token-stdin"}}}),
		above("registry", "namespace", "create", "demo", "--public"),
		begin("Signed releases: a key, and two versions of a skill.", above("key", "new", "-o", "release.key")),
		{make: func() error { return writeSkill(skill, 1) }},
		above("publish", "release-notes", "demo/release-notes@1.0.0", "--sign", "release.key"),
		{make: func() error { return writeSkill(skill, 2) }},
		above("publish", "release-notes", "demo/release-notes@2.0.0", "--sign", "release.key", "--quiet"),
		{make: func() error { return d.believe(filepath.Join(d.Dir, "release.key.pub")) }},
		begin("A project for two agents with the skill: locked, its signature checked.", inside("init", "--host", "claude-code", "--host", "github-copilot")),
		inside("install", "demo/release-notes@^1.0"),
		begin("Which copy loads: one agent prefers an older one in the home directory.", inside("list", "--shadowed", "--host", "claude-code", "--host", "github-copilot")),
		begin("An update, beyond the range that was asked for.", inside("outdated")),
		inside("update", "--latest"),
		begin("Proof that every byte is what skl.lock says.", inside("verify")),
		begin("Search, over what is installed and what registries have.", inside("search", "changelog")),
		{make: func() error { return writeTree(tree, answers) }},
		begin("A skill that is a program: a recorded answer stands for the model.", inside("graph", "../announce")),
		inside("run", "../announce", "2.0.0", "--model", "replay:../answers.jsonl", "--answer", "Send it?=Yes", "--allow", "run"),
	}
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
		case name == "SKL_KEYRING":
			return "off" // a keyring is not in the folder
		case strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "SKL_"), strings.HasSuffix(name, "_CONFIG_DIR"), name == "APPDATA", name == "LOCALAPPDATA",
			name == "CI", name == "DOCKER_CONFIG", name == "NETRC":
			return ""
		}
		return getenv(name)
	}
}

// Environ is that environment for the programs that are started.
func (d *Demo) Environ(environ []string) (out []string) {
	for _, one := range environ {
		name, value, _ := strings.Cut(one, "=")
		if seen := d.Getenv(func(string) string { return value })(name); seen != "" {
			out = append(out, name+"="+seen)
		}
	}
	return out
}
