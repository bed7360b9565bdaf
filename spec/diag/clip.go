package diag

import "unicode/utf8"

// Head returns at most n bytes of the beginning of s, and no half of a character.
//
//go:noinline
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:max(n, 0)] // not UTF-8
}

// Clip returns s if it has at most n bytes, else its [Head] and an ellipsis, which is not counted.
//
//go:noinline
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n) + "…"
}

// Brief returns text from outside for a message: [Clip] and [Printable].
func Brief(s string, n int) string { return Printable(Clip(s, n)) }
