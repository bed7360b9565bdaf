package cond_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/cond"
)

func TestSwitchMatchesItsCase(t *testing.T) {
	env := world{bindings: `{"op": "VALIDATE", "n": 2, "flag": true, "major": "minor", "kind": "major", "k": "A.b", "part": {}}`, arguments: "Deploy now"}.env(t)
	for _, tt := range []struct {
		on, when string
		want     bool
	}{
		{`context.op`, `"VALIDATE"`, true},
		{`context.op`, `"validate"`, false},
		{`context.op`, `validate`, true},
		{`op`, `IMPROVE`, false},
		{`n`, `2`, true},
		{`n`, `"2"`, true},
		{`flag`, `true`, true},
		{`$ARGUMENTS`, `deploy now`, true},
		{`$ARGUMENTS`, `"deploy now"`, false},
		{`"literal"`, `literal`, true},
		{`kind`, `major`, true},          // a literal, although major is bound
		{`kind`, `context.major`, false}, // its value
		{`major`, "`major`", true},
		{`k`, `a.b`, true},
		{`context.part.gone`, `null`, true},
		{`context.part.gone`, `none`, false},
	} {
		v, err := cond.ParseExpression(tt.on).Value(env)
		got, wrong := cond.Match(v, cond.ParseCase(tt.when), env)
		if err != nil || wrong != nil || got != tt.want {
			t.Errorf("SWITCH << %s, CASE << %s: %v, %v, %v", tt.on, tt.when, got, err, wrong)
		}
	}
	for _, when := range []string{"`gone`", "context.gone", "context.part.gone"} {
		if got, err := cond.Match("x", cond.ParseCase(when), env); got || !errors.Is(err, diag.Code("condition_undecided")) {
			t.Errorf("CASE << %s: %v, %v", when, got, err)
		}
	}
	for _, on := range []string{"kind of the change", "unbound", "context.gone", "`gone`", ""} {
		if v, err := cond.ParseExpression(on).Value(env); v != nil || !errors.Is(err, diag.Code("condition_undecided")) {
			t.Errorf("SWITCH << %s = %v, %v", on, v, err)
		}
	}
}

func TestCollections(t *testing.T) {
	env := world{bindings: `{"findings": [{"s": 1}, {"s": 2}], "obj": {"b": 2, "a": 1}, "json": "[1, \"x\"]", "one": 7, "none": null,
		"word": "value", "blank": " ", "warning_findings": [3], "change": {"files": ["a.go"]}}`}.env(t)
	for _, tt := range []struct {
		text   string
		kind   cond.CollectionKind
		want   string
		filter bool
		scalar bool
	}{
		{`findings`, cond.Named, `[{"s":1},{"s":2}]`, false, false},
		{`context.change.files`, cond.Named, `["a.go"]`, false, false},
		{"`obj`", cond.Named, `[1,2]`, false, false},
		{`json`, cond.Named, `[1,"x"]`, false, false},
		{`one`, cond.Named, `[7]`, false, true},
		{`none`, cond.Named, `null`, false, false},
		{`blank`, cond.Named, `null`, false, false},
		{`[a, word, "b, c", 3, true, Tree Execution]`, cond.Listed, `["a","value","b, c",3,true,"Tree Execution"]`, false, false},
		{`[]`, cond.Listed, `[]`, false, false},
		{`critical findings`, cond.Filtered, `[{"s":1},{"s":2}]`, true, false},
		{`all of findings`, cond.Filtered, `[{"s":1},{"s":2}]`, true, false},
		{`warning findings`, cond.Filtered, `[3]`, false, false},
	} {
		c := cond.ParseCollection(tt.text)
		items, filter, scalar, err := c.Elements(env)
		got, _ := json.Marshal(items)
		if c.Kind != tt.kind || err != nil || string(got) != tt.want || filter != tt.filter || scalar != tt.scalar {
			t.Errorf("%s: kind %d, %s, filter %v, scalar %v, %v", tt.text, c.Kind, got, filter, scalar, err)
		}
	}
	for _, text := range []string{"", "unbound", "lost findings_x", "each file that was touched, with its tests", "[a, [b]]", "[a,,b]"} {
		if items, _, _, err := cond.ParseCollection(text).Elements(env); items != nil || !errors.Is(err, diag.Code("condition_undecided")) {
			t.Errorf("%q = %v, %v", text, items, err)
		}
	}
}

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1`, `"1"`, true}, {`"01"`, `1`, true}, {`"01"`, `"1"`, false}, {`true`, `"true"`, true}, {`true`, `1`, false},
		{`null`, `null`, true}, {`null`, `""`, false}, {`0`, `null`, false}, {`" a "`, `"a"`, true}, {`"A"`, `"a"`, false},
		{`[1,["2"]]`, `["1",[2]]`, true}, {`[1]`, `[1,1]`, false}, {`{"a":1}`, `{"a":1}`, true}, {`{"a":1}`, `{"b":1}`, false}, {`[]`, `{}`, false}, {`[]`, `""`, false},
	} {
		var a, b any
		if json.Unmarshal([]byte(tt.a), &a) != nil || json.Unmarshal([]byte(tt.b), &b) != nil {
			t.Fatal(tt)
		}
		if cond.Same(a, b) != tt.want || cond.Same(b, a) != tt.want {
			t.Errorf("%s and %s: want %v both ways", tt.a, tt.b, tt.want)
		}
	}
}

func ExampleEval() {
	e := cond.Parse(`any test was skipped AND context.dry_run is false`)
	vars := map[string]any{"context.dry_run": true}
	ok, how, err := cond.Eval(context.Background(), e, cond.Env{Lookup: func(p string) (any, bool) { v, ok := vars[p]; return v, ok }})
	fmt.Println(ok, how, err)
	fmt.Println(cond.Model(e), cond.Names(e))
	// Output:
	// false rule <nil>
	// true [context.dry_run]
}

func ExampleText() {
	fmt.Println(cond.Text(3.0), cond.Text([]any{"a", 1.5}), cond.Text(nil) == "")
	// Output: 3 ["a",1.5] true
}
