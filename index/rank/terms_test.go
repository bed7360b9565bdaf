package rank

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func termsOf(text string) string {
	var all []string
	Terms([]byte(text), func(t []byte) { all = append(all, string(t)) })
	return strings.Join(all, " ")
}

func TestTermsTmp(t *testing.T) {
	for _, s := range []string{"getUserByID", "HTTPServer", "parseURLsFrom", "OAuthToken", "gRPC gRPCServer", "sha256Sum", "SHA-256 UTF-8", "x86_64", "k8sClient", "i18n", "__init__", "get_user_by_id", "_", "0x1F", "6efe596", "größe Änderung", "日本語 検", "foo—bar naïve", "IDs", "URLs", "p2pNode H2C", "planB", "a.b::c", "XCoord", "don't", "字foo_bar字字", "MAX_SIZE", "Log2Exp", "utf8ToUtf16"} {
		fmt.Printf("%-20s %s\n", s, termsOf(s))
	}
	fmt.Printf("%+v\n%+v\n%+v\n", Ask("Where is the function that parses the HTTPServer config of http.Server.Close()?"), Ask("sha-256"), Ask("listenAndServe 'foo' \"bar baz\" main.go"))
}

func corpus(b testing.TB, n int) []byte {
	var text []byte
	root := filepath.Join(runtime.GOROOT(), "src/net")
	filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") && len(text) < n {
			x, _ := os.ReadFile(p)
			text = append(text, x...)
		}
		return nil
	})
	return text
}

func BenchmarkTerms(b *testing.B) {
	text := corpus(b, 1<<20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		Terms(text, func(t []byte) { n += len(t) })
	}
}
