package rank

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/testdata/goroot"
)

func termsOf(text string) []string {
	var all []string
	Terms([]byte(text), func(t []byte) { all = append(all, string(t)) })
	return all
}

func TestTerms(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"camel case", "getUserByID", "getuserbyid get user by id"},
		{"acronym before a word", "HTTPServer", "httpserv http serv"},
		{"plural of an acronym", "parseURLsFrom IDs", "parseurlsfrom parse url from id"},
		{"snake case", "get_user_by_id", "getuserbyid get user by id"},
		{"capitals", "MAX_SIZE", "maxsiz max size"},
		{"kebab case is several words", "read-only", "read onli"},
		{"one letter goes with the next part", "OAuthToken gRPC", "oauthtoken oauth auth token grpc rpc"},
		{"one letter at the end", "planB", "planb plan b"},
		{"digits belong to the letters before", "sha256Sum utf8 utf8ToUtf16", "sha256sum sha256 sum utf8 utf8toutf16 utf8 to utf16"},
		{"one letter behind digits", "k8sClient i18n p2pNode H2C", "k8sclient k8s client i18n p2pnode p2p node h2c"},
		{"digits behind an underscore", "x86_64", "x8664 x86 64"},
		{"acronym, hyphen, digits", "SHA-256", "sha sha256 256"},
		{"but not a difference", "n-1 len-1", "n 1 len 1"},
		{"underscores around", "__init__ _ __", "init"},
		{"numbers", "42 12345678901234567890 123456789012345678901", "42 12345678901234567890"},
		{"numbers of another base", "0x1F 6efe596 a1b2c3d4", "0x1f 6efe596 a1b2c3d4"},
		{"qualified", "a.b::c->d", "a b c d"},
		{"stems", "queries parsed configuration", "queri parse configur"},
		{"other letters stay whole", "größeÄndern naïve ПРИВЕТ", "größeändern naïve привет"},
		{"Chinese in pairs", "日本語 検", "日本 本語 検"},
		{"scripts mixed", "字foo_bar字字", "字 foo bar 字字"},
		{"a mark beside a word", "foo—barBaz…", "foo barbaz bar baz"},
		{"invalid text separates", "a\xffb\xc3", "a b"},
		{"nothing", " \n\t-+", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(termsOf(c.text), " "); got != c.want {
				t.Errorf("Terms(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestTermsAreCut(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 100), strings.Repeat("aB", 200), strings.Repeat("ä", 100), "a" + strings.Repeat("ä", 100)} {
		got := termsOf(text)
		if len(got) == 0 || len(got[0]) > MaxTerm || len(got[0]) < MaxTerm-1 || !utf8.ValidString(got[0]) {
			t.Errorf("Terms(%.10q…) = %q", text, got)
		}
	}
}

// However a name is written, its definition is found.
func TestKey(t *testing.T) {
	for name, others := range map[string][]string{
		"HTTPServer":  {"httpserver", "HttpServer", "http_server", "HTTP_SERVER", "net.HTTPServer", "Net::HttpServer", "HTTPServers"},
		"Users":       {"user", "USER", "users"},
		"sha256Sum":   {"SHA256Sum", "sha256sum", "sha256_sum"},
		"__init__":    {"init", "Init"},
		"Server.Stop": {"stop", "STOP"},
		"größe":       {"Größe", "GRÖßE"},
	} {
		for _, o := range others {
			if Key(o) != Key(name) || Key(o) == "" {
				t.Errorf("Key(%q) = %q, Key(%q) = %q", name, Key(name), o, Key(o))
			}
			if !slices.Contains(termsOf(o), Key(o)) {
				t.Errorf("Key(%q) = %q is none of its terms %q", o, Key(o), termsOf(o))
			}
		}
	}
	if k := Key("-"); k != "" {
		t.Errorf("Key of nothing is %q", k)
	}
}

// Text that is looked up with a filter has the same terms.
func TestFilterLosesNothing(t *testing.T) {
	text := goSource(t, 1<<20)
	wanted := []string{"http", "getuser", "id", "queri", "use", "x"}
	q := map[string]int{}
	Terms(text, func(b []byte) {
		if slices.Contains(wanted, string(b)) {
			q[string(b)]++
		}
	})
	c := new(cutter)
	c.want = new(starts)
	for _, w := range wanted {
		c.want.add([]byte(w))
	}
	c.yield = func(b []byte) {
		if slices.Contains(wanted, string(b)) {
			q[string(b)]--
		}
	}
	c.text(text)
	for w, n := range q {
		if n != 0 {
			t.Errorf("%d of %q are lost", n, w)
		}
	}
	if q = nil; c.count == 0 {
		t.Error("terms that are not wanted are not counted")
	}
}

func TestTermsAllocatesNothing(t *testing.T) {
	text := goSource(t, 1<<16)
	n := 0
	yield := func(b []byte) { n += len(b) }
	// A garbage collection may empty the pool.
	if a := testing.AllocsPerRun(20, func() { Terms(text, yield) }); a > 0.5 {
		t.Errorf("%v allocations", a)
	}
}

func FuzzTerms(f *testing.F) {
	f.Add([]byte("getUserByID HTTPServers x86_64 größe 日本語 SHA-256\xff İK"))
	f.Add([]byte(strings.Repeat("a—", 50)))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		n := 0
		Terms(text, func(term []byte) {
			n += len(term)
			if len(term) == 0 || len(term) > MaxTerm || !utf8.Valid(term) {
				t.Fatalf("term %q", term)
			}
			for _, r := range string(term) {
				if unicode.ToLower(r) != r || r == '_' {
					t.Fatalf("term %q is not lower case", term)
				}
			}
		})
		// The whole and the parts, a joined acronym, each letter again for one beside it, and what grows in lower case.
		if n > 6*len(text) {
			t.Fatalf("%d bytes of terms of %d of text", n, len(text))
		}
		if !bytes.Equal(before, text) {
			t.Fatal("the text was changed")
		}
		if k := Key(string(text)); len(k) > MaxTerm {
			t.Fatalf("key %q", k)
		}
	})
}

// goSource returns up to n bytes of the standard library.
func goSource(t testing.TB, n int) []byte {
	t.Helper()
	var text []byte
	err := filepath.WalkDir(filepath.Join(goroot.Dir(), "src", "net", "http"), func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".go") || len(text) >= n {
			return err
		}
		b, err := os.ReadFile(p)
		text = append(text, b...)
		return err
	})
	if err != nil || len(text) == 0 {
		t.Skip("no source of the standard library here")
	}
	return text[:min(n, len(text))]
}

func BenchmarkTerms(b *testing.B) {
	for name, text := range map[string][]byte{
		"go":      goSource(b, 1<<20),
		"russian": []byte(strings.Repeat("Съешь же ещё этих мягких французских булок ", 4000)),
		"chinese": []byte(strings.Repeat("我能吞下玻璃而不伤身体。", 8000)),
		"marks":   []byte(strings.Repeat("a—", 100000)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				Terms(text, func(t []byte) { n++ })
			}
		})
	}
}
