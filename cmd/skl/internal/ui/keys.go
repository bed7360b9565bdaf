package ui

import (
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// A key is what a person pressed: one of the kinds below, or a character.
type key struct {
	kind keyKind
	char string // of keyChar: one printable character
}

type keyKind uint8

const (
	keyChar keyKind = iota
	keyUp
	keyDown
	keyLeft
	keyRight
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyEnter
	keyTab
	keyEscape
	keyBackspace
	keyErase // the whole line
	keyStop  // ctrl-c
	keyPause // ctrl-z
)

// A decoder turns the bytes of a terminal into keys. Bytes may come in any pieces; sequences that mean no key of ours are
// dropped whole, and so is what is not UTF-8.
type decoder struct{ rest []byte }

// maxSequence bounds what is kept of a sequence that does not end.
const maxSequence = 64

var controls = map[byte]keyKind{'\r': keyEnter, '\n': keyEnter, '\t': keyTab, 0x7f: keyBackspace, 0x08: keyBackspace, 0x03: keyStop, 0x04: keyEscape, 0x1a: keyPause, 0x15: keyErase,
	0x10: keyUp, 0x0e: keyDown}

var finals = map[byte]keyKind{'A': keyUp, 'B': keyDown, 'C': keyRight, 'D': keyLeft, 'H': keyHome, 'F': keyEnd}

var numbered = map[string]keyKind{"1": keyHome, "7": keyHome, "4": keyEnd, "8": keyEnd, "5": keyPageUp, "6": keyPageDown}

// feed returns the keys that are complete with b.
func (d *decoder) feed(b []byte) []key {
	d.rest = append(d.rest, b...)
	var keys []key
	for {
		k, ok := d.one()
		if !ok {
			return keys
		}
		keys = append(keys, k)
	}
}

// one takes the first key that is complete; ok is false if there is none.
func (d *decoder) one() (k key, ok bool) {
	for len(d.rest) > 0 && !ok {
		var n int
		if n, k, ok = d.next(); n == 0 {
			return key{}, false // more is needed
		}
		d.rest = d.rest[n:]
	}
	return k, ok
}

// waiting reports whether a sequence began that has not ended.
func (d *decoder) waiting() bool { return len(d.rest) > 0 }

// idle says that nothing followed for a while: an escape that began no sequence was the key.
func (d *decoder) idle() []key {
	escape := len(d.rest) == 1 && d.rest[0] == 0x1b
	d.rest = nil
	if escape {
		return []key{{kind: keyEscape}}
	}
	return nil
}

// next is the first key of d.rest and its number of bytes, 0 if it is not complete; ok is false for what is no key.
func (d *decoder) next() (n int, k key, ok bool) {
	c := d.rest[0]
	switch {
	case c == 0x1b:
		return d.sequence()
	case c < 0x20 || c == 0x7f:
		kind, known := controls[c]
		return 1, key{kind: kind}, known
	}
	if !utf8.FullRune(d.rest) {
		return 0, key{}, false
	}
	r, n := utf8.DecodeRune(d.rest)
	char := string(d.rest[:n])
	return n, key{char: char}, (r != utf8.RuneError || n > 1) && diag.Printable(char) == char
}

// sequence is the key of an escape sequence.
func (d *decoder) sequence() (n int, k key, ok bool) {
	b := d.rest
	if len(b) < 2 {
		return 0, key{}, false
	}
	if b[1] != '[' && b[1] != 'O' {
		return 1, key{kind: keyEscape}, true // escape, then another key
	}
	for i := 2; i < len(b); i++ {
		c := b[i]
		if c >= 0x40 && c <= 0x7e { // the end of the sequence
			if c == '~' {
				kind, known := numbered[firstNumber(b[2:i])]
				return i + 1, key{kind: kind}, known
			}
			kind, known := finals[c]
			return i + 1, key{kind: kind}, known
		}
		if c < 0x20 || c > 0x7e || i >= maxSequence {
			return i, key{}, false // broken off: what follows is read anew
		}
	}
	return 0, key{}, false
}

func firstNumber(b []byte) string {
	for i, c := range b {
		if c < '0' || c > '9' {
			return string(b[:i])
		}
	}
	return string(b)
}
