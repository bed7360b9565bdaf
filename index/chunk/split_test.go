package chunk

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/testdata/goroot"
	"github.com/skl-project/skl/testdata/long"
)

// cases show what nodes and pieces a file has; want is what dump prints.
var cases = []struct{ name, path, src, want string }{
	{"a doc comment belongs to the piece of its function, not to the node", "a.go", `// Package p does.
package p

import "fmt"

const (
	A = 1
	B = 2
)

// Lone stands alone.
var Lone = 3 // and is a piece

// F prints.
func F() {
	fmt.Println(A)
}

type T struct{ x int }

func (t *T) M() {}
`, `go, 21 lines
chunk :1-9
  constant A :7-7
  constant B :8-8
variable Lone :12-12
function F :15-17
struct T :19-19
method M of T :21-21
piece :1-9 chunk
piece :11-12 variable Lone
piece :14-17 function F
piece :19-19 struct T
piece :21-21 method M of T
import fmt :4 in chunk
call Println :16 in function F
`},
	{"what lies between methods is shown as the class", "a.py", `import os

@register(
    name="box",
)
class Box:
    """Holds."""
    size = 1

    def put(self, v):
        def inner(): return v
        return inner

    limit = 2

    @property
    def get(self): return 1

if __name__ == "__main__":
    main()
`, `python, 20 lines
chunk :1-1
class Box :6-17
  field size of Box :8-8
  method put of Box :10-12
    function inner :11-11
  field limit of Box :14-14
  method get of Box :17-17
chunk :19-20
piece :1-1 chunk
piece :3-8 class Box
piece :10-12 method put of Box
piece :14-14 class Box
piece :16-17 method get of Box
piece :19-20 chunk
import os :1 in chunk
call register :3 in class Box
call property :16 in method get of Box
call main :20 in chunk
`},
	{"attributes, impl and modules", "a.rs", `use std::fmt;

/// A point.
#[derive(Debug)]
pub struct Point {
    x: i32,
}

impl Point {
    const ZERO: i32 = 0;

    /// Makes one.
    #[inline]
    pub fn new() -> Self { make() }
}

mod tests {
    #[test]
    fn works() {}
}
`, `rust, 20 lines
chunk :1-1
struct Point :5-7
struct Point :9-15
  constant ZERO :10-10
  method new of Point :14-14
module tests :17-20
  function works :19-19
piece :1-1 chunk
piece :3-7 struct Point
piece :9-10 struct Point
piece :12-15 method new of Point
piece :17-17 module tests
piece :18-20 function works
import fmt :1 in chunk
call make :14 in method new of Point
`},
	{"sections nest; long code blocks are pieces", "a.md", "Before.\n\n# Use `x` of [a](b)\n\nText.\n\n## Inner\n\n```go\n# no heading\n```\n\n" +
		"## Long\n\nSee:\n\n```sh\n1\n2\n3\n4\n5\n6\n```\n\nDone.\n\nNext\n====\n\n<!--\n# comment\n-->\n",
		`markdown, 33 lines
paragraph :1-1
section Use x of a :3-26
  chunk of Use x of a :3-5
  section Inner of Use x of a :7-11
    code_block go of Inner :9-11
  section Long of Use x of a :13-26
    code_block sh of Long :17-24
section Next :28-33
piece :1-1 paragraph
piece :3-5 chunk of Use x of a
piece :7-11 section Inner of Use x of a
piece :13-15 section Long of Use x of a
piece :17-24 code_block sh of Long
piece :26-26 section Long of Use x of a
piece :28-33 section Next
`},
	{"a skill", "skills/pdf/SKILL.md", "---\nname: pdf-forms\ndescription: Fills forms.\n---\n# Forms\n\nFill them.\n", `skill, 7 lines
chunk pdf-forms :1-4
section Forms :5-7
piece :1-4 chunk pdf-forms
piece :5-7 section Forms
`},
	{"a Canopy tree", "skills/d/SKILL.md", "---\nname: deploy\ndescription: Deploys.\n---\n## Tree\n\n* CHECK << env >> state\n* IF << state is bad\n  * END Bad.\n", `tree, 9 lines
chunk deploy :1-4
section Tree :5-9
  node CHECK << env >> state of deploy :7-7
  node IF << state is bad of deploy :8-9
    node END Bad. of deploy :9-9
piece :1-4 chunk deploy
piece :5-9 section Tree
`},
	{"an op file", "skills/d/references/ops.md", "# Ops\n\n## CHECK << env >> state\n\n* Look at `env`.\n* END\n\n## NOTES\n\nProse.\n", `tree, 10 lines
section Ops :1-10
  chunk of Ops :1-1
  op CHECK of Ops :3-6
    node Look at ` + "`env`" + `. of CHECK :5-5
    node END of CHECK :6-6
  op NOTES of Ops :8-10
piece :1-1 chunk of Ops
piece :3-6 op CHECK of Ops
piece :8-10 op NOTES of Ops
`},
	{"TOML frontmatter", "a.md", "+++\ntitle = 'x'\n+++\n# A\n", `markdown, 4 lines
chunk :1-3
section A :4-4
piece :1-3 chunk
piece :4-4 section A
`},
	{"line ends of two bytes", "a.go", "package p\r\n\r\n// F is.\r\nfunc F() {\r\n}\r\n", `go, 5 lines
chunk :1-1
function F :4-5
piece :1-1 chunk
piece :3-5 function F
`},
	{"not UTF-8", "a.txt", "caf\xe9\n", `text, 1 lines
chunk :1-1
piece :1-1 chunk
`},
	{"only white space", "a.go", " \n\n", "go, 2 lines\n"},
	{"nothing", "a.md", "", "markdown, 0 lines\n"},
}

func TestSplit(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := Split(c.path, []byte(c.src))
			lawful(t, c.path, []byte(c.src), o)
			if got := dump(o); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestBinary(t *testing.T) {
	for name, src := range map[string]string{
		"NUL": "a\x00b", "UTF-16": "\xff\xfea\x00", "UTF-16, without ASCII": "\xfe\xff\x4e\x2d",
	} {
		t.Run(name, func(t *testing.T) {
			if o := Split("a.go", []byte(src)); !o.Binary || o.Language != "" || o.Nodes != nil || o.Pieces != nil {
				t.Errorf("%+v", o)
			}
		})
	}
	if o := Split("a.txt", []byte(strings.Repeat("a", BinaryHead)+"\x00")); o.Binary {
		t.Error("a NUL far behind makes a file binary")
	}
}

// A long function is divided at blank lines into chunks of it, which leave its inner functions whole.
func TestLongFunction(t *testing.T) {
	var b strings.Builder
	b.WriteString("package p\n\n// F is long.\nfunc F() {\n")
	for range 30 {
		b.WriteString("\ta()\n\tb()\n\tc()\n\td()\n\te()\n\n")
	}
	b.WriteString("}\n")
	src := []byte(b.String())
	o := Split("a.go", src)
	lawful(t, "a.go", src, o)
	f := slices.IndexFunc(o.Nodes, func(p Part) bool { return p.Name == "F" })
	parts := 0
	for _, p := range o.Pieces[1:] {
		n := o.Nodes[p.Node]
		if n.Type != Chunk || n.Parent != f || n.Owner != "F" {
			t.Errorf("%v is shown as %v", p, n)
		}
		if p.LastLine-p.FirstLine >= gapLines {
			t.Errorf("%d lines", p.LastLine-p.FirstLine+1)
		}
		if src[p.End] != '\n' || parts < 3 && src[p.End+1] != '\n' {
			t.Errorf("cut at %q", src[p.End:p.End+4])
		}
		parts++
	}
	if parts != 4 || o.Pieces[1].FirstLine != 3 {
		t.Errorf("%d parts, from line %d", parts, o.Pieces[1].FirstLine)
	}
}

// One enormous line is cut at a character.
func TestLongLine(t *testing.T) {
	src := []byte(strings.Repeat("a", 999) + strings.Repeat("é", 10_000))
	o := Split("a.json", src)
	lawful(t, "a.json", src, o)
	if len(o.Pieces) != 4 {
		t.Errorf("%d pieces", len(o.Pieces))
	}
	for _, p := range o.Pieces {
		if p.End-p.Start > maxBytes || src[p.Start]&0xc0 == 0x80 {
			t.Errorf("piece %v starts with %x", p, src[p.Start])
		}
	}
}

// Weakness 4: what is outside of definitions is found too.
func TestWeakness4EverythingIsInAPiece(t *testing.T) {
	src := "// Package doc of weaknesses.\npackage p\n\nimport \"net/http\"\n\n// ErrGone says so.\nvar ErrGone = 1\n\n// Comment above.\nfunc F() {}\n\n// Floating.\n"
	o := Split("a.go", []byte(src))
	for _, text := range []string{"Package doc", "net/http", "ErrGone says", "ErrGone =", "Comment above", "Floating"} {
		at := strings.Index(src, text)
		if !slices.ContainsFunc(o.Pieces, func(p Piece) bool { return p.Start <= at && at+len(text) <= p.End }) {
			t.Errorf("%q is in no piece", text)
		}
	}
}

// Weakness 5: a keyword is no definition, and a function bound to a name has that name.
func TestWeakness5KeywordsAreNoNodes(t *testing.T) {
	src := "const run = async (job) => job()\nexport default class Box { open() { return function named() {} } }\nfunction last() {}\n"
	o := Split("a.js", []byte(src))
	var names []string
	for _, n := range o.Nodes {
		if n.Type.IsSymbol() {
			names = append(names, n.Name)
		}
	}
	for _, want := range []string{"run", "Box", "open", "last"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %q", want, names)
		}
	}
	if slices.ContainsFunc(names, func(s string) bool { return s == "" || strings.HasPrefix(s, "<") || s == "job" || s == "function" }) {
		t.Errorf("nodes %q", names)
	}
}

// Weakness 10: two nodes of one type and span are two nodes, with their names.
func TestWeakness10SameSpan(t *testing.T) {
	src := []byte("package p\n\nvar first, second = f()\n")
	o := Split("a.go", src)
	lawful(t, "a.go", src, o)
	var names []string
	for _, n := range o.Nodes {
		if n.Type == Variable {
			names = append(names, n.Name)
		}
	}
	if !slices.Equal(names, []string{"first", "second"}) {
		t.Errorf("names %q", names)
	}
}

// Weakness 11: a file that is not UTF-8 is not left out.
func TestWeakness11NotUTF8(t *testing.T) {
	src := []byte("package p\n\n// caf\xe9\nfunc Latin() { g(\"\xe9\") }\n")
	o := Split("a.go", src)
	lawful(t, "a.go", src, o)
	if !slices.ContainsFunc(o.Nodes, func(p Part) bool { return p.Name == "Latin" && p.Type == Function }) {
		t.Errorf("nodes %v", o.Nodes)
	}
}

// Every top-level name that go/ast sees in the standard library has a node of the right type. A sample is every twelfth file.
func TestGoDefinitions(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the standard library")
	}
	files, names, seen := 0, 0, 0
	filepath.WalkDir(filepath.Join(goroot.Dir(), "src"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return nil
		}
		if seen++; seen%long.Of(1, 12, 1) != 0 {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		o := Split(path, src)
		lawful(t, path, src, o)
		type place struct {
			name string
			t    Type
		}
		spans := map[place][]Region{}
		for _, n := range o.Nodes {
			spans[place{n.Name, n.Type}] = append(spans[place{n.Name, n.Type}], n.Region)
		}
		check := func(id *ast.Ident, types ...Type) {
			at := set.Position(id.Pos()).Offset
			if names++; id.Name == "_" {
				return
			}
			for _, ty := range types {
				if slices.ContainsFunc(spans[place{id.Name, ty}], func(r Region) bool { return r.Start <= at && at < r.End }) {
					return
				}
			}
			t.Errorf("%s: no node for %s", set.Position(id.Pos()), id.Name)
		}
		files++
		for _, decl := range tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				check(d.Name, Function, Method)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						check(s.Name, Struct, Class)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							check(id, Constant, Variable)
						}
					}
				}
			}
		}
		return nil
	})
	t.Logf("%d names in %d files", names, files)
	if files == 0 {
		t.Skip("no standard library here")
	}
}

var printed = flag.String("split", "", "file whose outline TestPrint prints")

func TestPrint(t *testing.T) {
	if *printed == "" {
		t.Skip("no -split")
	}
	src, err := os.ReadFile(*printed)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(dump(Split(*printed, src)))
}
