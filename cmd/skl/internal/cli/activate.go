package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func activateCommand() command {
	return command{name: "activate", group: "Run", usage: "tell agents without skl how to read trees, in CLAUDE.md or copilot-instructions.md", output: activateResult{},
		example: "skl activate\nskl activate --host github-copilot\nskl activate --remove",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "host", Aliases: []string{"a", "agent"}, Usage: "for `HOST`: claude-code, github-copilot or agents (repeatable; default: agents)"},
			&cli.BoolFlag{Name: "remove", Usage: "take the block out again"},
			dryRunFlag(),
		},
		run: runActivate}
}

type activateResult struct {
	OK    bool                `json:"ok"`
	Files []author.Activation `json:"files"`
}

func runActivate(_ context.Context, w *world, c *cli.Context) error {
	q := author.ActivateRequest{Hosts: namesIn(c, "host"), Remove: c.Bool("remove"), DryRun: c.Bool("dry-run")}
	files, err := w.author().Activate(q)
	return w.show(activateResult{true, files}, err, func(say *report.Text) {
		for _, f := range files {
			say.Print("%-7s %s", f.Action, f.File)
		}
		if q.DryRun {
			say.Note("nothing was changed (--dry-run)")
		}
	})
}
