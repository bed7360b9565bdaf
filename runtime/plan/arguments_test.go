package plan_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
)

// planWith is the plan of a skill with that arguments key.
func planWith(t testing.TB, arguments string) *plan.Plan {
	t.Helper()
	s := load(t, fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: demo\ndescription: Does a thing. Use when asked.\nskill_format: corteza.skill/v1\narguments: " + arguments +
		"\n---\n\n## Tree\n\n* bind done = 1\n\n## Rules\n\n- r\n\n## Response: done\n")}}, "demo")
	p, err := plan.New(t.Context(), s, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestArguments(t *testing.T) {
	const schema = `{"schema": {"type": "object", "properties": {
		"name": {"type": "string"}, "count": {"type": ["integer", "null"]}, "either": {"enum": ["on", 3]}, "any": {},
		"dry-run": {"$ref": "#/$defs/flag"}, "tags": {"type": "array", "items": {"type": "integer"}}, "even": {"type": "integer", "multipleOf": 2}},
		"required": ["name"], "$defs": {"flag": {"type": "boolean", "default": false}}}, "positional": ["name", "tags"]}`
	p := planWith(t, schema)
	for _, tt := range []struct {
		text string
		want map[string]any // without dry_run, which has a default
		err  string
	}{
		{"x", map[string]any{"name": "x"}, ""},
		{"3", map[string]any{"name": "3"}, ""},
		{"name=x 1 2", map[string]any{"name": "x", "tags": []any{1., 2.}}, ""},
		{"x [1,2]", map[string]any{"name": "x", "tags": []any{1., 2.}}, ""},
		{`"a b"`, map[string]any{"name": "a b"}, ""},
		{`name='a "b"'`, map[string]any{"name": `a "b"`}, ""},
		{`a\ b`, map[string]any{"name": "a b"}, ""},
		{`C:\dir`, map[string]any{"name": `C:\dir`}, ""},
		{"''", map[string]any{"name": ""}, ""},
		{"https://x/?a=b", map[string]any{"name": "https://x/?a=b"}, ""},
		{"x count=null either=3", map[string]any{"name": "x", "count": nil, "either": 3.}, ""},
		{"x either=on any=7", map[string]any{"name": "x", "either": "on", "any": "7"}, ""},
		{"x dry-run=true", map[string]any{"name": "x", "dry_run": true}, ""},
		{` {"name": "x", "count": 1}`, map[string]any{"name": "x", "count": 1.}, ""},

		{"", nil, "demo: argument name is missing"},
		{"x 1 b", nil, "demo: argument tags is a string, and must be an integer"},
		{"x count=1.5", nil, "demo: argument count is a number, and must be an integer or null"},
		{"x even=3", nil, `demo: argument "even" does not fit arguments.schema`},
		{"x either=off", nil, `demo: argument either must be one of ["on",3]`},
		{"x Count=1", nil, `demo: there is no argument "Count"; did you mean count?`},
		{"x 'y", nil, "demo: the arguments have a ' without its other"},
		{`{"name": "x"} {}`, nil, "demo: the arguments start with { and are not one JSON object"},
		{`{"name": "x", "tags": [1, "b"]}`, nil, "demo: argument tags[1] is a string, and must be an integer"},
	} {
		got, err := p.Arguments(tt.text)
		if tt.err != "" {
			if !errors.Is(err, diag.Code(plan.CodeArgument)) || err.Error() != tt.err {
				t.Errorf("Arguments(%q): %v, want %s", tt.text, err, tt.err)
			}
			continue
		}
		if _, given := tt.want["dry_run"]; !given {
			tt.want["dry_run"] = false
		}
		if err != nil || !reflect.DeepEqual(got.Bindings(), tt.want) {
			t.Errorf("Arguments(%q) = %v, %v; want %v", tt.text, got.Bindings(), err, tt.want)
		}
	}
}

// Names beside the properties are taken where the schema says that there may be some.
func TestArgumentsOpen(t *testing.T) {
	p := planWith(t, `{"schema": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}}`)
	if got, err := p.Arguments("b=3"); err != nil || !reflect.DeepEqual(got.Values, map[string]any{"b": 3.}) {
		t.Errorf("b=3 is %v, %v", got.Values, err)
	}
	if _, err := p.Arguments("b=x"); err == nil {
		t.Error("b=x is taken")
	}
}

// Words joined into one text are split into the same words again.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"a", "", "a b", `'`, `"`, `\`, "a\\ b", "\t'\n\"", "é", "\xff"} {
		f.Add(s, "x")
	}
	p := planWith(f, `{"schema": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 0 && (a[0] == '{' || a[0] <= ' ') {
			return
		}
		words, err := plan.SplitWords(p.Words([]string{a, b}))
		if err != nil || !reflect.DeepEqual(words, []string{a, b}) {
			t.Fatalf("%q, %q became %q, %v", a, b, words, err)
		}
		if got, err := p.Arguments(a + " " + b); err == nil && got.Values == nil {
			t.Fatal("no values and no error")
		}
	})
}
