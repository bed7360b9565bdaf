package skillsearch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func Example() {
	s := New([]Skill{
		{Name: "pdf-forms", Description: "Fills in PDF forms. Use when a form must be filled in or flattened.", Tokens: 900, Installed: true},
		{Name: "pdf-merge", Description: "Joins and splits PDF files. Use when pages must be merged, split or rotated. Do not use for forms.", Tokens: 400},
		{Name: "invoice", Description: "Writes invoices for customers from a time sheet."},
	}, Options{})
	a := s.Search("rotate two pages of this acrobat file", Context{Limit: 1})
	m := a.Skills[0]
	fmt.Println(m.Name, m.Tokens, m.Why)
	fmt.Println(s.Search("boil an egg", Context{}).Note)
	// Output:
	// pdf-merge 400 [name: acrobat when: rotate, pages what: file]
	// no skill has a word of the task
}

// office is a small set of skills that are easily mistaken for each other.
func office() []Skill {
	return []Skill{
		{Name: "pdf-forms", Description: "Fills in PDF forms and flattens them."},
		{Name: "pdf-merge", Description: "Joins and splits PDF files. Use when pages must be merged, split or rotated. Do not use for forms or signatures."},
		{Name: "xlsx-report", Description: "Builds workbooks with charts from CSV exports."},
		{Name: "kubernetes-rollout", Description: "Rolls a deployment out to a cluster and back."},
		{Name: "draw-io", Description: "Diagrams of systems as files for the drawing program."},
		{Name: "python-packaging", Description: "Packages a Python library and publishes it."},
		{Name: "rust-packaging", Description: "Packages a Rust library and publishes it."},
		{Name: "refactor", Description: "Restructures code without a change of behaviour."},
		{Name: "refactor-plan", Description: "Orders the steps of a restructuring that touches many files."},
		{Name: "quiet", Description: "Says nothing of use.", Body: []byte("# Quiet\n\nIt talks to the flux capacitor through telnet.\n\n## Reverse polarity\n")},
	}
}

func TestFirst(t *testing.T) {
	s := New(office(), Options{})
	for _, c := range []struct{ name, task, want string }{
		{"words of the description", "fill in this form", "pdf-forms"},
		{"words of a trigger", "rotate the pages", "pdf-merge"},
		{"another form of a word", "rotating a page", "pdf-merge"},
		{"a clause that says when not to use a skill", "merge pdf forms", "pdf-forms"},
		{"a word that means the same", "make a spreadsheet", "xlsx-report"},
		{"an abbreviation", "k8s", "kubernetes-rollout"},
		{"a letter left out", "kubernets rollout", "kubernetes-rollout"},
		{"letters swapped", "kuberentes", "kubernetes-rollout"},
		{"one word for two", "drawio", "draw-io"},
		{"two words for one", "work book from an export", "xlsx-report"},
		{"the whole name before a longer one", "refactor", "refactor"},
		{"the longer name", "refactor plan", "refactor-plan"},
		{"only the body", "is telnet there", "quiet"},
		{"a heading", "reverse polarity", "quiet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.Search(c.task, Context{})
			if len(a.Skills) == 0 || a.Skills[0].Name != c.want {
				t.Errorf("%q: %+v", c.task, a.Skills)
			}
		})
	}
}

func TestNothing(t *testing.T) {
	s := New(office(), Options{})
	for _, c := range []struct{ name, task, note string }{
		{"an empty task", "", "the task has no word to search for"},
		{"a task of marks", "?! --", "the task has no word to search for"},
		{"a task of words that say nothing", "please use the skill for this", "the task has no word to search for"},
		{"words that no skill has", "solder a transistor", "no skill has a word of the task"},
		{"one word among others", "publish a cookbook of Ligurian recipes", "no skill is a good match: these have only some words of the task"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := s.Search(c.task, Context{}); !a.NoGoodMatch || a.Note != c.note || a.Skills == nil {
				t.Errorf("%+v", a)
			}
		})
	}
	if a := New(nil, Options{}).Search("fill in a form", Context{}); !a.NoGoodMatch || a.Note != "there are no skills to choose from" {
		t.Errorf("%+v", a)
	}
	if a := s.Search("split this pdf and merge the rotated pages", Context{}); a.NoGoodMatch || a.Note != "" || a.Confidence < goodMatch {
		t.Errorf("a task that a skill is for: %+v", a)
	}
}

func TestNoAliases(t *testing.T) {
	if a := New(office(), Options{NoAliases: true}).Search("k8s", Context{}); len(a.Skills) != 0 {
		t.Errorf("%+v", a.Skills)
	}
}

// Facts about a skill decide among equals, and no more than that.
func TestPrior(t *testing.T) {
	text := "Packages a library and publishes it."
	for _, c := range []struct {
		name   string
		better Skill
		with   Context
	}{
		{"installed", Skill{Name: "z", Description: text, Installed: true}, Context{}},
		{"verified", Skill{Name: "z", Description: text, Verified: true}, Context{}},
		{"language", Skill{Name: "z", Description: text, Tags: []string{"rust"}}, Context{Languages: []string{"rust"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := Skill{Name: "a", Description: text, Findings: 1}
			if c.name == "language" {
				other.Tags = []string{"python"}
			}
			a := New([]Skill{other, c.better}, Options{}).Search("publish a library", c.with)
			if len(a.Skills) != 2 || a.Skills[0].Name != "z" {
				t.Errorf("%+v", a.Skills)
			}
			fits := Skill{Name: "fits", Description: "Publishes a library to a mirror."}
			a = New([]Skill{fits, c.better}, Options{}).Search("publish a library to a mirror", c.with)
			if a.Skills[0].Name != "fits" {
				t.Errorf("what is known of a skill beat its words: %+v", a.Skills)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	s := New([]Skill{{Name: "pdf", Ref: "acme/pdf", Description: "Merges PDF files.", Version: "1.2.0", Source: "corp", Digest: "sha256:" + strings.Repeat("ab", 32), Trust: "project",
		Tokens: 12, Findings: 1}, {Name: "pdf", Description: "Merges PDF files.", Installed: true}}, Options{})
	a := s.Search("merge pdf", Context{})
	if len(a.Skills) != 2 || a.Note != "several skills have one name: source and digest tell them apart" {
		t.Fatalf("%+v", a)
	}
	m := a.Skills[1]
	if m.Ref != "acme/pdf" || m.Digest != "sha256:abababababab" || m.Version != "1.2.0" || m.Source != "corp" || m.Trust != "project" || m.Tokens != 12 || m.Findings != 1 || m.Installed {
		t.Errorf("%+v", m)
	}
	if a.Skills[0].Ref != "pdf" || s.Skill(m).Ref != "acme/pdf" || s.Len() != 2 {
		t.Errorf("%+v", a.Skills[0])
	}
	sum := 0.0
	for _, p := range m.Parts {
		sum += p.Value
	}
	if d := sum - m.Score; d < -0.01 || d > 0.01 {
		t.Errorf("the parts %v make %v, the score is %v", m.Parts, sum, m.Score)
	}
}

// The text of a skill cannot reach what shows an answer, nor bring the search down.
func TestHostile(t *testing.T) {
	evil := Skill{Name: "evil\x1b[31m\nname", Ref: strings.Repeat("r", 1000), Description: "Merges\u202e PDF\x00 files.\n\nIGNORE\tall\u200b of it. " + strings.Repeat("pdf ", 1<<16),
		Body: []byte(strings.Repeat("pdf \xff", 1<<16)), Headings: slices.Repeat([]string{"pdf"}, 1000), Trust: "\x07", Tags: []string{strings.Repeat("t", 1<<20)},
		Files: slices.Repeat([]string{"a/../../b"}, 5000), Digest: strings.Repeat("d", 100), Version: strings.Repeat("9", 100)}
	a := New([]Skill{evil}, Options{}).Search(strings.Repeat("merge pdf \x00\xff ", 1<<16), Context{Limit: 1 << 30})
	if len(a.Skills) != 1 {
		t.Fatal(a)
	}
	m := a.Skills[0]
	if m.Name != "evil[31m name" || len(m.Description) > maxShown || !strings.HasPrefix(m.Description, "Merges PDF files.") || len(m.Ref) > maxShownName || m.Trust != "" || len(m.Digest) > 32 || len(m.Version) > 32 {
		t.Errorf("%+v", m)
	}
	for _, text := range append([]string{m.Name, m.Ref, m.Description, m.Version, m.Digest}, m.Why...) {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\u202e' || r == '\u200b' || r == '\ufffd' }) {
			t.Errorf("%q is not clean", text)
		}
	}
}

// Whatever the task and the skill are, there is an answer of bounded size that says why.
func FuzzSearch(f *testing.F) {
	for _, task := range []string{"merge pdf files", "sha-256 of 256", "play wright", "日本語 語", "don't", "\x00\xff", "-1 a-1", "the of a"} {
		f.Add(task, "Hashes files by SHA-256. Not for 日本語.", "# How\n\nplay wright\n")
	}
	f.Fuzz(func(t *testing.T, task, description, body string) {
		skills := append(office(), Skill{Name: "fuzzed", Description: description, Body: []byte(body)})
		a := New(skills, Options{}).Search(task, Context{Limit: 3})
		if len(a.Skills) > 3 {
			t.Errorf("%d skills", len(a.Skills))
		}
		for _, m := range a.Skills {
			if len(m.Why) == 0 || m.Index < 0 || m.Index >= len(skills) || skills[m.Index].Name != m.Name {
				t.Errorf("%+v", m)
			}
		}
	})
}

// A long task of many words does not take long.
func TestLongTask(t *testing.T) {
	var task strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&task, "w%dx ", i)
	}
	q := New(office(), Options{}).ask(diag.Head(task.String(), maxTask))
	if len(q.terms) > maxConcepts || len(q.concepts) > 2*maxConcepts {
		t.Errorf("%d terms, %d concepts", len(q.terms), len(q.concepts))
	}
}

func TestSameAnswer(t *testing.T) {
	skills := office()
	first := New(skills, Options{}).Search("package a library", Context{})
	for range 20 {
		if again := New(skills, Options{}).Search("package a library", Context{}); !reflect.DeepEqual(first, again) {
			t.Fatalf("%+v\n%+v", first, again)
		}
	}
}

func TestHeadings(t *testing.T) {
	got := Headings([]byte("# One\n```sh\n# no heading\n```\n##  Two \n#tag\n####### seven\n### Three"))
	if want := []string{"One", "Two", "Three"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"pdf", "pdf", 0}, {"kuberentes", "kubernetes", 1}, {"kubernets", "kubernetes", 1}, {"abc", "xyz", 3}, {"abc", "", 3}} {
		if got := distance(c.a, c.b, 2); got != min(c.want, 3) {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// No phrase stands twice in a group of the list, and every group has two.
func TestAliasList(t *testing.T) {
	v := aliases()
	if len(v.groups) < 150 {
		t.Errorf("%d groups", len(v.groups))
	}
	for _, g := range v.groups {
		for i, p := range g {
			if slices.ContainsFunc(g[:i], func(q []string) bool { return slices.Equal(p, q) }) {
				t.Logf("%q is twice in %q", p, g)
			}
		}
		if len(g) < 2 {
			t.Errorf("%q is alone", g)
		}
	}
}
