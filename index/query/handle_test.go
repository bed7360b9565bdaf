package query_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
)

func TestID(t *testing.T) {
	sum := sha256.Sum256([]byte("src/auth/controller.ts:3:1024-2048"))
	want := "h" + hex.EncodeToString(sum[:])[:24]
	id := query.ID("src/auth/controller.ts", chunk.Function, 1024, 2048)
	if id != want {
		t.Errorf("got %s, want %s", id, want)
	}
	for name, other := range map[string]string{
		"path": query.ID("src/auth/Controller.ts", chunk.Function, 1024, 2048), "type": query.ID("src/auth/controller.ts", chunk.Method, 1024, 2048),
		"start": query.ID("src/auth/controller.ts", chunk.Function, 1023, 2048), "end": query.ID("src/auth/controller.ts", chunk.Function, 1024, 2049),
	} {
		if other == id {
			t.Errorf("another %s has the same id", name)
		}
	}
	if long := query.ID(strings.Repeat("d/", 2000), chunk.File, 0, 1); len(long) != 25 {
		t.Errorf("a long path has the id %q", long)
	}
}

func TestParseID(t *testing.T) {
	id := query.ID("a.go", chunk.Function, 1, 2)
	for name, s := range map[string]string{"as it is": id, "bare": id[1:], "upper case": strings.ToUpper(id), "with space": " " + id + "\n"} {
		if got, err := query.ParseID(s); got != id || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, s := range map[string]string{
		"empty": "", "sample of the seed, 22 digits": "h1a2b3c4d5e6f7890abcdef", "25 digits": id + "0", "no hex": "h" + strings.Repeat("g", 24), "two h": "hh" + id[2:],
		"a path": "src/auth.ts", "terminal escape": "\x1b[31m" + id, "long": strings.Repeat("é", 10000), "signs": "h+" + id[2:],
	} {
		got, err := query.ParseID(s)
		if got != "" || !errors.Is(err, diag.Code("handle_id")) {
			t.Errorf("%s: %q, %v", name, got, err)
		} else if m := err.Error(); len(m) > 400 || diag.Printable(m) != m || !utf8.ValidString(m) {
			t.Errorf("%s: message %q", name, m)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("h9876543210abcdef12345678")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := query.ParseID(s)
		if err != nil {
			return
		}
		if again, err := query.ParseID(id); again != id || err != nil || len(id) != 25 {
			t.Errorf("ParseID(%q) is %q, and of that %q, %v", s, id, again, err)
		}
	})
}

func TestPreview(t *testing.T) {
	tests := []struct {
		name, text string
		most       int
		want       string
	}{
		{"short", "func f() {}", 100, "func f() {}"},
		{"as long as the limit", "abcdef", 6, "abcdef"},
		{"one longer", "abcdefg", 6, "abcdef..."},
		{"white space collapses", "  async function f(req) {\n\t\tconst t = 1;\r\n}", 100, "async function f(req) { const t = 1; }"},
		{"cut, then trimmed", "ab \t  cdef", 5, "ab..."},
		{"cut within a character", "aé日本", 5, "aé..."},
		{"cut between characters", "aé日本", 6, "aé日..."},
		{"no room for a character", "日本", 2, "..."},
		{"empty", "", 100, ""},
		{"only white space", " \n ", 100, ""},
		{"terminal escapes", "a\x1b[2Jb\x07", 100, "a?[2Jb?"},
		{"text that turns round", "a\u202eb\u2066c", 100, "a?b?c"},
		{"invisible characters", "a\u200b\ufeffb", 100, "a??b"},
		{"joined emoji stay", "👩\u200d💻", 100, "👩\u200d💻"},
		{"not UTF-8", "caf\xe9 \xff\xfe", 100, "caf? ??"},
		{"a NUL", "a\x00b", 100, "a?b"},
		{"nothing wanted", "abc", 0, ""},
		{"less than nothing", "abc", -1, ""},
	}
	for _, test := range tests {
		if got := query.Preview([]byte(test.text), test.most); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzPreview(f *testing.F) {
	f.Add([]byte("a\x1b[31m é日\xe6\x97"), 9)
	f.Fuzz(func(t *testing.T, text []byte, most int) {
		if most > 1000 {
			return
		}
		before := string(text)
		got := query.Preview(text, most)
		switch {
		case diag.Printable(got) != got:
			t.Errorf("%q is not harmless", got)
		case strings.ContainsAny(got, "\n\r\t") || strings.Contains(got, "  "):
			t.Errorf("%q has white space", got)
		case len(got) > max(0, most)+3:
			t.Errorf("%q has %d bytes", got, len(got))
		case most > 0 && strings.HasSuffix(got, "...") != (len(text) > most) && !strings.Contains(before, "."):
			t.Errorf("%q of %d bytes and %d", got, len(text), most)
		case string(text) != before:
			t.Error("the text was changed")
		}
	})
}

func ExamplePreview() {
	fmt.Println(query.Preview([]byte("func Open(path string) error {\n\treturn nil\n}"), 32))
	// Output: func Open(path string) error {...
}
