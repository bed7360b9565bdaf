package files_test

import (
	"testing"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/testdata/goroot"
)

// How long does it take to see that nothing changed?
func BenchmarkWalk(b *testing.B) {
	root := goroot.Src(b)
	for _, rules := range []struct {
		name  string
		extra []string
	}{
		{"plain", nil},
		{"patterns", []string{"*.o", "*.tmp", "/bin/", "build", "docs/**/out", "*.py[co]", "!keep.o", ".DS_Store", "a/**/b*.txt", "*~"}},
	} {
		b.Run(rules.name, func(b *testing.B) {
			w := &files.Walker{Root: root, Extra: rules.extra}
			n := 0
			begin := cpuTime()
			for b.Loop() {
				n = len(walkAll(b, w).Files)
			}
			b.ReportMetric(float64((cpuTime()-begin).Nanoseconds())/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(n), "files")
		})
	}
}

// How long does it take until changes are told? What this takes more than BenchmarkWalk is for the watches.
func BenchmarkWatch(b *testing.B) {
	w := &files.Walker{Root: goroot.Src(b)}
	var used time.Duration
	for b.Loop() {
		begin := cpuTime()
		x, err := w.Watch(b.Context())
		if err != nil {
			b.Skip(err)
		}
		b.StopTimer()
		used += cpuTime() - begin
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func BenchmarkIgnored(b *testing.B) {
	dir := b.TempDir()
	plant(b, dir, map[string]string{
		".git/HEAD":         "ref: refs/heads/main\n",
		".gitignore":        "*.o\n/bin/\nbuild\n*.py[co]\ndocs/**/out\n",
		"a/b/.gitignore":    "*.tmp\n!keep.tmp\n",
		"a/b/c/d/e/file.go": "",
	})
	w := &files.Walker{Root: dir, Getenv: func(string) string { return "" }}
	for _, path := range []string{"top.go", "a/b/c/d/e/file.go"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if w.Ignored(path, false) {
					b.Fatal("ignored")
				}
			}
		})
	}
}
