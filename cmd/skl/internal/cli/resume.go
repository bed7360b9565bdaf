package cli

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

func resumeCommand() command {
	return command{name: "resume", args: "[RUN|last]", group: "Run", usage: "go on with a run that waits, was stopped, or crashed", output: runResult{},
		example: "skl resume\nskl resume last --answer 'Proceed?=Yes'\nskl resume 20261121-1205 --budget calls=100",
		flags:   append(runFlags(), &cli.StringSliceFlag{Name: "rerun", Usage: "begin again what was begun at `NODE` and not seen to end, such as a command; * for all (repeatable)"}, &cli.BoolFlag{Name: "debug", Usage: "phase banners and a line per node"}),
		run:     runResume}
}

// runResume executes the control flow again from the start, with the recorded effects, and goes on live where they end.
func runResume(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 {
		return diag.New(diag.Misuse, "usage", "resume takes one run").Hint("skl runs")
	}
	rec, err := w.findRun(c.Args().First())
	if err != nil {
		return err
	}
	switch rec.Status {
	case run.Suspended, run.Failed, "":
	default:
		return diag.New(diag.Misuse, "run_done", "run %s is done (%s)", rec.ID, rec.Status).Hint("skl trace %s    skl run %s --model replay:%s", rec.ID, rec.Skill, rec.ID)
	}
	if w.Cwd != rec.Work {
		return diag.New(diag.Misuse, "run_elsewhere", "run %s works in %s, not here", rec.ID, rec.Work).Hint("skl -C %s resume %s", quoteShell(rec.Work), rec.ID)
	}
	if rec.Model == "mcp" && c.String("model") == "" {
		return diag.New(diag.NeedsInput, model.CodeNoAnswer, "an agent filled the leaves of run %s", rec.ID).Hint("skl resume %s --model MODEL", rec.ID)
	}
	r, err := w.runnable(ctx, rec.Dir)
	if err != nil {
		return err
	}
	if err := w.bind(ctx, r); err != nil {
		return err
	}
	rec.Allow = append(rec.Allow, splitList(c.StringSlice("allow"))...)
	s := session{w: w, c: c, runnable: r, record: rec}
	return s.resume(ctx)
}

func (s *session) resume(ctx context.Context) error {
	var err error
	if s.flags, err = s.w.runOptions(s.c, s.record.Allow); err != nil {
		return err
	}
	journal, records, err := run.Open(s.w.runDir(s.record.ID))
	if err != nil {
		return err
	}
	spec := s.record.Model
	if flag := s.c.String("model"); flag != "" {
		spec = flag
	}
	runner, done, err := s.runner(ctx, spec)
	if err != nil {
		return errors.Join(err, journal.Close())
	}
	s.record.Model = spec
	runner.Journal, runner.Rerun = journal, s.c.StringSlice("rerun")
	result, err := runner.Resume(ctx, s.plan, records)
	return s.finish(result, errors.Join(err, journal.Close(), done()))
}
