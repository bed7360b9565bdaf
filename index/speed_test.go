package index

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/skl-project/skl/index/query"
)

// goroot returns the sources of the Go distribution, which every machine that runs the tests has.
func goroot(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(runtime.GOROOT(), "src")
	if _, err := os.Stat(filepath.Join(dir, "fmt")); err != nil {
		t.Skip("the sources of Go are not there")
	}
	return dir
}

// BenchmarkBuild indexes the sources of Go from nothing.
func BenchmarkBuild(b *testing.B) {
	dir := goroot(b)
	var size, source int64
	for b.Loop() {
		x, err := Open(context.Background(), dir, Options{CacheDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		r, err := x.Update(context.Background(), query.Glob{}, false)
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
