package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

func initCommand() command {
	return command{name: "init", instead: "skl new %s starts a skill", group: "Skills", usage: "start a project: skl.toml, agents, line endings", output: apply.Initialized{},
		example: "skl init\nskl init --host claude-code --host github-copilot\nskl init --no-vendor",
		flags: []cli.Flag{
			hostFlag("install for the agent `HOST` (repeatable)"),
			&cli.BoolFlag{Name: "vendor", Usage: "commit installed skills (default): .gitattributes keeps their bytes"},
			&cli.BoolFlag{Name: "no-vendor", Usage: "do not commit them: .gitignore"},
			&cli.BoolFlag{Name: "merge-driver", Usage: "let skl merge its files in git, in this clone"},
			dryRunFlag(),
		},
		run: runInit}
}

func runInit(ctx context.Context, w *world, c *cli.Context) error {
	if c.Bool("vendor") && c.Bool("no-vendor") {
		return diag.New(diag.Misuse, "usage", "--vendor and --no-vendor exclude each other")
	}
	q := apply.InitRequest{Hosts: namesIn(c, "host"), Here: c.String("scope") == "" && !c.Bool("global"), DryRun: c.Bool("dry-run"), MergeDriver: c.Bool("merge-driver")}
	if vendor := c.Bool("vendor"); vendor || c.Bool("no-vendor") {
		q.Vendor = &vendor
	}
	out, err := w.apply.Init(ctx, q)
	return w.show(out, err, func(say *report.Text) { w.printInit(say, out, q.DryRun) })
}

func (w *world) printInit(say *report.Text, out apply.Initialized, dry bool) {
	for _, path := range out.Wrote {
		if dry {
			say.Print("would write %s", w.scope.Short(path))
			continue
		}
		say.Print("%s %s", screen.Done, w.scope.Short(path))
	}
	if len(out.Wrote) == 0 {
		say.Print("nothing to do: %s is as it should be", w.scope.Short(out.Manifest))
	}
	if out.MergeDriver && len(out.Wrote) > 0 && !dry {
		say.Note("git merges the files of skl by skl in this clone; others set it by: skl init --merge-driver")
	}
	if len(out.Hosts) > 0 {
		say.Note("agents: %s", out.Hosts)
	}
	say.Hint("skl install owner/repo/skill")
}
