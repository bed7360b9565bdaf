package skill

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

const (
	maxSchemaBytes = 16 << 10 // of compact JSON
	maxSchemaDepth = 6        // maps and lists inside each other
)

// checkSchema reports why schema cannot describe arguments: it must be a schema
// of an object, small, and checkable without fetching or running anything.
// Its error completes the sentence "arguments.schema ...".
func checkSchema(schema Value, size int) error {
	if schema.Kind != Map {
		return errors.New("is not a map")
	}
	if size > maxSchemaBytes {
		return fmt.Errorf("is larger than %d KiB", maxSchemaBytes>>10)
	}
	if depth(schema) > maxSchemaDepth {
		return fmt.Errorf("nests deeper than %d levels", maxSchemaDepth)
	}
	if kind, _ := schema.Get("type"); kind.Kind != Scalar || kind.Text != "object" {
		return errors.New("is not of type object")
	}
	return checkSubschema(schema)
}

func depth(v Value) int {
	deepest := 0
	for _, item := range v.Items {
		deepest = max(deepest, depth(item))
	}
	for _, f := range v.Fields {
		deepest = max(deepest, depth(f.Value))
	}
	if v.Kind == Scalar {
		return 0
	}
	return deepest + 1
}

// checkSubschema walks a schema and the schemas in it. Values that are data
// (enum, const, default, examples) are not looked into.
func checkSubschema(v Value) error {
	for _, item := range v.Items {
		if err := checkSubschema(item); err != nil {
			return err
		}
	}
	for _, f := range v.Fields {
		if err := checkKeyword(f); err != nil {
			return err
		}
	}
	return nil
}

func checkKeyword(f Field) error {
	switch f.Key {
	case "enum", "const", "default", "examples":
		return nil
	case "$ref":
		if f.Value.Kind != Scalar || !strings.HasPrefix(f.Value.Text, "#/") {
			return errors.New("holds a $ref that leaves the schema")
		}
		return nil
	case "$dynamicRef", "$recursiveRef":
		return fmt.Errorf("holds %s", f.Key)
	case "$schema":
		if f.Value.Text != "https://json-schema.org/draft/2020-12/schema" {
			return errors.New("is not of draft 2020-12")
		}
		return nil
	case "pattern":
		return checkPattern(f.Value)
	case "properties", "$defs", "dependentSchemas", "patternProperties":
		for _, p := range f.Value.Fields {
			if f.Key == "patternProperties" {
				if err := checkPattern(Value{Text: p.Key, Style: Quoted}); err != nil {
					return err
				}
			}
			if err := checkSubschema(p.Value); err != nil {
				return err
			}
		}
		return nil
	}
	return checkSubschema(f.Value)
}

// checkPattern accepts what Go and RE2 can match in linear time.
func checkPattern(v Value) error {
	if v.Kind != Scalar {
		return errors.New("holds a pattern that is not a string")
	}
	if _, err := syntax.Parse(v.Text, syntax.Perl); err != nil {
		return fmt.Errorf("holds the pattern %q, which RE2 refuses", diag.Printable(v.Text))
	}
	return nil
}

// Properties are the names of the properties of d's arguments.schema, in its order; none without one.
func Properties(d *Document) []string {
	if d == nil || d.V1 == nil || d.V1.Arguments == nil {
		return nil
	}
	return d.V1.Arguments.properties
}

// schemaNames returns a list of names in a schema that are properties of it.
func schemaNames(schema Value, key string) []string {
	list, _ := schema.Get(key)
	names, _ := list.texts()
	properties, _ := schema.Get("properties")
	var out []string
	for _, name := range names {
		if _, ok := properties.Get(name); ok {
			out = append(out, name)
		}
	}
	return out
}
