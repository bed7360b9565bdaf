package skills

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
)

func page(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("../../spec/canopy-tree.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// The specification names every rule of check, with its severity, and whether it refuses a run.
func TestPageHasEveryRule(t *testing.T) {
	text := page(t)
	rows := map[string]string{BlockRule: "W"}
	for _, r := range check.Rules() {
		mark := map[diag.Severity]string{diag.SeverityError: "E", diag.SeverityWarning: "W", diag.SeverityInfo: "I"}[r.Severity]
		if check.Blocking(diag.Finding{Rule: r.ID, Severity: diag.SeverityError}) {
			mark += " ■"
		}
		rows[r.ID] = mark
	}
	for id, mark := range rows {
		if want := "\n| " + strings.TrimPrefix(id, "CNP-") + " | " + mark + " | "; strings.Count(text, want) != 1 {
			t.Errorf("the page has no row for %s with %q", id, mark)
		}
	}
	for _, m := range regexp.MustCompile(`CNP-[A-Z]\d+`).FindAllString(text, -1) {
		if _, ok := rows[m]; !ok {
			t.Errorf("the page names %s, which is no rule", m)
		}
	}
}

// The rulings are numbered without a gap.
func TestPageHasEveryRuling(t *testing.T) {
	_, text, _ := strings.Cut(page(t), "\n## 16. Rulings\n")
	text, _, _ = strings.Cut(text, "\n## 17.")
	if got := len(regexp.MustCompile(`(?m)^\d+\. \*`).FindAllString(text, -1)); got != 36 {
		t.Errorf("%d rulings, want 36", got)
	}
	for _, m := range regexp.MustCompile(`(?m)^\d+\. \*.*$`).FindAllString(text, -1) {
		if !strings.Contains(m, "* ") && !strings.Contains(m, "*.") {
			t.Errorf("%q has no title", m)
		}
	}
}

// The example of the page is a skill that lint and plan accept, and that decides its conditions without a model.
func TestPageExample(t *testing.T) {
	_, text, _ := strings.Cut(page(t), "\n## 19. Example\n")
	parts := strings.Split(text, "```")
	if len(parts) != 5 {
		t.Fatalf("the example has %d fences, want 4", len(parts)-1)
	}
	body := func(s string) []byte { return []byte(strings.TrimPrefix(s, "markdown\n")) }
	head := "---\nname: release\ndescription: Publishes a release. Use when asked to.\ncompatibility: " + check.CanonicalCompatibility +
		"\nmetadata:\n  canopy-features: [control-flow, interaction, parallel, subagent, verify]\n---\n\n" + check.CanonicalGuard + "\n"
	object := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"type":"object","properties":{"` + name + `":{}}}`)}
	}
	fsys := fstest.MapFS{
		"SKILL.md":                   {Data: append([]byte(head), body(parts[1])...)},
		"references/ops.md":          {Data: body(parts[3])},
		"assets/schemas/notes.json":  object("notes"),
		"assets/schemas/risks.json":  object("risks"),
		"assets/verify/published.md": {Data: []byte("- [ ] the release is published\n")},
		"scripts/release.sh":         {Data: []byte("# === publish ===\necho https://example.org\n")},
	}
	s, err := tree.Load(fsys, "release")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Check(s) {
		if f.Severity != diag.SeverityInfo {
			t.Errorf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Message)
		}
	}
	if got := check.Features(s); !strings.Contains(text, "`["+strings.Join(got, ", ")+"]`") {
		t.Errorf("the features are %v", got)
	}
	if _, err := plan.New(context.Background(), s, plan.Options{}); err != nil {
		t.Error(err)
	}
	var conditions []string
	tree.Walk(s.Tree.Nodes, func(n *tree.Node) bool {
		if n.Kind == tree.If {
			conditions = append(conditions, n.Cond)
			if cond.Model(cond.Parse(n.Cond)) {
				t.Errorf("%q needs a model", n.Cond)
			}
		}
		return true
	})
	if !slices.Equal(conditions, []string{"current is missing", "notes failed", "No"}) {
		t.Errorf("conditions %q", conditions)
	}
}

// The trees of the skills can be run.
func TestTreesArePlanned(t *testing.T) {
	for _, name := range []string{"canopy", "canopy-debug"} {
		s, err := tree.Load(folder(t, name), name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.New(context.Background(), s, plan.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, w := range p.Warnings {
			t.Errorf("%s: %+v", name, w)
		}
		if !slices.Equal(p.Features, s.Features) {
			t.Errorf("%s uses %v and lists %v", name, p.Features, s.Features)
		}
		if free := p.Unbound(); len(free) > 0 {
			t.Errorf("%s reads %v, which nothing binds", name, free)
		}
	}
}
