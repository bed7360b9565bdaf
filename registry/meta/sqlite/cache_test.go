package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/testdata/long"
)

// compare searches twice with what earlier searches left in memory and once without, in one transaction.
func compare(t *testing.T, s *store, q meta.Search) (answer meta.Matches) {
	t.Helper()
	c := <-s.free
	defer func() { s.free <- c }()
	if err := c.run(t.Context(), "BEGIN"); err != nil {
		t.Error(err)
	}
	defer c.run(t.Context(), "COMMIT")
	for i, d := range []dialect{{}, {&s.cache}, {&s.cache}} {
		m, err := meta.NewTx(&session{c: c}, d).Search(t.Context(), q)
		if err != nil {
			t.Errorf("%+v: %v", q, err)
		}
		if i == 0 {
			answer = m
		} else if !reflect.DeepEqual(m, answer) {
			t.Errorf("%+v finds %+v from memory, want %+v", q, m, answer)
		}
	}
	return answer
}

// random is a search of what few and of what most skills have.
func (g *generator) random(r *rand.Rand) meta.Search {
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

// However skills change, and in whichever process, a search finds what a look at every skill finds, and what it finds without
// a memory of earlier searches; also while they change.
func TestSearchSeesChanges(t *testing.T) {
	const n = 1200 // more than are ranked
	if testing.Short() {
		t.Skip("skipped: it takes seconds")
	}
	path := filepath.Join(t.TempDir(), "meta.db")
	stores := []*store{openTest(t, path, Options{}), openTest(t, path, Options{})}
	g := newGenerator()
	g.fill(t, stores[0], n)
	listed := map[int]meta.Release{}
	for i := range n {
		listed[i] = g.release(i)
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
					compare(t, s, g.random(r))
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
			rel := g.release(next)
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
			q := g.random(r)
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
func (g *generator) change(ctx context.Context, tx *meta.Tx, listed map[int]meta.Release, i, round int) error {
	rel, ok := listed[i]
	if !ok {
		rel = g.release(i)
		rel.Version = fmt.Sprintf("1.%d.0", round)
		listed[i] = rel
		return tx.CreateRelease(ctx, rel)
	}
	switch round % 4 {
	case 0:
		other := g.release(round)
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

// The lists kept for searches are bounded in number and by the length of their words.
func TestCacheBounded(t *testing.T) {
	long.Slow(t)
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	g := newGenerator()
	g.fill(t, s, 40)
	kept := map[terms]bool{}
	for _, w := range append(g.words[:1000:1000], strings.Repeat("common ", 2)+strings.Repeat("x", 2*maxTerms)) {
		compare(t, s, meta.Search{Text: w})
		for l := range s.cache.latest.lists {
			kept[l] = true
		}
		if n := len(s.cache.latest.lists); n > maxLists {
			t.Fatalf("it keeps %d lists", n)
		}
	}
	if len(kept) <= maxLists {
		t.Errorf("only %d lists were ever kept", len(kept))
	}
	for l := range kept {
		if len(l.match) > maxTerms {
			t.Errorf("it keeps %q", l.match)
		}
	}
}
