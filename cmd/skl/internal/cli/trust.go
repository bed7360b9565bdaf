package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
)

type trustResult struct {
	Projects []scope.Trusted `json:"projects"`
}

func trustCommand() command {
	set := func(allow bool) func(context.Context, *world, *cli.Context) error {
		return func(_ context.Context, w *world, c *cli.Context) error {
			out, err := w.Decide(c.Args().First(), allow, c.Bool("dry-run"))
			if err == nil {
				w.dryNote(c)
			}
			return w.show(trustResult{[]scope.Trusted{out}}, err, func() {
				w.ui.Print("%s is %s", out.Dir, map[bool]string{true: "trusted", false: "not trusted"}[allow])
			})
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

func listTrust(_ context.Context, w *world, _ *cli.Context) error {
	list, err := w.Decisions()
	return w.show(trustResult{list}, err, func() {
		var rows [][]string
		for _, p := range list {
			rows = append(rows, []string{w.Short(p.Dir), map[bool]string{true: "yes", false: "denied"}[p.Trusted]})
		}
		w.table([]string{"PROJECT", "TRUSTED"}, rows, "no project was trusted or denied yet")
	})
}
