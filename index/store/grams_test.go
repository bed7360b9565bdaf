package store

import (
	"math/bits"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// The filter has at most 64 KiB, a size that is a power of two, and few bits that are set.
func TestGramsBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var work GramSet
	for _, n := range []int{0, 1, 2, 3, 64, 1000, 100_000, 3 << 20} {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		g := Grams(text, &work)
		if len(g) < 64 || len(g) > 64<<10 || len(g)&(len(g)-1) != 0 {
			t.Errorf("%d bytes have a filter of %d", n, len(g))
		}
		set := 0
		for _, b := range g {
			set += bits.OnesCount8(b)
		}
		if n < 100_000 && 4*set > 8*len(g)+4 {
			t.Errorf("%d bytes: %d of %d bits are set", n, set, 8*len(g))
		}
		if work.bits != (GramSet{}).bits || len(work.list) > 0 {
			t.Fatalf("%d bytes left something in the set", n)
		}
	}
}

func TestGate(t *testing.T) {
	for _, tt := range []struct {
		expr, text string
		passes     bool
	}{
		{`foobar`, "a foobar b", true},
		{`foobar`, "a foo bar b", false},
		{`(?i)foobar`, "FOOBAR", true},
		{`(?i)foobar`, "fooba", false},
		{`foo.*bar`, "foo and bar", true},
		{`foo.*bar`, "foo, qux", false},
		{`foo|bar`, "has bar", true},
		{`foo|bar`, "has baz", false},
		{`foo|.`, "x", true},                // one branch may be anything
		{`(foo|bar)+baz`, "foo baz", true},  // the trigrams are there, together or not
		{`(abc){2,3}`, "abc", true},         // the same
		{`(abc){2,3}`, "ab", false},         //
		{`(abc)?x`, "x", true},              //
		{`(abc){0,2}x`, "x", true},          //
		{`^func`, "func f()", true},         //
		{`^func`, "def f()", false},         //
		{`(?i)kelvin`, "\u212aelvin", true}, // the sign of Kelvin equals k
		{`(?i)ask`, "a\u017f\u212a", true},  // and the long s equals s
		{`(?i)straße`, "STRAßE", true},      //
		{`(?i)größe`, "GRÖSSE größE", true}, //
		{`gr\x{fffd}n`, "gr\xffn", true},    // a byte that is no UTF-8 matches U+FFFD
		{`[x][y][z]`, "xyz", true},          //
		{``, "", true},                      //
	} {
		re := regexp.MustCompile(tt.expr)
		parsed, err := syntax.Parse(tt.expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := RegexGate(parsed).Passes(Grams([]byte(tt.text), nil)); got != tt.passes {
			t.Errorf("%q lets %q pass: %v", tt.expr, tt.text, got)
		}
		if re.MatchString(tt.text) && !tt.passes {
			t.Errorf("the test is wrong: %q matches %q", tt.expr, tt.text)
		}
	}
}

// A gate is worth nothing if all pass: of files that do not match, most do not.
func TestGateKeepsOut(t *testing.T) {
	gate := LiteralGate("func (x *Index) Query(")
	r := rand.New(rand.NewPCG(5, 6))
	words := []string{"func ", "index", "query", "x", " *", "return", "(", ")", "err", "nil", "for", "range", "\n"}
	passed := 0
	for range 1000 {
		var b strings.Builder
		for range 400 {
			b.WriteString(words[r.IntN(len(words))])
		}
		if gate.Passes(Grams([]byte(b.String()), nil)) {
			passed++
		}
	}
	if passed > 50 {
		t.Errorf("%d of 1,000 files pass that do not match", passed)
	}
}

// Law: a file that a regular expression matches passes its gate.
func FuzzRegexGate(f *testing.F) {
	for _, expr := range []string{`foobar`, `(?i)Kelvin Sign`, `(?i)ſtrasse`, `(ab|cd)ef{2,}`, `a.c\x{fffd}d`, `(?s)a.*bcd`, `^\w+\s*=\s*"[^"]+"$`, `(?i:abc)DEF`, `x{3}y`, `(?:abc|abd|xyz)`, `[[:upper:]]bc`, `\Qa.b\E`, `(?i)ΑΒΓ`, `(abc)*def`} {
		f.Add(expr, "some foobar KELVIN SIGN \u212aelvin \u017ftrasse abeff cdefff a\xffc\xffd strasse\nkey = \"value\"\nαβγ abcDEF xxxy abdxyz Bbc a.b abcdef")
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 200 || len(text) > 4096 {
			return
		}
		parsed, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			return
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return
		}
		gate, grams := RegexGate(parsed), Grams([]byte(text), nil)
		if re.MatchString(text) && !gate.Passes(grams) {
			t.Errorf("%q matches %q, which does not pass", expr, text)
		}
		// The match alone must pass too: the whole text may pass because of its other parts.
		if m := re.FindString(text); m != "" && !gate.Passes(Grams([]byte(m), nil)) && !strings.ContainsAny(expr, `^$\(`) {
			t.Errorf("%q matches all of %q, which does not pass", expr, m)
		}
	})
}

// Law: a text passes the gate of each of its parts, in any case of ASCII.
func FuzzLiteralGate(f *testing.F) {
	f.Add("if err != nil {\n\treturn err\n}", 3, 9)
	f.Add("日本語 text", 1, 7)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		if from < 0 || from > to || to > len(text) {
			return
		}
		grams := Grams([]byte(text), nil)
		part := text[from:to]
		upper := []byte(part)
		for i, c := range upper {
			if 'a' <= c && c <= 'z' {
				upper[i] = c - 'a' + 'A'
			}
		}
		for _, s := range []string{part, string(upper)} {
			if !LiteralGate(s).Passes(grams) {
				t.Errorf("%q has %q and does not pass", text, s)
			}
		}
	})
}

func BenchmarkGrams(b *testing.B) {
	text := []byte(strings.Repeat(texts["a.go"]+texts["c.ts"]+texts["e.txt"], 20))
	var work GramSet
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Grams(text, &work)
	}
}

func BenchmarkGate(b *testing.B) {
	gate, grams := LiteralGate("func (t *T) Method("), Grams([]byte(texts["e.txt"]), nil)
	for b.Loop() {
		gate.Passes(grams)
	}
}
