package check_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// A fixture is a skill, whose files are those of a txtar archive. Behind "###" on a
// line stand the findings that the line causes: a rule without CNP-, and perhaps part of the
// message in quotes. The entry "findings" lists those that belong to no line, after their file.
// An entry "tree" is the tree of a skill that has nothing else to find in.
type fixture struct {
	files fstest.MapFS
	want  []wanted
}

type wanted struct {
	file string
	line int
	rule string
	text string
}

const frame = "---\nname: demo\ndescription: Shows one rule.\ncompatibility: " + check.CanonicalCompatibility +
	"\nmetadata:\n  canopy-features: \"[%s]\"\n---\n\n" + check.CanonicalGuard + "\n## Tree\n\n%s\n## Rules\n\n- Be brief.\n\n## Response: result\n"

func readFixture(t testing.TB, name string) fixture {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{files: fstest.MapFS{}}
	for _, file := range txtar.Parse(data).Files {
		text := strings.ReplaceAll(string(file.Data), "{{guard}}\n", check.CanonicalGuard)
		text = strings.ReplaceAll(text, "{{compatibility}}", check.CanonicalCompatibility)
		if file.Name == "findings" {
			for line := range strings.Lines(text) {
				name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				f.want = append(f.want, parseWanted(t, rest, name, 0))
			}
			continue
		}
		if file.Name == "tree" {
			file.Name, text = "SKILL.md", strings.Replace(frame, "%s\n", text, 1)
			text = strings.Replace(text, "%s\n## Rules", string(file.Data)+"\n## Rules", 1)
		}
		var b strings.Builder
		n := 0
		for line := range strings.Lines(text) {
			n++
			code, notes, ok := strings.Cut(line, "###")
			if ok && path.Ext(file.Name) != ".json" && !strings.HasPrefix(line, "###") {
				for note := range strings.SplitSeq(notes, "###") {
					f.want = append(f.want, parseWanted(t, note, file.Name, n))
				}
				line = strings.TrimRight(code, " ") + "\n"
			}
			b.WriteString(line)
		}
		f.files[file.Name] = &fstest.MapFile{Data: []byte(b.String())}
	}
	f.features(t)
	return f
}

// features lists in the frame what the skill uses.
func (f fixture) features(t testing.TB) {
	file := f.files["SKILL.md"]
	if file == nil || !bytes.Contains(file.Data, []byte("[%s]")) {
		return
	}
	s := load(t, f.files)
	file.Data = bytes.Replace(file.Data, []byte("[%s]"), []byte("["+strings.Join(check.Features(s), ", ")+"]"), 1)
}

func parseWanted(t testing.TB, note, file string, line int) wanted {
	t.Helper()
	rule, text, _ := strings.Cut(strings.TrimSpace(note), " ")
	return wanted{file, line, "CNP-" + rule, strings.Trim(strings.TrimSpace(text), `"`)}
}

func load(t testing.TB, files fstest.MapFS) *tree.Skill {
	t.Helper()
	s, err := tree.Load(files, "demo")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every rule is triggered by the lines that say so, and by no other line of any fixture.
func TestRules(t *testing.T) {
	names, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no fixtures", err)
	}
	seen := map[string]bool{check.AgentFile: true, check.TooBig: true} // see TestAgentFile and TestTooBig
	clean := 0
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			f := readFixture(t, name)
			found := check.Check(load(t, f.files))
			for _, d := range found {
				seen[d.Rule] = true
				i := slices.IndexFunc(f.want, func(w wanted) bool {
					return w.file == d.File && (w.line == d.Line || w.line == 0) && w.rule == d.Rule && strings.Contains(d.Message, w.text)
				})
				if i < 0 {
					t.Errorf("not wanted: %s:%d:%d %s %s %q", d.File, d.Line, d.Column, d.Rule, d.Severity, d.Message)
					continue
				}
				f.want = slices.Delete(f.want, i, i+1)
			}
			for _, w := range f.want {
				t.Errorf("missing: %s:%d %s %q", w.file, w.line, w.rule, w.text)
			}
			if len(found) == 0 {
				clean++
			}
			fixes(t, f.files)
		})
	}
	for _, r := range check.Rules() {
		if !seen[r.ID] {
			t.Errorf("no fixture triggers %s: %s", r.ID, r.Text)
		}
	}
	if clean == 0 {
		t.Error("no fixture is without findings")
	}
}

// fixes makes all fixes, again and again, until there are none. The findings they
// belong to are gone then, and there is no error that was not there before.
func fixes(t testing.TB, files fstest.MapFS) {
	t.Helper()
	files = maps.Clone(files)
	before := append(check.Check(load(t, files)), skill.Lint(files, "", skill.LintOptions{})...)
	errors := map[string]int{}
	for _, d := range before {
		if d.Severity == diag.SeverityError {
			errors[d.Rule]++
		}
	}
	for round := 0; ; round++ {
		found := check.Check(load(t, files))
		perFile := map[string][]diag.Finding{}
		for _, d := range found {
			if d.Fix != nil {
				perFile[d.File] = append(perFile[d.File], d)
			}
		}
		if len(perFile) == 0 {
			for _, d := range append(found, skill.Lint(files, "", skill.LintOptions{})...) {
				if d.Severity == diag.SeverityError {
					if errors[d.Rule]--; errors[d.Rule] < 0 {
						t.Errorf("fixes made a new error: %s:%d %s %s\n%s", d.File, d.Line, d.Rule, d.Message, files[d.File].Data)
					}
				}
			}
			return
		}
		if round > 8 {
			t.Fatalf("fixes never end: %v", found)
		}
		for name, list := range perFile {
			src := files[name].Data
			for _, d := range list {
				if d.Fix.Start < 0 || d.Fix.End < d.Fix.Start || d.Fix.End > len(src) {
					t.Fatalf("a fix of %s lies outside of its file: %+v", d.Rule, *d.Fix)
				}
			}
			out := skill.Apply(src, skill.Fixes(list))
			if bytes.Equal(out, src) {
				t.Fatalf("fixes of %s change nothing: %v", name, list)
			}
			files[name] = &fstest.MapFile{Data: out}
		}
	}
}

// The documentation of rules is sorted, complete and unique.
func TestRuleTable(t *testing.T) {
	rules := check.Rules()
	for i, r := range rules {
		if r.Text == "" || r.Severity == "" || i > 0 && rules[i-1].ID >= r.ID {
			t.Errorf("rule %d, %s, is out of order or has no text", i, r.ID)
		}
	}
}

// Real skills stay free of new errors when all their fixes are made.
func TestFixCorpus(t *testing.T) {
	skills := published(t)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		s := skills[name]
		if files, ok := s.FS.(fstest.MapFS); ok && s.File == "SKILL.md" && s.Doc.Name == path.Base(path.Dir(name)) {
			n++
			t.Run(fmt.Sprint(n), func(t *testing.T) { fixes(t, files) })
		}
	}
	t.Logf("%d skills", n)
}
