package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

func convertCommand() command {
	return command{name: "convert", args: "PATH", group: "Author", usage: "write a skill in another form, and report the losses", output: form.Converted{}, complete: "dir",
		example: "skl convert ./review --to prose\nskl convert ./review --to tree -w\nskl convert ./review --to v1 -o ./review-v1",
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`FORM`: tree, prose, v1 (corteza.skill/v1 at top level), base (in metadata, which every validator accepts), the keys that an agent reads (claude, copilot, codex, openclaw), or one file: cursor, gemini, copilot-prompt, windsurf"},
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "change the file"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the whole skill to the folder `DIR`, or one file to FILE or into DIR"},
			&cli.StringFlag{Name: "plan", Usage: "write a plan of it to `FILE`, for skl author apply (tree and prose)"},
			&cli.StringSliceFlag{Name: "allow-loss", Usage: "convert despite a loss of `CODE`, such as LOSS-WIDEN (repeatable)"},
			&cli.StringSliceFlag{Name: "accept", Usage: "with a plan: accept `WHAT`[,…] the change lets the skill do besides, as the plan names it"},
			dryRunFlag(),
		}, helpFlags("makes nodes of what --to tree leaves in words")...),
		run: runConvert}
}

func runConvert(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 1 {
		return diag.New(diag.Misuse, "usage", "convert takes one folder with a SKILL.md").Hint("skl convert ./review --to prose")
	}
	byModel, err := modelNamed(c)
	if err != nil {
		return err
	}
	if c.String("plan") != "" || byModel {
		return w.planConversion(ctx, c, byModel)
	}
	out, err := w.form.Convert(form.ConvertRequest{Path: c.Args().First(), To: c.String("to"), Write: c.Bool("write"), Output: c.String("output"), Allow: c.StringSlice("allow-loss"), DryRun: c.Bool("dry-run")})
	if err != nil {
		return err
	}
	return w.verdict(out, out.OK, "lint_errors", func(say *report.Text) {
		if out.Diff != "" {
			say.Folded([]byte(report.PrintableLines(out.Diff)))
		}
		sayLosses(say, out.Losses)
		for _, f := range out.Left {
			say.Warn("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
		}
		switch {
		case out.Diff == "":
			say.Note("nothing to change: %s is %s already", w.scope.Short(out.Path), out.To)
			return
		case out.Wrote == "" && slices.Contains(skill.SingleTargets(), out.To):
			say.Hint("-o FILE or -o DIR writes it")
			return
		case out.Wrote == "":
			say.Hint("-w changes the file, -o DIR writes a copy")
			return
		}
		say.Note("wrote %s, %s", w.scope.Short(out.Wrote), countLosses(len(out.Losses)))
	})
}

// planConversion converts by a plan, with a model if one is named.
func (w *world) planConversion(ctx context.Context, c *cli.Context, byModel bool) error {
	switch {
	case c.String("plan") != "" && (c.Bool("write") || c.String("output") != ""):
		return diag.New(diag.Misuse, "usage", "--plan keeps the change for later, -w and -o write: choose one")
	case c.String("output") != "":
		return diag.New(diag.Misuse, "usage", "with --model the skill is changed where it is: -o does not apply").Hint("-w changes the file, --plan FILE keeps the change for skl author apply")
	case !byModel:
		out, err := w.author().Convert(ctx, c.Args().First(), c.String("to"), terms(c))
		return w.showPlan(c, &out, err)
	}
	return w.planByModel(ctx, c, c.Args().First(), "", func(ctx context.Context, q author.Run, t author.Terms) (author.Outcome, error) {
		return w.author().ConvertByModel(ctx, q, c.String("to"), t)
	})
}

// sayLosses prints a line for each loss, in columns: code, severity, and a sentence with its place.
func sayLosses(say *report.Text, losses []skill.Loss) {
	wide := 0
	for _, loss := range losses {
		wide = max(wide, len(loss.Code))
	}
	for _, loss := range losses {
		say.Note("%-*s  %-7s  %s", wide, loss.Code, loss.Severity, loss)
	}
}

func countLosses(n int) string {
	switch n {
	case 0:
		return "no loss"
	case 1:
		return "1 loss"
	}
	return fmt.Sprintf("%d losses", n)
}
