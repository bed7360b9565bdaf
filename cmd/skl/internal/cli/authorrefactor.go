package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func refactorCommand() command {
	return command{name: "refactor", args: "[ROOT]", usage: "move ops that several skills hold alike to one that they share", output: planned{}, complete: "dir",
		flags: append(planFlags(),
			&cli.IntFlag{Name: "min", Usage: "compare for what `N` skills hold, 2 or more", Value: author.DefaultMin},
			&cli.StringFlag{Name: "into", Usage: "move it to the skill `NAME`, which is new or one of these; without it what is alike is listed"}),
		run: runRefactor}
}

func runRefactor(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 {
		return diag.New(diag.Misuse, "usage", "name one folder with skills").Hint("skl author refactor DIR")
	}
	if n := c.Int("min"); n < 2 {
		return diag.New(diag.Misuse, "usage", "--min %d: what is alike is in 2 skills or more", n)
	}
	out, err := w.author().Refactor(ctx, author.RefactorRequest{Root: c.Args().First(), Min: c.Int("min"), Into: c.String("into")}, terms(c))
	if err != nil || len(out.Plan.Skills) > 0 {
		return w.showPlan(c, &out, err)
	}
	out.OK = len(out.Alike.Candidates) > 0 || c.String("into") == "" // a list may be empty
	return w.verdict(out, out.OK, author.CodeNothing, func(say *report.Text) { w.sayAlike(say, &out) })
}

// sayAlike lists what could move.
func (w *world) sayAlike(say *report.Text, out *author.Outcome) {
	rows := [][]string{{"OP", "SKILLS", "FILES"}}
	for _, c := range out.Alike.Candidates {
		rows = append(rows, []string{c.Name, strings.Join(c.Skills, ", "), strings.Join(c.Files, ", ")})
	}
	say.Rows(rows)
	sayLeft(say, out.Plan.Left)
	n := out.Alike.Compared
	say.Note("compared %s, %s and %s", diag.Count(n.Skills, "skill"), diag.Count(n.Ops, "op"), diag.Count(n.Files, "other file"))
	if len(out.Alike.Candidates) == 0 {
		say.Warn("nothing that %d skills or more hold alike can move", n.Min)
		return
	}
	say.Hint("add --into NAME to see what moves to the skill NAME, which is new or one of these")
}
