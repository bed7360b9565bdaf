package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// schema is what a Schema keeps for its methods.
type schema struct {
	doc      any // JSON as decoded; not changed
	resolved *jsonschema.Resolved
}

// A Violation says how a value breaks a contract.
type Violation struct {
	Property string // "findings[0].severity"; "" for the value itself
	Problem  string // "is missing", "is a string, and must be an array"
}

func (v *Violation) Error() string {
	if v.Property == "" {
		return "the value " + v.Problem
	}
	return "property " + v.Property + " " + v.Problem
}

// Validate checks a value of JSON's Go types; its error is a *Violation that names the property, and is the
// same for the same value. A Hint validates everything.
func (s *Schema) Validate(value any) error {
	if s.Hint || s.resolved == nil {
		return nil
	}
	value, err := plainJSON(value)
	if err != nil {
		return &Violation{Problem: "is not JSON: " + err.Error()}
	}
	if s.resolved.Validate(value) == nil {
		return nil
	}
	// The library's own sentence depends on the order of a map; ours is looked for apart.
	x := explainer{root: s.doc}
	if v := x.explain(s.doc, value, ""); v != nil {
		return v
	}
	return &Violation{Problem: "does not fit " + s.Path}
}

// plainJSON gives value in the types that encoding/json decodes into.
func plainJSON(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, float64, map[string]any, []any:
		return v, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(data, &out)
}

// Properties returns the names of the top-level properties, sorted; nil if the schema is of no object.
// Those of a Hint are the keys of the sample.
func (s *Schema) Properties() []string {
	if s.Hint {
		if object, ok := s.doc.(map[string]any); ok {
			return slices.Sorted(maps.Keys(object))
		}
		return nil
	}
	names := map[string]bool{}
	if !topProperties(s.doc, s.doc, names, 0) {
		return nil
	}
	return slices.Sorted(maps.Keys(names))
}

// topProperties collects the properties of an object schema through $ref and allOf.
func topProperties(doc, at any, names map[string]bool, depth int) bool {
	object, ok := at.(map[string]any)
	if !ok || depth > maxRefs {
		return false
	}
	found := false
	if props, ok := object["properties"].(map[string]any); ok {
		found = true
		for name := range props {
			names[name] = true
		}
	}
	if ref, ok := object["$ref"].(string); ok {
		if target, ok := pointer(doc, ref); ok {
			found = topProperties(doc, target, names, depth+1) || found
		}
	}
	all, _ := object["allOf"].([]any)
	for _, sub := range all {
		found = topProperties(doc, sub, names, depth+1) || found
	}
	return found
}

const maxRefs = 16 // references in a row that are followed for a name

// contract is nil for an op that the plan does not reach.
func (p *Plan) contract(c Callee, k *tree.Contract) *Schema {
	if k == nil {
		return nil
	}
	return p.schemas[fileKey{c.Skill, k.Path}]
}

// loadContract reads one contract of an op; what says input or output.
func (b *binder) loadContract(c Callee, k *tree.Contract, what, rule string) {
	if k == nil {
		return
	}
	key := fileKey{c.Skill, k.Path}
	if _, ok := b.schemas[key]; ok {
		return
	}
	if !c.Op.Subagent {
		rule = check.BadSchema
	}
	b.schemas[key] = b.loadSchema(c.Skill, k.Path, k.Pos, rule, "the "+what+" contract of "+c.Op.Name)
}

// loadSchema reads a schema; whose names it in findings. The result is nil after a finding that stops the run.
func (b *binder) loadSchema(s *tree.Skill, path string, pos tree.Pos, rule, whose string) *Schema {
	if strings.HasPrefix(path, "../") || strings.HasPrefix(path, skillsRoot) { // a contract is of its own skill, also where a Read may go further
		b.stop(s, pos, check.PathEscapes, "%s, %s, leaves the skill", whose, diag.Printable(path))
		return nil
	}
	sc, err := b.schema(s, path)
	var sample *sampleError
	switch {
	case err == nil:
	case errors.As(err, &sample):
		b.warn(s, pos, check.SampleSchema, "%s, %s, is an example and no JSON Schema: it describes, and nothing is checked against it", whose, path)
	case isCode(err, CodeMissing): // and not that of a file that it refers to
		b.stop(s, pos, rule, "%s, %s, is missing", whose, path)
		return nil
	case isCode(err, CodeOutside):
		b.stop(s, pos, check.PathEscapes, "%s: %s", whose, sentence(err))
		return nil
	case errors.Is(err, errLeaves):
		b.stop(s, pos, check.SampleSchema, "%s: %s", whose, sentence(err))
		return nil
	default:
		b.stop(s, pos, check.BadSchema, "%s cannot be used: %s", whose, sentence(err))
		return nil
	}
	if sc.Path != path {
		b.warn(s, pos, check.FileMissing, "there is no file %s; %s is taken instead", path, sc.Path)
	}
	return sc
}

func isCode(err error, code string) bool {
	e, ok := err.(*diag.Error)
	return ok && e.Code == code
}

// A sampleError comes with a Schema that is a Hint.
type sampleError struct{}

func (*sampleError) Error() string { return "an example and no schema" }

func (b *binder) schema(s *tree.Skill, path string) (*Schema, error) {
	r, err := b.Resource(s, path)
	if err != nil {
		return nil, err
	}
	var doc any
	if err := json.Unmarshal([]byte(r.Text), &doc); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", r.Path, err)
	}
	if isSample(doc) {
		return &Schema{Path: r.Path, JSON: json.RawMessage(r.Text), Hint: true, schema: schema{doc: doc}}, &sampleError{}
	}
	if err := version(doc); err != nil {
		return nil, fmt.Errorf("%s %w", r.Path, err)
	}
	if doc, err = embed(b.Plan, s, r.Path, doc); err != nil {
		return nil, err
	}
	if err := checkCycles(doc); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var js jsonschema.Schema
	if err := json.Unmarshal(data, &js); err != nil {
		return nil, fmt.Errorf("%s is not a JSON Schema: %w", r.Path, err)
	}
	resolved, err := js.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	return &Schema{Path: r.Path, JSON: data, schema: schema{doc: doc, resolved: resolved}}, nil
}

// version checks $schema and gives it the one spelling that the library knows.
func version(doc any) error {
	object, _ := doc.(map[string]any)
	v, ok := object["$schema"].(string)
	if !ok {
		return nil
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(v, "#"), "://")
	switch name {
	case "json-schema.org/draft-07/schema":
		object["$schema"] = "http://json-schema.org/draft-07/schema#"
	case "json-schema.org/draft/2020-12/schema":
		object["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	default:
		return fmt.Errorf("is written for %s; contracts are draft-07 or 2020-12", diag.Printable(v))
	}
	return nil
}

// isSample tells an example instance from a schema: a schema is a truth value or an object, and
// one that says anything has a keyword with a value of the keyword's type.
func isSample(doc any) bool {
	switch v := doc.(type) {
	case bool:
		return false
	case map[string]any:
		for key, value := range v {
			if keyword(key, value) {
				return false
			}
		}
		return len(v) > 0
	}
	return true
}

func keyword(key string, value any) bool {
	switch key {
	case "$schema", "$ref", "$id":
		_, ok := value.(string)
		return ok
	case "type":
		switch v := value.(type) {
		case string:
			return slices.Contains(jsonTypes[:], v)
		case []any:
			return len(v) > 0 && !slices.ContainsFunc(v, func(t any) bool { s, _ := t.(string); return !slices.Contains(jsonTypes[:], s) })
		}
	case "properties", "$defs", "definitions", "patternProperties":
		object, ok := value.(map[string]any)
		for _, sub := range object {
			switch sub.(type) {
			case map[string]any, bool:
			default:
				return false
			}
		}
		return ok
	case "allOf", "anyOf", "oneOf":
		list, _ := value.([]any)
		return len(list) > 0 && !slices.ContainsFunc(list, func(sub any) bool { _, ok := sub.(map[string]any); return !ok })
	case "enum":
		_, ok := value.([]any)
		return ok
	}
	return false
}

var jsonTypes = [...]string{"object", "array", "string", "number", "integer", "boolean", "null"}

// agentSection loads the contract of "## Agent". The default path need not exist; a written one must.
func (b *binder) agentSection() {
	a := b.Skill.Agent
	if a == nil || a.Schema == "" {
		return
	}
	if !a.Named {
		if _, err := b.Resource(b.Skill, a.Schema); err != nil {
			return
		}
	}
	b.agent = b.loadSchema(b.Skill, a.Schema, a.Pos, check.AgentSchema, "the contract of the Agent section")
	if b.agent != nil {
		for _, name := range b.agent.Properties() {
			b.names[name] = true
		}
	}
}
