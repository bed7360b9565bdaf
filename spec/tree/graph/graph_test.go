package graph_test

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/graph"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []struct {
	name string
	draw func(*tree.Skill, graph.Options) string
}{
	{"txt", graph.Text}, {"mmd", graph.Mermaid}, {"dot", graph.DOT}, {"json", graph.JSON}, {"svg", graph.SVG},
}

func load(t testing.TB, file string) *tree.Skill {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, f := range ar.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	s, err := tree.Load(fsys, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parse makes a skill of a tree and op definitions.
func parse(t testing.TB, nodes, ops string) *tree.Skill {
	t.Helper()
	s, err := tree.Load(fstest.MapFS{
		"SKILL.md":          {Data: []byte("---\nname: demo\ndescription: Shows.\n---\n\n## Tree\n\n" + nodes)},
		"references/ops.md": {Data: []byte(ops)},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each fixture in each format is as it was. "go test -run Golden -update" rewrites the
// files; look at the pictures before you commit them.
func TestGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no fixtures")
	}
	for _, file := range files {
		s := load(t, file)
		for _, f := range formats {
			golden := strings.TrimSuffix(file, ".txtar") + "." + f.name
			t.Run(filepath.Base(golden), func(t *testing.T) {
				got := f.draw(s, graph.Options{Ops: true})
				if again := f.draw(s, graph.Options{Ops: true}); again != got {
					t.Fatal("not the same twice")
				}
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s differs; run with -update and look", golden)
				}
			})
		}
	}
}

func TestText(t *testing.T) {
	s := parse(t, "* demo\n  * IF << x == 1\n    * LOAD << x\n  * IF << it rains\n    * LOAD\n", "## LOAD << x\n\n* LOAD << x\n  * read it >> x\n")
	for _, test := range []struct {
		name string
		opt  graph.Options
		want string
	}{
		{"tree alone", graph.Options{}, `demo
├── ◆ IF << x == 1
│   └── LOAD << x  references/ops.md:1
└── ◇ IF << it rains
    └── LOAD       references/ops.md:1

◆ decided by a rule
◇ decided by a model
`},
		{"bodies once", graph.Options{Ops: true}, `demo
├── ◆ IF << x == 1
│   └── LOAD << x
│       ╰── op LOAD << x  references/ops.md:1
│           └── read it >> x
└── ◇ IF << it rains
    └── LOAD              body above

◆ decided by a rule
◇ decided by a model
`},
		{"cut, with a run's outcome", graph.Options{Depth: 1, Status: map[string]string{"SKILL.md#/0": "ok"}}, `demo
├── ◆ IF << x == 1  ok
│   └── … 1 more step
└── ◇ IF << it rains
    └── … 1 more step

◆ decided by a rule
◇ decided by a model
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := graph.Text(s, test.opt); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// The call of a tool is a step that no model fills: it is said in each format, and the text that is for readers is not drawn.
func TestTool(t *testing.T) {
	s := parse(t, "* demo\n  * LOOK_UP << \"tea\" >> entry\n", "## LOOK_UP << name >> entry\n\n> **Tool.** `server__lookup`\n\nLook it up by hand.\n")
	for _, f := range formats {
		got := f.draw(s, graph.Options{Ops: true})
		if !strings.Contains(strings.Join(strings.Fields(got), " "), "server__lookup") || strings.Contains(got, "by hand") {
			t.Errorf("%s:\n%s", f.name, got)
		}
	}
	const want = `demo
└── ◆ LOOK_UP << "tea" >> entry  calls the tool server__lookup, references/ops.md:1

◆ decided by a rule
`
	if got := graph.Text(s, graph.Options{Ops: true}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := graph.JSON(s, graph.Options{}); !strings.Contains(got, `"decided": "rule"`) || !strings.Contains(got, `"tool": "server__lookup"`) {
		t.Error(got)
	}
}

// The edges of each construct, as "from -label-> to" with short names.
func TestFlow(t *testing.T) {
	for _, test := range []struct{ name, nodes, want string }{
		{"sequence", "* a b\n* c d\n", "start>0 0>1 1>end"},
		{"chain", "* IF << a == 1\n  * x y\n* ELSE_IF << b == 1\n  * END\n* ELSE\n  * z z\n* last one\n",
			"start>0 0-yes>0/0 0-no>1 1-yes>1/0 1-no>2/0 0/0>3 2/0>3 3>end"},
		{"if alone", "* IF << a == 1\n  * x y\n* z z\n", "start>0 0-yes>0/0 0/0>1 0-no>1 1>end"},
		{"cases", "* SWITCH << a\n  * CASE << one\n    * x y\n  * DEFAULT\n    * z z\n", "start>0 0-one>0/0/0 0-otherwise>0/1/0 0/0/0>end 0/1/0>end"},
		{"no default", "* SWITCH << a\n  * CASE << one\n    * x y\n", "start>0 0-one>0/0/0 0/0/0>end 0-otherwise>end"},
		{"loop", "* FOR_EACH << x in xs\n  * IF << x == 1\n    * BREAK\n  * use it\n* z z\n",
			"start>0 0-each>0/0 0/0-yes>0/0/0 0/0-no>0/1 0/1>0 0/0/0>1 0-done>1 1>end"},
		{"parallel", "* PARALLEL\n  * x y\n  * z z\n* w w\n", "start>0 0>0/0 0>0/1 0/0>0/join 0/1>0/join 0/join>1 1>end"},
		{"options", "* ASK << Go? | Yes | No\n  * Yes — do it\n* z z\n", "start>0 0-Yes>0/0/0 0-No>0/ends/0/0 0/0/0>1 1>end"},
		{"break leaves the tree", "* BREAK\n* z z\n", "start>0 1>end 0>end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var f struct {
				Edges []struct{ From, To, Label string }
			}
			if err := json.Unmarshal([]byte(graph.JSON(parse(t, test.nodes, ""), graph.Options{})), &f); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range f.Edges {
				label := ""
				if e.Label != "" {
					label = "-" + e.Label
				}
				got = append(got, strings.TrimPrefix(e.From, "SKILL.md#/")+label+">"+strings.TrimPrefix(e.To, "SKILL.md#/"))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), test.want)
			}
		})
	}
}

// Text of a skill stays inside its label in every format.
func TestHostile(t *testing.T) {
	hostile := "* \"];</text><script>alert(1)</script>&#1;`\\\" --> \x1b[31m \u202e #quot; <img onerror=x>\n* IF << \"]} \\\n  * x y\n"
	checkFormats(t, parse(t, hostile, "## OP << \"x\n\nbody\n"), graph.Options{Ops: true, Status: map[string]string{"SKILL.md#/0": "\"><b>"}})
}

func checkFormats(t *testing.T, s *tree.Skill, opt graph.Options) {
	t.Helper()
	svg := graph.SVG(s, opt)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("svg is not well-formed: %v\n%s", err, svg)
		}
		if e, ok := tok.(xml.StartElement); ok {
			switch e.Name.Local {
			case "svg", "title", "rect", "path", "text", "g", "a", "circle":
			default:
				t.Fatalf("svg holds <%s>", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
					t.Fatalf("svg holds %s=%q", a.Name.Local, a.Value)
				}
			}
		}
	}
	if js := graph.JSON(s, opt); !json.Valid([]byte(js)) {
		t.Fatalf("no JSON: %s", js)
	}
	for _, f := range []struct{ name, text string }{{"mermaid", graph.Mermaid(s, opt)}, {"dot", graph.DOT(s, opt)}, {"text", graph.Text(s, opt)}} {
		for _, l := range strings.Split(strings.TrimSuffix(f.text, "\n"), "\n") {
			for _, r := range l {
				if r < ' ' || r == 0x7f || r == 0x202e {
					t.Fatalf("%s holds %q in %q", f.name, r, l)
				}
			}
			if f.name != "text" && quotes(l, f.name == "dot")%2 != 0 {
				t.Fatalf("%s: quotes of %q", f.name, l)
			}
		}
	}
}

// quotes counts the quotes that open or close a label.
func quotes(l string, escapes bool) (n int) {
	for i := 0; i < len(l); i++ {
		if escapes && l[i] == '\\' {
			i++
		} else if l[i] == '"' {
			n++
		}
	}
	return n
}

// Every node is drawn, whatever the options.
func TestEveryNode(t *testing.T) {
	s := load(t, "testdata/release.txtar")
	js := graph.JSON(s, graph.Options{Ops: true})
	tree.Walk(s.Tree.Nodes, func(n *tree.Node) bool {
		switch n.Kind {
		case tree.Else, tree.Case, tree.Default:
			return true
		}
		inLeaf := strings.Contains(n.Text, "keep the")
		if !inLeaf && !strings.Contains(js, `"id": "`+n.ID+`"`) {
			t.Errorf("%s %s is missing", n.ID, n.Text)
		}
		return true
	})
}

// A run's outcome is seen on the steps: a border, and a mark at the corner.
func TestStatus(t *testing.T) {
	s := parse(t, "* one thing\n* IF << x == 1\n  * other thing\n", "")
	svg := graph.SVG(s, graph.Options{Status: map[string]string{"SKILL.md#/0": "failed", "SKILL.md#/1": "ok", "SKILL.md#/1/0": "skipped"}})
	if strings.Count(svg, "<circle") != 3 || !strings.Contains(svg, `opacity="0.45"`) || strings.Contains(graph.SVG(s, graph.Options{}), "<circle") {
		t.Error(svg)
	}
	if text := graph.Text(s, graph.Options{Status: map[string]string{"SKILL.md#/0": "failed"}}); !strings.Contains(text, "one thing") || !strings.Contains(text, "  failed\n") {
		t.Error(text)
	}
}

// bigSkill has n nodes: conditions, loops, parallel blocks, calls.
func bigSkill(t testing.TB, n int) *tree.Skill {
	var b strings.Builder
	b.WriteString("* demo\n")
	for i := 0; i*10 < n; i++ {
		fmt.Fprintf(&b, "  * IF << count == %d\n    * FOR_EACH << x in list_%d\n      * look at `x` and say what it is\n      * OP_%d << x >> y\n  * ELSE\n    * PARALLEL\n      * **OP_%d** << a\n      * **OP_%d** << b\n  * Read `assets/x.md`\n  * say something longer that has to be broken into several lines of the box\n", i, i, i%7, i%7, i%5)
	}
	ops := ""
	for i := range 7 {
		ops += fmt.Sprintf("## OP_%d << x\n\n* OP_%d << x\n  * do it\n\n", i, i)
	}
	return parse(t, b.String(), ops)
}

// Four times the tree is about four times the picture.
func TestLinear(t *testing.T) {
	small, large := bigSkill(t, 1000), bigSkill(t, 4000)
	for _, f := range formats {
		a, b := len(f.draw(small, graph.Options{Ops: true})), len(f.draw(large, graph.Options{Ops: true}))
		if b > 6*a {
			t.Errorf("%s: %d bytes for 1,000 nodes, %d for 4,000", f.name, a, b)
		}
	}
}

func BenchmarkFormats(b *testing.B) {
	s := bigSkill(b, 2000)
	for _, f := range formats {
		b.Run(f.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.draw(s, graph.Options{Ops: true})
			}
		})
	}
}

func ExampleText() {
	s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte(`---
name: hello
description: Greets somebody.
---

## Tree

* hello
  * ASK << Who is it? >> name
  * IF << name is empty
    * END Nobody is there.
  * greet them
`)}}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(graph.Text(s, graph.Options{}))
	// Output:
	// hello
	// ├── ASK << Who is it? >> name
	// ├── ◆ IF << name is empty
	// │   └── END Nobody is there.
	// └── greet them
	//
	// ◆ decided by a rule
}
