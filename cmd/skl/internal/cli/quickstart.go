package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/urfave/cli/v2"
)

type quickstartResult struct {
	Dir      string   `json:"dir"`
	Commands []string `json:"commands"`
}

func quickstartCommand() command {
	return command{name: "quickstart", usage: "try skl out in a new folder, without a network", output: quickstartResult{},
		example: "skl quickstart\nskl quickstart --dir ./try-skl",
		flags:   []cli.Flag{&cli.StringFlag{Name: "dir", Usage: "make the folder `DIR` (default: a temporary one)"}},
		run:     runQuickstart}
}

// runQuickstart builds a git repository with two releases of a skill, installs
// the first into a fresh project with a home of its own, shows shadowing, updates and verifies it.
func runQuickstart(ctx context.Context, w *world, c *cli.Context) error {
	dir := c.String("dir")
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "skl-quickstart-")
	} else {
		dir = absolute(w.cwd, dir)
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	repo, project, home := filepath.Join(dir, "skills-repo"), filepath.Join(dir, "project"), filepath.Join(dir, "home")
	if err := demoRepository(repo); err != nil {
		return err
	}
	own := filepath.Join(home, ".claude", "skills", "release-notes")
	for _, d := range []string{filepath.Join(project, ".claude"), own} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	mine := "---\nname: release-notes\ndescription: My own way to write release notes.\n---\n\nJust list the commits.\n"
	if err := os.WriteFile(filepath.Join(own, "SKILL.md"), []byte(mine), 0o644); err != nil {
		return err
	}
	url := "git+file://" + filepath.ToSlash(repo)
	steps := [][]string{
		{"init", "--host", "claude-code", "--host", "github-copilot"},
		{"install", url + "#release-notes@^1.0"},
		{"list", "--shadowed", "--host", "claude-code", "--host", "github-copilot"},
		{"outdated"},
		{"update", "--latest"},
		{"verify"},
	}
	out := quickstartResult{Dir: dir}
	for _, args := range steps {
		line := "skl " + strings.Join(args, " ")
		out.Commands = append(out.Commands, line)
		e := w.env
		e.cwd, e.terminal = project, false
		e.getenv = demoEnv(w.env.getenv, home)
		if w.ui.JSON {
			e.stdout = w.env.stderr
		}
		fmt.Fprintf(e.stdout, "\n$ %s\n", line)
		if status := run(ctx, args, e); status != 0 {
			return fmt.Errorf("%s ended with exit %d", line, status)
		}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	w.ui.Print("")
	w.ui.Print("everything is in %s: look at project/skl.toml, project/skl.lock and project/.agents/skills", dir)
	w.ui.Hint("cd %s && HOME=%s skl list --shadowed", project, home)
	return nil
}

// demoEnv is the environment of a person whose home is dir.
func demoEnv(getenv func(string) string, dir string) func(string) string {
	return func(name string) string {
		switch {
		case name == "HOME" || name == "USERPROFILE":
			return dir
		case strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "SKL_"), strings.HasSuffix(name, "_CONFIG_DIR"), name == "APPDATA", name == "LOCALAPPDATA", name == "CI":
			return ""
		}
		return getenv(name)
	}
}

// demoRepository makes a git repository with versions 1.0.0, 1.1.0 and 2.0.0 of one skill.
func demoRepository(dir string) error {
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		return err
	}
	tree, err := repo.Worktree()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "skills", "release-notes")
	if err := os.MkdirAll(filepath.Join(path, "scripts"), 0o755); err != nil {
		return err
	}
	script := "#!/bin/sh\n# Lists the commits since the last tag.\nexec git log --oneline \"$(git describe --tags --abbrev=0)..HEAD\"\n"
	if err := os.WriteFile(filepath.Join(path, "scripts", "commits.sh"), []byte(script), 0o755); err != nil {
		return err
	}
	steps := "1. Run scripts/commits.sh.\n2. Group the commits by what a user notices.\n"
	for i, release := range []struct{ version, body string }{
		{"1.0.0", steps},
		{"1.1.0", steps + "3. Leave out what only developers notice.\n"},
		{"2.0.0", steps + "3. Leave out what only developers notice.\n4. Put breaking changes first.\n"},
	} {
		text := "---\nname: release-notes\ndescription: Writes release notes from git history. Use when the user asks for a changelog or release notes.\nmetadata:\n  version: " + release.version + "\n---\n\n# Release notes\n\n" + release.body
		if err := os.WriteFile(filepath.Join(path, "SKILL.md"), []byte(text), 0o644); err != nil {
			return err
		}
		if err := tree.AddGlob("."); err != nil {
			return err
		}
		who := &object.Signature{Name: "quickstart", Email: "quickstart@localhost", When: time.Unix(1767225600+int64(i)*86400, 0).UTC()}
		id, err := tree.Commit("release-notes "+release.version, &git.CommitOptions{Author: who, Committer: who})
		if err != nil {
			return err
		}
		if err := repo.Storer.SetReference(plumbing.NewHashReference(plumbing.NewTagReferenceName("v"+release.version), id)); err != nil {
			return err
		}
	}
	return nil
}
