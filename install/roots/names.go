package roots

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// isBuiltin reports whether a host has a command of that name of its own.
func isBuiltin(key string) bool {
	switch key {
	case "add-dir", "agents", "bug", "clear", "compact", "config", "context", "copy", "cost", "doctor", "exit", "export",
		"feedback", "help", "hooks", "ide", "init", "login", "logout", "mcp", "memory", "model", "models", "new",
		"permissions", "plan", "plugin", "quit", "resume", "review", "rewind", "sessions", "settings", "share", "skills",
		"stats", "status", "theme", "tools", "undo", "usage", "vim":
		return true
	}
	return false
}

// skeleton maps names that look alike to one string: the idea of UTS 39,
// for Latin against Cyrillic, Greek and Armenian letters. Its input is a
// NameKey, so that case and width are gone already.
func skeleton(key string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(key) {
		b.WriteRune(looksLike(r))
	}
	return b.String()
}

// looksLike returns the ASCII character that r can be taken for, else r.
func looksLike(r rune) rune {
	switch r {
	case 'а', 'ɑ', 'α':
		return 'a'
	case 'с', 'ϲ':
		return 'c'
	case 'ԁ', 'ɗ':
		return 'd'
	case 'е', 'ҽ', 'є':
		return 'e'
	case 'ɡ', 'ց':
		return 'g'
	case 'һ', 'հ':
		return 'h'
	case 'і', 'ı', 'ι', 'ɩ':
		return 'i'
	case 'ј', 'ϳ':
		return 'j'
	case 'к', 'κ':
		return 'k'
	case 'ӏ', 'ǀ':
		return 'l'
	case 'м':
		return 'm'
	case 'п', 'ո', 'η':
		return 'n'
	case 'о', 'ο', 'σ', 'օ':
		return 'o'
	case 'р', 'ρ':
		return 'p'
	case 'ԛ', 'զ':
		return 'q'
	case 'г':
		return 'r'
	case 'ѕ':
		return 's'
	case 'т', 'τ':
		return 't'
	case 'υ', 'ս', 'ц':
		return 'u'
	case 'ν', 'ѵ':
		return 'v'
	case 'ԝ', 'ѡ', 'ω':
		return 'w'
	case 'х', 'χ':
		return 'x'
	case 'у', 'γ', 'ү':
		return 'y'
	case 'з':
		return '3'
	case '‐', '‑', '–':
		return '-'
	}
	return r
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
