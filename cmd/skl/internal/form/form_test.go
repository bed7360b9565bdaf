package form_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/form"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

const tree = "# Greet\n\n## Tree\n\n*   greet\n    *   Write a greeting >> text\n"

// TestForm lints, lays out and converts a skill without a command line.
func TestForm(t *testing.T) {
	b := scopetest.New(t)
	b.Skill("skills", "greet", tree)
	file := "skills/greet/SKILL.md"
	l := &form.Linter{Scope: b.Scope()}

	linted, err := l.Lint(form.LintRequest{})
	if err != nil || linted.Skills != 1 || len(linted.Findings) == 0 {
		t.Fatalf("lint: %+v, %v", linted, err)
	}
	for _, f := range linted.Findings {
		if f.File != file || !slices.ContainsFunc(form.Rules(), func(r skill.RuleDoc) bool { return r.ID == f.Rule }) {
			t.Errorf("finding %+v", f)
		}
	}
	before := b.Read(file)
	if _, err := l.Lint(form.LintRequest{Fix: true, DryRun: true}); err != nil || b.Read(file) != before {
		t.Errorf("a dry fix wrote, or %v", err)
	}
	mended, err := l.Lint(form.LintRequest{Paths: []string{"skills"}, Fix: true})
	if err != nil || len(mended.Findings) >= len(linted.Findings) {
		t.Errorf("fix: %+v, %v", mended.Findings, err)
	}

	b.Skill("skills", "greet", tree)
	if out, err := l.Format(form.FormatRequest{Check: true}); err != nil || out.OK || !slices.Equal(out.Changed, []string{file}) || b.Read(file) != before {
		t.Errorf("format --check: %+v, %v", out, err)
	}
	if out, err := l.Format(form.FormatRequest{}); err != nil || !out.OK || !strings.Contains(b.Read(file), "\n* greet\n  * Write a greeting >> text\n") {
		t.Errorf("format: %+v, %v\n%s", out, err, b.Read(file))
	}
	if out, err := l.Format(form.FormatRequest{Check: true}); err != nil || !out.OK {
		t.Errorf("twice: %+v, %v", out, err)
	}

	before = b.Read(file)
	out, err := l.Convert(form.ConvertRequest{Path: "skills/greet", To: "prose", Output: "copy"})
	if err != nil || out.Diff == "" || b.Read(file) != before || strings.Contains(b.Read("copy/SKILL.md"), "## Tree") {
		t.Errorf("convert: %+v, %v", out, err)
	}
	if _, err := l.Convert(form.ConvertRequest{Path: "skills/greet", To: "poem", Write: true}); diag.ClassOf(err) != diag.Misuse || b.Read(file) != before {
		t.Errorf("a form that there is not: %v", err)
	}
}
