// Package tomledit reads TOML into values that know their bytes, and edits a
// file by replacing only the bytes of what changes: comments, blank lines, the
// order of keys, quoting and line endings stay as the author wrote them.
//
// It follows TOML 1.1 as pelletier/go-toml reads it, with three bounds: a file
// has at most MaxBytes bytes, keys and values nest at most MaxDepth deep, and a
// file starts without a byte order mark.
package tomledit

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

const (
	MaxBytes = 32 << 20 // bytes of a file
	MaxDepth = 64       // tables and arrays inside each other
)

// A Doc is one parsed file. It is not safe for concurrent use while it is edited.
type Doc struct {
	Root *Value // the table of the whole file

	src []byte
}

// Kind is the type of a Value.
type Kind uint8

const (
	String Kind = iota + 1
	Bool
	Integer
	Other // a float, date or time; only its spelling is known
	Array // also of tables: [[name]]
	Table
)

// String is the kind as a message names it.
func (k Kind) String() string {
	switch k {
	case String:
		return "a string"
	case Bool:
		return "true or false"
	case Integer:
		return "a whole number"
	case Array:
		return "a list"
	case Table:
		return "a table"
	}
	return "a number or date"
}

// A Value is one value of a Doc. It belongs to the Doc; an edit makes it stale.
type Value struct {
	Kind   Kind
	form   form     // who may add keys
	Text   string   // String: decoded; Bool, Integer, Other: as written
	Items  []*Value // of an Array
	Fields []Field  // of a Table, in order of first appearance
	Offset int      // where it starts: the value, or the name in a [header]

	end   int            // behind the value as written after "="
	last  span           // of a table with keys of its own: the last key = value, or the name in [header]
	index map[string]int // of Fields, once there are many
}

// A Field is one key of a table.
type Field struct {
	Key    string
	Value  *Value
	Offset int // where the key starts

	expr span // key = value as written; zero for what headers and dotted keys imply
}

// span is a range of bytes: [from, to).
type span struct{ from, to int }

// form is how a value came to be, which decides where keys can be added to it.
type form byte

const (
	written  form = iota // key = value; an inline table is closed
	root                 // the file
	header               // [name] or [[name]]
	implicit             // "a" in [a.b]
	dotted               // "a" in a.b = 1
	tables               // an Array of [[name]]
)

// An Error is a place where a file is not TOML.
type Error struct {
	Line, Column int // from 1, columns in bytes
	Message      string
}

// Error is the sentence with its place.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Bytes is the file. The caller must not change it.
func (d *Doc) Bytes() []byte { return d.src }

// Position returns the line and column of an offset, both from 1.
func (d *Doc) Position(offset int) (line, column int) { return position(d.src, offset) }

func position(src []byte, offset int) (line, column int) {
	before := src[:min(offset, len(src))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// Get returns the value of key in a table, nil if it has none or v is no table or nil.
//
//go:noinline
func (v *Value) Get(key string) *Value {
	if f := v.field(key); f != nil {
		return f.Value
	}
	return nil
}

// Str is the text of a String, and "" for nil and every other kind.
func (v *Value) Str() string {
	if v == nil || v.Kind != String {
		return ""
	}
	return v.Text
}

// Int is the number of an Integer that fits into 64 bits.
func (v *Value) Int() (int64, bool) {
	if v == nil || v.Kind != Integer {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimPrefix(v.Text, "+"), "_", ""), 0, 64)
	return n, err == nil
}

// Strings is the texts of an Array of strings; ok is false for anything else.
func (v *Value) Strings() (list []string, ok bool) {
	if v == nil || v.Kind != Array {
		return nil, false
	}
	for _, item := range v.Items {
		if item.Kind != String {
			return nil, false
		}
		list = append(list, item.Text)
	}
	return list, true
}

// Inline is v on one line in a spelling that depends only on its content, with
// the keys of tables in the order they have.
func (v *Value) Inline() string {
	var b strings.Builder
	v.inline(&b)
	return b.String()
}

func (v *Value) inline(b *strings.Builder) {
	switch v.Kind {
	case String:
		b.WriteString(Quote(v.Text))
	case Array:
		b.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.inline(b)
		}
		b.WriteByte(']')
	case Table:
		if len(v.Fields) == 0 {
			b.WriteString("{}")
			return
		}
		for i, f := range v.Fields {
			b.WriteString(map[bool]string{true: "{ ", false: ", "}[i == 0])
			b.WriteString(QuoteKey(f.Key) + " = ")
			f.Value.inline(b)
		}
		b.WriteString(" }")
	default:
		b.WriteString(v.Text)
	}
}

// Quote is s as a basic string. Bytes that are not UTF-8 become U+FFFD, as TOML has no others.
func Quote(s string) string {
	if plain(s) {
		return `"` + s + `"`
	}
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plain reports whether s is visible ASCII that needs no escape.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return false
		}
	}
	return true
}

// QuoteKey is s as a key, bare where that is possible.
func QuoteKey(s string) string {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// QuoteList is list as an array on one line.
func QuoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func quotePath(path []string) string {
	quoted := make([]string, len(path))
	for i, s := range path {
		quoted[i] = QuoteKey(s)
	}
	return strings.Join(quoted, ".")
}
