package report

import (
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Lint is the report of what was linted; mend is the command that mends it. What does not hold ends with exit 3.
func Lint(out form.Linted, mend string) Report {
	return Verdict(out, out.OK, Unmet("findings"), func(t *Text) {
		for _, m := range out.Migrated {
			t.Note("%s: the Agent section becomes an op", m.Skill)
			t.Folded([]byte(PrintableLines(m.Diff)))
		}
		t.Page(func(k screen.Look) string {
			return draw.Lint(k, out.Findings, out.Skills, len(skill.Fixes(out.Findings)), mend, linesOf)
		}, func(t *Text) { findings(t, out, mend) })
	})
}

func findings(t *Text, out form.Linted, mend string) {
	count := map[diag.Severity]int{}
	for _, f := range out.Findings {
		count[f.Severity]++
		at := diag.Position{File: f.File, Line: f.Line, Column: f.Column}
		t.Print("%s: %s: %s [%s]", at, string(f.Severity), f.Message, f.Rule)
		if f.Fix != nil {
			t.Print("    fix: %s", f.Fix.Note)
		}
	}
	t.Note("%s, %s, %s", diag.Count(out.Skills, "skill"), diag.Count(count[diag.SeverityError], "error"), diag.Count(count[diag.SeverityWarning], "warning"))
	if len(skill.Fixes(out.Findings)) > 0 {
		t.Hint("%s", mend)
	}
}

// linesOf are the lines of a file, nil if it cannot be read.
func linesOf(file string) []string {
	data, err := scope.ReadIn(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
}
