package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/registry/api"
)

// A contract is openapi.json, ready to compare answers with.
type contract struct {
	routes  []described
	schemas map[string]*jsonschema.Resolved
}

type described struct {
	path       *regexp.Regexp
	literal    int // segments without a parameter: the most specific route wins
	operations map[string]struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
}

// theContract reads the document once.
var theContract = sync.OnceValues(func() (*contract, error) {
	text := strings.ReplaceAll(api.Document(), "#/components/schemas/", "#/$defs/")
	var doc struct {
		Paths      map[string]json.RawMessage
		Components struct {
			Schemas map[string]*jsonschema.Schema
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	c := &contract{schemas: make(map[string]*jsonschema.Resolved)}
	for path, operations := range doc.Paths {
		d := described{path: pathPattern(path), literal: strings.Count(path, "/") - strings.Count(path, "{")}
		if err := json.Unmarshal(operations, &d.operations); err != nil {
			return nil, err
		}
		c.routes = append(c.routes, d)
	}
	for name := range doc.Components.Schemas {
		resolved, err := (&jsonschema.Schema{Ref: "#/$defs/" + name, Defs: doc.Components.Schemas}).CloneSchemas().Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.schemas[name] = resolved
	}
	return c, nil
})

// pathPattern matches what a path of the document stands for.
func pathPattern(path string) *regexp.Regexp {
	var parts []string
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "{path}":
			segment = ".+"
		case strings.HasPrefix(segment, "{"):
			segment = "[^/]+"
		default:
			segment = regexp.QuoteMeta(segment)
		}
		parts = append(parts, segment)
	}
	return regexp.MustCompile("^" + strings.Join(parts, "/") + "$")
}

// check compares an answer of the API with the document: its status is described, its type is
// one of that status, its JSON is what the schema says.
func (c *contract) check(t testing.TB, method, path string, r reply) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	var best *described
	for i, d := range c.routes {
		if d.path.MatchString(path) && (best == nil || d.literal > best.literal) {
			best = &c.routes[i]
		}
	}
	if best == nil {
		return // not of the API
	}
	op, ok := best.operations[strings.ToLower(method)]
	if !ok {
		if r.status != 405 {
			t.Errorf("%s %s is answered with %d and not described", method, path, r.status)
		}
		return
	}
	answer, ok := op.Responses[strconv.Itoa(r.status)]
	if !ok {
		t.Errorf("%s %s: status %d is not described", method, path, r.status)
		return
	}
	if len(answer.Content) == 0 {
		if len(r.body) > 0 {
			t.Errorf("%s %s: %d has a body: %s", method, path, r.status, r.body)
		}
		return
	}
	media, ok := answer.Content[r.head.Get("Content-Type")]
	if !ok {
		t.Errorf("%s %s: %d of type %q is not described", method, path, r.status, r.head.Get("Content-Type"))
		return
	}
	if media.Schema.Ref == "" {
		return
	}
	var value any
	if err := json.Unmarshal(r.body, &value); err != nil {
		t.Errorf("%s %s: %v in %s", method, path, err, r.body)
		return
	}
	schema, ok := c.schemas[strings.TrimPrefix(media.Schema.Ref, "#/$defs/")]
	if !ok {
		t.Fatalf("there is no schema %s", media.Schema.Ref)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s: %d is not as described: %.300v\n%.300s", method, path, r.status, err, r.body)
	}
}

// The check finds an answer that is not as described.
func TestContractFindsDeviations(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	good := reply{200, map[string][]string{"Content-Type": {"application/json"}}, []byte(`{"items":[]}`)}
	for what, r := range map[string]reply{
		"status": {418, good.head, good.body},
		"type":   {200, map[string][]string{"Content-Type": {"text/html"}}, good.body},
		"field":  {200, good.head, []byte(`{"items":[{"namespace":"x"}]}`)},
		"kind":   {200, good.head, []byte(`{"items":null}`)},
	} {
		probe := &recorder{TB: t}
		if c.check(probe, "GET", "/api/v1/skills", r); !probe.failed {
			t.Errorf("a wrong %s is not found", what)
		}
	}
	probe := &recorder{TB: t}
	if c.check(probe, "GET", "/api/v1/skills", good); probe.failed {
		t.Error("a right answer is refused")
	}
}

// A recorder notes that a test would have failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
