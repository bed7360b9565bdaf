package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// An explainer finds the first property that breaks a schema, in the order of names and indices. The verdict is
// not its own: it knows the keywords that contracts use, and finds nothing where it does not know.
type explainer struct {
	root  any
	steps int
}

func (x *explainer) explain(at, value any, path string) *Violation {
	if x.steps++; x.steps > maxSchemaSteps {
		return nil
	}
	object, ok := at.(map[string]any)
	if !ok {
		if at == false {
			return &Violation{path, "is not allowed"}
		}
		return nil
	}
	if ref, ok := object["$ref"].(string); ok {
		if target, ok := pointer(x.root, ref); ok {
			if v := x.explain(target, value, path); v != nil {
				return v
			}
		}
	}
	if v := x.scalar(object, value, path); v != nil {
		return v
	}
	switch value := value.(type) {
	case map[string]any:
		if v := x.object(object, value, path); v != nil {
			return v
		}
	case []any:
		if v := x.array(object, value, path); v != nil {
			return v
		}
	}
	all, _ := object["allOf"].([]any)
	for _, sub := range all {
		if v := x.explain(sub, value, path); v != nil {
			return v
		}
	}
	return nil
}

func (x *explainer) object(schema, value map[string]any, path string) *Violation {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); ok {
			if _, ok := value[name]; !ok {
				return &Violation{join(path, name), "is missing"}
			}
		}
	}
	props, _ := schema["properties"].(map[string]any)
	for _, name := range sortedKeys(value) {
		if sub, ok := props[name]; ok {
			if v := x.explain(sub, value[name], join(path, name)); v != nil {
				return v
			}
			continue
		}
		if schema["patternProperties"] != nil {
			continue
		}
		switch extra := schema["additionalProperties"].(type) {
		case bool:
			if !extra {
				return &Violation{join(path, name), "is not in the schema"}
			}
		case map[string]any:
			if v := x.explain(extra, value[name], join(path, name)); v != nil {
				return v
			}
		}
	}
	return nil
}

func (x *explainer) array(schema map[string]any, value []any, path string) *Violation {
	if n, ok := schema["minItems"].(float64); ok && float64(len(value)) < n {
		return &Violation{path, fmt.Sprintf("has %d elements, and must have at least %v", len(value), n)}
	}
	if n, ok := schema["maxItems"].(float64); ok && float64(len(value)) > n {
		return &Violation{path, fmt.Sprintf("has %d elements, and must have at most %v", len(value), n)}
	}
	items, _ := schema["items"].(map[string]any)
	if items == nil || schema["prefixItems"] != nil {
		return nil
	}
	for i, item := range value {
		if v := x.explain(items, item, path+"["+strconv.Itoa(i)+"]"); v != nil {
			return v
		}
	}
	return nil
}

func (x *explainer) scalar(schema map[string]any, value any, path string) *Violation {
	if v := wrongType(schema["type"], value, path); v != nil {
		return v
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return reflect.DeepEqual(e, value) }) {
		text, _ := json.Marshal(enum)
		return &Violation{path, "must be one of " + string(text)}
	}
	if want, ok := schema["const"]; ok && !reflect.DeepEqual(want, value) {
		text, _ := json.Marshal(want)
		return &Violation{path, "must be " + string(text)}
	}
	switch value := value.(type) {
	case float64:
		if n, ok := schema["minimum"].(float64); ok && value < n {
			return &Violation{path, fmt.Sprintf("is %v, and must be at least %v", value, n)}
		}
		if n, ok := schema["maximum"].(float64); ok && value > n {
			return &Violation{path, fmt.Sprintf("is %v, and must be at most %v", value, n)}
		}
	case string:
		length := float64(utf8.RuneCountInString(value))
		if n, ok := schema["minLength"].(float64); ok && length < n {
			return &Violation{path, fmt.Sprintf("has %v characters, and must have at least %v", length, n)}
		}
		if n, ok := schema["maxLength"].(float64); ok && length > n {
			return &Violation{path, fmt.Sprintf("has %v characters, and must have at most %v", length, n)}
		}
	}
	return nil
}

// wrongType compares value with the keyword type.
func wrongType(want, value any, path string) *Violation {
	var types []any
	switch w := want.(type) {
	case string:
		types = []any{w}
	case []any:
		types = w
	default:
		return nil
	}
	got := typeOf(value)
	for _, t := range types {
		if t == got || t == "number" && got == "integer" {
			return nil
		}
	}
	wanted := ""
	for i, t := range types {
		if i > 0 {
			wanted += " or "
		}
		wanted += article(fmt.Sprint(t))
	}
	return &Violation{path, "is " + article(got) + ", and must be " + wanted}
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func article(t string) string {
	switch t {
	case "null":
		return t
	case "object", "array", "integer":
		return "an " + t
	}
	return "a " + t
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
