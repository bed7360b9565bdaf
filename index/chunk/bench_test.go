package chunk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/lang"
	"github.com/skl-project/skl/testdata/goroot"
)

func goSource(b testing.TB, name string) []byte {
	src, err := os.ReadFile(filepath.Join(goroot.Dir(), "src", name))
	if err != nil {
		b.Skip(err)
	}
	return src
}

// BenchmarkTokens measures a token count, which is made for every file.
func BenchmarkTokens(b *testing.B) {
	src := goSource(b, "net/http/server.go")
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Tokens(src)
	}
}

// BenchmarkCode measures how much Split adds to lang.Scan.
func BenchmarkCode(b *testing.B) {
	src := goSource(b, "net/http/server.go")
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			lang.Scan(lang.Go, src)
		}
	})
	b.Run("split", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			Split("server.go", src)
		}
	})
	b.Run("text", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			Split("server.txt", src)
		}
	})
}

// BenchmarkMarkdown measures Split of a large page of Markdown.
func BenchmarkMarkdown(b *testing.B) {
	src := []byte(strings.Repeat("# Title of `a` section\n\nSome words of a paragraph that goes on\nfor two lines, with a [link](to/it).\n\n- an item\n- another\n\n  ```go\n  func f() {}\n  ```\n\n> a quote\n\n", 500))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		Split("a.md", src)
	}
}
