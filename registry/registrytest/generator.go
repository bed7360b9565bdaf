package registrytest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// A Generator makes skills whose words are as unequally frequent as those of a language, and two words that
// three of ten skills have: "common" in any field, "usual" in the body.
type Generator struct {
	words []string
}

// NewGenerator returns the same generator every time.
func NewGenerator() *Generator {
	r := rand.New(rand.NewPCG(1, 2))
	g := &Generator{words: make([]string, 20_000)}
	for i := range g.words {
		w := make([]byte, 3+r.IntN(7))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgkqjxz"[min(r.IntN(26), r.IntN(26))]
		}
		g.words[i] = string(w)
	}
	return g
}

// RepoOf is the repository of skill number i.
func RepoOf(i int) string { return fmt.Sprintf("ns%d/skill-%d", i/20, i) }

// Release is skill number i.
func (g *Generator) Release(i int) meta.Release {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	zipf := rand.NewZipf(r, 1.1, 10, uint64(len(g.words)-1))
	text := func(n int) string {
		var words []string
		for range n {
			words = append(words, g.words[zipf.Uint64()])
		}
		if r.IntN(10) < 1 {
			words = append(words, "common")
		}
		return strings.Join(words, " ")
	}
	namespace, name, _ := strings.Cut(RepoOf(i), "/")
	rel := meta.Release{Namespace: namespace, Name: strings.ReplaceAll(text(2), " ", "-") + "-" + name, Version: "1.0.0", State: meta.Approved,
		Description: text(20), Keywords: strings.Fields(text(2)), Text: text(150), License: []string{"MIT", "Apache-2.0", "", "BSD-3-Clause"}[r.IntN(4)], Signed: r.IntN(2) == 0,
		Published: time.Unix(int64(1.7e9)+int64(i)*60, 0), LogIndex: -1}
	if r.IntN(10) < 3 {
		rel.Text += " usual"
	}
	rel.Name = name
	rel.Description += " " + text(1)
	for j, d := range []*string{&rel.Manifest, &rel.Artifact, &rel.Zip} {
		*d = fmt.Sprintf("sha256:%062x%02x", i, j)
	}
	return rel
}

// Fill creates releases 0 to n-1.
func (g *Generator) Fill(t testing.TB, s meta.Store, n int) {
	t.Helper()
	for i := 0; i < n; {
		if err := s.Update(t.Context(), func(tx *meta.Tx) error {
			for end := min(i+100, n); i < end; i++ {
				if err := tx.CreateRelease(t.Context(), g.Release(i)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// Queries are what people type: rare and frequent words, first letters, two words.
func (g *Generator) Queries() []meta.Search {
	var all []meta.Search
	for _, text := range []string{"common", "usual", "comm", "common usual", "co us", "co", "us", "e", "et", "tat", "common e", "no such words",
		g.words[0], g.words[1], g.words[100], g.words[5000], g.words[0] + " " + g.words[1], g.words[0][:2] + " " + g.words[3][:3], "skill-777", "ns7/skill-150", ""} {
		all = append(all, meta.Search{Text: text})
	}
	return append(all, meta.Search{Text: "common", Sort: "updated"}, meta.Search{Text: "common", License: "MIT"}, meta.Search{Text: "common", Offset: 5000}, meta.Search{Sort: "downloads"})
}

// Sentences are questions of which no skill has all words.
func (g *Generator) Sentences() (all []meta.Search) {
	for _, ranks := range [][]int{{100, 5000}, {300, 50, 9000, 2000}, {40, 700, 3000, 12000, 11, 200, 5}, {600, 800, 900, 1000, 1100, 1200}} {
		text := "how do I use the wombat for"
		for _, n := range ranks {
			text += " " + g.words[n]
		}
		all = append(all, meta.Search{Text: text})
	}
	return all
}

// Random is a search of what few and of what most skills have.
func (g *Generator) Random(r *rand.Rand) meta.Search {
	var texts []string
	for range r.IntN(4) {
		w := g.words[r.IntN(40)]
		texts = append(texts, []string{"common", "usual", "SKILL", "\u0301", "ns7/skill-150", w, w, w[:1], w[:2], g.words[r.IntN(5)]}[r.IntN(10)])
	}
	q := meta.Search{Text: strings.Join(texts, " "), Sort: []string{"", "", "", "updated", "name", "downloads"}[r.IntN(6)], Offset: r.IntN(2) * r.IntN(1500)}
	if r.IntN(4) == 0 {
		q.Namespaces = []string{"ns3", "ns20", "ns21", "ns22"}
	}
	if r.IntN(4) == 0 {
		q.License = "MIT"
	}
	if r.IntN(4) == 0 {
		signed := r.IntN(2) == 0
		q.Signed = &signed
	}
	return q
}
