package query_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
)

// TestShapes reads the examples in testdata, of which result.json is the seed's with ids of 24 digits, and writes them again. So
// each field of an example is known and of its type, and nothing else is written.
func TestShapes(t *testing.T) {
	for file, to := range map[string]any{
		"result.json": new(query.Result), "result_service.json": new(query.Result), "result_empty.json": new(query.Result),
		"pack.json": new(query.Pack), "pack_empty.json": new(query.Pack),
		"expansion.json": new(query.Expansion), "expansion_empty.json": new(query.Expansion), "status.json": new(query.Status),
	} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(want))
		d.DisallowUnknownFields()
		if err := d.Decode(to); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got := encode(t, to); got != string(want) {
			t.Errorf("%s: got\n%s", file, got)
		}
		if strings.HasSuffix(file, "_empty.json") {
			zero := reflect.New(reflect.TypeOf(to).Elem()).Interface()
			if got := encode(t, zero); got != string(want) {
				t.Errorf("%s: the zero value gives\n%s", file, got)
			}
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestShapeEmbedded shows that an answer keeps its fields when a service adds its own.
func TestShapeEmbedded(t *testing.T) {
	var v struct {
		Repo string `json:"repo"`
		query.Result
	}
	v.Repo = "r"
	got, err := json.Marshal(v)
	if err != nil || string(got) != `{"repo":"r","handles":[],"total_tokens":0,"total_matches":0,"truncated":false}` {
		t.Errorf("%s, %v", got, err)
	}
	v.Handles = append(v.Handles, query.Handle{Preview: "a < b"})
	if got, err = json.Marshal(v); err != nil || !strings.Contains(string(got), `"preview":"a \u003c b"`) {
		t.Errorf("an encoder for HTML gives %s, %v", got, err)
	}
}

// TestIDSpelling shows that every id of an answer is spelled as in the others: the original gave bare digits in the
// answers of queries, and an "h" before them in packs.
func TestIDSpelling(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	id := query.ID("src/auth/controller.ts", chunk.Function, 1024, 2048)
	seen := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen += strings.Count(string(b), `"`+id+`"`)
		if strings.Contains(string(b), `"`+id[1:]+`"`) {
			t.Errorf("%s has a bare id", file)
		}
	}
	if seen < 6 {
		t.Errorf("the id %s is there %d times", id, seen)
	}
}

// TestSchema shows what a client of the tools sees of the parameters.
func TestSchema(t *testing.T) {
	s, err := jsonschema.For[query.EvidenceParams](nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"pattern": "string", "patterns": "null array of string", "literal": "string", "regex": "string", "symbol": "string", "section": "string",
		"parent": "string", "kind": "string", "glob": "string", "match": "string", "limit": "integer", "expand_budget": "integer", "query": "string",
		"max_handles": "integer", "max_per_file": "integer", "max_tokens": "integer", "plan": "null boolean"}
	for name, p := range s.Properties {
		types := p.Types
		if p.Type != "" {
			types = []string{p.Type}
		}
		if p.Items != nil {
			types = append(slices.Clone(types), "of "+p.Items.Type)
		}
		if got := strings.Join(types, " "); got != want[name] {
			t.Errorf("%s is %s", name, got)
		}
		if len(p.Description) < 20 || len(p.Description) > 110 {
			t.Errorf("%s is described by %q", name, p.Description)
		}
	}
	if len(s.Properties) != len(want) || len(s.Required) > 0 || s.Type != "object" {
		t.Errorf("%d properties, %v required, type %s", len(s.Properties), s.Required, s.Type)
	}
	whole, err := json.Marshal(s)
	if err != nil || len(whole) > 2400 {
		t.Errorf("the schema takes %d bytes of every session, %v", len(whole), err)
	}

	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for input, ok := range map[string]bool{
		`{"pattern":"a","patterns":["a"],"limit":16,"plan":true}`: true, `{"symbol":"a","kind":"definition"}`: true, `{"limit":"16"}`: false, `{"pattern":["a"]}`: false, `{"patern":"a"}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(input), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != ok {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// TestAnswerSchema shows that answers fit the schemas that a client is told of them.
func TestAnswerSchema(t *testing.T) {
	result, err1 := jsonschema.For[query.Result](nil)
	pack, err2 := jsonschema.For[query.Pack](nil)
	expansion, err3 := jsonschema.For[query.Expansion](nil)
	status, err4 := jsonschema.For[query.Status](nil)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		t.Fatal(err1, err2, err3, err4)
	}
	for file, s := range map[string]*jsonschema.Schema{"result.json": result, "result_service.json": result, "result_empty.json": result, "pack.json": pack,
		"pack_empty.json": pack, "expansion.json": expansion, "expansion_empty.json": expansion, "status.json": status} {
		resolved, err := s.CloneSchemas().Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
