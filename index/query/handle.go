package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/spec/diag"
)

// idDigits are the hex digits of an id, after its "h".
const idDigits = 24

// ID returns the handle id of a node: "h" and the first 12 bytes, in hex, of the SHA-256 of
// "path:type number:start-end".
func ID(path string, t chunk.Type, start, end int) string {
	var space [256]byte
	b := append(space[:0], path...)
	b = append(b, ':')
	b = strconv.AppendUint(b, uint64(t), 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(start), 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(end), 10)
	sum := sha256.Sum256(b)
	var id [1 + idDigits]byte
	id[0] = 'h'
	hex.Encode(id[1:], sum[:idDigits/2])
	return string(id[:])
}

// ParseID reads an id as an outside party wrote it, with or without the "h", in either case, with space around it.
// The id it returns is spelled as [ID] does. The code of its error is "handle_id".
func ParseID(s string) (id string, err error) {
	digits := strings.ToLower(strings.TrimSpace(s))
	digits = strings.TrimPrefix(digits, "h")
	if len(digits) == idDigits && strings.Trim(digits, "0123456789abcdef") == "" {
		return "h" + digits, nil
	}
	return "", diag.New(diag.Misuse, "handle_id", "%s is not a handle id, which is h and %d hex digits", quote(s), idDigits).
		Hint("search again and use the ids as they are in the answer")
}

// quote shows text from outside in a message, cut to a length that a reader bears.
func quote(s string) string { return strconv.Quote(diag.Clip(s, 60)) }

// Preview returns one line that shows how text begins. It looks at the first most bytes, less what a character at
// the end lacks; white space becomes single spaces, and "..." says that there is more text. Characters that a terminal would
// obey or not show (escape sequences, direction overrides) and bytes that are not UTF-8 become "?", so the result has at
// most most+3 bytes.
func Preview(text []byte, most int) string {
	if most <= 0 {
		return ""
	}
	end := ""
	if len(text) > most {
		for cut := most; cut > most-utf8.UTFMax && cut >= 0; cut-- {
			if utf8.RuneStart(text[cut]) {
				most = cut
				break
			}
		}
		text, end = text[:most], "..."
	}
	line := strings.Join(strings.Fields(string(text)), " ")
	if diag.Printable(line) != line {
		line = harmless(line)
	}
	return line + end
}

// harmless replaces what [diag.Printable] would spell out, by a single byte, so that a hostile file has no
// longer previews than others.
func harmless(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		_, n := utf8.DecodeRuneInString(line[i:])
		if c := line[i : i+n]; diag.Printable(c) == c {
			b.WriteString(c)
		} else {
			b.WriteByte('?')
		}
		i += n
	}
	return b.String()
}

// A List is a slice that is [] in JSON when it is nil, since readers of an answer go through it without asking
// whether it is there.
type List[T any] []T

// MarshalJSON implements json.Marshaler. Characters of HTML are left as they are: code is full of them.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 0 {
		return []byte("[]"), nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]T(l)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
