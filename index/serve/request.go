package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// decode reads one JSON object into the struct that v points to. A field that v does not have is an error with the
// name that was probably meant.
func decode(data []byte, v any) error {
	fields, err := object(data)
	if err != nil {
		return err
	}
	known := names(reflect.TypeOf(v).Elem())
	for name := range fields {
		if !slices.Contains(known, name) {
			return unknown(name, known)
		}
	}
	if err := json.Unmarshal(data, v); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return diag.New(diag.Misuse, codeInvalid, "%s is %s, not %s", t.Field, t.Value, described(t.Type))
		}
		return diag.New(diag.Misuse, codeInvalid, "the request is not valid: %w", err)
	}
	return nil
}

// object reads the fields of one JSON object and nothing behind it. No bytes are an empty object.
func object(data []byte) (map[string]json.RawMessage, error) {
	fields := make(map[string]json.RawMessage)
	if data = bytes.TrimSpace(data); len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return fields, nil
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, diag.New(diag.Misuse, codeInvalid, "the request is %s, not an object", t.Value)
		}
		return nil, diag.New(diag.Misuse, codeInvalid, "the request is not JSON: %w", err)
	}
	return fields, nil
}

// names are the JSON names of the fields of a struct.
func names(t reflect.Type) []string {
	var all []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, names(f.Type)...)
		case name != "" && name != "-":
			all = append(all, name)
		}
	}
	return all
}

// unknown is the error of a field that nobody knows.
func unknown(name string, known []string) error {
	if len(name) > 64 {
		name = name[:64]
	}
	return diag.New(diag.Misuse, codeInvalid, "there is no field %q", diag.Printable(name)).Meant(spell.Nearest(name, known, 2)...)
}

func described(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	default:
		return "a whole number"
	}
}

// A question is what query and evidence pack take: where, what, and how much of it. The fields for packs are refused by queries.
type question struct {
	Where     string // path of a directory or id of a repository
	Params    query.Params
	Pack      rank.PackOptions
	Plan      *bool // nil: as the answer needs it
	MaxTokens int
}

// readQuestion reads one. where is the name of the field that says where: "path" or "repo".
func readQuestion(data []byte, where string, pack bool) (question, error) {
	fields, err := object(data)
	if err != nil {
		return question{}, err
	}
	var own struct {
		Path      string      `json:"path"`
		Repo      string      `json:"repo"`
		MaxTokens int         `json:"max_tokens"`
		Config    *PackConfig `json:"config"`
		PackConfig
	}
	mine := []string{where, "max_tokens"}
	if pack {
		mine = append(mine, "config", "max_handles", "max_per_file", "plan")
	}
	taken := make(map[string]json.RawMessage)
	for _, name := range mine {
		if v, ok := fields[name]; ok {
			taken[name] = v
			delete(fields, name)
		}
	}
	if err := decode(encode(taken), &own); err != nil {
		return question{}, err
	}
	if own.Config != nil {
		if err := decode(taken["config"], own.Config); err != nil {
			return question{}, err
		}
		own.PackConfig = *own.Config
	}
	p, err := readParams(fields, mine)
	if err != nil {
		return question{}, err
	}
	q := question{Where: own.Path + own.Repo, Params: p, Plan: own.Plan, MaxTokens: own.MaxTokens}
	q.Pack = rank.PackOptions{MaxHandles: own.MaxHandles, MaxPerFile: own.MaxPerFile}
	for _, n := range []struct {
		name        string
		value, most int
	}{{"max_handles", own.MaxHandles, 64}, {"max_per_file", own.MaxPerFile, 8}, {"max_tokens", own.MaxTokens, MaxTokens}} {
		if n.value < 0 || n.value > n.most {
			return question{}, diag.New(diag.Misuse, codeInvalid, "%s is %d; it goes from 1 to %d", n.name, n.value, n.most)
		}
	}
	return q, nil
}

// readParams reads the parameters of a query, in any spelling. mine are fields that were taken before, for the names that could be meant.
func readParams(fields map[string]json.RawMessage, mine []string) (p query.Params, err error) {
	for old, name := range map[string]string{"match_mode": "match", "dsl": "query"} {
		if v, ok := fields[old]; ok {
			if _, both := fields[name]; both {
				return p, diag.New(diag.Misuse, codeInvalid, "%s and %s are one field", old, name)
			}
			fields[name] = v
			delete(fields, old)
		}
	}
	known := names(reflect.TypeFor[query.Params]())
	for name := range fields {
		if !slices.Contains(known, name) {
			return p, unknown(name, append(known, mine...))
		}
	}
	err = decode(encode(fields), &p)
	return p, err
}

// encode writes v, which always can be written, as JSON. Characters of HTML are left as they are: code is full of them.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a type of this package that JSON cannot hold
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
