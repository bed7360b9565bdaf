package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A dialect is what a host takes for JSON in its settings.
type dialect int

const (
	strictJSON    dialect = iota
	commentedJSON         // with comments
	trailingJSON          // and a comma after the last element
)

// An object is a JSON object in the order of its text, which decides in settings of OpenCode. A key that comes twice is there once, at its
// first place with its last value, as JavaScript reads it.
type object []member

// A member is an entry of an object, or an element of an array of texts, whose key is the text.
type member struct {
	key   string
	value []byte
	at    int   // of the value in the whole text
	lines []int // where lines of that end
}

var errNoObject = errors.New("it is not a JSON object")

// parseObject reads a file of settings. One that is empty holds nothing.
func parseObject(text []byte, as dialect) (object, error) {
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		text = append([]byte("   "), text[3:]...)
	}
	if as >= commentedJSON {
		text = withoutComments(text)
	}
	if as >= trailingJSON {
		text = withoutTrailing(text)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	m := member{value: text}
	for i, c := range text {
		if c == '\n' {
			m.lines = append(m.lines, i)
		}
	}
	return m.object()
}

// object is the value as an object; null is an empty one.
func (m member) object() (out object, err error) {
	dec, err := m.open('{', errNoObject)
	if dec == nil || err != nil {
		return nil, err
	}
	byKey := make(map[string]int)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errNoObject
		}
		value, err := m.next(dec)
		if err != nil {
			return nil, err
		}
		value.key = name
		if i, ok := byKey[name]; ok {
			out[i] = value
			continue
		}
		byKey[name] = len(out)
		out = append(out, value)
	}
	return out, nil
}

// open reads the value up to behind its first delimiter; another one is an error. Of null the decoder is nil.
func (m member) open(delim json.Delim, other error) (*json.Decoder, error) {
	dec := json.NewDecoder(bytes.NewReader(m.value))
	switch first, err := dec.Token(); {
	case err != nil:
		return nil, err
	case first == nil:
		return nil, nil
	case first != delim:
		return nil, other
	}
	return dec, nil
}

// next is the value that dec, which reads that of m, comes to.
func (m member) next(dec *json.Decoder) (member, error) {
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return member{}, err
	}
	return member{value: value, lines: m.lines, at: m.at + int(dec.InputOffset()) - len(value)}, nil
}

func (o object) member(key string) (member, bool) {
	for _, m := range o {
		if m.key == key {
			return m, true
		}
	}
	return member{}, false
}

// object is the object called key, nil if there is none.
func (o object) object(key string) (object, error) {
	m, ok := o.member(key)
	if !ok {
		return nil, nil
	}
	out, err := m.object()
	if err != nil {
		return nil, m.unknown(key)
	}
	return out, nil
}

var errNoText = errors.New("it is not a text")

func (m member) text() (string, error) {
	if len(m.value) == 0 || m.value[0] != '"' {
		return "", errNoText
	}
	var s string
	err := json.Unmarshal(m.value, &s)
	return s, err
}

// texts are the elements of an array of texts; null is an empty one.
func (m member) texts() (out []member, err error) {
	dec, err := m.open('[', errNoText)
	if dec == nil || err != nil {
		return nil, err
	}
	for dec.More() {
		value, err := m.next(dec)
		if err == nil {
			value.key, err = value.text()
		}
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}

// line is that of the value, from 1.
func (m member) line() int {
	n, _ := slices.BinarySearch(m.lines, m.at)
	return n + 1
}

// unknown says that the value is none that is known, below the setting called in.
func (m member) unknown(in string) error {
	at := in
	if m.key != "" && m.key != in && !strings.HasSuffix(in, "."+m.key) {
		at += ", " + m.key
	}
	return fmt.Errorf("line %d: the value of %s is not one that is known", m.line(), diag.Clip(diag.Printable(at), maxShown))
}

// withoutTrailing replaces commas by blanks that only blanks separate from the end of an object or array. text has no comments.
func withoutTrailing(text []byte) []byte {
	out, comma := []byte(string(text)), -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; c {
		case '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			comma = -1
		case ',':
			if comma = i; i > 0 && isOpen(out[:i]) {
				comma = -1
			}
		case '}', ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case ' ', '\t', '\r', '\n':
		default:
			comma = -1
		}
	}
	return out
}

// isOpen reports whether text ends where an object or array begins, or with another comma: a comma there is a mistake.
func isOpen(text []byte) bool {
	text = bytes.TrimRight(text, " \t\r\n")
	return len(text) == 0 || bytes.IndexByte([]byte("{[,"), text[len(text)-1]) >= 0
}
