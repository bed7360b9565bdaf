package chunk

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/goroot"
	"github.com/skl-project/skl/testdata/growth"
	"github.com/skl-project/skl/testdata/long"
)

// lawful checks what holds for the Outline of any bytes.
func lawful(t testing.TB, path string, src []byte, o Outline) {
	t.Helper()
	if o.Binary {
		if len(o.Nodes)+len(o.Pieces)+len(o.References) > 0 || o.Language != "" {
			t.Fatalf("%s: a binary file with an outline", path)
		}
		return
	}
	newlines := lineCounter(src)
	region := func(what string, r Region) {
		t.Helper()
		if r.Start < 0 || r.Start >= r.End || r.End > len(src) {
			t.Fatalf("%s: %s %d-%d of %d bytes", path, what, r.Start, r.End, len(src))
		}
		if first, last := newlines(r.Start)+1, newlines(r.End-1)+1; r.FirstLine != first || r.LastLine != last {
			t.Fatalf("%s: %s %d-%d: lines %d-%d, not %d-%d", path, what, r.Start, r.End, r.FirstLine, r.LastLine, first, last)
		}
	}
	if want := bytes.Count(src, []byte{'\n'}); o.Lines != want && !(o.Lines == want+1 && src[len(src)-1] != '\n') {
		t.Fatalf("%s: %d lines", path, o.Lines)
	}
	for i, n := range o.Nodes {
		region(n.Type.String()+" "+n.Name, n.Region)
		if n.Parent < -1 || n.Parent >= i {
			t.Fatalf("%s: parent %d of node %d", path, n.Parent, i)
		}
		if n.Tokens < 1 {
			t.Fatalf("%s: node %d has no tokens", path, i)
		}
		if i > 0 && o.Nodes[i-1].Start > n.Start {
			t.Fatalf("%s: node %d is not in order", path, i)
		}
		if n.Parent >= 0 && (n.Start < o.Nodes[n.Parent].Start || n.End > o.Nodes[n.Parent].End) {
			t.Fatalf("%s: node %v is not in its parent %v", path, n, o.Nodes[n.Parent])
		}
		if n.Type == Chunk && n.Parent >= 0 && o.Nodes[n.Parent].Region == n.Region {
			t.Fatalf("%s: chunk %v is its parent", path, n)
		}
		for k := i - 1; k > n.Parent; k = o.Nodes[k].Parent { // those between are over before it starts
			if before := o.Nodes[k]; before.End > n.Start && (before.Region != n.Region || before.Type != n.Type) {
				t.Fatalf("%s: nodes %v and %v cross", path, o.Nodes[k], n)
			}
		}
	}
	at := 0
	for i, p := range o.Pieces {
		region("piece", p.Region)
		if p.Start < at {
			t.Fatalf("%s: piece %d starts before its predecessor ends", path, i)
		}
		uncovered(t, path, src, at, p.Start)
		at = p.End
		if p.Node < 0 || p.Node >= len(o.Nodes) {
			t.Fatalf("%s: piece %d is node %d", path, i, p.Node)
		}
		if n := o.Nodes[p.Node]; n.End <= p.Start || n.Start >= p.End {
			t.Fatalf("%s: piece %v is shown as %v", path, p, n)
		}
	}
	uncovered(t, path, src, at, len(src))
	if len(o.Pieces) > MaxPieces || len(o.Nodes) > MaxNodes {
		t.Fatalf("%s: %d pieces, %d nodes", path, len(o.Pieces), len(o.Nodes))
	}
	last := 0
	for _, r := range o.References {
		if r.Start < last || r.End > len(src) || string(src[r.Start:r.End]) != r.Name || r.Source < -1 || r.Source >= len(o.Nodes) {
			t.Fatalf("%s: reference %v", path, r)
		}
		if last = r.Start; r.Source < 0 {
			t.Fatalf("%s: reference %v has no source", path, r)
		}
	}
}

// uncovered fails if there is more than white space outside of the pieces.
func uncovered(t testing.TB, path string, src []byte, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if !isSpace(src[i]) {
			t.Fatalf("%s: %.40q is in no piece", path, src[i:to])
		}
	}
}

// lineCounter returns a func that counts the newlines before a place.
func lineCounter(src []byte) func(int) int {
	count := make([]int32, len(src)+1)
	for i, c := range src {
		count[i+1] = count[i]
		if c == '\n' {
			count[i+1]++
		}
	}
	return func(p int) int { return int(count[p]) }
}

var paths = []string{"a.go", "a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.md", "a.txt", "s/SKILL.md", "s/ops.md"}

func FuzzSplit(f *testing.F) {
	for i := range paths {
		for _, shape := range hostile {
			f.Add(byte(i), []byte(strings.Repeat(shape, 3)))
		}
		for _, c := range cases {
			f.Add(byte(i), []byte(c.src))
		}
	}
	f.Add(byte(0), []byte("0\nvar A "))  // a symbol that ends with white space
	f.Add(byte(6), []byte("\f\n0\n\n0")) // white space that is text to CommonMark
	f.Fuzz(func(t *testing.T, k byte, src []byte) {
		path := paths[int(k)%len(paths)]
		before := bytes.Clone(src)
		lawful(t, path, src, Split(path, src))
		if !bytes.Equal(before, src) {
			t.Fatal("the source was changed")
		}
	})
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte("func main() {"), []byte("\treturn\n}"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		whole, parts := Tokens(bytes.Join([][]byte{a, b}, nil)), Tokens(a)+Tokens(b)
		if whole > parts+2 || parts > whole+3 {
			t.Errorf("%d tokens, in parts %d", whole, parts)
		}
		if n := len(a) + len(b); whole > n || n > 0 && whole < 1 {
			t.Errorf("%d tokens of %d bytes", whole, n)
		}
	})
}

// hostile holds what repeats without end.
var hostile = []string{
	"(", "{", "<", "a", "a ", "é", "\xff", "\n", "\r", " ", "\t", "a\n", "\n\na", "# a\n", "#", "## a\n\n", "> ", ">", "- ", "-", "1. ", "* a\n", " - a\n  ",
	"```\n", "```a\na\n", "~~~", "    a\n", "a\n===\n", "a\n---\n", "---\n", "+++\n", "<div>\n", "<!--", "<a ", "<a b=", "[", "](", "[a](", "`", "*", "_", "\\", "***\n",
	"\t- a\n", ">>- a\n", "- - ", "> # a\n", "## Tree\n\n* A << b\n  * IF << c\n", "## OP << a\n\n* B\n", "├── a\n",
	"func f() {}\n", "func f() {", "const a = 1\n\n", "const a = 1\n", "var a, b = 1, 2\n", "type A struct{}\n\n", "type A interface { f() }\n", "// a\n", "// a\n\n",
	"class A{", "class A { f() {} }\n", "class A { f() {} } ", "function f(){}", "var a=1,", "const f=()=>1;", "@a\n", "@a(\n b)\n", "def f(): pass\n", "class A:\n  def f(self): pass\n", "  ",
	"impl A { fn f() {} }\n", "mod m {", "fn f() {", "#[a]\n", "A = 1\n", "import a\n",
}

// No shape is slower than linear.
func TestLinear(t *testing.T) {
	size := long.Of(2_000, 20_000, 100_000)
	for _, path := range paths {
		for _, shape := range hostile {
			text := func(n int) []byte {
				return []byte("---\nname: a\ndescription: b\n---\n" + strings.Repeat(shape, n/len(shape)))
			}
			small, large := growth.Times(size, 4, 10, 100*time.Millisecond, func(n int) { Split(path, text(n)) })
			if large > 10*small || small > long.Within(time.Second) {
				t.Errorf("%s: %v for %q, %v for four times as much", path, small, shape, large)
			}
			src := text(size)
			lawful(t, path, src, Split(path, src))
		}
	}
}

// Very many tiny things give few pieces, and every thing its node.
func TestManyTiny(t *testing.T) {
	for name, line := range map[string]string{
		"one line each": "const C = 1\n", "blank lines between": "const C = 1\n\n", "functions": "func f() {}\n",
		"types": "type T int\n\n", "types with a method": "type T interface{ F() }\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			src := []byte("package p\n\n" + strings.Repeat(line, 20_000))
			o := Split("a.go", src)
			lawful(t, "a.go", src, o)
			if len(o.Nodes) < 20_000 || len(o.Pieces) > 2_000 {
				t.Errorf("%d nodes, %d pieces", len(o.Nodes), len(o.Pieces))
			}
		})
	}
}

// A text with more pieces than the limit is divided into larger ones.
func TestMaxPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("16 MB")
	}
	for name, src := range map[string]string{
		"a.txt": strings.Repeat("a\n", 6<<20),
		"a.js":  strings.Repeat("class A {\n  f() {\n    return 1\n  }\n  \n  g() {\n  }\n}\n\n", 60_000),
		"a.md":  strings.Repeat("# a\n## b\n", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			o := Split(name, []byte(src))
			lawful(t, name, []byte(src), o)
			t.Logf("%d bytes: %d nodes, %d pieces", len(src), len(o.Nodes), len(o.Pieces))
		})
	}
}

// The laws hold for real files too.
func TestRealFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the standard library")
	}
	n := 0
	roots := []string{filepath.Join(goroot.Dir(), "src"), filepath.Join(goroot.Dir(), "misc"), os.Getenv("SKL_FILES")}
	for _, root := range roots {
		if root == "" {
			continue
		}
		filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || root == roots[0] && strings.HasSuffix(path, ".go") {
				return nil // TestGoDefinitions reads these
			}
			if src, err := os.ReadFile(path); err == nil && len(src) < 2<<20 {
				lawful(t, path, src, Split(path, src))
				n++
			}
			return nil
		})
	}
	t.Logf("%d files", n)
}
