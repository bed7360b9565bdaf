package manual

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// A field is a simple property of an object schema.
type field struct {
	name     string
	kind     string // string, integer, number, boolean
	list     bool   // of kind
	choices  []string
	required bool
	nullable bool // nothing typed is null
	about    string
}

type property struct {
	Type        json.RawMessage   `json:"type"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *property         `json:"items"`
}

// simpleFields are the properties of schema in its order, required ones first;
// nil when one of them is not simple, or there are none.
func simpleFields(schema json.RawMessage) []field {
	var object struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &object) != nil || object.Type != "object" {
		return nil
	}
	var properties map[string]property
	if json.Unmarshal(object.Properties, &properties) != nil {
		return nil
	}
	var fields []field
	for _, name := range keys(object.Properties) {
		p := properties[name]
		f := field{name: name, required: slices.Contains(object.Required, name), about: p.Description}
		if f.kind, f.nullable = p.kind(); f.kind == "array" && p.Items != nil {
			f.list = true
			p = *p.Items
			f.kind, _ = p.kind()
		}
		if f.choices = p.choices(); f.choices != nil {
			f.kind = "string"
		}
		if !slices.Contains([]string{"string", "integer", "number", "boolean"}, f.kind) || f.choices == nil && p.Enum != nil {
			return nil
		}
		fields = append(fields, f)
	}
	for _, name := range object.Required {
		if _, ok := properties[name]; !ok {
			return nil
		}
	}
	order.Stable(fields, func(a, b field) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return fields
}

// kind is the one type that a value has, "" if it can have several. One of two types may be null.
func (p property) kind() (kind string, nullable bool) {
	var several []string
	if json.Unmarshal(p.Type, &kind) == nil {
		return kind, false
	}
	if json.Unmarshal(p.Type, &several) == nil && len(several) == 2 && slices.Contains(several, "null") {
		several = slices.DeleteFunc(several, func(t string) bool { return t == "null" })
		return several[0], true
	}
	return "", false
}

// onlyField is the name of the one property of an object schema, if it takes any value.
func onlyField(schema json.RawMessage) (name string, ok bool) {
	var object struct {
		Type       string                                `json:"type"`
		Properties map[string]map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil || object.Type != "object" || len(object.Properties) != 1 {
		return "", false
	}
	for name, p := range object.Properties {
		for key := range p {
			if key != "description" && key != "title" {
				return "", false
			}
		}
		return name, true
	}
	return "", false
}

// wrapped is what was typed as the object whose one field it is: an object that fits as it is, any other JSON, or text.
func (d *dialog) wrapped(name, typed string) json.RawMessage {
	value := json.RawMessage(strings.TrimSpace(typed))
	if !json.Valid(value) {
		value = quote(typed)
	} else if d.schema.Check(value) == nil {
		return value
	}
	return slices.Concat(json.RawMessage("{"), quote(name), json.RawMessage(":"), value, json.RawMessage("}"))
}

// choices are the words of an enum, nil if it has others than words.
func (p property) choices() []string {
	var words []string
	for _, raw := range p.Enum {
		var word string
		if json.Unmarshal(raw, &word) != nil {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// keys are the names of an object's members in the order they are written.
func keys(object json.RawMessage) []string {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var names []string
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var skip json.RawMessage
		if err != nil || !ok || d.Decode(&skip) != nil {
			return names
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// fields asks for each field and gives the object.
func (d *dialog) fields(ctx context.Context, fields []field) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, f := range fields {
		value, err := d.ask(ctx, f)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quote(f.name), value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// ask asks for one field until the answer is one, or empty where it may be.
func (d *dialog) ask(ctx context.Context, f field) (json.RawMessage, error) {
	wanted := map[string]string{"string": "text", "integer": "whole number", "number": "number", "boolean": "yes or no"}[f.kind]
	if f.choices != nil {
		var names []string
		for i, c := range f.choices {
			names = append(names, fmt.Sprintf("%d %s", i+1, diag.Printable(c)))
		}
		wanted = strings.Join(names, " · ")
	}
	if f.list {
		wanted = "list, one per line, an empty line ends it: " + wanted
	}
	switch {
	case !f.required:
		wanted += "; empty for none"
	case f.nullable:
		wanted += "; empty if it cannot be said"
	}
	about := ""
	if f.about != "" {
		about = "  " + diag.Printable(f.about) + "\n"
	}
	d.printf("%s  %s (%s)\n", about, diag.Printable(f.name), wanted)
	if !f.list {
		for {
			s, err := d.line(ctx, diag.Printable(f.name)+"> ")
			if err != nil {
				return nil, err
			}
			if s == "" && !f.required {
				return nil, nil
			}
			if s == "" && f.nullable {
				return json.RawMessage("null"), nil
			}
			if value := f.parse(s); value != nil {
				return value, nil
			}
			d.printf("  %s is not a %s\n", diag.Printable(strconv.Quote(s)), wanted)
		}
	}
	values := []json.RawMessage{}
	for {
		s, err := d.line(ctx, diag.Printable(f.name)+"> ")
		if err != nil {
			return nil, err
		}
		if s == "" {
			break
		}
		value := f.parse(s)
		if value == nil {
			d.printf("  %s does not fit\n", diag.Printable(strconv.Quote(s)))
			continue
		}
		values = append(values, value)
	}
	if len(values) == 0 && !f.required {
		return nil, nil
	}
	return json.Marshal(values)
}

// parse is what s means for f, nil if it means nothing.
func (f field) parse(s string) json.RawMessage {
	word := strings.TrimSpace(s)
	switch {
	case f.choices != nil:
		for _, c := range f.choices {
			if strings.EqualFold(word, c) {
				return quote(c)
			}
		}
		if i, err := strconv.Atoi(word); err == nil && i >= 1 && i <= len(f.choices) {
			return quote(f.choices[i-1])
		}
		return nil
	case f.kind == "integer":
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return strconv.AppendInt(nil, n, 10)
		}
		return nil
	case f.kind == "number":
		if b := []byte(word); json.Valid(b) {
			if _, err := strconv.ParseFloat(word, 64); err == nil {
				return b
			}
		}
		return nil
	case f.kind == "boolean":
		switch strings.ToLower(word) {
		case "y", "yes", "true":
			return json.RawMessage("true")
		case "n", "no", "false":
			return json.RawMessage("false")
		}
		return nil
	}
	return quote(s)
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprint("a string is JSON: ", err))
	}
	return b
}
