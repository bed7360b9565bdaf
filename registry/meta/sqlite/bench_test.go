package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// BenchmarkUpdate is a small update: a blob that a repository holds from now on. Each waits for the disk; those of
// 16 callers share that.
func BenchmarkUpdate(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d callers", callers), func(b *testing.B) {
			s := openTest(b, filepath.Join(b.TempDir(), "meta.db"), Options{})
			var n atomic.Int64
			b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			if callers == 1 {
				for b.Loop() {
					link(b, s, n.Add(1))
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						link(b, s, n.Add(1))
					}
				})
			}
			b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "updates/s")
		})
	}
}

func link(b *testing.B, s *store, n int64) {
	if err := s.Update(b.Context(), func(tx *meta.Tx) error {
		return tx.LinkBlob(b.Context(), "acme/pdf", fmt.Sprintf("sha256:%064x", n), 1, time.Now())
	}); err != nil {
		b.Error(err)
	}
}

// BenchmarkPublish is all that accepting one release writes.
func BenchmarkPublish(b *testing.B) {
	s := openTest(b, filepath.Join(b.TempDir(), "meta.db"), Options{})
	g := newGenerator()
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(n.Add(1))
			r := g.release(i)
			if err := s.Update(b.Context(), func(tx *meta.Tx) error { return publish(b.Context(), tx, r, int64(i)) }); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "releases/s")
}

func publish(ctx context.Context, tx *meta.Tx, r meta.Release, n int64) error {
	m := meta.Manifest{Repo: r.Repo(), Digest: r.Manifest, Root: r.Manifest, State: r.State, Bytes: make([]byte, 900), Created: r.Published, Blobs: []string{r.Artifact, r.Zip}}
	for _, d := range m.Blobs {
		if err := tx.LinkBlob(ctx, r.Repo(), d, 1, r.Published); err != nil {
			return err
		}
	}
	if err := tx.PutManifest(ctx, m); err != nil {
		return err
	}
	if err := tx.PutTag(ctx, r.Repo(), r.Version, r.Manifest, r.Published); err != nil {
		return err
	}
	return tx.CreateRelease(ctx, r)
}

// BenchmarkManifestByTag is the question behind every pull.
func BenchmarkManifestByTag(b *testing.B) {
	s := openTest(b, filepath.Join(b.TempDir(), "meta.db"), Options{})
	g := newGenerator()
	const n = 2000
	if err := s.Update(b.Context(), func(tx *meta.Tx) error {
		for i := range n {
			if err := publish(b.Context(), tx, g.release(i), int64(i)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i = (i + 7919) % n
		if err := s.View(b.Context(), func(tx *meta.Tx) error {
			_, err := tx.ManifestByTag(b.Context(), repoOf(i), "1.0.0")
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// A generator makes skills whose words are as unequally frequent as those of a language, and two words that
// three of ten skills have: "common" in any field, "usual" in the body.
type generator struct {
	words []string
}

func newGenerator() *generator {
	r := rand.New(rand.NewPCG(1, 2))
	g := &generator{words: make([]string, 20_000)}
	for i := range g.words {
		w := make([]byte, 3+r.IntN(7))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgkqjxz"[min(r.IntN(26), r.IntN(26))]
		}
		g.words[i] = string(w)
	}
	return g
}

func repoOf(i int) string { return fmt.Sprintf("ns%d/skill-%d", i/20, i) }

func (g *generator) release(i int) meta.Release {
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
	namespace, name, _ := strings.Cut(repoOf(i), "/")
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

// fill creates releases 0 to n-1.
func (g *generator) fill(t testing.TB, s *store, n int) {
	t.Helper()
	for i := 0; i < n; {
		if err := s.Update(t.Context(), func(tx *meta.Tx) error {
			for end := min(i+100, n); i < end; i++ {
				if err := tx.CreateRelease(t.Context(), g.release(i)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// queries are what people type: rare and frequent words, first letters, two words.
func (g *generator) queries() []meta.Search {
	var all []meta.Search
	for _, text := range []string{"common", "usual", "comm", "common usual", "co us", "co", "us", "e", "et", "tat", "common e", "no such words",
		g.words[0], g.words[1], g.words[100], g.words[5000], g.words[0] + " " + g.words[1], g.words[0][:2] + " " + g.words[3][:3], "skill-777", "ns7/skill-150", ""} {
		all = append(all, meta.Search{Text: text})
	}
	return append(all, meta.Search{Text: "common", Sort: "updated"}, meta.Search{Text: "common", License: "MIT"}, meta.Search{Text: "common", Offset: 5000}, meta.Search{Sort: "downloads"})
}

// sentences are questions of which no skill has all words.
func (g *generator) sentences() (all []meta.Search) {
	for _, ranks := range [][]int{{100, 5000}, {300, 50, 9000, 2000}, {40, 700, 3000, 12000, 11, 200, 5}, {600, 800, 900, 1000, 1100, 1200}} {
		text := "how do I use the wombat for"
		for _, n := range ranks {
			text += " " + g.words[n]
		}
		all = append(all, meta.Search{Text: text})
	}
	return all
}

// BenchmarkSearch asks 100,000 skills, and reports the time that 99 of 100 searches stay below: of each query
// again and again, and of all in turn while a release is published every 20 ms, so that no search finds in memory
// what it needs.
func BenchmarkSearch(b *testing.B) {
	s := openTest(b, filepath.Join(b.TempDir(), "meta.db"), Options{})
	g := newGenerator()
	start := time.Now()
	const n = 100_000
	g.fill(b, s, n)
	info, _ := os.Stat(s.path)
	b.Logf("filled in %v, %d MiB", time.Since(start).Round(time.Second), info.Size()>>20)
	run := func(b *testing.B, queries ...meta.Search) {
		var took []time.Duration
		total := 0
		for b.Loop() {
			q := queries[len(took)%len(queries)]
			start := time.Now()
			if err := s.View(b.Context(), func(tx *meta.Tx) error {
				m, err := tx.Search(b.Context(), q)
				total = m.Total
				return err
			}); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		if len(queries) == 1 {
			b.ReportMetric(float64(total), "matches")
		}
	}
	for _, q := range append(g.queries(), g.sentences()...) {
		b.Run(fmt.Sprintf("%s %s%s%d", q.Text, q.Sort, q.License, q.Offset), func(b *testing.B) { run(b, q) })
	}
	published := n
	b.Run("while publishing", func(b *testing.B) {
		var writer sync.WaitGroup
		stop := make(chan struct{})
		writer.Go(func() {
			for tick := time.Tick(20 * time.Millisecond); ; published++ {
				select {
				case <-stop:
					return
				case <-tick:
				}
				if err := s.Update(b.Context(), func(tx *meta.Tx) error { return tx.CreateRelease(b.Context(), g.release(published)) }); err != nil {
					b.Error(err)
				}
			}
		})
		run(b, g.queries()...)
		close(stop)
		writer.Wait()
	})
}

// BenchmarkNames asks what the first release of a name pays to be compared with those of 20,000 others, and BenchmarkWaiting what
// the queue costs where as many releases do not wait.
func BenchmarkNames(b *testing.B) {
	s := openTest(b, filepath.Join(b.TempDir(), "meta.db"), Options{})
	newGenerator().fill(b, s, 20_000)
	for name, ask := range map[string]func(tx *meta.Tx) error{
		"names": func(tx *meta.Tx) error { return tx.ListedNames(b.Context(), func(string, string) {}) },
		"waiting": func(tx *meta.Tx) error {
			_, err := tx.Waiting(b.Context(), "", time.Time{}, "", 100)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := s.View(b.Context(), ask); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
