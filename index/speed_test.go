package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/testdata/goroot"
)

// BenchmarkBuild indexes the sources of Go from nothing.
func BenchmarkBuild(b *testing.B) {
	dir := goroot.Src(b)
	var size, source int64
	for b.Loop() {
		x, err := Open(context.Background(), dir, Options{CacheDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		r, err := x.Update(context.Background(), glob.Glob{}, false)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%+v in %v", r, time.Since(start))
		size, source = x.store().Size(), r.Bytes
		x.Close()
	}
	b.ReportMetric(float64(size)/float64(source), "size/source")
	b.ReportMetric(float64(size)/1e6, "MB")
}

// BenchmarkQuery asks an index of the sources of Go, as the service does: watched, and warm.
func BenchmarkQuery(b *testing.B) {
	dir := goroot.Src(b)
	ctx := context.Background()
	x, err := Open(ctx, dir, Options{CacheDir: cacheFor(b), Watch: true})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Update(ctx, glob.Glob{}, false); err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		list []query.Params
	}{
		{"symbol", each(func(s string) query.Params { return query.Params{Symbol: s} }, "mapassign", "ServeHTTP", "Reader", "NewRequest", "WaitGroup", "growslice", "parseFile", "Sprintf", "Close", "netpollinit")},
		{"rough symbol", each(func(s string) query.Params { return query.Params{Symbol: s} }, "newHTTPRequest", "waitGrp", "assignMap", "readAllBytes", "fileServer")},
		{"references", each(func(s string) query.Params { return query.Params{Symbol: s, Kind: "reference"} }, "mapassign", "Fatalf", "NewRequest", "String", "growslice")},
		{"words", each(func(s string) query.Params { return query.Params{Pattern: s} }, "deadlock", "error", "escape analysis", "http request", "test error", "garbage collector", "context cancel", "file name", "string", "tls handshake timeout")},
		{"question", each(func(s string) query.Params { return query.Params{Pattern: s} }, "how does the garbage collector mark roots", "where are import paths of modules checked",
			"parse a duration string into nanoseconds", "close idle connections of the transport", "returns the error of the context when it is done")},
		{"literal", each(func(s string) query.Params { return query.Params{Literal: s} }, "ctx, cancel := ", "if err != nil {", "func (t *Transport)", "0x7fffffff", "map[string]bool{")},
		{"regex", each(func(s string) query.Params { return query.Params{Regex: s} }, `func \w+Lock\(`, `panic\("unreachable`, `(?i)todo\(\w+\)`)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var all []time.Duration
			queries := make([]query.Query, len(tt.list))
			for i, p := range tt.list {
				if queries[i], err = p.Compile(); err != nil {
					b.Fatal(err)
				}
				if _, err := x.Query(ctx, queries[i]); err != nil { // warm
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				if _, err := x.Query(ctx, queries[i%len(queries)]); err != nil {
					b.Fatal(err)
				}
				all = append(all, time.Since(start))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkEdit changes a file of an index that was just built, and asks for what is new in it, as the service does: once, and eight times at
// a time. The first hundred changes also merge what building left behind, bit by bit.
func BenchmarkEdit(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	if err := os.CopyFS(dir, os.DirFS(goroot.Src(b))); err != nil {
		b.Fatal(err)
	}
	x, err := Open(ctx, dir, Options{CacheDir: b.TempDir(), Watch: true})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Update(ctx, glob.Glob{}, false); err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(dir, "runtime", "map.go")
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	edits := 0
	for _, askers := range []int{1, 8} {
		b.Run(fmt.Sprintf("askers=%d", askers), func(b *testing.B) {
			var all []time.Duration
			for b.Loop() {
				edits++
				symbol := fmt.Sprintf("benchmarked%d", edits)
				start := time.Now()
				if err := os.WriteFile(name, fmt.Appendf(text[:len(text):len(text)], "\nfunc %s() {}\n", symbol), 0o644); err != nil {
					b.Fatal(err)
				}
				q := compile(b, query.Params{Symbol: symbol, Kind: "definition"})
				var wait sync.WaitGroup
				for range askers {
					wait.Go(func() {
						if r, err := x.Query(ctx, q); err != nil || len(r.Handles) != 1 {
							b.Errorf("%s is not seen: %v, %v", symbol, r.Handles, err)
						}
					})
				}
				wait.Wait()
				all = append(all, time.Since(start))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "max-ms")
		})
	}
}

func each(f func(string) query.Params, list ...string) (out []query.Params) {
	for _, s := range list {
		out = append(out, f(s))
	}
	return out
}

// cacheFor returns a directory for indexes: SKL_TEST_INDEX_CACHE keeps one between runs.
func cacheFor(b *testing.B) string {
	if dir := os.Getenv("SKL_TEST_INDEX_CACHE"); dir != "" {
		return dir
	}
	return b.TempDir()
}
