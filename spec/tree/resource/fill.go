package resource

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const argumentsWord = "$ARGUMENTS"

// Slots returns the names of a template's slots <name>, in order, without duplicates.
func Slots(src string) []string {
	var out seen
	for i := 0; i < len(src); i++ {
		if name, n := slotAt(src[i:]); n > 0 {
			out.add(name)
			i += n - 1
		}
	}
	return out.list
}

// Fill replaces the slots of a template whose names lookup knows ("-" equals "_"),
// once; unknown slots stay and are returned.
func Fill(src string, lookup func(string) (string, bool)) (string, []string) {
	var b strings.Builder
	var unknown seen
	last := 0
	for i := 0; i < len(src); i++ {
		name, n := slotAt(src[i:])
		if n == 0 {
			continue
		}
		if v, ok := lookupSlot(name, lookup); ok {
			b.WriteString(src[last:i])
			b.WriteString(v)
			last = i + n
		} else {
			unknown.add(name)
		}
		i += n - 1
	}
	if last == 0 {
		return src, unknown.list
	}
	b.WriteString(src[last:])
	return b.String(), unknown.list
}

// slotAt reads a template slot <name> at the start of s; n is its length, 0 if there is none.
func slotAt(s string) (name string, n int) {
	if len(s) < 3 || s[0] != '<' || s[1] < 'a' || s[1] > 'z' {
		return "", 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == '>':
			return s[1:i], i + 1
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return "", 0
		}
	}
	return "", 0
}

// lookupSlot asks for a name as it is written, then with "_", then with "-" in place of the other.
func lookupSlot(name string, lookup func(string) (string, bool)) (string, bool) {
	if lookup == nil {
		return "", false
	}
	if v, ok := lookup(name); ok {
		return v, true
	}
	if alt := strings.ReplaceAll(name, "-", "_"); alt != name {
		if v, ok := lookup(alt); ok {
			return v, true
		}
	}
	if alt := strings.ReplaceAll(name, "_", "-"); alt != name {
		return lookup(alt)
	}
	return "", false
}

// Interpolate fills text that is shown or used literally (ruling 5.11): $ARGUMENTS, <<path>>, {path},
// <ident> when bound, context.path. It never fills twice.
func Interpolate(text, arguments string, lookup func(string) (string, bool)) string {
	var b strings.Builder
	last := 0
	put := func(from, to int, v string) {
		b.WriteString(text[last:from])
		b.WriteString(v)
		last = to
	}
	for i := 0; i < len(text); {
		f, n := formAt(text, i)
		if n == 0 {
			i++
			continue
		}
		switch f.kind {
		case formArguments:
			put(i, i+n, arguments)
		case formContext:
			// The longest path that has a value wins: "context.version.txt" may be
			// the version and an extension.
			for p := f.path; p != "context" && p != "ctx" && lookup != nil; p = parentPath(p) {
				if v, ok := lookup(p); ok {
					put(i, i+len(p), v)
					break
				}
			}
		default:
			if v, ok := lookupSlot(f.path, lookup); ok {
				put(i, i+n, v)
			} else if f.kind == formDouble {
				n = 2 // what stands inside is a form of its own, or text
			}
		}
		i += n
	}
	if last == 0 {
		return text
	}
	b.WriteString(text[last:])
	return b.String()
}

// A Hole is a place of literal text that no value fills, so that it stays as written.
type Hole struct {
	Path string
	Sure bool // written <<path>>, or with "context." in braces: it can be nothing else
	Slot bool // written <path>, as places for people are, too
	Code bool // in backticks, where it can be an example
}

// Holes returns the places of text that [Interpolate] leaves.
func Holes(text string, lookup func(string) (string, bool)) (out []Hole) {
	code := false // in backticks
	for i := 0; i < len(text); {
		f, n := formAt(text, i)
		if n == 0 {
			code = code != (text[i] == '`')
			i++
			continue
		}
		i += n
		filled := f.kind == formArguments
		if f.kind == formContext {
			for p := f.path; p != "context" && p != "ctx" && lookup != nil && !filled; p = parentPath(p) {
				_, filled = lookup(p)
			}
		} else if !filled {
			_, filled = lookupSlot(f.path, lookup)
		}
		if filled {
			continue
		}
		inside := strings.HasPrefix(f.path, "context.") || strings.HasPrefix(f.path, "ctx.")
		out = append(out, Hole{f.path, f.kind == formDouble || f.kind == formBrace && inside, f.kind == formSlot && !inside, code})
	}
	return out
}

type formKind uint8

const (
	formArguments formKind = iota
	formDouble             // <<path>>
	formSlot               // <path>
	formBrace              // {path}
	formContext            // context.path
)

type form struct {
	kind formKind
	path string
}

// formAt reads the form that starts at text[i]; n is its length, 0 if there is none.
func formAt(text string, i int) (f form, n int) {
	s := text[i:]
	switch s[0] {
	case '$':
		if rest, ok := strings.CutPrefix(s, argumentsWord); ok && !startsWithWord(rest) {
			return form{formArguments, argumentsWord}, len(argumentsWord)
		}
	case '<':
		if strings.HasPrefix(s, "<<") {
			if e := pathEnd(s, 2, true); e > 2 && strings.HasPrefix(s[e:], ">>") {
				return form{formDouble, s[2:e]}, e + 2
			}
			if strings.HasPrefix(s[2:], argumentsWord+">>") {
				return form{formArguments, argumentsWord}, len(argumentsWord) + 4
			}
			return form{}, 0
		}
		if e := pathEnd(s, 1, true); e > 1 && e < len(s) && s[e] == '>' {
			return form{formSlot, s[1:e]}, e + 1
		}
	case '{':
		if e := pathEnd(s, 1, true); e > 1 && e < len(s) && s[e] == '}' {
			return form{formBrace, s[1:e]}, e + 1
		}
		if strings.HasPrefix(s[1:], argumentsWord+"}") {
			return form{formArguments, argumentsWord}, len(argumentsWord) + 2
		}
	case 'c':
		if (strings.HasPrefix(s, "context.") || strings.HasPrefix(s, "ctx.")) && !endsWithWord(text[:i]) {
			if e := pathEnd(s, 0, false); e > strings.IndexByte(s, '.') {
				return form{formContext, s[:e]}, e
			}
		}
	}
	return form{}, 0
}

// pathEnd returns the end of the path IDENT ("." IDENT | "[" digits "]")* that starts at s[from]; from if there is
// none. A hyphen is part of a name only between delimiters, where it cannot be punctuation.
func pathEnd(s string, from int, hyphen bool) int {
	end := identEnd(s, from, hyphen)
	if end == from {
		return from
	}
	for end < len(s) {
		next := end
		switch s[end] {
		case '.':
			if next = identEnd(s, end+1, hyphen); next == end+1 {
				return end
			}
		case '[':
			next = end + 1
			for next < len(s) && s[next] >= '0' && s[next] <= '9' {
				next++
			}
			if next == end+1 || next == len(s) || s[next] != ']' {
				return end
			}
			next++
		default:
			return end
		}
		end = next
	}
	return end
}

func identEnd(s string, from int, hyphen bool) int {
	for i, r := range s[from:] {
		switch {
		case r == '_' || unicode.IsLetter(r):
		case i > 0 && (unicode.IsDigit(r) || hyphen && r == '-'):
		default:
			return from + i
		}
	}
	return len(s)
}

// parentPath drops the last step of a path.
func parentPath(p string) string {
	return p[:max(0, strings.LastIndexAny(p, ".["))]
}

func startsWithWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return wordRune(r)
}

// endsWithWord reports whether a name that follows s would be a part of what s ends with.
func endsWithWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return wordRune(r) || r == '.' || r == '$'
}

func wordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// InterpolateEnd fills the message of END: as Interpolate does, and when the
// last word after ": " is the name of a binding, that word as well. That last rule is
// doubtful, as the word could be meant as a word: doubtful tells that it was used, so that it can be warned of.
func InterpolateEnd(text, arguments string, lookup func(string) (string, bool)) (string, bool) {
	i := strings.LastIndex(text, ": ")
	if i < 0 || lookup == nil {
		return Interpolate(text, arguments, lookup), false
	}
	tail := text[i+2:]
	word := strings.TrimRight(strings.TrimSpace(tail), ".!")
	if word == "" || identEnd(word, 0, false) != len(word) {
		return Interpolate(text, arguments, lookup), false
	}
	v, ok := lookup(word)
	if !ok {
		return Interpolate(text, arguments, lookup), false
	}
	// The two parts are filled apart, so that the value is not read again.
	return Interpolate(text[:i+2], arguments, lookup) + strings.Replace(tail, word, v, 1), true
}

// Mentions returns the names and paths that text refers to, in order, without
// duplicates: <<path>>, {path}, `path` and context.path always, as written; <name>, bare words, and context.path behind "-" or "/"
// when known says that they are bound, "-" equal to "_" in the first. A nil known knows none. $ARGUMENTS is not among them.
func Mentions(text string, known func(string) bool) []string {
	var out seen
	is := func(name string) bool { return known != nil && known(name) }
	for i := 0; i < len(text); {
		if f, n := formAt(text, i); n > 0 {
			switch f.kind {
			case formDouble, formBrace:
				out.add(f.path)
			case formContext:
				// Behind "-" or "/" it is more likely the rest of a file's name, as in measure-context.md.
				if _, name, _ := strings.Cut(f.path, "."); i == 0 || text[i-1] != '-' && text[i-1] != '/' || is(name[:firstStep(name)]) {
					out.add(f.path)
				}
			case formSlot:
				if name, ok := knownSlot(f.path, is); ok {
					out.add(name)
				}
			}
			i += n
			continue
		}
		if text[i] == '`' {
			if e := pathEnd(text, i+1, true); e > i+1 && e < len(text) && text[e] == '`' {
				out.add(text[i+1 : e])
				i = e + 1
				continue
			}
		}
		if e := pathEnd(text, i, false); e > i {
			if known != nil && !endsWithWord(text[:i]) {
				mentionBare(&out, text[i:e], is)
			}
			i = e
			continue
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		i += n
		if n == 1 && i < len(text) && (text[i-1] >= '0' && text[i-1] <= '9') {
			// A name does not start inside a number with letters.
			i = skipWord(text, i)
		}
	}
	return out.list
}

// mentionBare adds a bare word if it is bound, or a bare path if its first name is.
func mentionBare(out *seen, path string, known func(string) bool) {
	first := path[:min(len(path), firstStep(path))]
	if known(first) {
		out.add(path)
	}
}

func firstStep(path string) int {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return i
	}
	return len(path)
}

func knownSlot(name string, known func(string) bool) (string, bool) {
	for _, n := range [...]string{name, strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(name, "_", "-")} {
		if known(n[:firstStep(n)]) {
			return n, true
		}
	}
	return "", false
}

func skipWord(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !wordRune(r) {
			break
		}
		i += n
	}
	return i
}

// seen is a list of names without duplicates.
type seen struct {
	list []string
	has  map[string]bool
}

func (s *seen) add(name string) {
	if s.has[name] {
		return
	}
	if s.has == nil {
		s.has = map[string]bool{}
	}
	s.has[name] = true
	s.list = append(s.list, name)
}
