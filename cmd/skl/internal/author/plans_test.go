package author_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/corpus"
)

// project is an empty directory, without links in its path.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const bareTree = "---\nname: report\ndescription: Mends a report. Use when a report has to be mended.\n---\n\n## Tree\n\n* report\n  * Read the report of $ARGUMENTS >> text\n  * Mend the `text` >> summary\n\n## Rules\n\n- Change nothing else.\n\n## Response: summary\n"

// TestPlans makes plans without a command line, keeps one and carries it out.
func TestPlans(t *testing.T) {
	dir := project(t)
	a := open(t, dir)
	put(t, filepath.Join(dir, "skills/report/SKILL.md"), bareTree)
	shown, err := a.Improve(t.Context(), "skills/report", author.Terms{})
	if err != nil || len(shown.Diff) != 1 || !shown.Clean() || len(shown.Wrote) != 0 {
		t.Fatalf("%+v, %v", shown, err)
	}
	kept, err := a.Improve(t.Context(), "skills/report", author.Terms{File: "p.json"})
	if err != nil || kept.File != filepath.Join(dir, "p.json") {
		t.Fatalf("%+v, %v", kept, err)
	}
	if now, err := os.ReadFile(filepath.Join(dir, "skills/report/SKILL.md")); string(now) != bareTree || err != nil {
		t.Errorf("a plan changed the skill: %v", err)
	}
	if out, err := a.Apply(t.Context(), "p.json", author.Terms{Write: true}); err != nil || len(out.Wrote) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	now, err := os.ReadFile(filepath.Join(dir, "skills/report/SKILL.md"))
	if err != nil || string(now) != *kept.Plan.Skills[0].Files[0].Text || string(now) != *shown.Plan.Skills[0].Files[0].Text {
		t.Errorf("what was written is not what was shown: %v", err)
	}
	if _, err := a.Apply(t.Context(), "p.json", author.Terms{Write: true}); !errors.Is(err, diag.Code("changed_meanwhile")) {
		t.Errorf("the plan a second time: %v", err)
	}
	for _, to := range author.Conversions() {
		out, err := a.Convert(t.Context(), "skills/report", to, author.Terms{})
		if to == "tree" && errors.Is(err, diag.Code("has_tree")) {
			continue
		}
		if err != nil || len(out.Plan.Losses) == 0 || len(out.Diff) == 0 {
			t.Errorf("%s: %+v, %v", to, out.Plan, err)
		}
	}
	if _, err := a.Convert(t.Context(), "skills/report", "claude", author.Terms{}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("another form: %v", err)
	}
	for _, syntax := range author.Syntaxes() {
		out, err := a.Scaffold(t.Context(), author.ScaffoldRequest{Name: "new-" + syntax, Syntax: syntax}, author.Terms{Write: true})
		if err != nil || !out.Clean() || out.Plan.Lint.After.Warnings > 0 {
			t.Errorf("%s: %+v, %v", syntax, out.Plan, err)
		}
		again, err := a.Improve(t.Context(), "skills/new-"+syntax, author.Terms{})
		if err != nil || len(again.Diff) > 0 {
			t.Errorf("%s: code would mend a frame: %+v, %v", syntax, again.Diff, err)
		}
	}
}

// TestImprovePublished improves every skill of the shared data: what is written is what was shown, a second time changes nothing, and what
// lint finds is no more than before.
func TestImprovePublished(t *testing.T) {
	data := filepath.Join("..", "..", "..", "..", "..", "shared", "data")
	if !scope.Exists(data) {
		t.Skip("shared/data is not beside the repository")
	}
	dir := project(t)
	skills := unpackSkills(t, data, filepath.Join(dir, "skills"))
	a := open(t, dir)
	changed, lost := 0, 0
	for _, at := range skills {
		out, err := a.Improve(t.Context(), at, author.Terms{Write: true})
		switch {
		case diag.ClassOf(err) == diag.Refused && out.Plan == nil:
			continue // a link out of it, or the like
		case errors.Is(err, diag.Code("loss_refused")) || errors.Is(err, diag.Code("permission_added")):
			t.Errorf("%s: the fixes of lint alone: %v", at, err)
			continue
		case err != nil:
			t.Errorf("%s: %v", at, err)
			continue
		}
		if l := out.Plan.Lint; l.After.Errors > l.Before.Errors {
			t.Errorf("%s: %d errors before, %d after", at, l.Before.Errors, l.After.Errors)
		}
		if len(out.Diff) == 0 {
			continue
		}
		changed++
		lost += len(out.Plan.Losses)
		for _, part := range out.Plan.Skills {
			for _, f := range part.Files {
				now, err := os.ReadFile(filepath.Join(at, filepath.FromSlash(f.Path)))
				if f.Text == nil != os.IsNotExist(err) || f.Text != nil && string(now) != *f.Text {
					t.Errorf("%s: %s is not what was shown", at, f.Path)
				}
			}
		}
		again, err := a.Improve(t.Context(), at, author.Terms{})
		if err != nil || len(again.Diff) > 0 {
			t.Errorf("%s: a second time: %v, %v", at, again.Diff, err)
		}
	}
	t.Logf("%d skills, %d changed; %d sentences are said to be replaced", len(skills), changed, lost)
	if changed == 0 {
		t.Error("none was changed")
	}
}

// unpackSkills puts the skills of the bundles and of the archive of snapshots below dir, and gives their folders.
func unpackSkills(t *testing.T, data, dir string) (out []string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: there is no git")
	}
	for _, name := range []string{"awesome-copilot", "superpowers"} {
		if text, err := exec.Command("git", "clone", "-q", filepath.Join(data, name+".bundle"), filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	for name, f := range corpus.Files(t) {
		put(t, filepath.Join(dir, "canopy", filepath.FromSlash(name)), string(f.Data))
	}
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err == nil && e.Name() == "SKILL.md" {
			out = append(out, filepath.Dir(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestImproveWith moves a template of the old layout and gives an op its contracts, and has nothing to do a second time.
func TestImproveWith(t *testing.T) {
	dir := project(t)
	a := open(t, dir)
	for name, text := range map[string]string{
		"SKILL.md":            strings.Replace(bareTree, "  * Mend the `text` >> summary\n", "  * Read `templates/page.md` >> page\n  * MEND << text >> summary\n", 1),
		"references/ops.md":   "# Ops\n\n## MEND << text >> summary\n\nMend the `text`.\n",
		"templates/page.md":   "A page.\n",
		"templates/other.txt": "",
	} {
		put(t, filepath.Join(dir, "skills/report", name), text)
	}
	want := author.Wanted{Layout: true, Contracts: true}
	out, err := a.ImproveWith(t.Context(), "skills/report", want, author.Terms{Write: true})
	if err != nil || len(out.Wrote) != 1 || len(out.Plan.Losses) > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	moved := out.Moved()
	if from, ok := moved["templates/page.md"]; len(moved) != 2 || moved["assets/templates/page.md"] != "templates/page.md" || from != "" || !ok {
		t.Errorf("moved %q", moved)
	}
	for _, name := range []string{"assets/templates/page.md", "assets/templates/other.txt", "assets/schemas/mend-input.json", "assets/schemas/mend-output.json"} {
		if _, err := os.Stat(filepath.Join(dir, "skills/report", name)); err != nil {
			t.Error(err)
		}
	}
	if again, err := a.ImproveWith(t.Context(), "skills/report", want, author.Terms{Write: true}); err != nil || len(again.Diff) > 0 {
		t.Errorf("a second time: %+v, %v", again.Diff, err)
	}
}

// TestCutOff has a change of two files be cut off after the first: the next operation on the skill takes it back, and works with what was.
func TestCutOff(t *testing.T) {
	dir := project(t)
	a := open(t, dir)
	at := filepath.Join(dir, "skills/report")
	put(t, filepath.Join(at, "SKILL.md"), bareTree+"half\n")
	put(t, filepath.Join(at, ".skl-edit-1/0"), bareTree)
	put(t, filepath.Join(at, ".skl-edit-1/1"), "two\n")
	put(t, filepath.Join(at, "references/a.md"), "one\n")
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	record, err := json.Marshal(map[string]any{"dir": at, "temp": ".skl-edit-1", "staged": true, "steps": []map[string]string{
		{"path": "SKILL.md", "was": sum(bareTree), "now": sum(bareTree + "half\n")}, {"path": "references/a.md", "was": sum("one\n"), "now": sum("two\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(a.Scope.Dirs.State, "edits/1.json"), string(record))
	put(t, filepath.Join(dir, "skills/other/SKILL.md"), strings.ReplaceAll(bareTree, "name: report", "name: other"))
	if _, err := a.Improve(t.Context(), "skills/other", author.Terms{}); err != nil {
		t.Fatal(err)
	}
	if !scope.Exists(filepath.Join(at, ".skl-edit-1")) {
		t.Error("an operation on another skill took it back")
	}
	if _, err := a.Improve(t.Context(), "skills/report", author.Terms{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"SKILL.md": bareTree, "references/a.md": "one\n"} {
		if got, err := os.ReadFile(filepath.Join(at, filepath.FromSlash(name))); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	for _, left := range []string{filepath.Join(at, ".skl-edit-1"), filepath.Join(a.Scope.Dirs.State, "edits/1.json")} {
		if scope.Exists(left) {
			t.Errorf("%s is left", left)
		}
	}
}
