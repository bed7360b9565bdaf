package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

func resumeCommand() command {
	return command{name: "resume", args: "[RUN|last]", group: "Run", usage: "continue a run that waits, was stopped, or crashed", output: runResult{},
		example: "skl resume\nskl resume last --answer 'Proceed?=Yes'\nskl resume 20261121-1205 --budget calls=100",
		flags:   append(runFlags(), &cli.StringSliceFlag{Name: "rerun", Usage: "run `NODE` again if it started and its end was not recorded, such as a command; * for all (repeatable)"}, &cli.BoolFlag{Name: "debug", Usage: "phase banners and a line per node"}),
		run:     runResume}
}

// runResume executes the control flow again from the start, with the recorded effects, and goes on live where they end.
func runResume(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 {
		return diag.New(diag.Misuse, "usage", "resume takes one run").Hint("skl runs")
	}
	rec, err := w.runs.Find(c.Args().First())
	if err != nil {
		return err
	}
	switch rec.Status {
	case run.Suspended, run.Failed, "":
	default:
		return diag.New(diag.Misuse, "run_done", "run %s is done (%s)", rec.ID, rec.Status).Hint("skl trace %s    skl run %s --model replay:%s", rec.ID, rec.Skill, rec.ID)
	}
	if w.Cwd != rec.Work {
		return diag.New(diag.Misuse, "run_elsewhere", "run %s works in %s, not here", rec.ID, rec.Work).Hint("skl -C %s resume %s", scope.Quote(rec.Work), rec.ID)
	}
	if rec.Model == "mcp" && c.String("model") == "" {
		return diag.New(diag.NeedsInput, model.CodeNoAnswer, "an agent filled the leaves of run %s", rec.ID).Hint("skl resume %s --model MODEL", rec.ID)
	}
	r, err := w.runs.Runnable(ctx, rec.Dir)
	if err != nil {
		return err
	}
	if err := w.runs.Bind(ctx, r); err != nil {
		return err
	}
	q, err := w.request(c)
	if err != nil {
		return err
	}
	ended, err := w.runs.Resume(ctx, r, rec, q)
	return w.printRun(r, ended, err)
}
