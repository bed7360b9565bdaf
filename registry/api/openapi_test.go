package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/packed"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// The document is what the routes and the wire types say.
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
		t.Error("openapi.json is not what the routes say; go test ./registry/api -update writes it")
	}
}

type object = map[string]any

// describe is the document.
func describe(t *testing.T) object {
	types := make(map[reflect.Type]bool) // → is a request's
	paths := make(object)
	for _, rt := range operations() {
		op := object{"operationId": rt.Name, "summary": rt.Summary, "responses": responses(rt, types)}
		if params := parameters(rt); len(params) > 0 {
			op["parameters"] = params
		}
		if rt.Body != nil {
			content := object{wire.MediaJSON: object{"schema": ref(reflect.TypeOf(rt.Body))}}
			types[reflect.TypeOf(rt.Body)] = true
			for _, media := range rt.Media {
				content[media] = object{"schema": object{}}
			}
			op["requestBody"] = object{"required": true, "content": content}
		}
		if paths[rt.Path] == nil {
			paths[rt.Path] = object{}
		}
		paths[rt.Path].(object)[strings.ToLower(rt.Method)] = op
	}
	types[reflect.TypeFor[wire.Problem]()] = false
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Registry of agent skills", "version": "1",
			"description": "Lists come in pages; the cursor of the next one is in next and in a Link header. " +
				"A parameter that a JSON route below /api/v1 does not list is refused. Every GET has an ETag. Errors are application/problem+json. Limits of rate are in RateLimit headers.",
		},
		"servers":  []object{{"url": "/"}},
		"security": []object{{}, {"bearer": []string{}}, {"basic": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": schemas(t, types),
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "description": "A token, skl_…"},
				"basic":  object{"type": "http", "scheme": "basic", "description": "Any user name, and a token as the password."},
			},
		},
	}
}

func parameters(rt route) []object {
	var params []object
	for segment := range strings.SplitSeq(rt.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			params = append(params, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, q := range rt.Query {
		params = append(params, object{"name": q.Name, "in": "query", "description": q.What, "schema": object{"type": q.Type}})
	}
	return params
}

func responses(rt route, types map[reflect.Type]bool) object {
	ok := object{"description": "Done."}
	content := object{}
	if rt.Answer != nil {
		types[reflect.TypeOf(rt.Answer)] = types[reflect.TypeOf(rt.Answer)]
		content[wire.MediaJSON] = object{"schema": ref(reflect.TypeOf(rt.Answer))}
	}
	for _, media := range rt.Raw {
		content[media] = object{"schema": object{}}
	}
	if len(content) > 0 {
		ok["content"] = content
	}
	out := object{strconv.Itoa(cmp.Or(rt.Status, 200)): ok}
	failed := object{wire.MediaProblem: object{"schema": ref(reflect.TypeFor[wire.Problem]())}}
	errors := append([]int{401, 403, 404, 429, 500, 503}, rt.Errors...)
	if rt.Body != nil {
		errors = append(errors, 400, 413, 415)
	}
	if rt.strict() {
		errors = append(errors, 400)
	}
	for _, status := range errors {
		out[strconv.Itoa(status)] = object{"description": http.StatusText(status) + ".", "content": failed}
	}
	if rt.Method == http.MethodGet {
		out["304"] = object{"description": "What If-None-Match names is still right."}
	}
	out["default"] = object{"description": "Another error.", "content": failed}
	return out
}

func ref(t reflect.Type) object { return object{"$ref": "#/components/schemas/" + typeName(t)} }

// typeName is Skill, or PageOfSkill for Page[Skill].
func typeName(t reflect.Type) string {
	name, of, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return name
	}
	return name + "Of" + of[strings.LastIndexAny(of, "./")+1:len(of)-1]
}

// schemas are those of the types and of what they hold.
func schemas(t *testing.T, types map[reflect.Type]bool) object {
	for _, known := range slices.Collect(maps.Keys(types)) {
		hold(known, types[known], types)
	}
	out := make(object)
	for typ, request := range types {
		special := map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
			reflect.TypeFor[json.RawMessage](): {Type: "object"},
		}
		for other := range types {
			if other != typ {
				special[other] = &jsonschema.Schema{Ref: "#/components/schemas/" + typeName(other)}
			}
		}
		s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: special})
		if err != nil {
			t.Fatal(err)
		}
		if !request {
			s.AdditionalProperties = nil // a later registry says more
		}
		for _, p := range s.Properties {
			if slices.Equal(p.Types, []string{"null", "array"}) { // lists are never null
				p.Types, p.Type = nil, "array"
			}
			if p.Ref != "" { // a pointer says that it may be absent, not null
				p.Types, p.Type = nil, ""
			}
			if slices.Equal(p.Types, []string{"null", "boolean"}) {
				p.Types, p.Type = nil, "boolean"
			}
		}
		out[typeName(typ)] = s
	}
	return out
}

// hold adds the structs that t has in its fields.
func hold(t reflect.Type, request bool, types map[reflect.Type]bool) {
	for f := range t.Fields() {
		typ := f.Type
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
			continue
		}
		if _, known := types[typ]; !known || request && !types[typ] {
			types[typ] = request || types[typ]
			hold(typ, request, types)
		}
	}
}
