package cli

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
)

type trustResult struct {
	Projects []trustedProject `json:"projects"`
}

type trustedProject struct {
	Dir     string `json:"dir"`
	Trusted bool   `json:"trusted"`
}

func trustCommand() command {
	set := func(allow bool) func(context.Context, *world, *cli.Context) error {
		return func(_ context.Context, w *world, c *cli.Context) error {
			dir, err := w.trustDir(c)
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				w.ui.Note("nothing was changed (--dry-run)")
			} else if err := w.SetTrust(dir, allow); err != nil {
				return err
			}
			if w.ui.JSON {
				return w.ui.Result(trustResult{[]trustedProject{{dir, allow}}})
			}
			w.ui.Print("%s is %s", dir, map[bool]string{true: "trusted", false: "not trusted"}[allow])
			return nil
		}
	}
	return command{name: "trust", group: "Trust", usage: "decide whether the skills of a project are loaded", output: trustResult{}, complete: "dir",
		example: "skl trust allow\nskl trust deny ../somebody-elses-project\nskl trust list",
		sub: []command{
			{name: "allow", args: "[DIR]", usage: "load the skills of a project (default: this one)", flags: []cli.Flag{dryRunFlag()}, run: set(true)},
			{name: "deny", args: "[DIR]", usage: "list its skills, but do not load them", flags: []cli.Flag{dryRunFlag()}, run: set(false)},
			{name: "list", usage: "the decisions so far", run: listTrust},
		}}
}

func (w *world) trustDir(c *cli.Context) (string, error) {
	dir := w.Project
	if arg := c.Args().First(); arg != "" {
		real, err := filepath.EvalSymlinks(scope.Absolute(w.Cwd, arg))
		if err != nil {
			return "", diag.New(diag.Misuse, "no_such_directory", "%s is not a directory", arg)
		}
		dir = real
	}
	if dir == "" {
		return "", diag.New(diag.Misuse, "no_project", "this is not a project: there is neither skl.toml nor .git here or above").Hint("skl trust allow DIR")
	}
	return dir, nil
}

func listTrust(_ context.Context, w *world, _ *cli.Context) error {
	t, err := w.ReadTrust()
	if err != nil {
		return err
	}
	out := trustResult{Projects: []trustedProject{}}
	rows := [][]string{{"PROJECT", "TRUSTED"}}
	for _, dir := range slices.Sorted(maps.Keys(t.Projects)) {
		out.Projects = append(out.Projects, trustedProject{dir, t.Projects[dir]})
		rows = append(rows, []string{w.Short(dir), map[bool]string{true: "yes", false: "denied"}[t.Projects[dir]]})
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	w.ui.Rows(rows)
	if len(out.Projects) == 0 {
		w.ui.Note("no project was trusted or denied yet")
	}
	return nil
}
