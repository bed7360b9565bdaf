package registrytest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// BenchMeta measures the hot paths of a [meta.Store]. Open opens an empty one.
func BenchMeta(b *testing.B, open func(testing.TB) meta.Store) {
	for _, bench := range []struct {
		name string
		run  func(*testing.B, func(testing.TB) meta.Store)
	}{
		{"update", benchUpdate}, {"publish", benchPublish}, {"manifest by tag", benchManifestByTag}, {"search", benchSearch}, {"names", benchNames},
	} {
		b.Run(bench.name, func(b *testing.B) { bench.run(b, open) })
	}
}

// benchUpdate is a small update: a blob that a repository holds from now on. Each waits for the disk; those of
// 16 callers share that.
func benchUpdate(b *testing.B, open func(testing.TB) meta.Store) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d callers", callers), func(b *testing.B) {
			s := open(b)
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

func link(b *testing.B, s meta.Store, n int64) {
	if err := s.Update(b.Context(), func(tx *meta.Tx) error {
		return tx.LinkBlob(b.Context(), "acme/pdf", fmt.Sprintf("sha256:%064x", n), 1, time.Now())
	}); err != nil {
		b.Error(err)
	}
}

// benchPublish is all that accepting one release writes.
func benchPublish(b *testing.B, open func(testing.TB) meta.Store) {
	s := open(b)
	g := NewGenerator()
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(n.Add(1))
			r := g.Release(i)
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

// benchManifestByTag is the question behind every pull.
func benchManifestByTag(b *testing.B, open func(testing.TB) meta.Store) {
	s := open(b)
	g := NewGenerator()
	const n = 2000
	if err := s.Update(b.Context(), func(tx *meta.Tx) error {
		for i := range n {
			if err := publish(b.Context(), tx, g.Release(i), int64(i)); err != nil {
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
			_, err := tx.ManifestByTag(b.Context(), RepoOf(i), "1.0.0")
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// benchSearch asks 100,000 skills, and reports the time that 99 of 100 searches stay below: of each query
// again and again, and of all in turn while a release is published every 20 ms, so that no search finds in memory
// what it needs.
func benchSearch(b *testing.B, open func(testing.TB) meta.Store) {
	s := open(b)
	g := NewGenerator()
	start := time.Now()
	const n = 100_000
	g.Fill(b, s, n)
	b.Logf("filled in %v", time.Since(start).Round(time.Second))
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
	for _, q := range append(g.Queries(), g.Sentences()...) {
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
				if err := s.Update(b.Context(), func(tx *meta.Tx) error { return tx.CreateRelease(b.Context(), g.Release(published)) }); err != nil {
					b.Error(err)
				}
			}
		})
		run(b, g.Queries()...)
		close(stop)
		writer.Wait()
	})
}

// benchNames asks what the first release of a name pays to be compared with those of 20,000 others, and what
// the queue costs where as many releases do not wait.
func benchNames(b *testing.B, open func(testing.TB) meta.Store) {
	s := open(b)
	NewGenerator().Fill(b, s, 20_000)
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
