package plan_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/tree"
)

// of makes the plan of a skill whose tree is body.
func of(t testing.TB, body, ops string) *plan.Plan {
	t.Helper()
	fsys := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: small\ndescription: Does a thing.\n---\n\n## Tree\n\n" + body)}}
	if ops != "" {
		fsys["references/ops.md"] = &fstest.MapFile{Data: []byte(ops)}
	}
	p, err := plan.New(t.Context(), load(t, fsys, "small"), plan.Options{NoLint: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func first(t testing.TB, p *plan.Plan) *tree.Node {
	t.Helper()
	for n := range p.Nodes() {
		return n
	}
	t.Fatal("no node")
	return nil
}

func TestLeaf(t *testing.T) {
	for _, c := range []struct {
		body   string
		kind   plan.LeafKind
		text   string
		detail int
	}{
		{"* Sort the files", plan.Ask, "Sort the files", 0},
		{"* Sort the files >> sorted", plan.Ask, "Sort the files", 0},
		{"* Sort by\n  * name\n  * size", plan.Ask, "Sort by", 2},
		{"* Sort them\n  * LOAD << x", plan.Header, "Sort them", 0},
		{"* Sort them\n  * by name\n    * and say so >> said", plan.Header, "Sort them", 0},
		{"* For each file:\n  * IF << x == 1\n    * Sort it", plan.Title, "For each file:", 0},
		{"* continue", plan.Nothing, "continue", 0},
		{"* Skip.", plan.Nothing, "Skip.", 0},
		{"* Continue >> x", plan.Ask, "Continue", 0},
		{"* Cancelled by user.", plan.Say, "Cancelled by user.", 0},
		{"* skip the changelog", plan.Say, "skip the changelog", 0},
		{"* skipping stones", plan.Ask, "skipping stones", 0},
		{"* natural language: skip the odd ones", plan.Ask, "skip the odd ones", 0},
		{"* bind x = \"a\"", plan.NoLeaf, "", 0},
		{"* bind x = whatever fits best", plan.Ask, "bind x = whatever fits best", 0},
		{"* BREAK", plan.NoLeaf, "", 0},
	} {
		p := of(t, c.body+"\n", "## LOAD << x\n\nLoad it.\n")
		if got := p.Leaf(first(t, p)); got.Kind != c.kind || got.Text != c.text || len(got.Detail) != c.detail {
			t.Errorf("%q: %+v", c.body, got)
		}
	}
	p := of(t, "* Report: what was done\n", "")
	if !p.Leaf(first(t, p)).Report {
		t.Error("Report: is output")
	}
}

func TestMentions(t *testing.T) {
	p := of(t, "* Compare `old` with new_text and <third>\n  * then with context.fourth and the rest\n* Read it >> new_text\n* Read more >> third\n* Read again >> rest\n", "")
	got := p.Mentions(first(t, p))
	slices.Sort(got)
	if want := []string{"context.fourth", "new_text", "old", "rest", "third"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnbound(t *testing.T) {
	p := of(t, "* IF << mode == \"x\" AND total > 1\n  * LOAD << `where` | 2\n* ASK << Go? | Yes | No\n* IF << Yes\n  * FOR_EACH << f in files\n    * SWITCH << f.kind\n      * CASE << a\n        * END\n* Count >> total\n", "## LOAD << x | y\n\nLoad it.\n")
	if got := p.Unbound(); !slices.Equal(got, []string{"files", "mode", "where"}) {
		t.Errorf("got %q", got)
	}
}

func TestWriteTarget(t *testing.T) {
	for text, want := range map[string]string{
		"Read `assets/templates/a.md` and write it to `out/a.md`": "out/a.md",
		"Read `assets/templates/a.md` into `<name>.md`":           "<name>.md",
		"Read `templates/a.md` → `a.md`":                          "a.md",
		"Read `assets/templates/a.md` to `name`":                  "", // a reference, no file
		"Read `assets/templates/a.md` >> letter":                  "",
		"Read `assets/constants/a.md` into `out/a.md`":            "",
	} {
		tr, _ := tree.ParseTree("* "+text+"\n", "SKILL.md", 1, "small", nil)
		if got := plan.WriteTarget(tr.Nodes[0]); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestExpr(t *testing.T) {
	for text, want := range map[string]string{
		`"a"`: `a:string`, `7`: `7:number`, `-1.5`: `-1.5:number`, `true`: `true:bool`, `null`: `null:null`, `name`: `name:word`, `$ARGUMENTS`: `$ARGUMENTS:arguments`,
		"`x`": `x:ref`, `context.x`: `context.x:ref`, `a.b[0]`: `a.b[0]:ref`, `chart-only`: `chart-only:word`,
		`["a, b", c]`: `[a, b:string c:word]`, `[]`: `[]`, `[two words]`: `[two words:word]`,
		`"v" + version`: `v:string + version:word`, `"a + b"`: `a + b:string`, `a+b`: `a+b:word`,
		`the longest of them`: `phrase`, `"unclosed`: `phrase`, `x + the rest of it`: `phrase`,
	} {
		p := of(t, "* bind x = "+text+"\n", "")
		e := p.Expr(first(t, p))
		got := "phrase"
		if e.Phrase == "" {
			var parts []string
			for _, v := range e.Parts {
				parts = append(parts, show(v))
			}
			got = strings.Join(parts, " + ")
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func show(v tree.Value) string {
	if v.Kind == tree.List {
		var items []string
		for _, item := range v.Items {
			items = append(items, show(item))
		}
		return "[" + strings.Join(items, " ") + "]"
	}
	return v.Text + ":" + [...]string{"word", "string", "number", "bool", "null", "list", "arguments", "ref"}[v.Kind]
}

// Whatever a tree is, New and Effects end, say the same twice, and each effect is of a node that can be found.
func FuzzPlan(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		fx := readFixture(f, name)
		skill, ops := fx.skill["SKILL.md"], fx.skill["references/ops.md"]
		if ops == nil {
			ops = &fstest.MapFile{}
		}
		_, body, _ := strings.Cut(string(skill.Data), "## Tree")
		f.Add(body, string(ops.Data), fx.args)
	}
	f.Add("\n* A << 1\n* A\n", "## A << x >> y\n\n* A << x\n* FOR_EACH << z in [A, B]\n  * A << z >> y\n* BREAK\n", "[]")
	f.Fuzz(func(t *testing.T, body, ops, args string) {
		s, err := tree.Load(fstest.MapFS{
			"SKILL.md":          {Data: []byte("---\nname: small\ndescription: Does a thing.\n---\n\nDo $ARGUMENTS well.\n\n## Tree" + body)},
			"references/ops.md": {Data: []byte(ops)},
		}, "small")
		if err != nil {
			return
		}
		p, err := plan.New(t.Context(), s, plan.Options{})
		if err != nil {
			return
		}
		one := p.Effects(args)
		if !reflect.DeepEqual(one, p.Effects(args)) {
			t.Error("two walks differ")
		}
		for _, e := range one {
			id := strings.TrimSuffix(e.Node, "/+")
			if _, _, ok := p.NodeByID(id); !ok && e.Path != "arguments" && e.Path != "response" {
				t.Errorf("%s of %s, which is no node", fmt.Sprint(e), id)
			}
		}
	})
}
