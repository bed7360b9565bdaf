package check

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// maxHops is how many $refs and levels of a schema are followed.
const maxHops = 16

// A schema is a contract's file.
type schema struct {
	path   string
	root   any
	bad    string // why it is no JSON, completing "the contract x …"
	sample bool   // JSON that is no schema
	leaves string // a $ref to outside of the skill
	lacks  string // a $ref to a file that is not there

	properties map[string]any // of the root
}

// schema returns a file as a schema, nil if it does not exist.
func (c *checker) schema(written string) *schema {
	name, ok := local(written)
	if !ok {
		return nil
	}
	if s, ok := c.schemas[name]; ok {
		return s
	}
	c.schemas[name] = nil
	if !c.exists(name) {
		return nil
	}
	s := &schema{path: name}
	c.schemas[name] = s
	text, ok := c.read(name)
	if !ok {
		s.bad = "cannot be read"
		return s
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &s.root); err != nil {
		s.bad = "is not JSON: " + err.Error()
		return s
	}
	s.sample = !isSchema(s.root)
	if s.sample {
		return s
	}
	c.refs(s, s.root, 0)
	s.properties = shape{c, s, s.root}.resolve().props()
	return s
}

var keywords = [...]string{"$schema", "$ref", "$defs", "$id", "definitions", "properties", "items", "anyOf", "oneOf", "allOf", "not", "enum", "const", "required", "additionalProperties", "patternProperties"}

// isSchema tells a JSON Schema from a sample of what it should describe.
func isSchema(v any) bool {
	if _, ok := v.(bool); ok {
		return true
	}
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	if len(m) == 0 || typesOf(m["type"]) != nil {
		return true
	}
	return slices.ContainsFunc(keywords[:], func(k string) bool { _, ok := m[k]; return ok })
}

var typeNames = [...]string{"array", "boolean", "integer", "null", "number", "object", "string"}

// typesOf reads the value of "type"; nil means that it says nothing.
func typesOf(v any) []string {
	switch v := v.(type) {
	case string:
		if slices.Contains(typeNames[:], v) {
			return []string{v}
		}
	case []any:
		var out []string
		for _, item := range v {
			if s, ok := item.(string); ok && slices.Contains(typeNames[:], s) {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// refs looks for references to other files.
func (c *checker) refs(s *schema, v any, depth int) {
	if depth > 64 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			c.refs(s, item, depth+1)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !strings.HasPrefix(ref, "#") && ref != "" {
			file, _, _ := strings.Cut(ref, "#")
			name := path.Join(path.Dir(s.path), file)
			switch {
			case strings.Contains(file, ":") || strings.HasPrefix(file, "/") || !fs.ValidPath(name):
				s.leaves = ref
			case !c.exists(name):
				s.lacks = ref
			}
		}
		for k, item := range v {
			if k != "enum" && k != "const" && k != "default" && k != "examples" {
				c.refs(s, item, depth+1)
			}
		}
	}
}

// A shape is a place in a schema. The zero shape says nothing.
type shape struct {
	c   *checker
	doc *schema
	v   any
}

func (p shape) object() map[string]any {
	m, _ := p.v.(map[string]any)
	return m
}

// resolve follows $ref.
func (p shape) resolve() shape {
	for range maxHops {
		ref, ok := p.object()["$ref"].(string)
		if !ok {
			return p
		}
		file, pointer, _ := strings.Cut(ref, "#")
		if file != "" {
			name := path.Join(path.Dir(p.doc.path), file)
			if strings.Contains(file, ":") || !fs.ValidPath(name) {
				return shape{}
			}
			doc := p.c.schema(name)
			if doc == nil || doc.bad != "" || doc.sample {
				return shape{}
			}
			p.doc = doc
		}
		v := p.doc.root
		for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			if step != "" {
				m, _ := v.(map[string]any)
				v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
			}
		}
		p.v = v
	}
	return shape{}
}

func (p shape) props() map[string]any {
	m, _ := p.object()["properties"].(map[string]any)
	return m
}

// prop is the shape of a property; ok is false if the schema does not name it.
func (p shape) prop(name string) (shape, bool) {
	props := p.props()
	v, ok := props[name]
	if !ok {
		v, ok = props[strings.ReplaceAll(name, "_", "-")]
	}
	if !ok {
		v, ok = props[strings.ReplaceAll(name, "-", "_")]
	}
	if !ok {
		return shape{}, false
	}
	return shape{p.c, p.doc, v}.resolve(), true
}

// open reports whether the schema may mean more than its properties name.
func (p shape) open() bool {
	m := p.object()
	for _, k := range [...]string{"anyOf", "oneOf", "allOf", "if", "patternProperties", "not"} {
		if _, ok := m[k]; ok {
			return true
		}
	}
	extra, ok := m["additionalProperties"]
	return len(p.props()) == 0 || ok && extra != false
}

func (p shape) items() shape {
	return shape{p.c, p.doc, p.object()["items"]}.resolve()
}

// types are the JSON types that the shape lets through, nil for all.
func (p shape) types() []string {
	m := p.object()
	if t := typesOf(m["type"]); t != nil {
		return t
	}
	values, ok := m["enum"].([]any)
	if v, is := m["const"]; is {
		values, ok = []any{v}, true
	}
	if ok {
		var out []string
		for _, v := range values {
			out = append(out, typeOfValue(v))
		}
		return out
	}
	if len(p.props()) > 0 && !p.combined() {
		return []string{"object"}
	}
	return nil
}

func (p shape) combined() bool {
	m := p.object()
	return m["anyOf"] != nil || m["oneOf"] != nil || m["allOf"] != nil
}

func typeOfValue(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// misfit says why no value of p fits q, or "" if some may. budget bounds the work.
func (p shape) misfit(q shape, budget *int) string {
	if *budget--; *budget < 0 {
		return ""
	}
	p, q = p.resolve(), q.resolve()
	have, want := p.types(), q.types()
	if have != nil && want != nil && !slices.ContainsFunc(have, func(t string) bool { return accepts(want, t) }) {
		return "is " + strings.Join(have, " or ") + ", and " + strings.Join(want, " or ") + " is needed"
	}
	if slices.Contains(have, "object") && slices.Contains(want, "object") && len(p.props()) > 0 {
		required, _ := q.object()["required"].([]any)
		for _, r := range required {
			if name, ok := r.(string); ok {
				if _, ok := p.prop(name); !ok && !p.combined() {
					return "has no property " + diag.Clip(name, 60) + ", which is needed"
				}
			}
		}
		for name := range sorted(q.props()) {
			if mine, ok := p.prop(name); ok {
				theirs, _ := q.prop(name)
				if why := mine.misfit(theirs, budget); why != "" {
					return "has a property " + diag.Clip(name, 60) + " that " + why
				}
			}
		}
	}
	if slices.Equal(have, []string{"array"}) && slices.Equal(want, []string{"array"}) {
		if why := p.items().misfit(q.items(), budget); why != "" {
			return "has elements of which each " + why
		}
	}
	return ""
}

// accepts: an integer is a number, and a number may be an integer.
func accepts(types []string, t string) bool {
	if t == "integer" || t == "number" {
		return slices.Contains(types, "integer") || slices.Contains(types, "number")
	}
	return slices.Contains(types, t)
}
