package gate

import (
	"path"
	"strings"
	"unicode"
)

// redacted stands in a log for what was taken out.
const redacted = "REDACTED"

// Tokens and bearers, which registry/auth makes, begin with one of these, and are longer than this.
const (
	tokenPrefix  = "skl_"
	bearerPrefix = "sklb_"
	shortToken   = 16 // bytes
)

// Redact takes tokens out of the path of a request, for logs.
//
//   - "/t/TOKEN/rest", as a registry serves it, becomes "/t/REDACTED/rest".
//   - In every other path an element "t" hides all that follows: whatever stands before or behind it, a redirect may lead
//     from there to an address that works. So the log says nothing of a skill that is called t, either.
//   - An element with the prefix of a token that is long enough to be one is hidden wherever it stands.
//
// Escapes are decoded first, however often they are nested. An element also ends at a backslash, semicolon, question mark or
// number sign. A path with nothing to hide is returned as it is.
func Redact(p string) string {
	plain := unescape(p)
	if hidden := redact(plain); hidden != plain {
		return hidden
	}
	return p
}

func redact(p string) string {
	if rest, ok := capability(p); ok {
		return "/t/" + redacted + redact(rest)
	}
	for start := 0; start < len(p); {
		end := len(p)
		if n := strings.IndexAny(p[start:], `/\;?#`); n >= 0 {
			end = start + n
		}
		if isT(p[start:end]) && end+1 < len(p) {
			return maskTokens(p[:end+1]) + redacted
		}
		start = end + 1
	}
	return maskTokens(p)
}

// capability reports whether p is "/t/TOKEN" with nothing that hides where the token is, and returns what follows it.
func capability(p string) (rest string, ok bool) {
	after, ok := strings.CutPrefix(p, "/t/")
	token, _, _ := strings.Cut(after, "/")
	if !ok || token == "" || isT(token) || strings.ContainsAny(token, `\;?#`) || path.Clean(p) != strings.TrimSuffix(p, "/") {
		return "", false
	}
	return after[len(token):], true
}

// isT reports whether an element is "t", in either case and with any signs around it.
func isT(element string) bool {
	return strings.EqualFold(strings.TrimFunc(element, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), "t")
}

// maskTokens hides the elements that look like tokens.
func maskTokens(p string) string {
	elements := strings.Split(p, "/")
	for i, e := range elements {
		lower := strings.ToLower(e)
		if len(e) >= shortToken && (strings.Contains(lower, tokenPrefix) || strings.Contains(lower, bearerPrefix)) {
			elements[i] = redacted
		}
	}
	return strings.Join(elements, "/")
}

// unescape decodes %XX until nothing is left to decode, in one pass: a byte that was decoded may end the next escape.
// Other text stays.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		out = append(out, s[i])
		for n := len(out); n >= 3 && out[n-3] == '%' && isHex(out[n-2]) && isHex(out[n-1]); n = len(out) {
			out = append(out[:n-3], unhex(out[n-2])<<4|unhex(out[n-1]))
		}
	}
	return string(out)
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
