package registrytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
	"github.com/skl-project/skl/testdata/long"
)

// testSearchCounts: search counts exactly what a look at every skill counts, for words that few and that most skills have.
func testSearchCounts(t *testing.T, s meta.Store) {
	n := long.Of(100, 400, 1500)
	g := NewGenerator()
	g.Fill(t, s, n)
	var all []meta.Release
	for i := range n {
		all = append(all, g.Release(i))
	}
	for _, q := range g.Queries() {
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
				want, licenses = m.Total, m.Facets["license"] // see testRelaxed
			}
			if m.Total != want || len(m.Skills) != min(20, max(0, want-q.Offset)) || m.Facets["license"]["MIT"] != licenses["MIT"] {
				t.Errorf("%+v: %d of %d, want %d; licenses %v, want %v", q, len(m.Skills), m.Total, want, m.Facets["license"], licenses)
			}
		}
	}
}

// matches is a search without an index.
func matches(r meta.Release, q meta.Search) bool {
	have := search.Words(strings.Join(append(slices.Clone(r.Keywords), r.Name, r.Namespace, r.Description, r.Text), " "))
	for _, w := range search.Words(q.Text) {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(h, strings.ToLower(w)) }) {
			return false
		}
	}
	return (q.Namespaces == nil || slices.Contains(q.Namespaces, r.Namespace)) && (q.License == "" || q.License == r.License) && (q.Signed == nil || *q.Signed == r.Signed)
}

// Of many matches the one with that name comes first, then those with the word in name or keywords.
func testRankOfMany(t *testing.T, s meta.Store) {
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
	// A word that many have, and none in its name: the newest come first.
	m := ask(t, s, func(tx *meta.Tx) (meta.Matches, error) { return tx.Search(t.Context(), meta.Search{Text: "about"}) })
	if m.Total != 2000 || len(m.Skills) != 20 || m.Skills[0].Name != "other-1999" || m.Scores[0] != 0 {
		t.Errorf("%d skills are about it: %+v with scores %v", m.Total, m.Skills, m.Scores)
	}
}

// The skill with exactly that name comes before one whose text holds the word more often.
func testExactNameFirst(t *testing.T, s meta.Store) {
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
func testRelaxed(t *testing.T, s meta.Store) {
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
func testRelaxedPages(t *testing.T, s meta.Store) {
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

// compare searches in an update, which has no memory of earlier searches, and twice with that, in the same state: nobody else
// writes.
func compare(t *testing.T, s meta.Store, q meta.Search) (answer meta.Matches) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx *meta.Tx) error {
		var err error
		if answer, err = tx.Search(t.Context(), q); err != nil {
			return err
		}
		for range 2 {
			if m := ask(t, s, func(tx *meta.Tx) (meta.Matches, error) { return tx.Search(t.Context(), q) }); !reflect.DeepEqual(m, answer) {
				t.Errorf("%+v finds %+v from memory, want %+v", q, m, answer)
			}
		}
		return nil
	}); err != nil {
		t.Errorf("%+v: %v", q, err)
	}
	return answer
}

// testSearchSeesChanges: however skills change, and in whichever process, a search finds what a look at every skill finds, and what it
// finds without a memory of earlier searches; also while they change.
func testSearchSeesChanges(t *testing.T, open func(testing.TB, string) meta.Store) {
	const n = 1200 // more than are ranked
	if testing.Short() {
		t.Skip("skipped: it takes seconds")
	}
	dir := t.TempDir()
	stores := []meta.Store{open(t, dir), open(t, dir)}
	g := NewGenerator()
	g.Fill(t, stores[0], n)
	listed := map[int]meta.Release{}
	for i := range n {
		listed[i] = g.Release(i)
	}

	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i, s := range stores {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for {
				select {
				case <-stop:
					return
				default:
					q := g.Random(r)
					if err := s.View(t.Context(), func(tx *meta.Tx) error {
						m, err := tx.Search(t.Context(), q)
						again, e := tx.Search(t.Context(), q)
						if !reflect.DeepEqual(m, again) {
							t.Errorf("%+v finds %+v and then %+v in one view", q, m, again)
						}
						return cmp.Or(err, e)
					}); err != nil {
						t.Errorf("%+v: %v", q, err)
					}
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	defer wg.Wait()
	defer close(stop)

	r := rand.New(rand.NewPCG(1, 4))
	next, rounds := n, long.Of(0, 8, 32)
	for round := range rounds {
		// An update that is undone leaves no trace, though it searched.
		undone := errors.New("undone")
		err := stores[round%2].Update(t.Context(), func(tx *meta.Tx) error {
			rel := g.Release(next)
			rel.Text = "common"
			if err := tx.CreateRelease(t.Context(), rel); err != nil {
				return err
			}
			if _, err := tx.Search(t.Context(), meta.Search{Text: "common"}); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		i := r.IntN(next)
		if round%3 == 0 {
			i = next
			next++
		}
		if err := stores[r.IntN(2)].Update(t.Context(), func(tx *meta.Tx) error { return g.change(t.Context(), tx, listed, i, round) }); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s := stores[r.IntN(2)]
			q := g.Random(r)
			m := compare(t, s, q)
			total, licenses := 0, map[string]int{}
			plain := q // a lone accent is nothing beside words, and finds nothing alone
			plain.Text = strings.TrimSpace(strings.ReplaceAll(q.Text, "\u0301", ""))
			for _, rel := range listed {
				if (plain.Text != "" || q.Text == "") && matches(rel, plain) {
					if total++; rel.License != "" {
						licenses[rel.License]++
					}
				}
			}
			if m.Relaxed && total == 0 {
				continue
			}
			if m.Total != total || !reflect.DeepEqual(m.Facets["license"], licenses) {
				t.Fatalf("%+v finds %d, %v, want %d, %v", q, m.Total, m.Facets["license"], total, licenses)
			}
		}
	}
}

// change creates skill i, or publishes a version of it with other words, signs it, yanks it or removes it. It keeps
// listed in step.
func (g *Generator) change(ctx context.Context, tx *meta.Tx, listed map[int]meta.Release, i, round int) error {
	rel, ok := listed[i]
	if !ok {
		rel = g.Release(i)
		rel.Version = fmt.Sprintf("1.%d.0", round)
		listed[i] = rel
		return tx.CreateRelease(ctx, rel)
	}
	switch round % 4 {
	case 0:
		other := g.Release(round)
		rel.Version, rel.Text, rel.Keywords, rel.Description, rel.License = fmt.Sprintf("1.%d.0", round), other.Text, other.Keywords, other.Description, other.License
		listed[i] = rel
		return tx.CreateRelease(ctx, rel)
	case 1:
		rel.Signed = !rel.Signed
		listed[i] = rel
		return tx.UpdateRelease(ctx, rel)
	}
	delete(listed, i)
	all, err := tx.Releases(ctx, rel.Namespace, rel.Name)
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.State = meta.Yanked; round%4 == 2 {
			err = tx.DeleteRelease(ctx, one.Namespace, one.Name, one.Version)
		} else {
			err = tx.UpdateRelease(ctx, one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
