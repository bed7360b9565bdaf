package refactor_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/runtime/author/refactor"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

var update = flag.Bool("update", false, "rewrite the sections report and after of testdata")

type skills map[string]bundle.Memory

func (s skills) systems() map[string]fs.FS {
	out := map[string]fs.FS{}
	for name, files := range s {
		out[name] = files
	}
	return out
}

func (s skills) apply(e refactor.Extraction) skills {
	out := skills{}
	for name, files := range s {
		out[name] = maps.Clone(files)
	}
	for name, files := range e.Changes {
		if out[name] == nil {
			out[name] = bundle.Memory{}
		}
		for file, change := range files {
			if delete(out[name], file); change.Now != nil {
				out[name][file] = bundle.MemoryFile{Data: change.Now, Executable: change.Executable}
			}
		}
	}
	return out
}

// Each file of testdata holds skills, what Find says of them, and the files that Extract changes. Directives above the first file:
// min N, into NAME, crlf PATH (its line ends), bom PATH, tail PATH (its last line end goes), exec PATH.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			given, least, into, want := fixture(t, a)
			r, err := refactor.Find(given.systems(), least)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{"report": show(r)}
			e, err := refactor.Extract(given.systems(), r, into)
			if err == nil {
				rules(t, given, r, e, into, least)
			}
			got["after"] = after(e, err)
			if *update {
				a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return !strings.Contains(f.Name, "/") })
				a.Files = append(a.Files, txtar.File{Name: "report", Data: []byte(got["report"])}, txtar.File{Name: "after", Data: []byte(got["after"])})
				if err := os.WriteFile(path, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			for name, text := range got {
				if want[name] != text {
					t.Errorf("%s is\n%swant\n%s", name, text, want[name])
				}
			}
		})
	}
}

func fixture(t *testing.T, a *txtar.Archive) (s skills, least int, into string, want map[string]string) {
	t.Helper()
	s, into, want = skills{}, "shared-lib", map[string]string{}
	for _, f := range a.Files {
		name, rest, ok := strings.Cut(f.Name, "/")
		if !ok {
			want[name] = string(f.Data)
			continue
		}
		if s[name] == nil {
			s[name] = bundle.Memory{}
		}
		s[name][rest] = bundle.MemoryFile{Data: f.Data}
	}
	for line := range strings.Lines(string(a.Comment)) {
		verb, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, rest, _ := strings.Cut(arg, "/")
		f := s[name][rest]
		switch verb {
		case "min":
			least, _ = strconv.Atoi(arg)
		case "into":
			into = arg
		case "crlf":
			f.Data = bytes.ReplaceAll(f.Data, []byte("\n"), []byte("\r\n"))
		case "bom":
			f.Data = append([]byte("\ufeff"), f.Data...)
		case "tail":
			f.Data = bytes.TrimRight(f.Data, "\r\n")
		case "exec":
			f.Executable = true
		}
		if f.Data != nil {
			s[name][rest] = f
		}
	}
	return s, least, into, want
}

func show(r refactor.Report) string {
	var b strings.Builder
	at := func(places []refactor.Place) string {
		var out []string
		for _, p := range places {
			text := p.Skill + "/" + p.File
			if p.Line > 0 {
				text += ":" + strconv.Itoa(p.Line)
			}
			out = append(out, text)
		}
		return strings.Join(out, " ")
	}
	for _, c := range r.Candidates {
		fmt.Fprintf(&b, "move %s from %s, files %q\n", c.Name, at(c.Places), c.Files)
	}
	for _, c := range r.Conflicts {
		fmt.Fprintf(&b, "%s %s\n", c.Kind, c.Name)
		for _, m := range c.Meanings {
			fmt.Fprintf(&b, "  %s %s\n", m.Name, at(m.Places))
		}
	}
	for _, a := range r.Left {
		fmt.Fprintf(&b, "left %s %s in %s: %s\n", a.Kind, a.Name, at(a.Places), a.Reason)
	}
	for _, u := range r.Unread {
		fmt.Fprintf(&b, "unread %s: %s\n", u.Skill, u.Reason)
	}
	return b.String()
}

func after(e refactor.Extraction, err error) string {
	var b strings.Builder
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "conflict %s\n", c.Name)
	}
	for _, a := range e.Left {
		fmt.Fprintf(&b, "left %s: %s\n", a.Name, a.Reason)
	}
	marks := strings.NewReplacer("\r\n", "<CR>\n", "\ufeff", "<BOM>")
	for _, name := range slices.Sorted(maps.Keys(e.Changes)) {
		for _, file := range slices.Sorted(maps.Keys(e.Changes[name])) {
			c := e.Changes[name][file]
			kind := "changed"
			switch {
			case c.Now == nil:
				kind = "gone"
			case c.Was == nil:
				kind = "new"
			}
			if c.Executable {
				kind += ", executable"
			}
			fmt.Fprintf(&b, "=== %s/%s %s\n", name, file, kind)
			for line := range strings.Lines(string(c.Now)) {
				b.WriteString("| " + marks.Replace(line))
				if !strings.HasSuffix(line, "\n") {
					b.WriteString("<END>\n")
				}
			}
		}
	}
	return b.String()
}

// rules checks what holds of every extraction.
func rules(t *testing.T, before skills, r refactor.Report, e refactor.Extraction, into string, least int) {
	t.Helper()
	after := before.apply(e)
	for name, files := range e.Changes {
		for file, c := range files {
			if was, ok := before[name][file]; ok != (c.Was != nil) || !bytes.Equal(was.Data, c.Was) {
				t.Errorf("%s/%s was %q, and the change says %q", name, file, was.Data, c.Was)
			}
			if strings.Contains(string(c.Now), "../") && !strings.Contains(string(c.Was), "../") {
				t.Errorf("%s/%s has a path that leaves the skill", name, file)
			}
		}
		for _, f := range newErrors(before, after, name) {
			t.Errorf("%s has a new error: %s:%d %s (%s)", name, f.File, f.Line, f.Message, f.Rule)
		}
	}
	for _, m := range e.Moved {
		if len(m.Skills) == 0 {
			t.Fatalf("%s moves from nowhere", m.Name)
		}
		for _, name := range m.Skills {
			if s := load(t, after, name); s == nil || (s.Op(m.Name) != nil) != (name == into) {
				t.Errorf("%s still defines %s", name, m.Name)
			} else if name != into && !slices.Contains(s.Doc.Required(), into) {
				t.Errorf("%s does not require %s", name, into)
			}
		}
		was, now := load(t, before, m.Skills[0]).Op(m.Name), load(t, after, into).Op(m.Name)
		if now == nil || was.Kind != now.Kind || was.Prose != now.Prose || !tree.Equal(was.Tree, now.Tree) {
			t.Errorf("%s is read in another way in %s", m.Name, into)
		}
	}
	for name := range e.Changes {
		if before[name] != nil && planned(t, before, name) == nil {
			if err := planned(t, after, name); err != nil {
				t.Errorf("%s no longer runs: %v", name, err)
			}
		}
	}
	again, err := refactor.Find(after.systems(), least)
	rest := slices.DeleteFunc(again.Candidates, func(c refactor.Candidate) bool { // those that this skill could not take
		return slices.ContainsFunc(e.Left, func(a refactor.Alike) bool { return a.Name == c.Name })
	})
	if err != nil || len(rest) > 0 {
		t.Errorf("a second Find has %v, %v", rest, err)
	}
	twice, err := refactor.Extract(before.systems(), r, into)
	if err != nil || !reflect.DeepEqual(e, twice) {
		t.Errorf("a second Extract differs: %v", err)
	}
}

// planned says why a skill cannot run beside the others.
func planned(t *testing.T, s skills, name string) error {
	t.Helper()
	main := load(t, s, name)
	if main.Tree == nil {
		return nil
	}
	_, err := plan.New(t.Context(), main, plan.Options{Depends: main.Doc.Required(), Find: func(name string) (*tree.Skill, error) {
		if s[name] == nil {
			return nil, fs.ErrNotExist
		}
		return tree.Load(s[name], name)
	}})
	return err
}

func load(t *testing.T, s skills, name string) *tree.Skill {
	t.Helper()
	out, err := tree.Load(s[name], "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// newErrors are the errors of lint that a skill has not had.
func newErrors(before, after skills, name string) []diag.Finding {
	had := map[string]int{}
	for _, f := range lintErrors(before, name) {
		had[f.Rule+f.Message]++
	}
	return slices.DeleteFunc(lintErrors(after, name), func(f diag.Finding) bool {
		had[f.Rule+f.Message]--
		return had[f.Rule+f.Message] >= 0
	})
}

func lintErrors(all skills, name string) []diag.Finding {
	s, err := tree.Load(all[name], name)
	if err != nil {
		return nil
	}
	provides := func(op string) bool {
		return slices.ContainsFunc(s.Doc.Required(), func(need string) bool {
			other, err := tree.Load(all[need], need)
			return err == nil && other.Op(op) != nil
		})
	}
	found := append(skill.Lint(all[name], name, skill.LintOptions{}), check.CheckWith(s, provides)...)
	return slices.DeleteFunc(found, func(f diag.Finding) bool { return f.Severity != diag.SeverityError })
}

// Extract refuses what cannot be done, and says which of them it is.
func TestExtractErrors(t *testing.T) {
	given := skills{}
	for _, name := range []string{"a", "b", "c"} {
		given[name] = bundle.Memory{"SKILL.md": {Data: []byte("---\nname: " + name + "\ndescription: d\n---\n\n## Tree\n\n* GREET\n")},
			"references/ops.md": {Data: []byte("## GREET\n\nSay hello.\n")}}
	}
	given["broken"] = bundle.Memory{"SKILL.md": {Data: []byte("no frontmatter")}}
	r, err := refactor.Find(given.systems(), 0)
	if err != nil || len(r.Candidates) != 1 || len(r.Unread) != 1 {
		t.Fatal(r, err)
	}
	changed := r
	changed.Candidates = slices.Clone(r.Candidates)
	changed.Candidates[0].Digest = "other"
	for _, test := range []struct {
		r          refactor.Report
		into, code string
	}{
		{r, "No Name", skill.RuleNameChars},
		{r, "broken", "unreadable"},
		{changed, "lib", refactor.CodeChanged},
		{refactor.Report{Compared: r.Compared}, "lib", refactor.CodeNothing},
	} {
		out, err := refactor.Extract(given.systems(), test.r, test.into)
		if e := (*diag.Error)(nil); !errors.As(err, &e) || e.Code != test.code || !reflect.DeepEqual(out, refactor.Extraction{}) {
			t.Errorf("Extract(%s): %v, %v, want %s", test.into, out, err, test.code)
		}
	}
	if _, err := refactor.Find(given.systems(), 1); err == nil {
		t.Error("one skill shares with itself")
	}
	twice := r
	twice.Candidates = slices.Clone(r.Candidates)
	twice.Candidates[0].Skills = []string{"b", "a", "b", "c", "a"}
	e, err := refactor.Extract(given.systems(), twice, "lib")
	if once, _ := refactor.Extract(given.systems(), r, "lib"); err != nil || !reflect.DeepEqual(e, once) {
		t.Errorf("a skill that is named twice: %v, %v", e, err)
	}
	given["lib"] = maps.Clone(given["a"])
	given["lib"]["references/ops.md"] = bundle.MemoryFile{Data: []byte("## GREET\n\nSay nothing.\n")}
	out, err := refactor.Extract(given.systems(), r, "lib")
	if e := (*diag.Error)(nil); !errors.As(err, &e) || e.Code != refactor.CodeNothing {
		t.Errorf("an op with a name that is taken: %v, %v", out, err)
	}
}
