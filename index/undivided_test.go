package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/skl-project/skl/index/chunk"
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

// Files too large to be divided into nodes, or in UTF-16, are searched for literals and regular expressions all the
// same: before and after they are indexed.
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
				{query.Params{Literal: "entry 10", Glob: "nowhere/**"}, nil},
				{query.Params{Literal: "the server", Glob: "data/**"}, []string{"data/large.log:100000"}},
				{query.Params{Regex: `entry 1: `}, []string{"data/large.log:1"}},
				{query.Params{Regex: `^$`}, []string{"big.txt:2"}},
				{query.Params{Query: `(intersect (literal "server") (regex "^entry 1000[01]\\d:"))`}, []string{"data/large.log:100000"}},
				{query.Params{Query: `(intersect (literal "server") (literal "half"))`}, nil}, // far from each other
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

// A match in such a file is a block around it, which is expanded like any other node, by another process too, until the
// file changes.
func TestUndividedHandles(t *testing.T) {
	large := largeText(map[int]string{9: "the server lost its lease", 90_000: "the server lost its mind"})
	r := newRepo(t, map[string]string{"large.log": large, "wide.txt": inUTF16(binary.LittleEndian, "Zürich 𝄞\nthe server lost its lease\n")})
	got, err := r.Query(context.Background(), compile(t, query.Params{Literal: "server lost", ExpandBudget: query.MaxBudget}))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Handles) != 3 || got.TotalMatches != 3 || !got.AutoExpanded {
		t.Fatal(asJSON(t, got))
	}
	r = openRepo(t, r.dir, Options{CacheDir: r.o.CacheDir})
	for _, h := range got.Handles {
		e := r.expand(h.ID)
		if len(e.Contents) != 1 || e.Contents[0].Content != h.Content || e.Contents[0].TokenCount != h.TokenCount || e.Contents[0].LineRange != h.LineRange {
			t.Fatal(asJSON(t, e))
		}
		lines := strings.Split(h.Content, "\n")
		if l := lines[h.MatchLine-h.LineRange[0]]; !strings.Contains(l, "server lost") {
			t.Errorf("line %d is %q", h.MatchLine, l)
		}
		if h.NodeType != "chunk" || h.LineRange[1]-h.LineRange[0]+2 != len(lines) || h.TokenCount != chunk.Tokens([]byte(h.Content)) || !strings.HasPrefix(h.Content, strings.TrimSuffix(h.Preview, "...")[:9]) {
			t.Error(asJSON(t, h))
		}
		switch bytes := r.read(h.FilePath)[h.Span.Start:h.Span.End]; {
		case h.FilePath == "large.log" && (bytes != h.Content || len(bytes) > 2*blockBytes):
			t.Errorf("%d bytes at its span", len(bytes))
		case h.FilePath == "wide.txt" && (len(bytes) != len(r.read("wide.txt")) || h.Content != "Zürich 𝄞\nthe server lost its lease\n"):
			t.Errorf("%q", h.Content)
		}
	}
	first := got.Handles[0].ID
	if e := r.expand(first[:len(first)-1] + string("0123456789abcdef0"[strings.IndexByte("0123456789abcdef", first[len(first)-1])+1])); len(e.FailedIDs) != 1 || e.FailedIDs[0].Code != "handle_not_found" {
		t.Error(asJSON(t, e))
	}
	// An edit is seen, as in every file, and is a new generation, also where the size stays.
	r.put("large.log", strings.Replace(large, "lost", "kept", 1))
	same(t, "edited in place", filesOf(t, r, query.Params{Literal: "server kept"}), []string{"large.log"})
	if g, err := r.Generation(context.Background()); err != nil || g <= got.Generation {
		t.Errorf("generation %d after %d, %v", g, got.Generation, err)
	}
	for _, h := range got.Handles {
		if e := r.expand(h.ID); len(e.Contents) != 1 || h.MatchLine == 9 && !strings.Contains(e.Contents[0].Content, "server kept") {
			t.Error(asJSON(t, e))
		}
	}
	r.put("large.log", "one line more\n"+large)
	for _, h := range got.Handles {
		if e := r.expand(h.ID); h.FilePath == "large.log" && (len(e.FailedIDs) != 1 || e.FailedIDs[0].Code != "handle_not_found") {
			t.Errorf("a handle of what is now elsewhere: %s", asJSON(t, e))
		}
	}
	r.put("large.log", largeText(map[int]string{1: "the server is back"}))
	same(t, "edited", filesOf(t, r, query.Params{Literal: "server"}), []string{"large.log", "wide.txt"})
	same(t, "gone", filesOf(t, r, query.Params{Literal: "server lost"}), []string{"wide.txt"})
	r.put("large.log", "small now, the server too\n")
	same(t, "small", r.names(`(literal "server too")`), []string{"large.log chunk"})
}

// A handle of a file that is not indexed yet is one of the indexed file.
func TestUndividedBeforeIndexing(t *testing.T) {
	r := openRepo(t, plant(t, map[string]string{"large.log": largeText(map[int]string{9: "the server lost its lease"})}), Options{})
	r.o.FirstAnswer = 1
	got, err := r.Query(context.Background(), compile(t, query.Params{Literal: "server lost"}))
	if err != nil || len(got.Handles) != 1 {
		t.Fatal(asJSON(t, got), err)
	}
	if e := r.expand(got.Handles[0].ID); len(e.Contents) != 1 || !strings.Contains(e.Contents[0].Content, "the server lost its lease") {
		t.Error(asJSON(t, e))
	}
}

// A text is searched in parts, which changes nothing of what is found: a match may lie across parts, and a line may be longer than one.
func TestMatchesIn(t *testing.T) {
	rows := strings.Repeat(strings.Repeat("x", 126)+"y\n", window/128) // exactly one part
	long := strings.Repeat("z", 3*window/2)
	for _, tt := range []struct {
		name, text string
		p          string // a literal
		lines      []int
	}{
		{"empty", "", "a", nil},
		{"no line end", "abc", "c", []int{1}},
		{"each line once", "abc abc\nabc\n\nabc", "abc", []int{1, 2, 4}},
		{"at the end of a part", rows + "a\n" + rows, "y\na", []int{window / 128}},
		{"behind the end of a part", rows + "abc\n" + rows, "abc", []int{window/128 + 1}},
		{"across parts", rows[:len(rows)-2] + "ab\ncd" + rows, "b\nc", []int{window / 128}},
		{"a long line", "first\n" + long + "needle" + long + "\nneedle\n", "needle", []int{2, 3}},
		{"behind a long line", rows + long + long + "\nneedle", "needle", []int{window/128 + 2}},
		{"in all parts", strings.Repeat(rows+"needle\n", 3), "needle", []int{window/128 + 1, 2*window/128 + 2, 3*window/128 + 3}},
		{"nowhere", rows + rows, "needle", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var lines []int
			err := matchesIn(context.Background(), strings.NewReader(tt.text), literalFinder([]byte(tt.p)), len(tt.p)-1, func(at, line int) bool {
				if !strings.HasPrefix(tt.text[at:], tt.p) || strings.Count(tt.text[:at], "\n")+1 != line {
					t.Errorf("line %d, byte %d", line, at)
				}
				lines = append(lines, line)
				return true
			})
			if err != nil || !slices.Equal(lines, tt.lines) {
				t.Errorf("lines %d, want %d; %v", lines, tt.lines, err)
			}
		})
	}
}

// Blocks follow each other without a gap, say which lines they have, and end with a line where there is one.
func checkBlocks(t *testing.T, file []byte) {
	t.Helper()
	nodes, at, err := divide(bytes.NewReader(file), len(file))
	if err != nil || len(nodes) != len(at) {
		t.Fatal(len(nodes), len(at), err)
	}
	var text []byte
	if r, wide, err := textOf(bytes.NewReader(file)); err != nil || r == nil {
		if len(nodes) > 0 || err != nil {
			t.Errorf("a binary file has %d blocks, %v", len(nodes), err)
		}
		return
	} else if text, err = io.ReadAll(r); err != nil || wide != chunk.IsUTF16(file) {
		t.Fatal(err)
	}
	decoded := 0
	for i, n := range nodes {
		to := len(text)
		if i+1 < len(nodes) {
			to = at[i+1]
		}
		if at[i] != decoded || to <= decoded || to-decoded > 2*blockBytes+utf8.UTFMax {
			t.Fatalf("block %d is %d to %d behind %d", i, at[i], to, decoded)
		}
		first := 1 + bytes.Count(text[:decoded], []byte{'\n'})
		if last := first + bytes.Count(bytes.TrimSuffix(text[decoded:to], []byte{'\n'}), []byte{'\n'}); n.FirstLine != first || n.LastLine != last {
			t.Fatalf("block %d has lines %d to %d, want %d to %d", i, n.FirstLine, n.LastLine, first, last)
		}
		raw, want := file[n.Start:n.End], text[decoded:to]
		if chunk.IsUTF16(file) {
			if n.Start > 0 {
				raw = append(bytes.Clone(file[:markBytes]), raw...)
			}
			if raw, err = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(raw); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(raw, want) {
			t.Fatalf("the bytes of block %d are not its text", i)
		}
		decoded = to
	}
	if n := len(nodes); decoded != len(text) || n > 0 && (nodes[0].Start != 0 || nodes[n-1].End != len(file)) {
		t.Fatalf("%d of %d bytes are in blocks", decoded, len(text))
	}
}

func FuzzDivide(f *testing.F) {
	zigzag := strings.Repeat("ab\n", 900) + strings.Repeat("日本語", 5_000) + "\n" + strings.Repeat("𝄞", 3_000) + strings.Repeat("\n", 9_000)
	for _, s := range []string{"", "a", "\n", "a\x00b", "\xff\xfe", "\xff\xfea", "\xff\xfea\x00\n\x00", "\xfe\xff\xd8\x00\x00\n", zigzag, zigzag[:2*blockBytes], zigzag[1:],
		strings.Repeat("\x80", 3*blockBytes), strings.Repeat("x", blockBytes-1) + "\n" + strings.Repeat("y", blockBytes)} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, file []byte, wide bool) {
		if wide {
			file = []byte(inUTF16(binary.BigEndian, string(file)))
		}
		checkBlocks(t, file)
	})
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
