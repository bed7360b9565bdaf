package author

import (
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
)

// A mention is a word of a text that may be a path: the bytes from at up to end.
type mention struct {
	at, end int
	word    string
}

// mentions are the words of a text that have the letters of a path, without the full stops behind them. Words that are longer than a path can
// be are none.
func mentions(text string) (out []mention) {
	for i := 0; i < len(text); i++ {
		at := i
		for i < len(text) && inPath(text[i]) {
			i++
		}
		word := strings.TrimRight(text[at:i], ".")
		if word != "" && len(word) <= bundle.MaxPath {
			out = append(out, mention{at, at + len(word), word})
		}
	}
	return out
}

// inPath reports whether a byte can stand in a path that is written in a text: a letter or digit of ASCII, or one of . / - _.
func inPath(c byte) bool {
	return c == '.' || c == '/' || c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// plainPath reports whether a path can only be written as it is.
func plainPath(name string) bool {
	for i := range len(name) {
		if !inPath(name[i]) {
			return false
		}
	}
	return true
}

// goesOn reports whether a path that ends here may be only the beginning of one: a slot, a variable, a pattern, an escape or dots follow.
func (m mention) goesOn(text string) bool {
	rest := text[m.end:]
	return rest != "" && strings.IndexByte(`<{$*%[?(\+`, rest[0]) >= 0 || strings.HasPrefix(rest, "…") || strings.HasPrefix(rest, "...")
}

// continues reports whether a path that begins here may be only the end of one.
func (m mention) continues(text string) bool {
	return m.at > 0 && strings.IndexByte("$}>)%*]~", text[m.at-1]) >= 0
}

// isVariable reports whether a word that is a path by itself is the name of a variable, or a part of a longer one.
func (m mention) isVariable(text string) bool {
	return m.at > 0 && strings.IndexByte("$}%", text[m.at-1]) >= 0 || m.end < len(text) && strings.IndexByte("{$%", text[m.end]) >= 0
}

// isQuoted reports whether a word stands in quotes, or behind a command that goes into a folder.
func (m mention) isQuoted(text string) bool {
	if strings.HasSuffix(text[:m.at], "cd ") || strings.HasSuffix(text[:m.at], "pushd ") {
		return true
	}
	return m.at > 0 && m.end < len(text) && text[m.at-1] == text[m.end] && (text[m.end] == '"' || text[m.end] == '\'')
}

// maxLead is how many bytes before a path are looked at for what is done with it.
const maxLead = 200

// lead is what stands before a path on its line, as words in lower case.
func (m mention) lead(text string) []string {
	lead := text[max(0, m.at-maxLead):m.at]
	lead = lead[strings.LastIndexByte(lead, '\n')+1:]
	return strings.Fields(strings.ToLower(strings.TrimRight(lead, "`\"'([*_ ")))
}

// isWritten reports whether something is written at a path, which then is one of the project: "write x.md", "save it to", "read it into".
func (m mention) isWritten(text string) bool {
	lead := m.lead(text)
	if len(lead) == 0 {
		return false
	}
	last := lead[len(lead)-1]
	switch last {
	case "to", "into", "as", "at", "→", "->":
		return slices.ContainsFunc(lead, func(word string) bool { return word == "read" || writes(word) })
	}
	return writes(last)
}

// writes reports whether a word says that something is written.
func writes(word string) bool {
	switch strings.Trim(word, "`*_.,:;()") {
	case "write", "writes", "written", "save", "saves", "saved", "create", "creates", "created", "store", "copy", "copies", "output", "generate", "generates",
		"append", "put", "emit", "scaffold", "delete", "overwrite":
		return true
	}
	return false
}

// isPointedAt reports whether a path is where a link leads, or what is to be read: "Read x.md", "see x.md".
func (m mention) isPointedAt(text string) bool {
	if strings.HasSuffix(text[:m.at], "](") {
		return true
	}
	lead := m.lead(text)
	return len(lead) > 0 && (lead[len(lead)-1] == "read" || lead[len(lead)-1] == "see")
}

// relative is the path of a file as one of another folder names it.
func relative(dir, name string) string {
	if dir == "." {
		return name
	}
	from, to := strings.Split(dir, "/"), strings.Split(name, "/")
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + path.Join(to...)
}
