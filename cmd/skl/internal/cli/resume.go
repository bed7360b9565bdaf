package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/spec/diag"
)

func resumeCommand() command {
	return command{name: "resume", args: "[RUN|last]", group: "Run", usage: "continue a run that waits, was stopped, or crashed", output: runResult{},
		example: "skl resume\nskl resume last --answer 'Proceed?=Yes'\nskl resume 20261121-1205 --budget calls=100\nskl resume last --dry-run",
		flags: append(runFlags(),
			&cli.StringSliceFlag{Name: "done", Usage: "take `NODE` for done if it started and its end was not recorded; NODE=VALUE if it gives something (repeatable)"},
			&cli.StringSliceFlag{Name: "rerun", Usage: "run `NODE` again if it started and its end was not recorded, such as a command; * for all (repeatable)"}, &cli.BoolFlag{Name: "debug", Usage: "phase banners and a line per node"},
			nodesFlag(), dryRunFlag()),
		run: runResume}
}

// runResume executes the control flow again from the start, with the recorded effects, and goes on live where they end.
func runResume(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 {
		return diag.New(diag.Misuse, "usage", "resume takes one run").Hint("skl runs")
	}
	q, err := w.request(c)
	if err != nil {
		return err
	}
	for _, d := range c.StringSlice("done") {
		node, value, given := strings.Cut(d, "=")
		if node == "" {
			return diag.New(diag.Misuse, "usage", "--done: %q is not NODE or NODE=VALUE", d).Hint("skl trace %s --nodes", cmp.Or(c.Args().First(), "last"))
		}
		done := session.Done{Node: node}
		if given {
			done.Value = &value
		}
		q.Done = append(q.Done, done)
	}
	if c.Bool("dry-run") {
		record, out, err := w.runs.Foresee(ctx, c.Args().First(), q)
		return w.show(out, err, func(say *report.Text) {
			w.printPreview(say, out, c.Bool("nodes"), "skl resume "+record.ID+typedFlags(c, "allow", "dry-run", "json", "nodes"), q.Allow, "")
			say.Note("run %s is %s; finished steps are not repeated", record.ID, record.State())
			if record.Leave != "" {
				say.Note("%s", record.Leave)
			}
			if record.Question != "" {
				waitsFor(say, record.Question)
			}
		})
	}
	r, ended, err := w.runs.Continue(ctx, c.Args().First(), q)
	return w.printRun(r, ended, q.Kept, err)
}
