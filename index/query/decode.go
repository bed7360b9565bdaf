package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// Decode reads parameters from a JSON object. Besides the documented names it takes those that services of this kind had before:
// match_mode for match, dsl for query. others are fields of the caller, such as path, which are left alone.
//
// null is as if the field were not there. An unknown field, one that is there twice, and a value of another type are errors
// with the code "invalid_request". The size of data is the caller's concern. Values are checked by [Params.Compile].
func Decode(data []byte, others ...string) (Params, error) {
	var p Params
	err := decode(data, others, p.fields())
	if err != nil {
		return Params{}, err
	}
	return p, nil
}

// DecodeEvidence reads the parameters of an evidence pack as [Decode] does. max_handles, max_per_file and plan may also
// stand in an object named config.
func DecodeEvidence(data []byte, others ...string) (EvidenceParams, error) {
	var p, inner EvidenceParams
	var config json.RawMessage
	fields := append(append(p.fields(), p.bounds()...), field{"max_tokens", &p.MaxTokens}, field{"config", &config})
	if err := decode(data, others, fields); err != nil {
		return EvidenceParams{}, err
	}
	if config == nil {
		return p, nil
	}
	if err := decode(config, nil, inner.bounds()); err != nil {
		if e, ok := diag.Own(err); ok {
			e.Message = "in config, " + e.Message
			err = e
		}
		return EvidenceParams{}, err
	}
	if err := p.merge(inner); err != nil {
		return EvidenceParams{}, err
	}
	return p, nil
}

// merge takes what stood in config.
func (p *EvidenceParams) merge(config EvidenceParams) error {
	for _, f := range [...]struct {
		name     string
		to, from *int
	}{{"max_handles", &p.MaxHandles, &config.MaxHandles}, {"max_per_file", &p.MaxPerFile, &config.MaxPerFile}} {
		if *f.to != 0 && *f.from != 0 && *f.to != *f.from {
			return differ(f.name, "config."+f.name)
		}
		if *f.to == 0 {
			*f.to = *f.from
		}
	}
	if p.Plan != nil && config.Plan != nil && *p.Plan != *config.Plan {
		return differ("plan", "config.plan")
	}
	if p.Plan == nil {
		p.Plan = config.Plan
	}
	return nil
}

func differ(a, b string) error {
	return diag.New(diag.Misuse, "invalid_request", "%s and %s mean the same, and have different values", a, b)
}

// A field is where the value of a name goes.
type field struct {
	name string
	to   any // *string, *[]string, *int, **bool, or *json.RawMessage for an object
}

func (p *Params) fields() []field {
	return []field{
		{"pattern", &p.Pattern}, {"patterns", &p.Patterns}, {"literal", &p.Literal}, {"regex", &p.Regex}, {"symbol", &p.Symbol},
		{"section", &p.Section}, {"parent", &p.Parent}, {"kind", &p.Kind}, {"glob", &p.Glob}, {"match", &p.Match},
		{"limit", &p.Limit}, {"expand_budget", &p.ExpandBudget}, {"query", &p.Query},
	}
}

// bounds are the fields that may also stand in config.
func (p *EvidenceParams) bounds() []field {
	return []field{{"max_handles", &p.MaxHandles}, {"max_per_file", &p.MaxPerFile}, {"plan", &p.Plan}}
}

// documented returns the name that documents use for a field.
func documented(name string) string {
	switch name {
	case "match_mode":
		return "match"
	case "dsl":
		return "query"
	}
	return name
}

func decode(data []byte, others []string, fields []field) error {
	d := json.NewDecoder(bytes.NewReader(data))
	start, err := d.Token()
	if err != nil || start != json.Delim('{') {
		return notObject(data, d, err)
	}
	seen := map[string]seenField{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return badJSON(d, err)
		}
		spelled, _ := token.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return badJSON(d, err)
		}
		if err := decodeField(fields, others, seen, spelled, raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return badJSON(d, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return diag.New(diag.Misuse, "invalid_request", "the parameters go on after their object, at byte %d", d.InputOffset())
	}
	return nil
}

// A seenField is one that was there before.
type seenField struct {
	spelled string
	raw     json.RawMessage
}

func decodeField(fields []field, others []string, seen map[string]seenField, spelled string, raw json.RawMessage) error {
	if slices.Contains(others, spelled) {
		return nil
	}
	name := documented(spelled)
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return unknownField(fields, others, spelled)
	}
	if before, ok := seen[name]; ok {
		if before.spelled == spelled {
			return diag.New(diag.Misuse, "invalid_request", "the field %s is there twice", spelled)
		}
		if !bytes.Equal(before.raw, raw) {
			return differ(before.spelled, spelled)
		}
	}
	seen[name] = seenField{spelled, raw}
	if string(raw) == "null" {
		return nil
	}
	want := set(fields[i].to, raw)
	if want == "" {
		return nil
	}
	return diag.New(diag.Misuse, "invalid_request", "the field %s is %s, and takes %s", spelled, typeOf(raw), want)
}

// set decodes raw. If that is of another type, it says what is wanted.
func set(to any, raw json.RawMessage) (want string) {
	switch to := to.(type) {
	case *string:
		if json.Unmarshal(raw, to) != nil {
			return "a string"
		}
	case *[]string:
		var some []*string // null in a list would be an empty pattern
		if json.Unmarshal(raw, &some) != nil || slices.Contains(some, nil) {
			return "a list of strings"
		}
		*to = make([]string, len(some))
		for i, s := range some {
			(*to)[i] = *s
		}
	case *int:
		n, ok := whole(string(raw))
		if !ok {
			return "a whole number"
		}
		*to = n
	case **bool:
		if json.Unmarshal(raw, to) != nil {
			return "true or false"
		}
	case *json.RawMessage:
		if raw[0] != '{' {
			return "an object"
		}
		*to = raw
	}
	return ""
}

// whole reads a number of JSON that has no fraction; 16.0 and 1.6e1 have none.
func whole(raw string) (int, bool) {
	if n, err := strconv.ParseInt(raw, 10, 32); err == nil {
		return int(n), true
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || f != float64(int32(f)) {
		return 0, false
	}
	return int(f), true
}

// typeOf names a value of JSON.
func typeOf(raw json.RawMessage) string {
	switch c := raw[0]; c {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "the string " + quote(strings.Trim(string(raw), `"`))
	case 't', 'f':
		return string(raw)
	}
	if len(raw) > 20 {
		return "a long number"
	}
	return "the number " + string(raw)
}

func unknownField(fields []field, others []string, spelled string) error {
	names := slices.Clone(others)
	for _, f := range fields {
		names = append(names, f.name)
	}
	slices.Sort(names)
	err := diag.New(diag.Misuse, "invalid_request", "there is no field %s", quote(spelled))
	if near := spell.Nearest(strings.ReplaceAll(spelled, "-", "_"), names, 1); len(near) > 0 {
		return err.Meant(near...).Hint("did you mean %s?", near[0])
	}
	return err.Hint("fields: %s", strings.Join(names, ", "))
}

func notObject(data []byte, d *json.Decoder, err error) error {
	if err != nil && len(bytes.TrimSpace(data)) > 0 {
		return badJSON(d, err)
	}
	return diag.New(diag.Misuse, "invalid_request", "the parameters are not a JSON object").Hint(`such as {"pattern": "words"}`)
}

func badJSON(d *json.Decoder, err error) error {
	at := d.InputOffset()
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = e.Offset
	}
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		return diag.New(diag.Misuse, "invalid_request", "the parameters end early, at byte %d", at)
	}
	return diag.New(diag.Misuse, "invalid_request", "the parameters are not JSON at byte %d: %v", at, err)
}
