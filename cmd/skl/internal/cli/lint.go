package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
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
		if err := w.ui.Result(diag.SARIF(out.Findings, build.Current().Version)); err != nil || out.OK {
			return err
		}
		return unmet("findings")
	}
	return w.verdict(out, out.OK, "findings", func() { w.printFindings(out, mending(c)) })
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

// printFindings prints out; mend is the command that mends it.
func (w *world) printFindings(out form.Linted, mend string) {
	for _, m := range out.Migrated {
		w.ui.Note("%s: the Agent section becomes an op", m.Skill)
		w.ui.Raw([]byte(printableLines(m.Diff)))
	}
	if w.ui.Screen {
		w.ui.Page(ui.Painted(draw.Lint(w.ui.Look(), out.Findings, out.Skills, len(skill.Fixes(out.Findings)), mend, linesOf)))
		return
	}
	count := map[diag.Severity]int{}
	for _, f := range out.Findings {
		count[f.Severity]++
		at := diag.Position{File: f.File, Line: f.Line, Column: f.Column}
		w.ui.Print("%s: %s: %s [%s]", at, string(f.Severity), f.Message, f.Rule)
		if f.Fix != nil {
			w.ui.Print("    fix: %s", f.Fix.Note)
		}
	}
	w.ui.Note("%s, %s, %s", diag.Count(out.Skills, "skill"), diag.Count(count[diag.SeverityError], "error"), diag.Count(count[diag.SeverityWarning], "warning"))
	if len(skill.Fixes(out.Findings)) > 0 {
		w.ui.Hint("%s", mend)
	}
}

func (w *world) printRules() error {
	rules := form.Rules()
	return w.show(map[string]any{"rules": rules}, nil, func() {
		rows := [][]string{{"RULE", "SEVERITY", "MEANS"}}
		for _, r := range rules {
			rows = append(rows, []string{r.ID, string(r.Severity), r.Text})
		}
		w.ui.Rows(rows)
	})
}

// linesOf are the lines of a file, nil if it cannot be read.
func linesOf(file string) []string {
	data, err := scope.ReadIn(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
}
