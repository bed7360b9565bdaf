package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
)

// inUTF16 encodes text with the mark of its order of bytes.
func inUTF16(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// largeText is a text of more than 4 MiB, of which line n is "entry n: nothing to see", without the given lines.
func largeText(lines map[int]string) string {
	var b strings.Builder
	for n := 1; b.Len() <= files.MaxFileBytes; n++ {
		if l, ok := lines[n]; ok {
			b.WriteString(l)
		} else {
			fmt.Fprintf(&b, "entry %d: nothing to see", n)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// What is too large to be divided into nodes, or is in UTF-16, is searched for literals and regular expressions all the same: before and after
// it is indexed.
func TestUndividedFiles(t *testing.T) {
	planted := map[string]string{
		"data/large.log": largeText(map[int]string{100_000: "the server lost its lease", 120_000: "first half", 120_001: "second half"}),
		"little.txt":     inUTF16(binary.LittleEndian, "nothing here\nthe sérver lost its lease\n"),
		"big.txt":        inUTF16(binary.BigEndian, "日本\n\nthe server lost its lease"),
		"small.txt":      "the server lost its lease\n",
		"binary":         "\x00 the server lost its lease\n",
		"large.bin":      "\x00" + largeText(map[int]string{7: "the server lost its lease"}),
	}
	for name, indexed := range map[string]bool{"indexed": true, "not indexed": false} {
		t.Run(name, func(t *testing.T) {
			r := openRepo(t, plant(t, planted), Options{})
			if indexed {
				r.update()
			} else {
				r.o.FirstAnswer = 1 // a nanosecond: no file is indexed before it is searched
			}
			for _, tt := range []struct {
				p    query.Params
				want []string // path:line
			}{
				{query.Params{Literal: "the server lost its lease"}, []string{"big.txt:3", "data/large.log:100000", "small.txt:1"}},
				{query.Params{Regex: `the s.rver lost.*e$`}, []string{"big.txt:3", "data/large.log:100000", "little.txt:2", "small.txt:1"}},
				{query.Params{Literal: "half\nsecond"}, []string{"data/large.log:120000"}},
				{query.Params{Literal: "the server", Glob: "data/**"}, []string{"data/large.log:100000"}},
				{query.Params{Regex: `entry 1: `}, []string{"data/large.log:1"}},
				{query.Params{Regex: `^$`}, []string{"big.txt:2"}},
				{query.Params{Query: `(intersect (literal "server") (literal "half"))`}, []string{"data/large.log:100000"}},
				{query.Params{Literal: "to be seen nowhere"}, nil},
			} {
				got, err := r.Query(context.Background(), compile(t, tt.p))
				if err != nil {
					t.Fatal(err)
				}
				var list []string
				for _, h := range got.Handles {
					list = append(list, fmt.Sprintf("%s:%d", h.FilePath, h.MatchLine))
				}
				slices.Sort(list)
				if !slices.Equal(list, tt.want) || got.TotalMatches != len(tt.want) || got.NotIndexed != 0 {
					t.Errorf("%+v: %q of %d, %d not indexed, want %q", tt.p, list, got.TotalMatches, got.NotIndexed, tt.want)
				}
				if paths := filesOf(t, r, tt.p); len(paths) != len(tt.want) {
					t.Errorf("%+v: %q", tt.p, paths)
				}
			}
		})
	}
}

// The handle of such a file says where the match is and what it would cost to read all; to expand it is refused with the way out.
func TestUndividedHandles(t *testing.T) {
	r := newRepo(t, map[string]string{"large.log": largeText(map[int]string{9: "the server lost its lease"}), "wide.txt": inUTF16(binary.LittleEndian, "the server lost its lease")})
	got, err := r.Query(context.Background(), compile(t, query.Params{Literal: "server lost", ExpandBudget: query.MaxBudget}))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Handles) != 2 || got.ExpandedCount != 0 {
		t.Fatal(asJSON(t, got))
	}
	for _, h := range got.Handles {
		if h.NodeType != "file" || h.Span.End != len(r.read(h.FilePath)) || h.TokenCount != h.Span.End/4 || !h.ReadFile || h.LineRange[0] != 1 || h.LineRange[1] < h.MatchLine {
			t.Error(asJSON(t, h))
		}
		e := r.expand(h.ID)
		if len(e.Contents) != 0 || len(e.FailedIDs) != 1 || e.FailedIDs[0].Code != "file_not_indexed" || !strings.Contains(e.FailedIDs[0].Message, h.FilePath) {
			t.Error(asJSON(t, e))
		}
	}
	// An edit is seen, as in every file, and is a new generation, also where the size stays.
	r.put("large.log", largeText(map[int]string{9: "the server kept its lease"}))
	same(t, "edited in place", filesOf(t, r, query.Params{Literal: "server kept"}), []string{"large.log"})
	if g, err := r.Generation(context.Background()); err != nil || g <= got.Generation {
		t.Errorf("generation %d after %d, %v", g, got.Generation, err)
	}
	r.put("large.log", largeText(map[int]string{1: "the server is back"}))
	same(t, "edited", filesOf(t, r, query.Params{Literal: "server"}), []string{"large.log", "wide.txt"})
	same(t, "gone", filesOf(t, r, query.Params{Literal: "server lost"}), []string{"wide.txt"})
	r.put("large.log", "small now, the server too\n")
	same(t, "small", r.names(`(literal "server too")`), []string{"large.log chunk"})
}

// A text is searched in parts, which changes nothing of what is found: a match may lie across parts, and a line may be longer than one.
func TestFirstMatch(t *testing.T) {
	rows := strings.Repeat(strings.Repeat("x", 126)+"y\n", window/128) // exactly one part
	long := strings.Repeat("z", 3*window/2)
	for _, tt := range []struct {
		name, text string
		p          string // a literal
		line       int
	}{
		{"empty", "", "a", 0},
		{"no line end", "abc", "c", 1},
		{"at the end of a part", rows + rows, "y\nx", 1},
		{"behind the end of a part", rows + "abc\n" + rows, "abc", window/128 + 1},
		{"across parts", rows[:len(rows)-2] + "ab\ncd" + rows, "b\nc", window / 128},
		{"a long line", "first\n" + long + "needle" + long + "\nlast\n", "needle", 2},
		{"behind a long line", rows + long + long + "\nneedle", "needle", window/128 + 2},
		{"in the last part", rows + rows + rows + "needle\n", "needle", 3*window/128 + 1},
		{"nowhere", rows + rows, "needle", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, err := firstMatch(context.Background(), strings.NewReader(tt.text), literalFinder([]byte(tt.p)), len(tt.p)-1)
			lines := strings.Count(tt.text, "\n")
			if !strings.HasSuffix(tt.text, "\n") {
				lines++
			}
			if err != nil || first.line != tt.line || first.line > 0 && (first.lines != lines || !strings.HasPrefix(tt.text, string(first.head)) || len(first.head) == 0) {
				t.Errorf("line %d of %d, want %d of %d; %v", first.line, first.lines, tt.line, lines, err)
			}
			if at := strings.Index(tt.text, tt.p); at >= 0 && 1+strings.Count(tt.text[:at], "\n") != tt.line {
				t.Errorf("the test is wrong: it is in line %d", 1+strings.Count(tt.text[:at], "\n"))
			}
		})
	}
}

// ripgrep finds the same.
func TestUndividedAsRipgrep(t *testing.T) {
	ripgrep := findRipgrep(t)
	lines := map[int]string{50_000: "if err != nil {", 150_000: strings.Repeat("long ", 300_000) + "line"}
	r := newRepo(t, map[string]string{"a.log": largeText(lines), "b.log": largeText(nil) + "if err != nil {", "wide.txt": inUTF16(binary.BigEndian, "if err != nil {\r\n\tlong line"), "deep/c.txt": inUTF16(binary.LittleEndian, "é long  line\n")})
	for _, e := range []string{`err != nil`, `long line$`, `^if err`, `entry 149999`, `entry 19999\d: `, `é`, `long\s+line`, `nil \{$`, `no such`} {
		out := ripgrep(r.dir, "-l", "--crlf", "--sort", "path", "--", e, ".")
		var want []string
		for _, p := range strings.Fields(string(out)) {
			want = append(want, filepath.ToSlash(filepath.Clean(p)))
		}
		slices.Sort(want)
		if got := filesOf(t, r, query.Params{Regex: e}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, ripgrep has %q", e, got, want)
		}
	}
}
