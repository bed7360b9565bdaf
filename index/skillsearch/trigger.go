package skillsearch

import (
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// Clauses are the parts of a description.
type Clauses struct {
	What    string   // what the skill does
	When    []string // when to use it: a sentence, or the end of one, each
	WhenNot []string // when not to
}

// ReadClauses splits a description. A sentence belongs to When from where it speaks of using the skill ("use when", "trigger for",
// "when the user") to its end, and to WhenNot from where it speaks of not using it. Without such words all of it is What.
// Every word of the description is in one of the parts, in its order. The time is linear.
func ReadClauses(description string) Clauses {
	var c Clauses
	var what []string
	for _, s := range sentences(diag.Head(description, MaxDescription)) {
		from, not, said := 0, false, false // the clause that s[from:] begins with
		end := func(at int) {
			text := strings.TrimSpace(s[from:at])
			switch {
			case text == "":
			case !said:
				what = append(what, text)
			case !not:
				c.When = append(c.When, text)
			default:
				text, unless, ok := strings.Cut(text, " unless ")
				if c.WhenNot = append(c.WhenNot, text); ok {
					c.When = append(c.When, "unless "+unless)
				}
			}
		}
		marks(s, func(at int, n bool) {
			if said && n == not {
				return // more of the same
			}
			if said || len(strings.Fields(s[:at])) > 2 {
				end(at)
				from = at
			} // else it is "You must use this", and no sentence of its own
			not, said = n, true
		})
		end(len(s))
	}
	c.What = strings.Join(what, " ")
	return c
}

const maxQuote = 200 // bytes

// sentences splits s behind periods, exclamation and question marks that stand before a space and something that can
// start a sentence, outside of quotes, and at empty lines. Spaces become single.
func sentences(s string) []string {
	var all []string
	for _, paragraph := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n\n") {
		p := strings.Join(strings.Fields(paragraph), " ")
		start := 0
		for i := 0; i < len(p); i++ {
			if p[i] == '"' {
				// A mark that is not closed soon is that of inches, or forgotten.
				if n := strings.IndexByte(p[i+1:min(len(p), i+maxQuote)], '"'); n > 0 {
					i += n // the last of what is quoted
				}
			}
			if p[i] != '.' && p[i] != '!' && p[i] != '?' {
				continue
			}
			end := i + 1
			for end < len(p) && (p[end] == '"' || p[end] == '\'' || p[end] == ')') {
				end++
			}
			if end >= len(p) || p[end] != ' ' || end+1 >= len(p) || !starts(p[end+1:]) || abbreviation(p[start:i]) {
				continue
			}
			all = append(all, p[start:end])
			start, i = end+1, end
		}
		if start < len(p) {
			all = append(all, p[start:])
		}
	}
	return all
}

// starts reports whether s can be the start of a sentence: anything but a small letter, a comma or the like.
func starts(s string) bool {
	c := s[0]
	return 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '"' || c == '\'' || c == '`' || c == '(' || c == '-' || c == '*' || c >= utf8.RuneSelf
}

func abbreviation(s string) bool {
	s = strings.ToLower(s)
	for _, a := range []string{"e.g", "i.e", "etc", "vs", "cf", "incl"} {
		if before, ok := strings.CutSuffix(s, a); ok && (before == "" || !letter(before[len(before)-1])) {
			return true
		}
	}
	return false
}

// A phrase starts a clause.
type phrase struct {
	text  string
	not   bool
	opens bool // only where it opens a sentence or a list
}

// phrases are looked for in small letters, between what are no letters.
var phrases = [...]phrase{
	{text: "do not use", not: true}, {text: "don't use", not: true}, {text: "do not trigger", not: true}, {text: "don't trigger", not: true},
	{text: "do not activate", not: true}, {text: "do not invoke", not: true}, {text: "do not load", not: true}, {text: "do not apply", not: true},
	{text: "not for use", not: true}, {text: "not intended for", not: true}, {text: "not suitable for", not: true}, {text: "not meant for", not: true},
	{text: "never use", not: true}, {text: "avoid using", not: true}, {text: "should not be used", not: true}, {text: "skip for", not: true},
	{text: "skip this", not: true}, {text: "skip when", not: true}, {text: "skip if", not: true}, {text: "not for", not: true}, {text: "not when", not: true},

	{text: "use this"}, {text: "use when"}, {text: "use whenever"}, {text: "use for"}, {text: "use it"}, {text: "use if"}, {text: "use only"},
	{text: "use after"}, {text: "use before"}, {text: "use proactively"}, {text: "use the skill"}, {text: "used when"}, {text: "used whenever"},
	{text: "also use"}, {text: "always use"}, {text: "must use"}, {text: "should be used"}, {text: "useful when"}, {text: "when to use"},
	{text: "trigger for"}, {text: "trigger on"}, {text: "trigger when"}, {text: "trigger whenever"}, {text: "trigger this"}, {text: "trigger phrases"},
	{text: "trigger words"}, {text: "triggers on"}, {text: "triggers include"}, {text: "triggered by"},
	{text: "invoke when"}, {text: "invoke this"}, {text: "invoke for"}, {text: "invoke whenever"}, {text: "invoke if"},
	{text: "load this"}, {text: "load when"}, {text: "apply when"}, {text: "apply this"}, {text: "call this"}, {text: "run this"}, {text: "reach for this"},
	{text: "when the user"}, {text: "when a user"}, {text: "when user"}, {text: "when users"}, {text: "whenever the user"}, {text: "whenever a user"},
	{text: "if the user"}, {text: "when asked"}, {text: "when someone"}, {text: "when you need"}, {text: "when you want"},
	{text: "trigger", opens: true}, {text: "triggers", opens: true}, {text: "activate", opens: true}, {text: "activates", opens: true},
}

// marks calls yield with the place of each phrase of s and whether it is about not using.
func marks(s string, yield func(at int, not bool)) {
	lower := lowerASCII(s)
	for i := 0; i < len(lower); i++ {
		if i > 0 && letter(lower[i-1]) {
			continue
		}
		for _, p := range phrases {
			end := i + len(p.text)
			if !strings.HasPrefix(lower[i:], p.text) || end < len(lower) && letter(lower[end]) {
				continue
			}
			if p.opens && !opens(lower[:i], lower[end:]) {
				continue
			}
			yield(i, p.not)
			i = end - 1
			break
		}
	}
}

// opens reports whether a word between before and after opens a sentence or a list: "Triggers: …", not "database triggers".
func opens(before, after string) bool {
	before = strings.TrimRight(before, " -*\"'(")
	return before == "" || strings.HasPrefix(after, ":") || strings.HasSuffix(before, ";") || strings.HasSuffix(before, "—")
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c >= utf8.RuneSelf
}

// lowerASCII keeps the offsets, which strings.ToLower does not.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
