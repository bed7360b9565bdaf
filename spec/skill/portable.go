package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// portablePrefix starts the metadata keys of encoding B.
const portablePrefix = "corteza-"

// portableName is the metadata key of a v1 key.
func portableName(key string) string {
	return portablePrefix + strings.ReplaceAll(key, "_", "-")
}

// portableKeys decodes the fields of encoding B, in the order of the file;
// tools-allow and tools-deny become one field. The values' places are those of
// the strings they come from. A string that does not decode is kept as it is, so
// that whoever reads the key sees a value of the wrong type.
func (r *reader) portableKeys() []Field {
	meta, _ := find(r.fm.root, "metadata")
	var keys []Field
	for _, f := range meta.Value.Fields {
		name, key, ok := portableKey(f.Key)
		if !ok {
			continue
		}
		v := Value{Span: f.Value.Span}
		if f.Value.Kind == Scalar {
			v = decodePortable(key.shape, f.Value)
		}
		part, isTools := strings.CutPrefix(name, "tools_")
		if !isTools {
			keys = append(keys, Field{Key: name, KeySpan: f.KeySpan, Value: v})
			continue
		}
		list := Field{Key: part, KeySpan: f.KeySpan, Value: v}
		merged := false
		for i := range keys {
			if keys[i].Key == "tools" {
				keys[i].Value.Fields = append(keys[i].Value.Fields, list)
				merged = true
			}
		}
		if !merged {
			keys = append(keys, Field{Key: "tools", KeySpan: f.KeySpan, Value: Value{Span: v.Span, Kind: Map, Fields: []Field{list}}})
		}
	}
	return keys
}

// portableKey splits a metadata key into the v1 key it carries. The halves of tools
// are called tools_allow and tools_deny; trust is never carried.
func portableKey(meta string) (name string, key v1Key, ok bool) {
	rest, found := strings.CutPrefix(meta, portablePrefix)
	switch {
	case !found:
		return "", v1Key{}, false
	case isExtension(rest):
		return rest, v1Key{name: rest, shape: shapeTyped}, true
	case rest == "tools-allow" || rest == "tools-deny":
		return strings.ReplaceAll(rest, "-", "_"), v1Key{name: "tools", shape: shapeNames}, true
	case strings.Contains(rest, "_") || rest == "trust" || rest == "tools":
		return "", v1Key{}, false
	}
	name = strings.ReplaceAll(rest, "-", "_")
	key, ok = lookupV1(name)
	return name, key, ok
}

// unknownPortable returns the metadata.corteza-* fields that carry no v1 key.
func (r *reader) unknownPortable() []Field {
	meta, _ := find(r.fm.root, "metadata")
	var out []Field
	for _, f := range meta.Value.Fields {
		if _, _, ok := portableKey(f.Key); !ok && strings.HasPrefix(f.Key, portablePrefix) {
			out = append(out, f)
		}
	}
	return out
}

// decodePortable turns the string of a metadata value back into a value.
func decodePortable(s shape, v Value) Value {
	text := v.Text
	switch s {
	case shapeString:
		return Value{Span: v.Span, Style: Quoted, Text: text}
	case shapeBool:
		return Value{Span: v.Span, Style: Plain, Text: text}
	case shapeNames, shapeDepends:
		if !strings.HasPrefix(text, "[") && text != "" {
			list := Value{Span: v.Span, Kind: List}
			for _, name := range strings.Fields(text) {
				list.Items = append(list.Items, Value{Span: v.Span, Style: Quoted, Text: name})
			}
			return list
		}
	}
	decoded, err := decodeJSON(text, v.Span)
	if err != nil {
		return Value{Span: v.Span, Style: Quoted, Text: text}
	}
	return decoded
}

// encodePortable is the string that decodePortable turns back into v.
func encodePortable(s shape, v Value) (string, error) {
	switch s {
	case shapeString, shapeBool:
		return v.Text, nil
	case shapeNames, shapeDepends:
		if names, ok := v.texts(); ok && len(names) > 0 && allWords(names) {
			return strings.Join(names, " "), nil
		}
	case shapeTyped:
		text, err := appendJSON(nil, v)
		return string(text), err
	}
	text, err := appendJSON(nil, asStrings(v))
	return string(text), err
}

// allWords reports whether names can be joined by spaces and split again.
func allWords(names []string) bool {
	for _, name := range names {
		if f := strings.Fields(name); len(f) != 1 || f[0] != name {
			return false
		}
	}
	return names[0][0] != '['
}

// asStrings is v with every scalar a string, as the keys that are not typed mean it.
func asStrings(v Value) Value {
	out := v
	out.Items, out.Fields = nil, nil
	if v.Kind == Scalar && !v.IsNull() {
		out.Style = Quoted
	}
	for _, item := range v.Items {
		out.Items = append(out.Items, asStrings(item))
	}
	for _, f := range v.Fields {
		f.Value = asStrings(f.Value)
		out.Fields = append(out.Fields, f)
	}
	return out
}

// facts gives each key of corteza.skill but trust its canonical JSON, so that both
// encodings can be compared.
func facts(keys []Field) map[string]string {
	out := make(map[string]string, len(keys))
	for _, f := range keys {
		k, ok := lookupV1(f.Key)
		if f.Key == "trust" || !ok && !isExtension(f.Key) {
			continue
		}
		v := f.Value
		if ok && k.shape != shapeTyped && k.shape != shapeBool {
			v = asStrings(v)
		}
		text, err := appendJSON(nil, v)
		if err != nil {
			text = []byte(err.Error())
		}
		out[f.Key] = string(text)
	}
	if tools, ok := find(keys, "tools"); ok && tools.Value.Kind == Map {
		delete(out, "tools")
		for _, f := range tools.Value.Fields {
			text, _ := appendJSON(nil, asStrings(f.Value))
			out["tools."+f.Key] = string(text)
		}
	}
	return out
}

// sameFacts compares two results of facts, and names the first key that differs.
func sameFacts(a, b map[string]string) (key string, same bool) {
	for _, m := range []map[string]string{a, b} {
		for k := range m {
			x, inA := a[k]
			y, inB := b[k]
			if (x != y || inA != inB) && (key == "" || k < key) {
				key = k
			}
		}
	}
	return key, key == ""
}

// decodeJSON parses one JSON value, every part of which gets the place at.
// Duplicate keys and nesting beyond 16 levels are errors.
func decodeJSON(text string, at Span) (Value, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := decodeNext(d, at, 0)
	if err != nil {
		return Value{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return Value{}, errors.New("more than one JSON value")
	}
	return v, nil
}

func decodeNext(d *json.Decoder, at Span, depth int) (Value, error) {
	token, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := token.(type) {
	case string:
		return Value{Span: at, Style: Quoted, Text: t}, nil
	case json.Number:
		return Value{Span: at, Text: t.String()}, nil
	case bool:
		if t {
			return Value{Span: at, Text: "true"}, nil
		}
		return Value{Span: at, Text: "false"}, nil
	case nil:
		return Value{Span: at, Text: "null"}, nil
	}
	if depth == 16 {
		return Value{}, errors.New("nested too deep")
	}
	v := Value{Span: at, Kind: List, Style: Flow}
	if token == json.Delim('{') {
		v.Kind = Map
	}
	for d.More() {
		if v.Kind == List {
			item, err := decodeNext(d, at, depth+1)
			if err != nil {
				return Value{}, err
			}
			v.Items = append(v.Items, item)
			continue
		}
		key, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		f := Field{Key: key.(string), KeySpan: at}
		if _, found := find(v.Fields, f.Key); found {
			return Value{}, errors.New("a key appears twice")
		}
		if f.Value, err = decodeNext(d, at, depth+1); err != nil {
			return Value{}, err
		}
		v.Fields = append(v.Fields, f)
	}
	_, err = d.Token()
	return v, err
}

// scalarYAML spells s as a YAML scalar on one line that is a string to every parser.
func scalarYAML(s string) string {
	if isPlainSafe(s) {
		return s
	}
	if strings.ContainsAny(s, "\"\\") && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f }) {
		return singleQuoted(s)
	}
	return string(appendString(nil, s))
}

// isPlainSafe is narrower than YAML: words of letters, digits and . _ - / that no
// parser takes for another type, with single spaces between them.
func isPlainSafe(s string) bool {
	if s == "" || !isLetter(s[0]) || strings.HasSuffix(s, " ") || strings.Contains(s, "  ") {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("._-/ ", s[i]) < 0 {
			return false
		}
	}
	return Value{Text: s}.readsAs() == ""
}

// appendFlow appends v in YAML's flow style on one line. Unless typed, every scalar is a string.
func appendFlow(dst []byte, v Value, typed bool) ([]byte, error) {
	switch v.Kind {
	case List:
		dst = append(dst, '[')
		for i, item := range v.Items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			var err error
			if dst, err = appendFlow(dst, item, typed); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case Map:
		dst = append(dst, '{')
		for i, f := range v.Fields {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(append(dst, scalarYAML(f.Key)...), ": "...)
			var err error
			if dst, err = appendFlow(dst, f.Value, typed); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	if !typed {
		return append(dst, scalarYAML(v.Text)...), nil
	}
	text, err := appendScalar(nil, v)
	if err == nil && bytes.HasPrefix(text, []byte(`"`)) {
		text = []byte(scalarYAML(v.Text))
	}
	return append(dst, text...), err
}
