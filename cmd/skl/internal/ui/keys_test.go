package ui

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

func TestKeys(t *testing.T) {
	kinds := func(kinds ...keyKind) (out []key) {
		for _, k := range kinds {
			out = append(out, key{kind: k})
		}
		return out
	}
	for text, want := range map[string][]key{
		"\x1b[A\x1b[B\x1b[C\x1b[D":     kinds(keyUp, keyDown, keyRight, keyLeft),
		"\x1bOA\x1bOB\x1b[1;5C":        kinds(keyUp, keyDown, keyRight),
		"\x1b[5~\x1b[6~\x1b[1~\x1b[4~": kinds(keyPageUp, keyPageDown, keyHome, keyEnd),
		"\x1b[H\x1b[F\r\t\x7f\x03\x1a": kinds(keyHome, keyEnd, keyEnter, keyTab, keyBackspace, keyStop, keyPause),
		"\x1b[200~\x1b[24;80R\x00\x01": nil,
		"aé日":                          {{char: "a"}, {char: "é"}, {char: "日"}},
		"\xff\xc3(":                    {{char: "("}},
		"\x1ba":                        {{kind: keyEscape}, {char: "a"}},
		"\u202e\u009b":                 nil,
	} {
		if got := new(decoder).feed([]byte(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	d := new(decoder)
	if got := d.feed([]byte("\x1b")); got != nil || !d.waiting() {
		t.Errorf("an escape is not known at once: %v", got)
	}
	if got := d.idle(); len(got) != 1 || got[0].kind != keyEscape {
		t.Errorf("after a while it is the key: %v", got)
	}
}

// Keys do not depend on the pieces in which their bytes come, and characters are printable.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"\x1b[A", "\x1b[1;5~x", "é日\xff", "\x1b\x1b[O\x1bO", "\x1b[99999999999999999999999999999999999999999999999999999999999999999999999999m"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		whole := new(decoder).feed(b)
		at = min(max(at, 0), len(b))
		pieces := new(decoder)
		parts := append(pieces.feed(b[:at]), pieces.feed(b[at:])...)
		var single []key
		one := new(decoder)
		for _, c := range b {
			single = append(single, one.feed([]byte{c})...)
		}
		if len(whole) != len(parts) || len(whole) > 0 && (!reflect.DeepEqual(whole, parts) || !reflect.DeepEqual(whole, single)) {
			t.Fatalf("%q: %v, in two pieces at %d %v, in single bytes %v", b, whole, at, parts, single)
		}
		if len(one.rest) > maxSequence {
			t.Fatalf("%q: %d bytes are kept", b, len(one.rest))
		}
		for _, k := range whole {
			if k.kind == keyChar && (utf8.RuneCountInString(k.char) != 1 || diag.Printable(k.char) != k.char) {
				t.Fatalf("%q: character %q", b, k.char)
			}
		}
	})
}
