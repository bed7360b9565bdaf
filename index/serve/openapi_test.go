package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/packed"
)

// The document is what the routes and the types say.
func TestDocument(t *testing.T) {
	want, err := json.MarshalIndent(describe(t), "", "") // lines, for those who compare it
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		for name, data := range map[string][]byte{"openapi.json": want, "openapi.json.gz": packed.Pack(want)} {
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if shown, err := os.ReadFile("openapi.json"); err != nil || !bytes.Equal(shown, want) || Document() != string(want) {
		t.Error("openapi.json is not what the routes say; go test ./index/serve -update writes it")
	}
}

type tree = map[string]any

func describe(t *testing.T) tree {
	paths := make(tree)
	schemas := tree{"Problem": schemaOf(t, Problem{}, false)}
	problem := tree{"application/json": tree{"schema": tree{"$ref": "#/components/schemas/Problem"}}}
	use := func(v any, request bool) tree {
		name := reflect.TypeOf(v).Name()
		if name == "" { // a list
			return tree{"type": "array", "items": tree{"$ref": "#/components/schemas/Repo"}}
		}
		schemas[name] = schemaOf(t, v, request)
		return tree{"$ref": "#/components/schemas/" + name}
	}
	for _, r := range operations() {
		op := tree{"operationId": r.Name, "summary": r.Summary}
		errors := append([]int{403, 500, 503}, r.Errors...)
		if r.Body != nil {
			op["requestBody"] = tree{"required": true, "content": tree{"application/json": tree{"schema": use(r.Body, true)}}}
			errors = append(errors, 400, 413, 415)
		}
		if r.Free {
			op["security"] = []tree{}
		} else {
			errors = append(errors, 401)
		}
		if strings.Contains(r.Path, "{id}") {
			op["parameters"] = []tree{{"name": "id", "in": "path", "required": true, "schema": tree{"type": "string"}}}
		}
		responses := make(tree)
		for _, status := range errors {
			responses[strconv.Itoa(status)] = tree{"description": http.StatusText(status) + ".", "content": problem}
		}
		switch {
		case r.Answer != nil:
			responses["200"] = tree{"description": "Done.", "content": tree{"application/json": tree{"schema": use(r.Answer, false)}}}
		case r.Method == "DELETE":
			responses["204"] = tree{"description": "Done."}
		default:
			responses["200"] = tree{"description": "Done.", "content": tree{"application/json": tree{}}}
		}
		op["responses"] = responses
		if paths[r.Path] == nil {
			paths[r.Path] = tree{}
		}
		paths[r.Path].(tree)[strings.ToLower(r.Method)] = op
	}
	return tree{
		"openapi": "3.1.0",
		"info": tree{"title": "Index of code and documents", "version": "1",
			"description": "Query for handles, which are cheap, and expand the few that matter. Bodies have at most 2 MiB. POST /query takes match_mode for match and dsl for query as well."},
		"servers":  []tree{{"url": "/"}},
		"security": []tree{{}, {"key": []string{}}, {"bearer": []string{}}},
		"paths":    paths,
		"components": tree{"schemas": schemas, "securitySchemes": tree{
			"key":    tree{"type": "apiKey", "in": "header", "name": "X-Api-Key"},
			"bearer": tree{"type": "http", "scheme": "bearer"},
		}},
	}
}

// schemaOf makes the schema of a type, with all that it holds inside of it.
func schemaOf(t *testing.T, v any, request bool) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plain(s, request)
	if request {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	return s
}

// plain says that lists are never null, and that answers may get more fields.
func plain(s *jsonschema.Schema, request bool) {
	if s == nil {
		return
	}
	if at := slices.Index(s.Types, "null"); at >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-at], nil
	}
	if !request && s.Type == "object" && s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		plain(p, request)
	}
	plain(s.Items, request)
	if s.Properties == nil {
		plain(s.AdditionalProperties, request)
	}
}

// Answers of the handlers match the document, and every operation is asked at least once.
func TestDocumentHolds(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]*jsonschema.Schema
		}
	}
	if err := json.Unmarshal([]byte(Document()), &doc); err != nil {
		t.Fatal(err)
	}
	schemas := make(map[string]*jsonschema.Resolved)
	for name, s := range doc.Components.Schemas {
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		schemas[name] = resolved
	}
	root := sample(t)
	w := start(t, ServiceOptions{Open: real(t)})
	id := w.add(root)
	w.index(id)
	_, found := w.ask("POST", "/query", map[string]any{"repo": id, "symbol": "login"})
	handle := found["handles"].([]any)[0].(map[string]any)["id"]
	bodies := map[string]any{
		"addRepo": tree{"path": root}, "reindex": tree{"repo": id}, "query": tree{"repo": id, "symbol": "authenticate", "kind": "reference"},
		"evidencePack": tree{"repo": id, "pattern": "session length", "max_handles": 3}, "expand": tree{"repo": id, "handles": []tree{{"id": handle}}},
		"feedback": tree{"repo": id, "useful": []any{handle}},
	}
	all := operations()
	slices.SortStableFunc(all, func(a, b route) int { // the end of the repository comes last
		return cmp.Compare(len(a.Method), len(b.Method))
	})
	for _, r := range all {
		if r.Body != nil {
			body := bodies[r.Name]
			var sent any
			if err := json.Unmarshal(encode(body), &sent); err != nil {
				t.Fatal(err)
			}
			if err := schemas[reflect.TypeOf(r.Body).Name()].Validate(sent); err != nil {
				t.Errorf("%s: the request: %v", r.Name, err)
			}
		}
		status, data := w.raw(r.Method, strings.Replace(r.Path, "{id}", id, 1), bodies[r.Name], nil)
		var responses struct{ Responses map[string]json.RawMessage }
		if err := json.Unmarshal(doc.Paths[r.Path][strings.ToLower(r.Method)], &responses); err != nil {
			t.Fatal(err)
		}
		if responses.Responses[strconv.Itoa(status)] == nil || status >= 300 {
			t.Errorf("%s: status %d %s", r.Name, status, data)
			continue
		}
		if !json.Valid(data) && len(data) > 0 || len(data) == 0 && status != http.StatusNoContent {
			t.Errorf("%s: status %d, and no JSON: %q", r.Name, status, data)
		}
		if r.Path == "/openapi.json" {
			var same, want any
			if json.Unmarshal(data, &same) != nil || json.Unmarshal([]byte(Document()), &want) != nil || !reflect.DeepEqual(same, want) {
				t.Errorf("%s is another document: %.100q", r.Path, data)
			}
		}
		if r.Answer == nil {
			continue
		}
		var got any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v in %s", r.Name, err, data)
			continue
		}
		list, ok := got.([]any)
		if !ok {
			list = []any{got}
		}
		for _, one := range list {
			if err := schemas[cmp.Or(reflect.TypeOf(r.Answer).Name(), "Repo")].Validate(one); err != nil {
				t.Errorf("%s: the answer: %v in %s", r.Name, err, data)
			}
		}
	}
	_, data := w.raw("POST", "/expand", tree{"repo": "none", "handles": []tree{{"id": "h"}}}, nil)
	var wrong any
	if err := json.Unmarshal(data, &wrong); err != nil || schemas["Problem"].Validate(wrong) != nil {
		t.Errorf("an error: %s", data)
	}
}

// The documents of requests name every field that is read, and no other: what Go says of a type is what decode takes.
func TestRequestFields(t *testing.T) {
	documented := names(reflect.TypeFor[query.Params]())
	for _, name := range documented {
		value := map[string]any{name: nil}
		if _, err := readQuestion(encode(value), "repo", false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range names(reflect.TypeFor[EvidenceRequest]()) {
		if _, err := readQuestion(encode(map[string]any{name: nil}), "repo", true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
