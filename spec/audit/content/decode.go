package content

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"html"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/audit"
)

const (
	maxDecoded = 5  // encodings in each other
	minEncoded = 20 // characters of what is decoded
)

// alphabet tells the characters of encodings: 1 of hexadecimal digits, 2 of base64, 4 that may stand between the parts of a string.
var alphabet = func() (t [256]byte) {
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			t[c] = 3
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '+', c == '/', c == '-', c == '_':
			t[c] = 2
		case c == '"', c == '\'', c == ',', c == '\\', c == '\n', c == '\r', c == ' ', c == '\t', c == '`', c == '>', c == '#', c == '=':
			t[c] = 4
		}
	}
	t['+'] |= 4
	return t
}()

// encoded finds what is encoded in a text, and reads what comes out.
func (s *scan) encoded(name string, text []byte) {
	if len(s.decoded) >= maxDecoded {
		return
	}
	c := &cursor{text: text, number: 1}
	s.percent(c)
	s.escapes(c)
	c = &cursor{text: text, number: 1}
	for i := 0; i < len(text); {
		if alphabet[text[i]]&2 == 0 {
			i++
			continue
		}
		start, end := i, i
		for end < len(text) && alphabet[text[end]]&2 != 0 {
			end++
		}
		i = end
		if end-start < 4 {
			continue
		}
		// The run may go on behind a line break or between quotes.
		joined := text[start:end]
		pieces := 1
		for pos := end; pieces < 4096; {
			gap := pos
			quotes, breaks := 0, 0
			for gap < len(text) && gap-pos < 24 && alphabet[text[gap]]&4 != 0 && text[gap] != '=' {
				switch text[gap] {
				case '"', '\'', '`':
					quotes++
				case '\n':
					breaks++
				}
				gap++
			}
			next := gap
			for next < len(text) && alphabet[text[next]]&2 != 0 {
				next++
			}
			n := next - gap
			if gap == pos || n == 0 || breaks > 1 || !(quotes >= 2 && (n >= 2 || next < len(text) && text[next] == '=') || breaks == 1 && quotes == 0 && pos-start >= 32 && (n >= 16 || next < len(text) && text[next] == '=' || pieces > 1)) {
				break
			}
			if pieces == 1 {
				joined = bytes.Clone(joined)
			}
			joined = append(joined, text[gap:next]...)
			pos, i = next, next
			pieces++
		}
		if len(joined) >= minEncoded {
			if !s.unpack(joined, c, start) && pieces > 1 && !(len(joined)-(end-start) >= minEncoded && s.unpack(joined[end-start:], c, start)) {
				for _, part := range bytes.FieldsFunc(text[start:i], func(r rune) bool { return r >= 128 || alphabet[byte(r)]&2 == 0 }) {
					if len(part) >= minEncoded {
						s.unpack(part, c, start)
					}
				}
			}
		}
	}
}

// unpack decodes a run and reads what comes out; it reports whether that is a text.
func (s *scan) unpack(run []byte, c *cursor, at int) bool {
	if len(run) > s.budget {
		s.skip(c, at, "there is too much that is encoded")
		return true
	}
	digits := true
	for _, b := range run {
		if alphabet[b]&1 == 0 {
			digits = false
			break
		}
	}
	if digits {
		if out, err := hex.DecodeString(string(run[:len(run)&^1])); err == nil && s.inside(out, "hex", c, at) {
			return true
		}
	}
	upper, lower := false, false
	for _, b := range run {
		upper = upper || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
		lower = lower || 'a' <= b && b <= 'z'
	}
	if !upper || !lower && len(run) < 64 {
		return false
	}
	enc := base64.RawStdEncoding
	if bytes.ContainsAny(run, "-_") {
		enc = base64.RawURLEncoding
	}
	out := make([]byte, enc.DecodedLen(len(run)))
	n, err := enc.Decode(out, run)
	if err != nil && len(run)%4 == 1 {
		n, err = enc.Decode(out, run[:len(run)-1])
	}
	return err == nil && s.inside(out[:n], "base64", c, at)
}

// inside reads what was decoded, if it is a text, packed or not.
func (s *scan) inside(out []byte, how string, c *cursor, at int) bool {
	if len(out) < 8 {
		return false
	}
	was := len(s.decoded)
	defer func() { s.decoded = s.decoded[:was] }()
	var r io.Reader
	switch {
	case out[0] == 0x1f && out[1] == 0x8b:
		r, _ = gzip.NewReader(bytes.NewReader(out))
	case out[0] == 0x78 && (out[1] == 0x9c || out[1] == 0xda || out[1] == 0x01):
		r, _ = zlib.NewReader(bytes.NewReader(out))
	}
	if z, ok := r.(*gzip.Reader); r != nil && !(ok && z == nil) {
		if plain, err := io.ReadAll(io.LimitReader(r, int64(min(s.budget, 4<<20)))); len(plain) > 0 && (err == nil || err == io.ErrUnexpectedEOF) {
			s.budget -= len(plain)
			out, how = plain, "gzip in "+how
		}
	}
	if kind := isProgram("", out); kind != "" && len(out) > 200 {
		s.add("AUD-COMPILED", Refuse, c.line(at), 0, "compiled code ("+kind+"), encoded as "+how, around(c.text, at))
		return true
	}
	if bytes.IndexByte(out, 0) >= 0 && len(out) > 16 { // UTF-16 of PowerShell
		if half := bytes.ReplaceAll(out, []byte{0}, nil); len(half)*2 == len(out) {
			out = half
		}
	}
	if !prose(out) {
		return false
	}
	s.budget -= len(out)
	s.inner(c.line(at), how, out)
	return true
}

// A cursor knows the lines of a text. Bytes are asked for nearly in order.
type cursor struct {
	text   []byte
	at     int
	number int
}

// line is the line of a byte.
func (c *cursor) line(at int) int {
	if at < c.at {
		c.number -= bytes.Count(c.text[at:c.at], []byte("\n"))
	} else {
		c.number += bytes.Count(c.text[c.at:at], []byte("\n"))
	}
	c.at = at
	return c.number
}

// skip notes what is not decoded.
func (s *scan) skip(c *cursor, at int, why string) {
	for _, u := range s.coverage.Unread {
		if u.File == s.path && u.Why == why {
			return
		}
	}
	s.coverage.Unread = append(s.coverage.Unread, Unread{s.path, len(c.text) - at, why})
	s.add("AUD-UNREAD", s.rules.severity("AUD-UNREAD"), c.line(at), 0, "the encoded text here is not read: "+why, around(c.text, at))
}

// prose reports whether bytes are a text that says something.
func prose(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	letters, odd, encoded := 0, 0, 0
	for _, r := range string(b) {
		if r < 0x80 && alphabet[byte(r)]&2 != 0 || r == '=' {
			encoded++
		}
		switch {
		case unicode.IsLetter(r) || r == ' ':
			letters++
		case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == utf8.RuneError, r >= 0x80:
			odd++
		}
	}
	return odd*10 <= len(b) && letters*2 >= len(b) && letters >= 6 || len(b) >= minEncoded && encoded == len(b)
}

// percent decodes rows of %XX.
func (s *scan) percent(c *cursor) {
	text := c.text
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '%')
		if i < 0 {
			return
		}
		at += i
		from, to, count := at, at, 0
		for to < len(text) && text[to] > ' ' && text[to] != '"' && text[to] != '\'' && text[to] != '`' && text[to] != ')' && text[to] != '<' {
			if text[to] == '%' {
				count++
			}
			to++
		}
		at = max(to, at+1)
		if count < 3 || to-from < minEncoded {
			continue
		}
		for from > 0 && to-from < 4096 && text[from-1] > ' ' && text[from-1] != '"' && text[from-1] != '\'' && text[from-1] != '`' && text[from-1] != '(' {
			from--
		}
		if plain, err := url.PathUnescape(string(text[from:to])); err == nil && to-from <= s.budget {
			s.inside([]byte(plain), "URL", c, from)
		}
	}
}

// escapes decodes rows of \xXX and \uXXXX.
func (s *scan) escapes(c *cursor) {
	text := c.text
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(`\`))
		if i < 0 {
			return
		}
		at += i
		start := at
		var out []byte
		for at+3 < len(text) && text[at] == '\\' {
			n := 0
			switch text[at+1] {
			case 'x':
				n = 4
			case 'u':
				n = 6
			}
			if n == 0 || at+n > len(text) {
				break
			}
			digits := text[at+2 : at+n]
			if n == 6 {
				if string(digits[:2]) != "00" {
					break
				}
				digits = digits[2:]
			}
			b, err := hex.DecodeString(string(digits))
			if err != nil {
				break
			}
			out = append(out, b...)
			at += n
		}
		if at == start {
			at++
		} else if len(out) >= 8 && len(out) <= s.budget {
			s.inside(out, "escapes", c, start)
		}
	}
}

const (
	values list = " .json .jsonc .json5 .jsonl .ipynb .yaml .yml .toml " // files whose strings have escapes
	marked list = " .md .mdx .markdown .html .htm .xml .svg "
)

// resolve reads a text again as programs hand it on: the strings of frontmatter and of data without their escapes, prose without entities.
// Lines stay what they are.
func (s *scan) resolve(name string, text []byte) {
	ext := extension(name)
	quoted, data := text, values.has(ext)
	if !data {
		quoted = nil
		if end := bytes.Index(text, []byte("\n---")); end > 0 && bytes.HasPrefix(text, []byte("---")) {
			quoted = text[:end]
		}
	}
	if bytes.IndexByte(quoted, '\\') >= 0 {
		plain := unescape(quoted)
		s.hidden(plain, data)
		s.says(name, plain)
	}
	if marked.has(ext) && bytes.IndexByte(text, '&') >= 0 {
		var plain strings.Builder
		for line := range strings.Lines(string(text)) {
			plain.WriteString(strings.ReplaceAll(html.UnescapeString(strings.TrimSuffix(line, "\n")), "\n", " ") + "\n")
		}
		s.hidden([]byte(plain.String()), true)
	}
}

// unescape resolves the escapes of JSON and YAML, between quotes or not. A line break that is written as one is a blank, or ends a sentence.
func unescape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	breaks := 0 // that are put off to the next blank
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\n' || c == ' ' {
			out = append(out, strings.Repeat("\n", breaks)...)
			breaks = 0
		}
		if c == '\\' && i+1 < len(text) {
			i++
			switch c = text[i]; c {
			case 'x', 'u', 'U':
				r, n := escape(text[i:])
				if utf16.IsSurrogate(r) {
					low, m := escape(text[min(i+n+1, len(text)):])
					r, n = utf16.DecodeRune(r, low), n+1+m
				}
				if n > 0 {
					i += n - 1
					if r == '\n' || r == '\r' {
						r = ' '
					}
					out = utf8.AppendRune(out, r)
					continue
				}
			case 'n', 't', 'r', 'N', 'L', 'P', '_', 'v', 'f', 'b', 'a', 'e', '0':
				if bytes.HasSuffix(out, []byte(" ")) {
					out = append(out, '.')
				}
				c = ' '
			case '\n': // the string goes on behind it, without a blank
				breaks++
				i += len(text[i+1:]) - len(bytes.TrimLeft(text[i+1:], " \t"))
				continue
			}
		}
		out = append(out, c)
	}
	return append(out, strings.Repeat("\n", breaks)...)
}

// escape is the character that xXX, uXXXX or UXXXXXXXX means, and its length; 0 if it means none.
func escape(text []byte) (rune, int) {
	for i, sign := range []byte("xuU") {
		if n := 1 + 2<<i; len(text) >= n && text[0] == sign {
			if r, err := strconv.ParseUint(string(text[1:n]), 16, 31); err == nil {
				return rune(r), n
			}
		}
	}
	return 0, 0
}

// runs reads a text as commands: one with the name of a script or a document as such, what was decoded as a script. Markup is none.
func (s *scan) runs(as string, text []byte) {
	if len(text) > audit.MaxFileBytes || bytes.IndexByte(text, ' ') < 0 {
		return
	}
	path := s.path
	name := "decoded.sh"
	if as != "decoded.md" {
		name = as
	} else if bytes.Contains(text, []byte("import ")) || bytes.Contains(text, []byte("def ")) {
		name = "decoded.py"
	}
	f := []audit.File{{Path: name, Data: text}}
	var commands []audit.Command
	asks := audit.Trace(f, func(c audit.Command) { commands = append(commands, c) })
	was := s.asks
	s.asks = asks
	for i := range commands {
		commands[i].File = path
	}
	s.trace(commands)
	if as == "decoded.md" && !bytes.Contains(text, []byte("</")) || remarked.has(extension(as)) {
		s.flow(f[0], path)
	}
	s.asks, s.path = was, path
}

// extension is the end of a name, in lower case.
func extension(name string) string { return strings.ToLower(path.Ext(name)) }
