package lang

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// lawful checks what holds for the File of any bytes.
func lawful(t testing.TB, l Language, src []byte, f File) {
	t.Helper()
	span := func(what, name string, s Span) {
		t.Helper()
		if s.Start < 0 || s.Start >= s.End || s.End > len(src) {
			t.Fatalf("%s %q: span %d-%d of %d bytes", what, name, s.Start, s.End, len(src))
		}
	}
	last := 0
	for i, s := range f.Symbols {
		span("symbol", s.Name, s.Span)
		span("name", s.Name, s.NameSpan)
		if s.Doc != (Span{}) {
			span("doc", s.Name, s.Doc)
		}
		if s.Name == "" || s.Name != string(src[s.NameSpan.Start:s.NameSpan.End]) {
			t.Fatalf("name %q, its span says %q", s.Name, src[s.NameSpan.Start:s.NameSpan.End])
		}
		if s.NameSpan.Start < s.Span.Start || s.NameSpan.End > s.Span.End {
			t.Fatalf("%q: name outside its definition", s.Name)
		}
		if s.Span.Start < last {
			t.Fatalf("%q: not in order", s.Name)
		}
		last = s.Span.Start
		if len(s.Signature) > maxSignature {
			t.Fatalf("%q: signature of %d bytes", s.Name, len(s.Signature))
		}
		if s.Parent < -1 || s.Parent >= len(f.Symbols) || s.Parent == i {
			t.Fatalf("%q: parent %d", s.Name, s.Parent)
		}
		receiver := l == Go && s.Kind == Method
		if s.Parent >= 0 && !receiver {
			if p := f.Symbols[s.Parent]; p.Span.Start > s.Span.Start || p.Span.End < s.Span.End || s.Parent > i {
				t.Fatalf("%q %v: its parent %q %v does not enclose it", s.Name, s.Span, p.Name, p.Span)
			}
		}
	}
	if Approximate(l) {
		nestOrDivide(t, f.Symbols)
	}
	last = 0
	for _, r := range f.References {
		span("reference", r.Name, r.Span)
		if r.Name != string(src[r.Span.Start:r.Span.End]) {
			t.Fatalf("reference %q, its span says %q", r.Name, src[r.Span.Start:r.Span.End])
		}
		if r.Span.Start < last {
			t.Fatalf("reference %q: not in order", r.Name)
		}
		last = r.Span.Start
		if r.Source < -1 || r.Source >= len(f.Symbols) {
			t.Fatalf("reference %q: source %d", r.Name, r.Source)
		}
	}
	for _, s := range f.Symbols[:min(3, len(f.Symbols))] {
		if line := 1 + bytes.Count(src[:s.Span.Start], []byte("\n")); line != s.Span.FirstLine {
			t.Fatalf("%q: line %d, not %d", s.Name, s.Span.FirstLine, line)
		}
	}
}

// nestOrDivide checks that two definitions are nested or disjoint.
func nestOrDivide(t testing.TB, symbols []Symbol) {
	t.Helper()
	var open []Span
	for _, s := range symbols {
		for len(open) > 0 && open[len(open)-1].End <= s.Span.Start {
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && open[n-1].End < s.Span.End {
			t.Fatalf("%q %v reaches out of %v", s.Name, s.Span, open[n-1])
		}
		open = append(open, s.Span)
	}
}

var allLanguages = func() []Language {
	list := []Language{Go, Rust, Python, JavaScript, TypeScript, TSX}
	for _, t := range tables {
		list = append(list, t.language)
	}
	return list
}()

func FuzzScan(f *testing.F) {
	for i := range allLanguages {
		for _, shape := range hostile {
			f.Add(byte(i), []byte(strings.Repeat(shape, 3)))
		}
	}
	sources, _ := filepath.Glob("testdata/*.txt")
	for _, path := range sources {
		if text, err := os.ReadFile(path); err == nil {
			for i := range allLanguages {
				f.Add(byte(i), text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, language byte, src []byte) {
		l := allLanguages[int(language)%len(allLanguages)]
		before := bytes.Clone(src)
		lawful(t, l, src, Scan(l, src))
		if !bytes.Equal(before, src) {
			t.Fatal("the source was changed")
		}
		if l == Go {
			lawful(t, l, src, scanBrokenGo(src))
		}
	})
}

// hostile holds what repeats without end: what a scanner might look ahead for, and what it keeps open.
var hostile = []string{
	"(", "[", "{", "<", "a(", "a[", "a<", "a{", "((a)", "[a,", "{a:", ")", "]", "}", "\"", "'", "`", "\"\"\"", "'''", "\"\\", "'\\''",
	"/*", "*/", "//", "/* */", "/", "a/b/", "#", "#\n", "# a\n", "//\n", "/// a\n", "/** a */", "\\\n", "\\", "\n", "\r", " \n", "\t", ";", ":", ",",
	".", "a.", "a.b(", "a().", "a::", "a::<", "?.", "...", "=", "a=", "a,", "a, b = ", "=>", "(a)=>", "a=>", "(a,", "->", "-", "!", "&", "*", "+a", "|", "a?b:",
	"f\"{", "f'{a:{", "f\"\"\"{", "f'{{", "{f'", "`${", "${", "`${`", "}`", "r#\"", "r#####", "b'", "'a ", "'a'",
	"def f():\n", "def f(", "class A:\n", "class A(", "class A(B,", "@a\n", "@a(", "lambda:", "lambda a:", "if a:\n", "match (", "match (a\n", "case [", "type X[", "type X = ",
	"async ", "async def ", "from . import ", "from a import (", "import a, ", "import ", "import (", "a: b\n", "a: [",
	"func f() {", "func (", "func (a ", "func f(", "func f()\n", "func() ", "type A struct {", "type A interface {", "type (", "var (", "var a, b", "const a = ", "\nfunc ", "chan ", "else if x {", "if a {",
	"fn f() {", "fn f(", "fn f<", "pub ", "pub(", "impl ", "impl A for ", "impl<", "trait A {", "mod m {", "use a::{", "use a::", "macro_rules! m {", "m!(", "m!{", "#[", "#![a]\n", "where A: ", "struct A {", "enum A {", "dyn ", "for<", "unsafe ", "extern \"C\" {", "const ",
	"function f(){", "function ", "function(", "class A{", "class A extends ", "class A<", "export ", "export default ", "export {", "import {", "import a from ", "const a = ", "let a = (", "var a, ", "new ", "await ", "a: function(", "get ", "static ", "interface A {", "type A<", "namespace a {", "declare ", "abstract ", "enum A {", "<a>", "<a ", "<a b={", "</a>", "<A.b/>", "a as ", "a ? (b) : ", "/[", "/a", "a = /", "keyof ", "infer ", "(a: ", "a!", "a?", "@a ", "{[", "#a", "#if a\n", "#else\n", "#define a", "#endif\n", "R\"x(", "@\"", "$a$", "<<EOF\n", "<<~A\n", "<<<A\n", "%w[", "--[[", "[==[", "\"#{", "\"\\(", "fun ", "fun <", "f(a)\nint a; ", "template <", "typedef struct {", "A::", "operator", "def self.", "end\n", "do ", "class << ", "f() {\n", "f() (\n", "a \"b\" {\n", "create table ", "message A {", "<?php ", "?>", "extern \"C\" {", "@A(", "[A]", "r\"--(", "a <- function(", "a <- ", "A <- R6Class(list(a = ", "setClass(\"A\", ", "if (a) ", "\xff", "é", "\x00", "\u2028",
}

// No shape is slower than linear: a scanner that looks back or ahead over all of
// 64 KiB at each repetition needs a second and more for what takes some milliseconds otherwise.
func TestLinear(t *testing.T) {
	const size, limit = 64 << 10, time.Second / 2
	for n, l := range allLanguages {
		t.Run(string(l), func(t *testing.T) {
			slowest, worst := time.Duration(0), ""
			try := func(name string, src []byte, limit time.Duration) {
				scanners := []func() File{func() File { return Scan(l, src) }}
				if l == Go {
					scanners = append(scanners, func() File { return scanBrokenGo(src) })
				}
				for _, scan := range scanners {
					took := limit + 1
					var f File
					for range 3 { // the machine may be busy
						start := time.Now()
						f = scan()
						if took = min(took, time.Since(start)); took <= limit {
							break
						}
					}
					if took > slowest {
						slowest, worst = took, name
					}
					if took > limit {
						t.Errorf("%q: more than %v for %d bytes", name, limit, len(src))
					}
					lawful(t, l, src, f)
				}
			}
			for i, shape := range hostile {
				if (i+n)%long.Of(40, 5, 1) != 0 { // in a sample, every language sees others
					continue
				}
				src := []byte(strings.Repeat(shape, size/len(shape)))
				try(shape, src, limit)
				try("lines of "+shape, bytes.ReplaceAll(src[:size/2], []byte(" "), []byte("\n")), limit)
			}
			try("staircase", staircase(700), limit)
			for i, word := range []string{"a", "a+", "\"a\" ", "a()"} {
				if (i+n)%long.Of(20, 4, 1) == 0 {
					try("one line of "+word, []byte(strings.Repeat(word, (5<<20)/len(word))), 10*time.Second)
				}
			}
			t.Logf("slowest: %v for %q", slowest, worst)
		})
	}
}

// staircase is a body in a body in a body, each indented more.
func staircase(steps int) []byte {
	var b bytes.Buffer
	for i := range steps {
		for range i {
			b.WriteByte(' ')
		}
		b.WriteString("class A: #{\n")
		for range i + 1 {
			b.WriteByte(' ')
		}
		b.WriteString("def f(): # {\n")
	}
	return b.Bytes()
}

// Each testdata/NAME.LANGUAGE.txt is a source and, behind a line "-- want --", what Scan
// finds in it. Run with -update to rewrite what is wanted.
func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			f := Scan(g.language, g.src)
			lawful(t, g.language, g.src, f)
			got := dump(g.src, f)
			switch {
			case got == g.want:
			case *update:
				if err := os.WriteFile(g.path, slices.Concat(g.src, []byte(goldenRule), []byte(got)), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("got\n%s\nwant\n%s", got, g.want)
			}
		})
	}
}

var update = flag.Bool("update", false, "rewrite what the golden files want")

const goldenRule = "-- want --\n"

type golden struct {
	path, name string
	language   Language
	src        []byte
	want       string
}

func goldens(t testing.TB) []golden {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden files", err)
	}
	var all []golden
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src, want, _ := bytes.Cut(text, []byte(goldenRule))
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		all = append(all, golden{path, name, Language(strings.TrimPrefix(filepath.Ext(name), ".")), src, string(want)})
	}
	return all
}

// dump prints a File, one symbol or reference a line.
func dump(src []byte, f File) string {
	var b strings.Builder
	for _, s := range f.Symbols {
		fmt.Fprintf(&b, "%s %s%s :%d-%d", s.Kind, s.Name, s.Signature, s.Span.FirstLine, s.Span.LastLine)
		if s.Parent >= 0 {
			fmt.Fprintf(&b, " in %s", f.Symbols[s.Parent].Name)
		}
		if s.Owner != "" {
			fmt.Fprintf(&b, " of %s", s.Owner)
		}
		if s.Exported {
			b.WriteString(" exported")
		}
		if s.Doc.End > 0 {
			fmt.Fprintf(&b, " doc %q", src[s.Doc.Start:min(s.Doc.End, s.Doc.Start+24)])
		}
		b.WriteByte('\n')
	}
	for _, r := range f.References {
		fmt.Fprintf(&b, "%s %s :%d", r.Kind, r.Name, r.Span.FirstLine)
		if r.Qualifier != "" {
			fmt.Fprintf(&b, " of %s", r.Qualifier)
		}
		if r.Source >= 0 {
			fmt.Fprintf(&b, " in %s", f.Symbols[r.Source].Name)
		}
		b.WriteByte('\n')
	}
	if f.Broken {
		b.WriteString("broken\n")
	}
	return b.String()
}

func BenchmarkScan(b *testing.B) {
	for _, g := range goldens(b) {
		b.Run(g.name, func(b *testing.B) {
			b.SetBytes(int64(len(g.src)))
			b.ReportAllocs()
			for b.Loop() {
				Scan(g.language, g.src)
			}
		})
	}
}
