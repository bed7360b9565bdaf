package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/evaluate"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

func testCommand() command {
	return command{name: "test", args: "NAME|PATH", group: "Author", usage: "run a skill's recorded cases and its check scripts", output: evaluate.Result{}, complete: "skill",
		example: "skl test ./skills/review\nskl test ./skills/review --record first --model anthropic --arguments main.go\nskl test review --update --allow run",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "record", Usage: "run the skill and keep it as the case `CASE`"},
			&cli.StringFlag{Name: "arguments", Usage: "with --record: the value of $ARGUMENTS"},
			&cli.StringFlag{Name: "model", Usage: "with --record: the model that fills the leaves"},
			&cli.StringSliceFlag{Name: "answer", Usage: "with --record: `QUESTION=ANSWER` (repeatable)"},
			&cli.StringSliceFlag{Name: "allow", Usage: "allow the tests `LIST`, such as run,filesystem,external"},
			&cli.BoolFlag{Name: "update", Usage: "accept the current results as expected"},
			&cli.StringFlag{Name: "sandbox", Usage: "`HOW` scripts are confined: auto, strict or off"},
			dryRunFlag(),
		},
		run: runTest}
}

func runTest(ctx context.Context, w *world, c *cli.Context) error {
	arg, err := oneName(c)
	if err != nil {
		return err
	}
	if name := c.String("record"); name != "" {
		return w.recordCase(ctx, c, arg, name)
	}
	q := evaluate.Request{Skill: arg, Update: c.Bool("update"), Sandbox: c.String("sandbox"), DryRun: c.Bool("dry-run"),
		Allow: splitList(c.StringSlice("allow")), Again: again(c)}
	q.Each = func(row evaluate.Row) { // nothing but the sum waits for the end
		_ = report.Report{Text: func(say *report.Text) { testRow(say, row, q.DryRun) }}.Write(w.ui)
	}
	out, err := evaluate.Run(ctx, w.runs, q)
	if err != nil {
		return err
	}
	r := report.Report{Result: out}
	if !q.DryRun {
		r.Text = func(say *report.Text) { say.Note("%s, %d failed", diag.Count(len(out.Cases), "test"), out.Failed()) }
		if !out.OK {
			r.End = report.Unmet("tests_failed")
		}
	}
	return r.Write(w.ui)
}

func testRow(say *report.Text, row evaluate.Row, dry bool) {
	switch {
	case dry:
		say.Print("%s", row.Name)
	case row.OK:
		say.Print("%s %s  %d ms", screen.Done, row.Name, row.Millis)
	default:
		say.Print("%s %s", screen.Failed, row.Name)
		for _, line := range row.Diff {
			say.Print("    %s", line)
		}
	}
}

func (w *world) recordCase(ctx context.Context, c *cli.Context, arg, name string) error {
	q := evaluate.RecordRequest{Skill: arg, Case: name, Model: c.String("model"), Arguments: c.String("arguments"), Answers: map[string]string{},
		Allow: splitList(c.StringSlice("allow")), Sandbox: c.String("sandbox"), DryRun: c.Bool("dry-run"), Again: again(c)}
	for _, a := range c.StringSlice("answer") {
		question, answer, _ := strings.Cut(a, "=")
		q.Answers[strings.TrimSpace(question)] = strings.TrimSpace(answer)
	}
	out, err := evaluate.Record(ctx, w.runs, q)
	if err != nil {
		return err
	}
	if q.DryRun {
		return w.show(evaluate.Result{OK: true, Skill: out.Skill, Cases: []evaluate.Row{}}, nil, func(say *report.Text) {
			say.Note("would record %s (--dry-run)", w.scope.Short(out.Path))
		})
	}
	row := evaluate.Row{Name: name, OK: true, Diff: []string{}}
	return w.show(evaluate.Result{OK: true, Skill: out.Skill, Cases: []evaluate.Row{row}}, nil, func(say *report.Text) {
		say.Print("%s  %s, %s", w.scope.Short(out.Path), cmp.Or(out.Want.Status, "failed"), diag.Count(len(out.Want.Nodes), "node"))
		say.Hint("skl test %s", w.scope.Short(out.Dir))
	})
}
