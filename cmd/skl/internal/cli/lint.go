package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

func lintCommand() command {
	return command{name: "lint", aliases: []string{"validate"}, args: "[PATH…]", group: "Author", usage: "check skills against the formats", output: form.Linted{}, complete: "dir",
		example: "skl lint\nskl lint skills/pdf --portable\nskl lint --fix\nskl lint --sarif > lint.sarif",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "fix findings that need no judgement"},
			&cli.BoolFlag{Name: "strict", Usage: "warnings are errors"},
			&cli.BoolFlag{Name: "portable", Usage: "report features that only some agents understand"},
			&cli.BoolFlag{Name: "publish", Usage: "as strict as publish"},
			&cli.BoolFlag{Name: "sarif", Usage: "print SARIF"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules"},
			dryRunFlag(),
		},
		alone: func(c *cli.Context) bool { return c.Bool("rules") },
		run:   runLint}
}

func runLint(_ context.Context, w *world, c *cli.Context) error {
	if c.Bool("rules") {
		return w.printRules()
	}
	out, err := w.form.Lint(form.LintRequest{Paths: c.Args().Slice(), Fix: c.Bool("fix"), DryRun: c.Bool("dry-run"),
		LintOptions: skill.LintOptions{Portable: c.Bool("portable"), Strict: c.Bool("strict"), Publish: c.Bool("publish")}})
	if err != nil {
		return err
	}
	if c.Bool("sarif") {
		return report.Verdict(diag.SARIF(out.Findings, build.Current().Version), out.OK, report.Unmet("findings"), nil).JSON(w.ui)
	}
	return report.Lint(out, mending(c)).Write(w.ui)
}

// mending is the command that mends what was linted, and nothing else.
func mending(c *cli.Context) string {
	line := "skl lint --fix"
	for _, flag := range []string{"strict", "portable", "publish"} {
		if c.Bool(flag) {
			line += " --" + flag
		}
	}
	for _, path := range c.Args().Slice() {
		if strings.HasPrefix(path, "-") {
			path = "./" + path
		}
		line += " " + diag.Quote(path)
	}
	return line
}

func (w *world) printRules() error {
	rules := form.Rules()
	return w.show(map[string]any{"rules": rules}, nil, func(say *report.Text) {
		rows := [][]string{{"RULE", "SEVERITY", "MEANS"}}
		for _, r := range rules {
			rows = append(rows, []string{r.ID, string(r.Severity), r.Text})
		}
		say.Rows(rows)
	})
}
