package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// errLeaves is the cause of a $ref that names no file of the skill.
var errLeaves = errors.New("leaves the skill")

const (
	maxSchemaDepth = 100    // levels of a schema document
	maxSchemaSteps = 10_000 // schemas that one value is checked against at one place
)

// An embedder puts the files that a schema refers to into its document. References become pointers into it, so that
// whoever gets the document needs no files.
type embedder struct {
	p      *Plan
	skill  *tree.Skill
	main   string            // path of the document
	mainID string            // its $id, which references may spell out
	keys   map[string]string // of embedded files: path to key below defs
	queue  []string          // embedded files that are not yet rewritten
	defs   string            // "$defs", or "definitions" where the document has those
}

// embed returns doc, the schema file at name, with every file that it refers to.
func embed(p *Plan, s *tree.Skill, name string, doc any) (any, error) {
	object, ok := doc.(map[string]any)
	if !ok {
		return doc, nil
	}
	e := &embedder{p: p, skill: s, main: name, keys: map[string]string{}, defs: "$defs"}
	if _, ok := object["definitions"]; ok {
		e.defs = "definitions"
	}
	e.mainID, _ = object["$id"].(string)
	defs, _ := object[e.defs].(map[string]any)
	if err := e.schema(object, name, "", 0); err != nil {
		return nil, err
	}
	for len(e.queue) > 0 {
		file := e.queue[0]
		e.queue = e.queue[1:]
		sub, err := e.load(file)
		if err != nil {
			return nil, err
		}
		if err := e.schema(sub, file, "#/"+e.defs+"/"+e.keys[file], 0); err != nil {
			return nil, err
		}
		if o, ok := sub.(map[string]any); ok {
			delete(o, "$schema")
		}
		if defs == nil {
			defs = map[string]any{}
			object[e.defs] = defs
		}
		if _, taken := defs[e.keys[file]]; taken {
			return nil, fmt.Errorf("%s defines %s, which stands for the file %s", name, e.keys[file], file)
		}
		defs[e.keys[file]] = sub
	}
	return object, nil
}

func (e *embedder) load(file string) (any, error) {
	r, err := e.p.Resource(e.skill, file)
	if err != nil {
		return nil, fmt.Errorf("%s refers to %s: %w", e.main, file, err)
	}
	var doc any
	if err := json.Unmarshal([]byte(r.Text), &doc); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", r.Path, err)
	}
	return doc, nil
}

// schema rewrites the references of one schema of file and below. The file is at prefix in the document.
func (e *embedder) schema(at any, file, prefix string, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("%s is nested deeper than %d levels", file, maxSchemaDepth)
	}
	object, ok := at.(map[string]any)
	if !ok {
		return nil
	}
	delete(object, "$id") // references are relative to the file
	if ref, ok := object["$ref"].(string); ok {
		to, err := e.reference(ref, file, prefix)
		if err != nil {
			return err
		}
		object["$ref"] = to
	}
	if _, ok := object["$dynamicRef"]; ok {
		return fmt.Errorf("%s uses $dynamicRef, which contracts may not", file)
	}
	return subschemas(object, func(_ string, sub any) error { return e.schema(sub, file, prefix, depth+1) })
}

// subschemas calls f for every schema directly below object, with the keyword that it hangs on.
func subschemas(object map[string]any, f func(keyword string, sub any) error) error {
	for _, key := range sortedKeys(object) {
		switch value := object[key].(type) {
		case map[string]any:
			switch key {
			case "const", "default", "enum", "examples", "example":
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
				for _, name := range sortedKeys(value) {
					if err := f(key, value[name]); err != nil {
						return err
					}
				}
			default:
				if err := f(key, value); err != nil {
					return err
				}
			}
		case []any:
			switch key {
			case "allOf", "anyOf", "oneOf", "prefixItems", "items":
				for _, sub := range value {
					if err := f(key, sub); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// reference turns a $ref of file into one inside the document.
func (e *embedder) reference(ref, file, prefix string) (string, error) {
	if file == e.main && e.mainID != "" {
		if rest, ok := strings.CutPrefix(ref, strings.TrimSuffix(e.mainID, "#")); ok && (rest == "" || rest[0] == '#') {
			ref = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	target, fragment, _ := strings.Cut(ref, "#")
	if target == "" {
		return within(prefix, fragment), nil
	}
	target, err := url.PathUnescape(target)
	if err != nil || strings.ContainsAny(target, ":\\\x00") || strings.HasPrefix(target, "/") {
		return "", fmt.Errorf("the $ref %s of %s %w", diag.Printable(ref), file, errLeaves)
	}
	target = path.Join(path.Dir(file), target)
	if target == ".." || strings.HasPrefix(target, "../") {
		return "", fmt.Errorf("the $ref %s of %s %w", diag.Printable(ref), file, errLeaves)
	}
	if target == e.main {
		return within("", fragment), nil
	}
	key, ok := e.keys[target]
	if !ok {
		if len(e.keys) == MaxSchemas-1 {
			return "", fmt.Errorf("%s refers to more than %d files", e.main, MaxSchemas)
		}
		key = e.key(target)
		e.keys[target] = key
		e.queue = append(e.queue, target)
	}
	return within("#/"+e.defs+"/"+key, fragment), nil
}

// key names an embedded file with characters that pointers and fragments leave alone.
func (e *embedder) key(file string) string {
	key := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, file)
	for _, taken := range e.keys {
		if taken == key {
			return key + "_" + strconv.Itoa(len(e.keys))
		}
	}
	return key
}

// within is the place fragment of a document that is embedded at prefix; an anchor is the same everywhere.
func within(prefix, fragment string) string {
	switch {
	case fragment == "" && prefix == "":
		return "#"
	case fragment == "":
		return prefix
	case fragment[0] == '/' && prefix != "":
		return prefix + fragment
	}
	return "#" + fragment
}

// pointer follows a reference inside the document.
func pointer(doc any, ref string) (any, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, false
	}
	if fragment != "" && fragment[0] != '/' {
		return anchor(doc, fragment)
	}
	at := doc
	for _, step := range strings.Split(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment == "" {
			break
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

func anchor(at any, name string) (found any, ok bool) {
	object, isObject := at.(map[string]any)
	if !isObject {
		return nil, false
	}
	if object["$anchor"] == name {
		return object, true
	}
	_ = subschemas(object, func(_ string, sub any) error {
		if !ok {
			found, ok = anchor(sub, name)
		}
		return nil
	})
	return found, ok
}

// checkCycles refuses a schema whose check of a single value would not end, or take very long: one that
// applies itself to the same value, which would overflow the stack.
func checkCycles(doc any) error {
	c := cycles{doc: doc, steps: map[string]int{}}
	var visit func(at any) error
	visit = func(at any) error {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		if _, err := c.cost(object); err != nil {
			return err
		}
		return subschemas(object, func(_ string, sub any) error { return visit(sub) })
	}
	return visit(doc)
}

type cycles struct {
	doc   any
	steps map[string]int // by reference: schemas applied to one value; -1 while it is counted
}

// cost counts the schemas that are applied to the same value as object.
func (c *cycles) cost(object map[string]any) (int, error) {
	total := 1
	add := func(n int, err error) error {
		if total += n; err == nil && total > maxSchemaSteps {
			return fmt.Errorf("its references multiply: one value would be checked against more than %d schemas", maxSchemaSteps)
		}
		return err
	}
	if ref, ok := object["$ref"].(string); ok {
		if err := add(c.ref(ref)); err != nil {
			return 0, err
		}
	}
	err := subschemas(object, func(keyword string, sub any) error {
		switch keyword {
		case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies":
			if o, ok := sub.(map[string]any); ok {
				return add(c.cost(o))
			}
		}
		return nil
	})
	return total, err
}

func (c *cycles) ref(ref string) (int, error) {
	switch n, ok := c.steps[ref]; {
	case ok && n < 0:
		return 0, fmt.Errorf("the $ref %s leads back to itself without end", diag.Printable(ref))
	case ok:
		return n, nil
	}
	target, ok := pointer(c.doc, ref)
	if !ok {
		return 0, fmt.Errorf("the $ref %s leads nowhere", diag.Printable(ref))
	}
	object, ok := target.(map[string]any)
	if !ok {
		return 1, nil
	}
	c.steps[ref] = -1
	n, err := c.cost(object)
	c.steps[ref] = n
	return n, err
}
