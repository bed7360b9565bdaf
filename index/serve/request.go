package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/query"
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

// A question is what query and evidence pack take: where, and what.
type question struct {
	Where     string // path of a directory or id of a repository
	MaxTokens int    // of the answer, and for packs also of what their handles expand to
	query.EvidenceParams
}

// readQuestion reads one. where is the name of the field that says where: "path" or "repo". The fields for packs are refused by queries.
func readQuestion(data []byte, where string, pack bool) (q question, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	if pack {
		q.EvidenceParams, err = query.DecodeEvidence(data, where)
	} else {
		q.Params, err = query.Decode(data, where, "max_tokens")
	}
	if err != nil {
		return question{}, err
	}
	var own struct {
		Path      string `json:"path"`
		Repo      string `json:"repo"`
		MaxTokens int    `json:"max_tokens"`
	}
	if err := json.Unmarshal(data, &own); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return question{}, diag.New(diag.Misuse, codeInvalid, "%s is %s, not %s", t.Field, t.Value, described(t.Type))
		}
		return question{}, diag.New(diag.Misuse, codeInvalid, "the request is not valid: %w", err)
	}
	if own.MaxTokens < 0 || own.MaxTokens > MaxTokens {
		return question{}, diag.New(diag.Misuse, codeInvalid, "max_tokens is %d; it goes from 1 to %d", own.MaxTokens, MaxTokens)
	}
	q.MaxTokens = own.MaxTokens
	if q.Where = own.Path; where == "repo" {
		q.Where = own.Repo
	}
	return q, nil
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
