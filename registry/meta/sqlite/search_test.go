package sqlite

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/testdata/long"
)

// Search counts exactly what a look at every skill counts, for words that few and that most skills have.
func TestSearchCounts(t *testing.T) {
	n := long.Of(100, 400, 1500)
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	g := newGenerator()
	g.fill(t, s, n)
	var all []meta.Release
	for i := range n {
		all = append(all, g.release(i))
	}
	for _, q := range g.queries() {
		for _, restrict := range []func(*meta.Search){
			func(*meta.Search) {},
			func(q *meta.Search) { q.Namespaces = []string{"ns3", "ns70", "ns71"} },
			func(q *meta.Search) { q.License = "MIT"; q.Signed = new(bool) },
		} {
			restrict(&q)
			want := 0
			licenses := map[string]int{}
			for _, r := range all {
				if matches(r, q) {
					want++
					licenses[r.License]++
				}
			}
			var m meta.Matches
			if err := s.View(t.Context(), func(tx *meta.Tx) (err error) { m, err = tx.Search(t.Context(), q); return err }); err != nil {
				t.Fatal(err)
			}
			if m.Relaxed && want == 0 {
				want, licenses = m.Total, m.Facets["license"] // see TestRelaxed
			}
			if m.Total != want || len(m.Skills) != min(20, max(0, want-q.Offset)) || m.Facets["license"]["MIT"] != licenses["MIT"] {
				t.Errorf("%+v: %d of %d, want %d; licenses %v, want %v", q, len(m.Skills), m.Total, want, m.Facets["license"], licenses)
			}
		}
	}
}

// matches is a search without an index.
func matches(r meta.Release, q meta.Search) bool {
	have := words(strings.Join(append(slices.Clone(r.Keywords), r.Name, r.Namespace, r.Description, r.Text), " "))
	have = append(have, strings.Fields(r.Description+" "+r.Text+" "+strings.Join(r.Keywords, " "))...) // words stops early
	for _, w := range words(q.Text) {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(h, strings.ToLower(w)) }) {
			return false
		}
	}
	return (q.Namespaces == nil || slices.Contains(q.Namespaces, r.Namespace)) && (q.License == "" || q.License == r.License) && (q.Signed == nil || *q.Signed == r.Signed)
}

// Of many matches the one with that name comes first, then those with the word in name or keywords.
func TestRankOfMany(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	for _, group := range []struct {
		n                 int
		name, description string
	}{{1, "pdf", "x"}, {3, "pdf-tool-%d", "x"}, {2000, "other-%d", "about pdf"}} {
		if err := s.Update(t.Context(), func(tx *meta.Tx) error {
			for i := range group.n {
				name := group.name
				if strings.Contains(name, "%") {
					name = fmt.Sprintf(name, i)
				}
				if err := tx.CreateRelease(t.Context(), meta.Release{Namespace: "acme", Name: name, Version: "1.0.0", Description: group.description, State: meta.Approved}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for offset := 0; offset <= 2000; offset += 100 {
		if err := s.View(t.Context(), func(tx *meta.Tx) error {
			m, err := tx.Search(t.Context(), meta.Search{Text: "pdf", Offset: offset, Limit: 100})
			for i, sk := range m.Skills {
				seen[sk.Name] = true
				switch at := offset + i; {
				case at == 0 && sk.Name != "pdf", at > 0 && at < 4 && !strings.HasPrefix(sk.Name, "pdf-tool"), at >= 4 && m.Scores[i] != 0:
					t.Errorf("%s is number %d, score %v", sk.Name, at, m.Scores[i])
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 2004 {
		t.Errorf("the pages hold %d skills", len(seen))
	}
}

// The skill with exactly that name comes before one whose text holds the word more often.
func TestExactNameFirst(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	if err := s.Update(t.Context(), func(tx *meta.Tx) error {
		for _, r := range []meta.Release{{Name: "pdf", Description: "x"}, {Name: "pdf-pdf-pdf", Description: "pdf for pdf", Keywords: []string{"pdf"}}} {
			r.Namespace, r.Version, r.State = "acme", "1.0.0", meta.Approved
			if err := tx.CreateRelease(t.Context(), r); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.View(t.Context(), func(tx *meta.Tx) error {
		m, err := tx.Search(t.Context(), meta.Search{Text: "pdf"})
		if len(m.Skills) != 2 || m.Skills[0].Name != "pdf" {
			t.Errorf("found %+v with scores %v", m.Skills, m.Scores)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A question that no skill answers with all its words, or a sentence, finds the skills with the words that tell most, and says so.
func TestRelaxed(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	if err := s.Update(t.Context(), func(tx *meta.Tx) error {
		for _, r := range []meta.Release{
			{Name: "pdf-merge", Description: "Merges PDF files and splits them.", License: "MIT"},
			{Name: "pdf-read", Description: "Reads PDF files."},
			{Name: "letters", Description: "Writes letters.", Text: "Use it when the user wants to write to somebody, and can merge nothing of a pdf, nor rotate pages of it."},
			{Namespace: "hidden", Name: "pdf-rotate", Description: "Rotates the pages of PDF files and merges them."},
		} {
			r.Namespace, r.Version, r.State = cmp.Or(r.Namespace, "acme"), "1.0.0", meta.Approved
			if err := tx.CreateRelease(t.Context(), r); err != nil {
				return err
			}
		}
		for i := range 50 { // so that "files" is no rare word
			if err := tx.CreateRelease(t.Context(), meta.Release{Namespace: "many", Name: fmt.Sprintf("other-%d", i), Version: "1.0.0", Description: "Sorts files.", State: meta.Approved}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, text string
		spaces     []string
		license    string
		relaxed    bool
		want       string // "" for nothing
	}{
		{"all words", "merge pdf", []string{"acme"}, "", false, "pdf-merge letters"},
		{"other forms of words", "merging pdfs", []string{"acme"}, "", true, "pdf-merge letters"},
		{"a word that nobody has", "pdf merge wombat", []string{"acme"}, "", true, "pdf-merge letters"},
		{"a sentence: that one text has all its words by chance hides nothing", "use it when the user wants to merge a pdf", []string{"acme"}, "", true, "letters pdf-merge"},
		{"what is hidden does not count", "rotating pdf wombats", []string{"acme"}, "", true, "letters pdf-read pdf-merge"},
		{"what is visible counts", "rotating pdf wombats", []string{"acme", "hidden"}, "", true, "pdf-rotate letters"},
		{"filters hold", "merge pdf wombat", nil, "MIT", true, "pdf-merge"},
		{"a single word is not relaxed", "wombat", nil, "", false, ""},
		{"nor what has words that nobody has", "wombat platypus", nil, "", false, ""},
		{"nor what only holds a sentence together", "what is that of mine", nil, "", false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := s.View(t.Context(), func(tx *meta.Tx) error {
				m, err := tx.Search(t.Context(), meta.Search{Text: test.text, Namespaces: test.spaces, License: test.license})
				var names []string
				for _, k := range m.Skills {
					names = append(names, k.Name)
				}
				if got := strings.Join(names, " "); got != test.want || m.Relaxed != test.relaxed || m.Total != len(names) {
					t.Errorf("%q finds %q of %d with scores %v, relaxed: %v", test.text, got, m.Total, m.Scores, m.Relaxed)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The pages of a relaxed search hold each skill once, and scores fall from the first to the last.
func TestRelaxedPages(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	if err := s.Update(t.Context(), func(tx *meta.Tx) error {
		for i := range 1300 {
			if err := tx.CreateRelease(t.Context(), meta.Release{Namespace: "acme", Name: fmt.Sprintf("s-%d", i), Version: "1.0.0", Description: strings.Repeat("x ", i%9) + "draws charts", State: meta.Approved}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	seen, last := map[string]bool{}, 1e9
	for offset := 0; offset < 1300; offset += 100 {
		if err := s.View(t.Context(), func(tx *meta.Tx) error {
			m, err := tx.Search(t.Context(), meta.Search{Text: "draw charts of wombats", Offset: offset, Limit: 100})
			if !m.Relaxed || m.Total != 1300 {
				t.Fatalf("found %d, relaxed: %v", m.Total, m.Relaxed)
			}
			for i, k := range m.Skills {
				if m.Scores[i] > last {
					t.Errorf("number %d has score %v after %v", offset+i, m.Scores[i], last)
				}
				seen[k.Name], last = true, m.Scores[i]
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 1300 {
		t.Errorf("the pages hold %d skills", len(seen))
	}
}

// FuzzSearch: no text is an error, and what is found has a word of the text.
func FuzzSearch(f *testing.F) {
	s := openTest(f, filepath.Join(f.TempDir(), "meta.db"), Options{})
	if err := s.Update(f.Context(), func(tx *meta.Tx) error {
		return tx.CreateRelease(f.Context(), meta.Release{Namespace: "acme", Name: "pdf-forms", Version: "1.0.0", Description: "Ångström 数据 and or not near", State: meta.Approved})
	}); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"pdf", `"`, "NEAR(a b)", "a AND", "{name}:x", "数", "\x00", "\xff", "a*b^c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := s.View(t.Context(), func(tx *meta.Tx) error {
			m, err := tx.Search(t.Context(), meta.Search{Text: text})
			if m.Total > 1 || m.Total == 1 && words(text) == nil && strings.TrimSpace(text) != "" {
				t.Errorf("%q finds %d", text, m.Total)
			}
			return err
		}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
