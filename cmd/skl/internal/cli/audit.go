package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

func auditCommand() command {
	return command{name: "audit", args: "[PATH|NAME…]", group: "Trust", usage: "show what skills do against their user, and what they ask for", output: inspect.Audited{}, complete: "skill",
		example: "skl audit\nskl audit pdf\nskl audit skills/pdf --fail-on medium\nskl audit --sarif > audit.sarif\nskl audit --explain AUD-CONCEAL",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "fail-on", Value: string(content.High), Usage: "exit 3 for findings from `SEVERITY` on: low, medium, high, refuse"},
			&cli.StringFlag{Name: "explain", Usage: "print what `RULE` finds, why and what to do; all lists the rules"},
			&cli.BoolFlag{Name: "sarif", Usage: "print SARIF"},
		},
		alone: func(c *cli.Context) bool { return c.String("explain") != "" },
		run:   runAudit}
}

func runAudit(ctx context.Context, w *world, c *cli.Context) error {
	if id := c.String("explain"); id != "" {
		return w.explainRule(id)
	}
	failOn := content.Severity(c.String("fail-on"))
	if !slices.Contains(content.Severities, failOn) {
		return diag.New(diag.Misuse, "invalid_severity", "invalid severity %q: use low, medium, high or refuse", string(failOn))
	}
	out, err := w.inspect.Audit(ctx, inspect.AuditRequest{Args: c.Args().Slice(), FailOn: failOn})
	if err != nil {
		return err
	}
	if c.Bool("sarif") {
		base := w.scope.Project
		if base == "" {
			base = w.scope.Cwd
		}
		return report.Verdict(diag.SARIF(out.Findings(base), build.Current().Version), out.OK, report.Unmet("findings"), nil).JSON(w.ui)
	}
	return w.verdict(out, out.OK, "findings", func(say *report.Text) { w.printAudit(say, out) })
}

func (w *world) printAudit(say *report.Text, out inspect.Audited) {
	count, failed, unread := 0, 0, 0
	worst := ""
	for _, s := range out.Skills {
		dir := w.scope.Short(s.Path)
		say.Print("%s  %s", s.Name, dir)
		for _, line := range s.Asks {
			say.Print("  %s", line)
		}
		if len(out.Skills) == 1 {
			say.Rows(evidence(s))
		}
		for _, f := range s.Findings {
			at := diag.Position{File: filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(f.File))), Line: f.Line, Column: f.Column}
			say.Print("%s: %s: %s [%s]", at, string(f.Severity), f.Message, f.Rule)
			if f.Text != "" {
				say.Print("    %s", f.Text)
			}
			if f.Allowed != "" {
				say.Print("    its publisher says: %s", f.Allowed)
			}
			if slices.Contains(s.Accepted, f.Rule) {
				say.Print("    accepted when it was installed")
			}
			if f.Severity.AtLeast(out.FailOn) && (worst == "" || f.Severity == content.Refuse) {
				worst = f.Rule
			}
		}
		for _, u := range s.Coverage.Unread {
			say.Print("%s: not read: %s", filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(u.File))), u.Why)
		}
		count += len(s.Findings)
		failed += s.Failed
		unread += len(s.Coverage.Unread)
	}
	line := diag.Count(len(out.Skills), "skill") + ", " + diag.Count(count, "finding")
	if failed > 0 {
		line += fmt.Sprintf(", %d at %s or above", failed, out.FailOn)
	}
	if unread > 0 {
		line += ", " + diag.Count(unread, "file") + " not read"
	}
	say.Note("%s", line)
	if worst != "" {
		say.Hint("skl audit --explain %s", worst)
	}
}

// evidence is where each permission of a skill shows.
func evidence(s inspect.AuditedSkill) [][]string {
	rows := [][]string{{"  PERMISSION", "WHERE"}}
	for _, p := range s.Permissions {
		var at []string
		for _, place := range s.Places[p] {
			at = append(at, diag.Position{File: place.File, Line: place.Line}.String())
		}
		more := len(at) - 3
		if more > 0 {
			at = append(at[:3], fmt.Sprintf("and %d more", more))
		}
		rows = append(rows, []string{"  " + p, strings.Join(at, ", ")})
	}
	return rows
}

// explainRule prints one rule, or the list of all.
func (w *world) explainRule(id string) error {
	if id == "all" {
		rules := content.Rules()
		return w.show(map[string]any{"rules": rules}, nil, func(say *report.Text) {
			rows := [][]string{{"RULE", "SEVERITY", "FINDS"}}
			for _, r := range rules {
				rows = append(rows, []string{r.ID, string(r.Severity), r.About})
			}
			say.Rows(rows)
		})
	}
	r, ok := content.Explain(id)
	if !ok {
		e := diag.New(diag.Misuse, "unknown_rule", "there is no rule called %q", id)
		if e.Candidates = spell.Nearest(id, ruleIDs(), 3); len(e.Candidates) > 0 {
			return e.Hint("did you mean %s?", e.Candidates[0])
		}
		return e.Hint("skl audit --explain all")
	}
	return w.show(r, nil, func(say *report.Text) {
		say.Print("%s (%s): %s.", r.ID, string(r.Severity), r.About)
		say.Print("%s", r.Why)
		say.Print("%s", r.Out)
		examples := func(head string, list []string) {
			if len(list) > 0 {
				say.Print("%s", head)
			}
			for _, text := range list {
				name, body, _ := strings.Cut(text, "\n")
				say.Print("  %s: %s", name, strings.Join(strings.Fields(body), " "))
			}
		}
		examples("found:", r.Match)
		examples("not found:", r.Similar)
	})
}

// ruleIDs are the ids of all rules.
func ruleIDs() (ids []string) {
	for _, r := range content.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}
