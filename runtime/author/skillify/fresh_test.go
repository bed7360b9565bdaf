package skillify

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/testdata/growth"
)

// queue is a package of three pages and a guide.
func queue() *pkgdoc.Package {
	page := func(id, title, text, sig string) pkgdoc.Page {
		return pkgdoc.Page{ID: id, Title: title, Text: text, Symbols: []pkgdoc.Symbol{{ID: id, Name: id, Kind: pkgdoc.Function, Signature: sig}}, Sections: []pkgdoc.Section{{Title: "Details", Text: "More of " + id + "."}}, Examples: []string{id + "(q)"}}
	}
	return &pkgdoc.Package{Ecosystem: "r", Name: "queue", Version: "1.2.0", Title: "Keep Jobs in Order", Text: "Keeps jobs.", License: "MIT",
		Pages:  []pkgdoc.Page{page("drop", "Drop a job", "Drops the first job.", "drop(q)"), page("peek", "Look at a job", "Shows the first job.", "peek(q, n = 1)"), page("push", "Add a job", "Adds a job at the end.", "push(q, job)")},
		Guides: []pkgdoc.Guide{{ID: "start", Title: "Start", Kind: "vignette", File: "vignettes/start.Rmd", Headings: []pkgdoc.Heading{{Level: 1, Text: "Start"}, {Level: 2, Text: "First"}}, Text: "# Start\n\n## First\n\nCall `push()`.\n\n## Then\n\nCall `peek()`.\n"}},
		Inputs: []pkgdoc.Input{{Path: "DESCRIPTION", Size: 1, SHA256: "a"}}}
}

// changes are what happens to the package.
var changes = []struct {
	name string
	do   func(p *pkgdoc.Package)
}{
	{"nothing", func(*pkgdoc.Package) {}},
	{"a new patch", func(p *pkgdoc.Package) { p.Version = "1.2.1" }},
	{"an older one", func(p *pkgdoc.Package) { p.Version = "1.1.9" }},
	{"other bytes", func(p *pkgdoc.Package) {
		p.Inputs[0].SHA256, p.Pages[2].Sections[0].Text = "b", "Some more of push."
	}},
	{"a symbol more", func(p *pkgdoc.Package) {
		p.Version = "1.3.0"
		p.Pages[2].Symbols = append(p.Pages[2].Symbols, pkgdoc.Symbol{ID: "push_all", Name: "push_all", Kind: pkgdoc.Function, Signature: "push_all(q, jobs)"})
	}},
	{"a symbol less", func(p *pkgdoc.Package) { p.Version, p.Pages = "2.0.0", slices.Delete(p.Pages, 1, 2) }},
	{"another signature", func(p *pkgdoc.Package) {
		p.Version, p.Pages[1].Symbols[0].Signature = "1.3.0", "peek(q, n = 1, wait = FALSE)"
	}},
	{"deprecated", func(p *pkgdoc.Package) { p.Version, p.Pages[1].Deprecated = "1.3.0", "deprecated" }},
	{"a guide", func(p *pkgdoc.Package) {
		p.Version, p.Guides[0].Text = "1.3.0", "# Start\n\n## First\n\nCall `push()` twice.\n\n## Then\n\nCall `peek()`.\n\n## Last\n\nCall `drop()`.\n"
	}},
	{"another title", func(p *pkgdoc.Package) { p.Version, p.Title = "1.3.0", "Keep Jobs in Any Order" }},
}

const mySentence = "We never drop a job on Fridays."

// humans are what a person does to the skill.
var humans = []struct {
	name string
	do   func(t *testing.T, files map[string][]byte)
}{
	{"nothing", func(*testing.T, map[string][]byte) {}},
	{"a section", edit(skill.FileName, "## References", "## Our rules\n\n"+mySentence+"\n\n## References")},
	{"a row", edit(skill.FileName, "| Drop a job |", "| "+mySentence+" | `drop()` | – |\n| Drop a job |")},
	{"the description", edit(skill.FileName, "Keep Jobs in Order. ", mySentence+" ")},
	{"a key", edit(skill.FileName, "metadata:\n", "metadata:\n  owner: \""+mySentence+"\"\n")},
	{"a section away", func(t *testing.T, files map[string][]byte) {
		text := string(files["references/guides/start.md"])
		at := strings.Index(text, "## Then")
		files["references/guides/start.md"] = []byte(text[:at])
	}},
	{"a file away", func(_ *testing.T, files map[string][]byte) { delete(files, "references/guides/start.md") }},
	{"a file", func(_ *testing.T, files map[string][]byte) { files["references/ours.md"] = []byte(mySentence + "\n") }},
	{"a page", edit("references/api/peek.md", "More of peek.", "More of peek. "+mySentence)},
	{"a guide", edit("references/guides/start.md", "Call `push()`.", "Call `push()`. "+mySentence)},
	{"a kept region", edit("references/guides/start.md", "Call `push()`.\n", "Call `push()`.\n\n<!-- skl:keep -->\n"+mySentence+"\n<!-- /skl:keep -->\n")},
	{"other line ends", func(_ *testing.T, files map[string][]byte) {
		for name, data := range files {
			files[name] = []byte(strings.ReplaceAll(string(data), "\n", "\r\n"))
		}
	}},
	{"a byte order mark", func(_ *testing.T, files map[string][]byte) {
		files[skill.FileName] = []byte("\ufeff" + string(files[skill.FileName]))
	}},
	{"markers", edit("references/guides/start.md", "Call `push()`.", "Call `push()`. "+mySentence+"\n\n```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n```\n")},
	{"another order", func(t *testing.T, files map[string][]byte) {
		text := string(files["references/guides/start.md"])
		a, b := strings.Index(text, "## First"), strings.Index(text, "## Then")
		files["references/guides/start.md"] = []byte(text[:a] + text[b:] + "\n" + text[a:b])
	}},
	{"a call of what goes", edit("references/guides/start.md", "Call `push()`.", "Call `push()`, then `peek(q)`. "+mySentence)},
}

func edit(name, old, new string) func(t *testing.T, files map[string][]byte) {
	return func(t *testing.T, files map[string][]byte) {
		text := string(files[name])
		if strings.Count(text, old) != 1 {
			t.Fatalf("%s has %q %d times", name, old, strings.Count(text, old))
		}
		files[name] = []byte(strings.Replace(text, old, new, 1))
	}
}

// TestFreshness is what is said and done of every change of a package and every edit of a person, with the texts of the base and with its
// index alone. No sentence of a person is lost, and what a person did not touch is what the package says now.
func TestFreshness(t *testing.T) {
	var w strings.Builder
	w.WriteString("package change | edit | state | edited | kept | conflicts | conflicts without the base's text\n")
	for _, c := range changes {
		for _, h := range humans {
			base := mustMake(t, queue())
			x, err := ReadIndex(base.File(IndexName))
			if err != nil {
				t.Fatal(err)
			}
			ours := base.All()
			h.do(t, ours)
			p := queue()
			c.do(p)
			now := mustMake(t, p)
			f, err := Compare(x, base.Origin, false, ours, now)
			if err != nil {
				t.Fatal(err)
			}
			lines := MergeWith(&Base{x, base.All()}, ours, now.All(), "queue "+p.Version, "abc")
			parts := MergeWith(&Base{x, nil}, ours, now.All(), "queue "+p.Version, "abc")
			for what, m := range map[string]*Merge{"lines": lines, "parts": parts} {
				holds(t, c.name+", "+h.name+", "+what, ours, base, now, m)
			}
			state := f.State
			if f.Drift != "" {
				state += " " + f.Drift
			}
			for _, m := range f.Broken {
				state += fmt.Sprintf(" %s:%d %s", m.File, m.Line, m.Symbol)
			}
			fmt.Fprintf(&w, "%s | %s | %s | %s | %s | %s | %s\n", c.name, h.name, state, listed(f.Edited), listed(lines.Kept), listed(lines.Conflicts), listed(parts.Conflicts))
		}
	}
	golden(t, "testdata/freshness.txt", w.String())
}

func listed(list []Place) string {
	var out []string
	for _, p := range list {
		out = append(out, strings.ReplaceAll(p.String(), "references/", "")+" "+p.What)
	}
	return strings.Join(out, ", ")
}

func mustMake(t *testing.T, p *pkgdoc.Package) *Skill {
	t.Helper()
	s, err := Make(p, Options{Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func holds(t *testing.T, name string, ours map[string][]byte, base, now *Skill, m *Merge) {
	t.Helper()
	had, has := "", ""
	for _, data := range ours {
		had += string(data)
	}
	for _, data := range m.Files {
		has += string(data)
	}
	if strings.Contains(had, mySentence) && !strings.Contains(has, mySentence) {
		t.Errorf("%s: the sentence is lost", name)
	}
	for file, data := range m.Files {
		if len(m.Conflicts) == 0 && Marked(string(data), "abc") || len(m.Conflicts) > 0 && Marked(string(data), "abc") && !slices.ContainsFunc(m.Conflicts, func(p Place) bool { return p.File == file }) {
			t.Errorf("%s: %s has markers of no conflict", name, file)
		}
		mine, was := unix(string(ours[file])), string(base.File(file))
		if mine == was && unix(string(data)) != string(now.File(file)) {
			t.Errorf("%s: %s was not edited and is not what the package says now", name, file)
		}
	}
	if len(m.Conflicts) == 0 {
		files := bundle.Memory{}
		for file, data := range m.Files {
			files[file] = bundle.MemoryFile{Data: data}
		}
		files[skill.FileName] = bundle.MemoryFile{Data: Derived(files[skill.FileName].Data)}
		for _, f := range skill.Lint(files, "queue", skill.LintOptions{}) {
			if f.Severity == diag.SeverityError {
				t.Errorf("%s: %s:%d: %s [%s]", name, f.File, f.Line, f.Message, f.Rule)
			}
		}
		doc, err := skill.Read(files[skill.FileName].Data)
		if err != nil {
			t.Fatal(err)
		}
		if o, byHand := Stamp(doc); o == nil || !byHand || Key(o.Map()) != Key(now.Origin.Map()) {
			t.Errorf("%s: the stamp is %v, by hand %v", name, o, byHand)
		}
		again := MergeWith(&Base{mustIndex(t, now), now.All()}, m.Files, now.All(), "queue", "abc")
		if len(again.Conflicts) > 0 || !maps.EqualFunc(again.Files, m.Files, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Errorf("%s: merged again it differs: %v", name, again.Conflicts)
		}
	}
}

func mustIndex(t *testing.T, s *Skill) *Index {
	t.Helper()
	x, err := ReadIndex(s.File(IndexName))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs: go test -run %s -update, and look at the difference", file, t.Name())
	}
}

// FuzzParts: the parts of a text are all of it, with different keys, whatever the text is.
func FuzzParts(f *testing.F) {
	f.Add("SKILL.md", "---\nname: x\nmetadata:\n  a: b\n  a: c\n---\n# t\n\n## a\n```\n# no\n```\n## a\n")
	f.Add("a.md", "x\n# t\n# t\n###### d\n####### e\n~~~\n# f")
	f.Add("b.json", "{}")
	f.Fuzz(func(t *testing.T, name, text string) {
		var w strings.Builder
		seen := map[string]bool{}
		for _, p := range parts(name, text) {
			if seen[p.key] {
				t.Errorf("%q has the key %q twice", text, p.key)
			}
			seen[p.key] = true
			w.WriteString(p.text)
		}
		if w.String() != text {
			t.Errorf("the parts of %q are %q", text, w.String())
		}
	})
}

// FuzzMerge: where one side changed nothing, the other is taken; a line that only a person has is in the result.
func FuzzMerge(f *testing.F) {
	f.Add("# t\n\n## a\n\none\n\n## b\n\ntwo\n", "# t\n\n## a\n\none\nmine\n\n## b\n\ntwo\n", "# t\n\n## b\n\ntwo\nnew\n")
	f.Add("a\n", "<!-- skl:keep -->\na\n", "b")
	f.Add("a\n", "b\n", "")
	f.Fuzz(func(t *testing.T, was, mine, new string) {
		was, mine, new = unix(was), unix(mine), unix(new)
		base := &Base{&Index{Files: allSums(map[string][]byte{"a.md": []byte(was)})}, map[string][]byte{"a.md": []byte(was)}}
		for _, b := range []*Base{base, {base.Index, nil}} {
			m := MergeWith(b, map[string][]byte{"a.md": []byte(mine)}, map[string][]byte{"a.md": []byte(new)}, "x 1", "abc")
			got := string(m.Files["a.md"])
			has := map[string]bool{}
			for l := range strings.Lines(got) {
				has[strings.TrimRight(l, "\r\n")] = true
			}
			for l := range strings.Lines(mine) {
				if l = strings.TrimRight(l, "\r\n"); !strings.Contains(was, l) && !has[l] {
					t.Errorf("%q %q %q: the line %q is not in %q", was, mine, new, l, got)
				}
			}
			if base.Index.same([]string{"a.md"}, map[string][]byte{"a.md": []byte(mine)}, parts("a.md", mine)) && got != new {
				t.Errorf("%q was not edited, and is %q and not %q", mine, got, new)
			}
		}
	})
}

// TestMergeLinear: a merge takes no longer than its texts are long.
func TestMergeLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it measures")
	}
	small, large := growth.Times(200, 8, 40, 5*time.Millisecond, func(n int) {
		var was, mine, new strings.Builder
		for i := range n {
			fmt.Fprintf(&was, "## h%d\n\ntext %d\n\n", i, i)
			fmt.Fprintf(&mine, "## h%d\n\ntext %d, mine\n\n", i, i)
			fmt.Fprintf(&new, "## h%d\n\ntext %d\n\nnew\n\n", i, i)
		}
		base := &Base{&Index{Files: allSums(map[string][]byte{"a.md": []byte(was.String())})}, map[string][]byte{"a.md": []byte(was.String())}}
		MergeWith(base, map[string][]byte{"a.md": []byte(mine.String())}, map[string][]byte{"a.md": []byte(new.String())}, "x 1", "abc")
	})
	if large > 40*small && large > 5*time.Millisecond {
		t.Errorf("200 sections take %v, 1,600 take %v", small, large)
	}
}

// TestDrift compares versions as their ecosystems do.
func TestDrift(t *testing.T) {
	for _, c := range [][4]string{{"r", "1.2.0", "1.2.0", ""}, {"r", "1.2-3", "1.2-10", "patch"}, {"r", "1.10", "1.9", "older"}, {"r", "1.0.10", "1.1.0", "minor"}, {"go", "v1.2.0", "1.2.0", ""},
		{"go", "v1.2.0", "v2.0.0", "major"}, {"npm", "2.0.0-rc.1", "2.0.0", "patch"}, {"npm", "2.0.0", "2.0.0-rc.1", "older"}, {"go", "v0.0.0-20240101000000-abcdefabcdef", "v0.0.0-20250101000000-abcdefabcdef", "patch"}, {"r", "x", "y", "patch"}} {
		if got := Drift(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%s from %s to %s is %q, not %q", c[0], c[1], c[2], got, c[3])
		}
	}
}

// TestIndexIsRead: an index that was changed is not taken for what was made.
func TestIndexIsRead(t *testing.T) {
	data := string(mustMake(t, queue()).File(IndexName))
	for _, c := range [][2]string{{`"peek(q, n = 1)"`, `"peek(q)"`}, {`"package": "queue"`, `"package":  "queue"`}, {`"internal": 0`, `"internal": 0, "more": 1`}, {"{", "["}, {`"self": "`, `"self": "0`}} {
		if strings.Count(data, c[0]) == 0 {
			t.Fatalf("no %s", c[0])
		}
		if _, err := ReadIndex([]byte(strings.Replace(data, c[0], c[1], 1))); err == nil {
			t.Errorf("%s for %s is not seen", c[1], c[0])
		}
	}
	if _, err := ReadIndex([]byte(strings.ReplaceAll(data, "\n", "\r\n"))); err != nil {
		t.Errorf("with other line ends: %v", err)
	}
}

// TestAPI: the command that installs a program names the version, and is no change of it.
func TestAPI(t *testing.T) {
	index := func(version, push string) *Index {
		return &Index{Version: version, Symbols: []Symbol{{ID: "push", Kind: pkgdoc.Function, Signature: push}, {ID: "q", Kind: pkgdoc.Command, Signature: "go install example.com/q@v" + version}}}
	}
	if d := API(index("1.0.0", "push(n = 1.0.0)"), index("1.1.0", "push(n = 1.0.0)")); len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Deprecated) > 0 {
		t.Errorf("%+v", d)
	}
	if d := API(index("1.0.0", "push(n = 1.0.0)"), index("1.1.0", "push(n = 1.1.0)")); len(d.Changed) != 1 {
		t.Errorf("%+v", d)
	}
}

// TestUnknown: what a person names in code of a part of the package that is there and does not have it.
func TestUnknown(t *testing.T) {
	index := &Index{Package: "queue", Files: map[string]string{}, Symbols: []Symbol{{ID: "queue#Job.run"}, {ID: "queue#Job"}, {ID: "jobs.Push"}, {ID: "data.frame"}}}
	text := "## Ours\n\nCall `Job.run()`, `Job.stop`, `jobs.Pop(1)`, `jobs.Push`, `other.Thing`, `README.md`, Job.gone, `data.table`.\n`queue::data.frame()` and `queue::lost()`\n"
	for ecosystem, want := range map[string]string{"npm": "Job.stop:3 jobs.Pop:3 data.table:3 queue::lost:4", "r": "queue::lost:4"} {
		var got []string
		for _, m := range index.Unknown(map[string][]byte{"ours.md": []byte(text)}, ecosystem) {
			got = append(got, fmt.Sprintf("%s:%d", m.Symbol, m.Line))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", ecosystem, got, want)
		}
	}
}
