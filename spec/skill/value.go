package skill

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A Span is a piece of the source: the bytes [Start, End), and where it starts.
// Line and Column count from 1, columns in bytes; offsets and lines are those
// of the whole file.
type Span struct {
	Start, End   int
	Line, Column int
}

// Kind says what a Value is.
type Kind uint8

const (
	Scalar Kind = iota
	List
	Map
)

// Style says how a Value is written.
type Style uint8

const (
	Plain  Style = iota // a scalar without quotes
	Quoted              // a scalar in single or double quotes
	Block               // a scalar after | or >
	Flow                // a list or map in brackets
	Lines               // a list or map on lines of its own
)

// A Value is one value of the frontmatter, with its place in the file.
// A scalar keeps its source text: 1.10 stays "1.10" and no stays "no".
type Value struct {
	Span
	Kind   Kind
	Style  Style
	Text   string  // of a scalar, unquoted and unescaped
	Items  []Value // of a list
	Fields []Field // of a map, in source order; keys are unique
}

// A Field is one key and value of a map.
type Field struct {
	Key     string
	KeySpan Span
	Value   Value
}

// IsNull reports whether v is an empty, ~ or null plain scalar.
func (v Value) IsNull() bool {
	if v.Kind != Scalar || v.Style != Plain {
		return false
	}
	switch v.Text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// Get returns the value of key in a map.
func (v Value) Get(key string) (Value, bool) {
	f, ok := find(v.Fields, key)
	return f.Value, ok
}

func find(fields []Field, key string) (Field, bool) {
	for _, f := range fields {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}

// text returns the text of a scalar that is not null.
func (v Value) text() (string, bool) {
	if v.Kind != Scalar || v.IsNull() {
		return "", false
	}
	return v.Text, true
}

// texts returns the elements of a list of scalars.
func (v Value) texts() ([]string, bool) {
	if v.Kind != List {
		return nil, false
	}
	out := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		s, ok := item.text()
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// readsAs names what a plain scalar becomes in a host that resolves types:
// "null", "bool", "int", "float" or "date"; "" is a string. It knows YAML 1.2 and 1.1
// (yes, off, sexagesimals), because hosts use parsers of both.
func (v Value) readsAs() string {
	if v.Kind != Scalar || v.Style != Plain {
		return ""
	}
	if v.IsNull() {
		return "null"
	}
	switch strings.ToLower(v.Text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n":
		return "bool"
	case ".inf", "-.inf", "+.inf", ".nan":
		return "float"
	}
	if c := v.Text[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return ""
	}
	if isDate(v.Text) {
		return "date"
	}
	s := strings.ReplaceAll(v.Text, "_", "")
	if _, ok := new(big.Int).SetString(s, 0); ok {
		return "int"
	}
	if isDigits(strings.TrimLeft(s, "+-"), ":") {
		return "int"
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && !strings.ContainsAny(s, "xXpPnN") {
		return "float"
	}
	return ""
}

// isDigits reports whether s is digits, with any of others in between.
func isDigits(s, others string) bool {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	for _, r := range s {
		if (r < '0' || r > '9') && !strings.ContainsRune(others, r) {
			return false
		}
	}
	return true
}

func isDate(s string) bool {
	return len(s) >= 10 && isDigits(s[:4], "") && s[4] == '-' && isDigits(s[5:7], "") && s[7] == '-' && isDigits(s[8:10], "")
}

// JSON writes v as compact JSON, in source order. Plain scalars get the types of the YAML 1.2 core schema;
// a date, which that schema does not know, stays the text that was written. It fails on numbers that JSON cannot hold.
func (v Value) JSON() ([]byte, error) { return appendJSON(nil, v) }

// appendJSON appends v as compact JSON. Plain scalars get the types of the YAML
// 1.2 core schema. It fails on numbers that JSON cannot hold.
func appendJSON(dst []byte, v Value) ([]byte, error) {
	var err error
	switch v.Kind {
	case List:
		dst = append(dst, '[')
		for i, item := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSON(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case Map:
		dst = append(dst, '{')
		for i, f := range v.Fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, f.Key), ':')
			if dst, err = appendJSON(dst, f.Value); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return appendScalar(dst, v)
}

func appendScalar(dst []byte, v Value) ([]byte, error) {
	if v.Style != Plain {
		return appendString(dst, v.Text), nil
	}
	if v.IsNull() {
		return append(dst, "null"...), nil
	}
	switch v.Text {
	case "true", "True", "TRUE":
		return append(dst, "true"...), nil
	case "false", "False", "FALSE":
		return append(dst, "false"...), nil
	}
	n, isNumber, err := coreNumber(v.Text)
	switch {
	case err != nil:
		return nil, err
	case isNumber:
		return append(dst, n...), nil
	}
	return appendString(dst, v.Text), nil
}

// coreNumber returns s as a JSON number, if YAML 1.2 core takes it for a number.
func coreNumber(s string) (number string, ok bool, err error) {
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case ".inf", ".nan":
		return "", true, diag.New(diag.Unmet, RuleArguments, "%s has no form in JSON", s)
	}
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return "", false, nil
	}
	if json.Valid([]byte(s)) {
		if f, err := strconv.ParseFloat(s, 64); err != nil && math.IsInf(f, 0) { // readers make it infinite, or refuse all of it
			return "", true, diag.New(diag.Unmet, RuleArguments, "%s has no form in JSON that all programs read", diag.Clip(s, 60))
		}
		return s, true, nil
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	if isDigits(digits, "") {
		n, _ := new(big.Int).SetString(strings.TrimPrefix(s, "+"), 10)
		return n.String(), true, nil
	}
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o") {
		if n, ok := new(big.Int).SetString(s, 0); ok && !strings.Contains(s, "_") {
			return n.String(), true, nil
		}
	}
	if strings.ContainsAny(s, "xXpP_iInN") {
		return "", false, nil
	}
	f, parseErr := strconv.ParseFloat(s, 64)
	if parseErr != nil && !math.IsInf(f, 0) {
		return "", false, nil
	}
	if math.IsInf(f, 0) {
		return "", true, diag.New(diag.Unmet, RuleArguments, "%s has no form in JSON", s)
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true, nil
}

// appendString appends s as a JSON string that is a YAML double-quoted scalar too:
// what YAML does not allow in a file is escaped, "<" and "&" are not.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			dst = append(dst, `\u`...)
			dst = append(dst, "0000"[:4-len(strconv.FormatInt(int64(r), 16))]...)
			dst = strconv.AppendInt(dst, int64(r), 16)
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}

// ReadMap reads a YAML file that is one map, by the rules and limits of a frontmatter.
func ReadMap(src []byte) (Value, error) {
	if len(src) > MaxFrontmatter {
		return Value{}, diag.New(diag.Failed, "too_large", "it has more than %d bytes", MaxFrontmatter)
	}
	text := bytes.TrimPrefix(src, []byte("---\n"))
	fm, p := split(slices.Concat([]byte("---\n"), text, []byte("\n---\n")))
	if p == nil {
		p = fm.parse()
	}
	if p != nil {
		return Value{}, diag.New(diag.Failed, "unreadable", "it cannot be read: %s", p.Message)
	}
	return Value{Kind: Map, Fields: fm.root}, nil
}

// Words are the texts of a scalar, between blanks, or of a list of scalars. It is not ok for anything else.
func (v Value) Words() ([]string, bool) {
	if s, ok := v.text(); ok {
		return strings.Fields(s), true
	}
	return v.texts()
}
