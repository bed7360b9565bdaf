package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func fmtCommand() command {
	return command{name: "fmt", args: "[PATH…]", group: "Author", usage: "lay out trees canonically, and touch nothing else", output: form.Formatted{}, complete: "dir",
		example: "skl fmt\nskl fmt skills/review --check",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "check", Usage: "change nothing; exit 3 if something would change"}, dryRunFlag()},
		run:     runFmt}
}

func runFmt(_ context.Context, w *world, c *cli.Context) error {
	q := form.FormatRequest{Paths: c.Args().Slice(), Check: c.Bool("check"), DryRun: c.Bool("dry-run")}
	out, err := w.form.Format(q)
	if err != nil {
		return err
	}
	return w.verdict(out, out.OK, "findings", func(say *report.Text) { w.printFmt(say, out, q.Check || q.DryRun) })
}

func (w *world) printFmt(say *report.Text, out form.Formatted, only bool) {
	for _, name := range out.Changed {
		say.Print("%s", name)
	}
	for _, f := range out.Findings {
		say.Note("%s: %s [%s]; left as it is", diag.Position{File: f.File, Line: f.Line}, f.Message, f.Rule)
	}
	verb := "changed"
	if only {
		verb = "would change"
	}
	say.Note("%s %s", diag.Count(len(out.Changed), "file"), verb)
}
