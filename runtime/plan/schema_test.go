package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/runtime/plan"
)

// contract makes the plan of a skill whose only op has schema as its output contract.
func contract(t testing.TB, schema string, more map[string]string) *plan.Schema {
	t.Helper()
	fsys := fstest.MapFS{
		"SKILL.md":                {Data: []byte("---\nname: small\ndescription: Does a thing.\n---\n\n## Tree\n\n* REVIEW >> x\n")},
		"references/ops.md":       {Data: []byte("## REVIEW >> x\n\n> **Output contract:** `assets/schemas/out.json`\n\nDo it.\n")},
		"assets/schemas/out.json": {Data: []byte(schema)},
	}
	for name, text := range more {
		fsys["assets/schemas/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, err := plan.New(t.Context(), load(t, fsys, "small"), plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range p.Nodes() {
		if c, ok := p.Callee(n); ok {
			return p.Output(c)
		}
	}
	t.Fatal("no call")
	return nil
}

func TestValidate(t *testing.T) {
	const findings = `{"type":"object","additionalProperties":false,"required":["aspect","findings"],"properties":{
		"aspect":{"enum":["speed","safety"]},
		"findings":{"type":"array","maxItems":2,"items":{"$ref":"finding.json"}},
		"score":{"type":["integer","null"],"minimum":0,"maximum":10},
		"note":{"type":"string","minLength":2,"maxLength":4},
		"v":{"const":1}, "either":{"oneOf":[{"type":"string"},{"type":"number"}]}}}`
	s := contract(t, findings, map[string]string{
		"finding.json": `{"type":"object","required":["line"],"properties":{"line":{"type":"integer"},"also":{"$ref":"#"}}}`,
	})
	for _, c := range []struct{ value, want string }{
		{`{"aspect":"speed","findings":[]}`, ""},
		{`{"aspect":"speed","findings":[{"line":1,"also":{"line":2}}],"score":null,"either":1}`, ""},
		{`{"findings":[]}`, "property aspect is missing"},
		{`[]`, "the value is an array, and must be an object"},
		{`{"aspect":"speed","findings":{}}`, "property findings is an object, and must be an array"},
		{`{"aspect":"speed","findings":[{"line":1},{"line":"2"}]}`, "property findings[1].line is a string, and must be an integer"},
		{`{"aspect":"speed","findings":[{"line":1,"also":{"line":1.5}}]}`, "property findings[0].also.line is a number, and must be an integer"},
		{`{"aspect":"speed","findings":[{"line":1},{"line":1},{"line":1}]}`, "property findings has 3 elements, and must have at most 2"},
		{`{"aspect":"taste","findings":[]}`, `property aspect must be one of ["speed","safety"]`},
		{`{"aspect":"speed","findings":[],"extra":1}`, "property extra is not in the schema"},
		{`{"aspect":"speed","findings":[],"score":11}`, "property score is 11, and must be at most 10"},
		{`{"aspect":"speed","findings":[],"score":-1}`, "property score is -1, and must be at least 0"},
		{`{"aspect":"speed","findings":[],"score":"1"}`, "property score is a string, and must be an integer or null"},
		{`{"aspect":"speed","findings":[],"note":"x"}`, "property note has 1 characters, and must have at least 2"},
		{`{"aspect":"speed","findings":[],"note":"xxxxx"}`, "property note has 5 characters, and must have at most 4"},
		{`{"aspect":"speed","findings":[],"v":2}`, "property v must be 1"},
		{`{"aspect":"speed","findings":[],"either":true}`, "the value does not fit assets/schemas/out.json"},
		{`{"aspect":1,"findings":1,"note":1,"score":"x"}`, `property aspect must be one of ["speed","safety"]`},
	} {
		var value any
		if err := json.Unmarshal([]byte(c.value), &value); err != nil {
			t.Fatal(err)
		}
		for range 20 { // the sentence does not depend on the order of maps
			got := ""
			if err := s.Validate(value); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Fatalf("%s: got %q, want %q", c.value, got, c.want)
			}
		}
	}
	if err := s.Validate(struct {
		Aspect   string `json:"aspect"`
		Findings []int  `json:"findings"`
	}{"speed", []int{}}); err != nil {
		t.Errorf("a Go value: %v", err)
	}
	if err := s.Validate(make(chan int)); err == nil {
		t.Error("a channel is not JSON")
	}
}

// A contract leaves the plan as one document that needs no files, in both drafts.
func TestContractIsOneDocument(t *testing.T) {
	for name, head := range map[string]string{
		"2020-12":        `"$schema":"https://json-schema.org/draft/2020-12/schema",`,
		"2020-12 loose":  `"$schema":"https://json-schema.org/draft/2020-12/schema#","$id":"https://example.org/out",`,
		"draft-07":       `"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"own":{"type":"string"}},`,
		"draft-07 bare":  `"$schema":"http://json-schema.org/draft-07/schema",`,
		"no draft named": ``,
	} {
		t.Run(name, func(t *testing.T) {
			s := contract(t, `{`+head+`"type":"object","properties":{"a":{"$ref":"a.json"},"b":{"$ref":"./sub/b%20b.json#/properties/deep"}}}`, map[string]string{
				"a.json":       `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":{"$ref":"sub/b b.json"}}`,
				"sub/b b.json": `{"type":"object","properties":{"deep":{"type":"integer"},"up":{"$ref":"../a.json"},"all":{"$ref":"../out.json"},"$ref":{"type":"string"}}}`,
			})
			for _, c := range []struct {
				value string
				fits  bool
			}{
				{`{"a":[{"deep":1,"up":[]}],"b":1}`, true},
				{`{"a":[{"deep":"1"}]}`, false},
				{`{"a":[{"up":[{"deep":"1"}]}]}`, false},
				{`{"a":[{"all":{"b":"1"}}]}`, false},
				{`{"a":[{"$ref":1}]}`, false},
				{`{"b":"1"}`, false},
			} {
				var value any
				if err := json.Unmarshal([]byte(c.value), &value); err != nil {
					t.Fatal(err)
				}
				if err := s.Validate(value); (err == nil) != c.fits {
					t.Errorf("%s: %v", c.value, err)
				}
				// The document says the same to someone who has nothing else.
				var alone jsonschema.Schema
				if err := json.Unmarshal(s.JSON, &alone); err != nil {
					t.Fatal(err)
				}
				resolved, err := alone.Resolve(nil)
				if err != nil {
					t.Fatalf("%v\n%s", err, s.JSON)
				}
				if err := resolved.Validate(value); (err == nil) != c.fits {
					t.Errorf("alone, %s: %v", c.value, err)
				}
			}
		})
	}
}

// Names of places work as well, also in a file that another one refers to.
func TestAnchors(t *testing.T) {
	s := contract(t, `{"properties":{"a":{"$ref":"#level"},"b":{"$ref":"b.json#size"}},"$defs":{"x":{"$anchor":"level","type":"string"}}}`,
		map[string]string{"b.json": `{"properties":{"deep":{"$anchor":"size","type":"integer"}}}`})
	for value, want := range map[string]string{
		`{"a":"x","b":1}`: "<nil>",
		`{"a":1}`:         "property a is an integer, and must be a string",
		`{"b":"x"}`:       "property b is a string, and must be an integer",
	} {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.Validate(v)); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}

func TestSampleOrSchema(t *testing.T) {
	for text, hint := range map[string]bool{
		`{}`: false, `true`: false, `{"type":"object"}`: false, `{"properties":{}}`: false, `{"anyOf":[{"type":"string"}]}`: false, `{"$ref":"#/$defs/a","$defs":{"a":{}}}`: false,
		`{"type":["string","null"]}`: false, `{"enum":[1]}`: false,
		`{"files":["a"]}`: true, `[]`: true, `"text"`: true, `{"type":"bug","title":"x"}`: true, `{"properties":{"colour":"red"}}`: true, `{"required":true}`: true,
		`{"type":[]}`: true, `{"anyOf":["x"]}`: true,
	} {
		s := contract(t, text, nil)
		if s.Hint != hint {
			t.Errorf("%s: hint %v", text, s.Hint)
		}
		if hint && s.Validate(map[string]any{"anything": 1.0}) != nil {
			t.Errorf("%s: a hint is checked against", text)
		}
	}
}

func TestProperties(t *testing.T) {
	for text, want := range map[string]string{
		`{"properties":{"b":{},"a":{}}}`: "[a b]",
		`{"$ref":"#/$defs/x","properties":{"c":true},"$defs":{"x":{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}}}`: "[a b c]",
		`{"type":"array","items":{"properties":{"a":{}}}}`:                                                                       "[]",
		`{"files":[],"count":1}`: "[count files]",
		`[1]`:                    "[]",
	} {
		if got := fmt.Sprint(contract(t, text, nil).Properties()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A schema is somebody's file: whatever is in it, New answers, and a Validate ends.
func FuzzContract(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"b.json#/x"}}}`, `{"$ref":"#"}`, `{"$ref":"b.json"}`, `{"$anchor":"a","items":{"$ref":"#a"}}`,
		`{"$defs":{"b.json":{}},"$ref":"b.json"}`, `{"not":{"not":{"$ref":"#/not"}}}`, `[[[]]]`, `{"properties":{"$ref":"#"}}`, `{"$ref":"#/a~1b/%zz"}`,
		strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat(`}`, 200), `{"pattern":"("}`, `{"dependencies":{"a":["b"],"c":{"$ref":"#"}}}`, `{"multipleOf":0}`,
	} {
		f.Add(seed, `{"a":[1,{"b":"x"}]}`)
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		fsys := fstest.MapFS{
			"SKILL.md":                {Data: []byte("---\nname: small\ndescription: Does a thing.\n---\n\n## Tree\n\n* REVIEW >> x\n")},
			"references/ops.md":       {Data: []byte("## REVIEW >> x\n\n> **Output contract:** `assets/schemas/out.json`\n\nDo it.\n")},
			"assets/schemas/out.json": {Data: []byte(schema)},
			"assets/schemas/b.json":   {Data: []byte(`{"x":{"$ref":"out.json"},"items":{"$ref":"#"}}`)},
		}
		p, err := plan.New(t.Context(), load(t, fsys, "small"), plan.Options{})
		if err != nil {
			return
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			return
		}
		for n := range p.Nodes() {
			if c, ok := p.Callee(n); ok {
				s := p.Output(c)
				one, two := s.Validate(v), s.Validate(v)
				if fmt.Sprint(one) != fmt.Sprint(two) {
					t.Errorf("%v, then %v", one, two)
				}
				s.Properties()
			}
		}
	})
}
