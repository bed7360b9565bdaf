package skill

import (
	"bytes"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// Apply returns src with fixes made. Their order does not matter. A fix that
// overlaps an earlier one, or lies outside src, is left out. Neither argument changes.
func Apply(src []byte, fixes []diag.Fix) []byte {
	sorted := slices.Clone(fixes)
	order.Stable(sorted, func(a, b diag.Fix) int { return a.Start - b.Start })
	out := make([]byte, 0, len(src)+64)
	at := 0
	for _, f := range sorted {
		if f.Start < at || f.End < f.Start || f.End > len(src) {
			continue
		}
		out = append(append(out, src[at:f.Start]...), f.Text...)
		at = f.End
	}
	return append(out, src[at:]...)
}

// Fixes returns the fixes among findings, for [Apply].
func Fixes(findings []diag.Finding) []diag.Fix {
	var fixes []diag.Fix
	for _, f := range findings {
		if f.Fix != nil {
			fixes = append(fixes, *f.Fix)
		}
	}
	return fixes
}

// quoteColons finds the plain values in YAML text that hold a colon where YAML
// allows none, as in "description: Usage: how", and returns edits that quote them.
// Offsets count from base before text. Lines that belong to a value above are left alone.
func quoteColons(text []byte, base int) []diag.Fix {
	var fixes []diag.Fix
	for at := 0; at < len(text); {
		next := lineEnd(text, at)
		indent, value, ok := plainEntry(text, at, next)
		if !ok {
			at = next
			continue
		}
		end := next
		for end < len(text) && deeper(text, end, indent) {
			end = lineEnd(text, end)
		}
		if quotable(text[value:end]) {
			stop := value + len(cutComment(text[value:end]))
			fixes = append(fixes, diag.Fix{Note: "quote the value", Start: base + value, End: base + stop, Text: singleQuoted(string(text[value:stop]))})
		}
		at = end
	}
	return fixes
}

// lineEnd returns the offset behind the line that starts at at.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// plainEntry reads "key: value" in text[at:next]: where the value starts and how far the key is indented.
func plainEntry(text []byte, at, next int) (indent, value int, ok bool) {
	line := text[at:next]
	indent = len(line) - len(bytes.TrimLeft(line, " "))
	i := indent
	for i < len(line) && isKeyByte(line[i]) {
		i++
	}
	if i == indent || i+1 >= len(line) || line[i] != ':' || !isBlank(line[i+1]) {
		return 0, 0, false
	}
	i++
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if i == len(line) || line[i] == '\n' || line[i] == '\r' || line[i] == '#' {
		return 0, 0, false
	}
	return indent, at + i, true
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

// deeper reports whether the line at at continues a value whose key has the given indent.
func deeper(text []byte, at, indent int) bool {
	line := text[at:lineEnd(text, at)]
	trimmed := bytes.TrimLeft(line, " ")
	return len(bytes.TrimSpace(line)) > 0 && len(line)-len(trimmed) > indent
}

// quotable reports whether value is a plain scalar that only its colons spoil.
func quotable(value []byte) bool {
	if strings.IndexByte("\"'[]{}|>&*!%@`,?", value[0]) >= 0 || bytes.HasPrefix(value, []byte("- ")) {
		return false
	}
	value = cutComment(value)
	for i, c := range value {
		if c == ':' && (i+1 == len(value) || isBlank(value[i+1])) {
			return true
		}
	}
	return false
}

// cutComment returns a plain value without a comment and blanks behind it.
func cutComment(value []byte) []byte {
	for i := 1; i < len(value); i++ {
		if value[i] == '#' && isBlank(value[i-1]) {
			value = value[:i]
			break
		}
	}
	return bytes.TrimRight(value, " \t\r\n")
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
