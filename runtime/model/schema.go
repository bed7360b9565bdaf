package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/spec/diag"
)

const (
	maxSchema     = 256 << 10 // bytes
	maxBranches   = 10_000    // subschemas that one place of an answer is checked against
	maxErrorBytes = 600       // of a sentence that a model or a person reads
)

// A Schema checks answers. It may be used concurrently.
type Schema struct {
	text     string // as it was read
	resolved *jsonschema.Resolved
}

// compiled is the schema of the answer, read now or before; nil if there is none.
func (r Request) compiled() (*Schema, error) {
	switch {
	case r.Schema == nil:
		return nil, nil
	case r.schema != nil && r.schema.text == string(r.Schema):
		return r.schema, nil
	}
	return Compile(r.Schema)
}

// schemas keeps what was read: the same few schemas are asked for in every
// turn of a loop, and reading one costs more than using it.
type schemas struct {
	mu   sync.Mutex // guards read
	read map[string]*Schema
}

// maxSchemas bounds what is kept; then it starts anew.
const maxSchemas = 256

func (k *schemas) get(text json.RawMessage) (*Schema, error) {
	k.mu.Lock()
	s := k.read[string(text)]
	k.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := Compile(text)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read == nil || len(k.read) >= maxSchemas {
		k.read = map[string]*Schema{}
	}
	k.read[s.text] = s
	return s, nil
}

// Compile reads a JSON Schema (draft 2020-12 or 7). References lead to places
// in the schema itself, written as pointers: "#/$defs/name". Refused are
// schemas above 256 KiB, deeper than MaxDepth, or that refer to themselves
// without going down into the answer: checking these would not end.
// The error has code [CodeBadSchema].
func Compile(schema json.RawMessage) (*Schema, error) {
	bad := func(format string, args ...any) error {
		return diag.New(diag.Misuse, CodeBadSchema, "the schema of the answer "+format, args...)
	}
	if len(schema) > maxSchema {
		return nil, bad("has %d bytes; at most %d are taken", len(schema), maxSchema)
	}
	if !json.Valid(schema) {
		return nil, bad("is not valid JSON")
	}
	if !shallow(schema) {
		return nil, bad("nests deeper than %d", MaxDepth)
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, bad("is not valid JSON")
	}
	b := branches{root: root, costs: map[string]int{}}
	if wrong := b.check(root, true); wrong != "" {
		return nil, bad("%s", wrong)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, bad("is not a JSON Schema: %s", brief(err.Error()))
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, bad("is not a JSON Schema: %s", brief(err.Error()))
	}
	return &Schema{string(schema), resolved}, nil
}

// Check says in one sentence, for the model to read, why value is not an
// answer: too large, too deep, not JSON, or not what the schema asks for.
func (s *Schema) Check(value json.RawMessage) error {
	if len(value) > MaxAnswer {
		return fmt.Errorf("the answer has %d bytes; at most %d are taken", len(value), MaxAnswer)
	}
	if !json.Valid(value) {
		return errors.New("the answer is not valid JSON")
	}
	if !shallow(value) {
		return fmt.Errorf("the answer nests deeper than %d", MaxDepth)
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return errors.New("the answer is not valid JSON")
	}
	if err := s.resolved.Validate(v); err != nil {
		return errors.New(brief(err.Error()))
	}
	return nil
}

// brief shortens a sentence to what fits on a few lines.
func brief(s string) string {
	return diag.Clip(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), maxErrorBytes)
}

// branches counts the subschemas that are tried against one and the same
// place of an answer, through references. A circle counts as too many.
type branches struct {
	root  any
	costs map[string]int // of a reference; 0 while it is being counted
}

// check walks a whole schema and says what is wrong with it, or "".
func (b *branches) check(node any, isRoot bool) string {
	switch node := node.(type) {
	case []any:
		for _, sub := range node {
			if wrong := b.check(sub, false); wrong != "" {
				return wrong
			}
		}
	case map[string]any:
		// Pointers are all that is needed to find where a reference leads;
		// names of documents and anchors would need a second resolver here.
		if ref, ok := node["$ref"].(string); ok && ref != "#" && !strings.HasPrefix(ref, "#/") {
			return "refers to " + brief(strconv.Quote(ref)) + ": only references like #/$defs/name are followed"
		}
		if _, ok := node["$dynamicRef"].(string); ok {
			return "has a $dynamicRef, which is not followed"
		}
		if _, ok := node["$id"].(string); ok && !isRoot {
			return "has a $id inside, which is not followed"
		}
		if b.cost(node) > maxBranches {
			return "refers to itself in a circle, or has too many alternatives"
		}
		for _, sub := range node {
			if wrong := b.check(sub, false); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// cost counts node and what else is tried against the same place.
func (b *branches) cost(node any) int {
	object, ok := node.(map[string]any)
	if !ok {
		return 1
	}
	sum := 1
	add := func(n int) { sum = min(sum+n, maxBranches+1) }
	if ref, ok := object["$ref"].(string); ok {
		add(b.costOf(ref))
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if sub, ok := object[key]; ok {
			add(b.cost(sub))
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[key].([]any)
		for _, sub := range list {
			add(b.cost(sub))
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		set, _ := object[key].(map[string]any)
		for _, sub := range set {
			add(b.cost(sub))
		}
	}
	return sum
}

func (b *branches) costOf(ref string) int {
	if cost, seen := b.costs[ref]; seen {
		if cost == 0 {
			return maxBranches + 1
		}
		return cost
	}
	b.costs[ref] = 0
	cost := b.cost(b.find(ref))
	b.costs[ref] = cost
	return cost
}

// find follows a JSON pointer; nil if it leads nowhere, which Resolve refuses.
func (b *branches) find(ref string) any {
	node := b.root
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return nil
	}
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at := node.(type) {
		case map[string]any:
			node = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			node = at[i]
		default:
			return nil
		}
	}
	return node
}

// ObjectSchema is schema as services want it for the input of a tool: an
// object whose type is "object". What is no object becomes one that accepts
// everything.
func ObjectSchema(schema json.RawMessage) json.RawMessage {
	var keys map[string]json.RawMessage
	if json.Unmarshal(schema, &keys) != nil || keys == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if _, ok := keys["type"]; ok {
		return schema
	}
	keys["type"] = json.RawMessage(`"object"`)
	text, err := json.Marshal(keys)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return text
}
