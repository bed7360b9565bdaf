package lang

import (
	"bytes"
	"strings"
)

// Limits of what is kept while a statement is read. One that has more is no definition.
const (
	maxHead   = 400
	maxScopes = 200
	maxInner  = 16 // code in strings in code
	maxLine   = 1000
)

// A tableToken is a word, a string, a character, or a whole group in brackets.
type tableToken struct {
	kind       byte // 'w' word, 's' string, 'n' number, 'B' a body that was closed, '(' or '[' with what they hold, else the character itself; 0 at the end
	start, end int
}

// A tableReader reads a file by its table.
type tableReader struct {
	builder
	t      *table
	at     int
	head   []tableToken // of the statement
	plain  []tableToken // of head, without annotations and type arguments
	scopes []tableScope
	depth  int // of braces
	marks  []condition
	loose  bool // a bracket was never closed: they are characters from now on
	ending bool // a string that names its end has none: no other is looked for
	inner  int  // code in strings
	here   []string
	docs   Span // the comment right before at
}

// A condition is an #if that was not ended.
type condition struct{ depth, head int }

//go:noinline
func (r *tableReader) is(s string) bool {
	return strings.HasPrefix(string(r.src[r.at:min(len(r.src), r.at+len(s))]), s)
}

// next returns the next token. The end of a line is one where it ends statements.
func (r *tableReader) next() tableToken {
	for r.at < len(r.src) {
		start := r.at
		switch c := r.src[start]; {
		case c == '\n':
			r.at++
			if len(r.here) > 0 {
				r.hereDocuments()
			}
			if r.t.has(newlines) {
				return tableToken{'\n', start, r.at}
			}
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			r.at++
		case c == '\\' && r.t.has(newlines) && start+1 < len(r.src) && r.src[start+1] == '\n':
			r.at += 2
		case r.comment():
		case c == '#' && r.t.has(directives) && r.margin(start):
			r.directive()
		case r.letter(c):
			return r.word()
		case c >= '0' && c <= '9':
			return r.number()
		case c == '$' && r.t.has(dollars):
			r.dollar()
			return tableToken{'s', start, r.at}
		case strings.IndexByte(r.t.quotes, c) >= 0:
			r.quoted(c)
			return tableToken{'s', start, r.at}
		case (c == '(' || c == '[') && !r.loose && !r.t.has(inside) && r.group():
			return tableToken{c, start, r.at}
		case c == '<' && r.hereBegins():
			r.hereWord()
			return tableToken{c, start, r.at}
		case c == '\\' && r.t.has(commands):
			r.at = min(r.at+2, len(r.src))
			return tableToken{'s', start, r.at}
		default:
			r.at++
			return tableToken{c, start, r.at}
		}
	}
	return tableToken{0, r.at, r.at}
}

func (r *tableReader) letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80 || c < 0x80 && c > ' ' && strings.IndexByte(r.t.letters, c) >= 0
}

// margin says whether nothing but space stands before p on its line.
func (r *tableReader) margin(p int) bool {
	for p > 0 && (r.src[p-1] == ' ' || r.src[p-1] == '\t') {
		p--
	}
	return p == 0 || r.src[p-1] == '\n'
}

func (r *tableReader) word() tableToken {
	start := r.at
	for r.at < len(r.src) && (r.letter(r.src[r.at]) || r.src[r.at] >= '0' && r.src[r.at] <= '9') {
		r.at++
	}
	if r.t.has(commands) && r.at < len(r.src) && r.src[r.at] == '#' { // within a word it is no comment
		r.at++
	}
	if r.at > start && r.at < len(r.src) && r.src[r.at] == '"' {
		switch text := r.src[start:r.at]; {
		case r.t.has(raw) && text[len(text)-1] == 'R' && len(text) <= 3:
			r.rawString()
			return tableToken{'s', start, r.at}
		case r.t.has(verbatim) && len(text) <= 2 && text[len(text)-1] == '@':
			r.doubled('"')
			return tableToken{'s', start, r.at}
		}
	}
	return tableToken{'w', start, r.at}
}

func (r *tableReader) number() tableToken {
	start := r.at
	for r.at < len(r.src) {
		c := r.src[r.at]
		digit := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		apart := (c == '\'' && r.t.has(raw) || c == '.' && !r.t.has(newlines)) && r.at+1 < len(r.src) && r.letter(r.src[r.at+1]|'0')
		if c == '\'' && r.at+1 < len(r.src) && r.t.has(raw) && r.src[r.at+1] >= '0' && r.src[r.at+1] <= '9' {
			apart = true
		}
		if !digit && !apart {
			break
		}
		r.at++
	}
	return tableToken{'n', start, r.at}
}

// comment passes over a comment, if one begins here, and remembers it as what may belong to the next definition.
func (r *tableReader) comment() bool {
	t, start := r.t, r.at
	c := r.src[start]
	if t.open != "" && c == t.open[0] && r.is(t.open) && (t.open[0] != '=' || r.margin(start) && start == r.lineOf(start)) {
		r.at += len(t.open)
		r.tall(t.open, t.close)
		r.document(start)
		return true
	}
	for rest := t.line; rest != ""; {
		var opener string
		opener, rest, _ = strings.Cut(rest, " ")
		if c != opener[0] || !r.is(opener) {
			continue
		}
		if opener == "#" && (t.language == PHP && start+1 < len(r.src) && r.src[start+1] == '[' || t.language == SQL && !r.margin(start) ||
			t.has(commands) && start > 0 && !isBlank(r.src[start-1]) && strings.IndexByte(";()|&", r.src[start-1]) < 0) {
			continue
		}
		if t.language == Lua && r.longBracket(start+2) {
			r.document(start)
			return true
		}
		end := bytes.IndexByte(r.src[start:], '\n')
		if end < 0 {
			end = len(r.src) - start
		}
		r.at = start + end
		r.document(start)
		return true
	}
	if t.language == Lua && c == '[' && r.longBracket(start) {
		return true
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// lineOf returns where the line of a place begins, or a place in it that is maxLine bytes before.
func (r *tableReader) lineOf(p int) int {
	from := max(p-maxLine, 0)
	return bytes.LastIndexByte(r.src[from:p], '\n') + 1 + from
}

// longBracket passes over [[ … ]] and [==[ … ]==].
func (r *tableReader) longBracket(p int) bool {
	if p >= len(r.src) || r.src[p] != '[' {
		return false
	}
	q := p + 1
	for q < len(r.src) && r.src[q] == '=' {
		q++
	}
	if q >= len(r.src) || r.src[q] != '[' || q-p > 20 {
		return false
	}
	closer := "]" + string(r.src[p+1:q]) + "]"
	if i := bytes.Index(r.src[q:], []byte(closer)); i >= 0 {
		r.at = q + i + len(closer)
	} else {
		r.at = len(r.src)
	}
	return true
}

// tall goes to the end of a comment of several lines.
func (r *tableReader) tall(open, close string) {
	end := -1 // of the next closer
	for depth := 1; depth > 0; {
		if end < r.at {
			i := bytes.Index(r.src[r.at:], []byte(close))
			if i < 0 {
				r.at = len(r.src)
				return
			}
			end = r.at + i
		}
		if r.t.has(nested) {
			if j := bytes.Index(r.src[r.at:end], []byte(open)); j >= 0 {
				depth++
				r.at += j + len(open)
				continue
			}
		}
		depth--
		r.at = end + len(close)
	}
}

// document remembers a comment from start to here, together with the one on the line before.
func (r *tableReader) document(start int) {
	if start == 0 && r.at > 1 && r.src[1] == '!' {
		return // what runs the file
	}
	if r.docs.End > 0 && r.gap(r.docs.End, start) <= 1 {
		r.docs.End = r.at
		return
	}
	r.docs = Span{Start: start, End: r.at}
}

// gap returns the number of line ends between two places, or 9 if there is anything else.
func (r *tableReader) gap(from, to int) int {
	n := 0
	if from > to {
		return 9
	}
	for ; from < to; from++ {
		switch r.src[from] {
		case '\n':
			if n++; n > 2 {
				return 9
			}
		case ' ', '\t', '\r':
		default:
			return 9
		}
	}
	return n
}

// quoted passes over a string.
func (r *tableReader) quoted(q byte) {
	t := r.t
	if t.has(triple) && q == '"' && r.is(`"""`) {
		r.at += 3
		for r.at < len(r.src) {
			switch {
			case r.src[r.at] == '\\' && t.language != Kotlin:
				r.at = min(r.at+2, len(r.src))
			case r.is(`"""`):
				for r.at += 3; r.at < len(r.src) && r.src[r.at] == '"'; r.at++ {
				}
				return
			default:
				r.at++
			}
		}
		return
	}
	if t.has(doubled) || t.has(commands) && q == '\'' {
		r.doubled(q)
		return
	}
	code := t.code
	if t.has(verbatim) && r.at > 0 && r.src[r.at-1] == '$' {
		code = "{"
	}
	multi := strings.IndexByte(t.tall, q) >= 0
	for r.at++; r.at < len(r.src); r.at++ {
		switch c := r.src[r.at]; {
		case c == q:
			r.at++
			return
		case code != "" && q == '"' && c == code[0] && r.is(code):
			r.at += len(code) - 1
			if !r.interpolated() {
				continue
			}
			r.at--
		case c == '\\':
			r.at++
		case c == '\n' && !multi:
			return
		}
	}
	r.at = min(r.at, len(r.src))
}

// interpolated passes over code within a string, from its bracket, unless it goes too deep or is not closed on this line.
func (r *tableReader) interpolated() bool {
	if r.inner >= maxInner || r.loose {
		return false
	}
	if r.src[r.at] == '{' && r.at+1 < len(r.src) && r.src[r.at+1] == '{' && r.t.has(verbatim) {
		r.at++
		return false
	}
	r.inner++
	defer func() { r.inner-- }()
	return r.balanced()
}

// doubled passes over a string in which a quote is two.
func (r *tableReader) doubled(q byte) {
	for {
		i := bytes.IndexByte(r.src[r.at+1:], q)
		if i < 0 {
			r.at = len(r.src)
			return
		}
		if r.at += i + 2; r.at >= len(r.src) || r.src[r.at] != q || r.t.has(commands) {
			return
		}
	}
}

// rawString passes over R"x( … )x".
func (r *tableReader) rawString() {
	start := r.at + 1
	i := bytes.IndexByte(r.src[start:min(len(r.src), start+20)], '(')
	if i < 0 {
		r.at++
		return
	}
	closer := ")" + string(r.src[start:start+i]) + `"`
	if !r.ending {
		if j := bytes.Index(r.src[start+i:], []byte(closer)); j >= 0 {
			r.at = start + i + j + len(closer)
			return
		}
	}
	r.at, r.ending = start, true
}

// dollar passes over $word$ … $word$.
func (r *tableReader) dollar() {
	start := r.at
	for r.at++; r.at < len(r.src) && r.at-start < 60; r.at++ {
		if c := r.src[r.at]; c == '$' {
			r.at++
			opener := r.src[start:r.at]
			if r.ending {
				return
			}
			if i := bytes.Index(r.src[r.at:], opener); i >= 0 {
				r.at += i + len(opener)
			} else {
				r.ending = true
			}
			return
		} else if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return
		}
	}
}

// hereBegins says whether a here-document is announced here.
func (r *tableReader) hereBegins() bool {
	return (r.t.has(commands) || r.t.language == HCL) && r.is("<<") || r.t.language == PHP && r.is("<<<")
}

// hereWord remembers the word that ends a here-document.
func (r *tableReader) hereWord() {
	r.at += 2
	if r.at < len(r.src) && r.src[r.at] == '<' {
		r.at++
		if r.t.language != PHP {
			return
		}
	}
	for r.at < len(r.src) && strings.IndexByte("- \t~", r.src[r.at]) >= 0 {
		r.at++
	}
	start := r.at
	for r.at < len(r.src) && (r.letter(r.src[r.at]) || strings.IndexByte("0123456789'\"\\", r.src[r.at]) >= 0) {
		r.at++
	}
	if word := strings.Trim(string(r.src[start:r.at]), "'\"\\"); word != "" && !(word[0] >= '0' && word[0] <= '9') && len(r.here) < 8 {
		r.here = append(r.here, word)
	}
}

// hereDocuments passes over those that begin on this line.
func (r *tableReader) hereDocuments() {
	for _, word := range r.here {
		for r.at < len(r.src) {
			line := r.src[r.at:]
			if i := bytes.IndexByte(line, '\n'); i >= 0 {
				line = line[:i]
			}
			start := r.at
			r.at = min(r.at+len(line)+1, len(r.src))
			text := bytes.TrimSpace(line)
			if string(text) == word {
				r.at = start + len(line) // a statement may end here
				break
			}
			if r.t.language == PHP && bytes.HasPrefix(text, []byte(word)) && !r.letter(text[len(word)]) {
				r.at = start + bytes.Index(line, []byte(word)) + len(word)
				break
			}
		}
	}
	r.here = r.here[:0]
}

// group passes over what brackets hold. If they are not closed, brackets are characters from then on, so that no file is
// read more than twice.
func (r *tableReader) group() bool {
	if r.loose {
		return false
	}
	start, docs := r.at, r.docs
	if r.balanced() {
		return true
	}
	if r.at >= len(r.src) {
		r.loose = true
	}
	r.at, r.docs = start, docs
	return false
}

// balanced passes over brackets and what they hold, up to one that closes another.
func (r *tableReader) balanced() bool {
	var closers [64]byte
	depth := 0
	for r.at < len(r.src) {
		switch c := r.src[r.at]; c {
		case '(', '[', '{':
			if depth == len(closers) {
				r.at = len(r.src)
				return false
			}
			closers[depth] = c + 2
			if c == '(' {
				closers[depth] = ')'
			}
			depth++
			r.at++
		case ')', ']', '}':
			if depth > 0 && closers[depth-1] != c {
				return false
			}
			depth--
			if r.at++; depth <= 0 {
				return true
			}
		default:
			r.pass(c)
		}
	}
	return false
}

// pass passes over a character of code, or over a whole string, comment or directive.
func (r *tableReader) pass(c byte) {
	switch {
	case c == '\n':
		r.at++
		if len(r.here) > 0 {
			r.hereDocuments()
		}
	case c == ' ' || c == '\t' || c == '\r':
		r.at++
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80:
		r.word()
	case c >= '0' && c <= '9':
		r.number()
	case strings.IndexByte(r.t.quotes, c) >= 0:
		r.quoted(c)
	case r.comment():
	case c == '#' && r.t.has(directives) && r.margin(r.at):
		r.directive()
	case c == '@' && r.t.has(verbatim):
		r.word()
	case c == '\\' && r.t.has(commands):
		r.at = min(r.at+2, len(r.src))
	case c == '<' && r.hereBegins():
		r.hereWord()
	case c == '$' && r.t.has(dollars):
		r.dollar()
	default:
		r.at++
	}
}

// body passes over a body in braces, from behind the first. A brace at the margin closes what began there.
func (r *tableReader) body(margin bool) {
	r.depth++
	base := r.depth
	for r.at < len(r.src) {
		switch c := r.src[r.at]; c {
		case '{':
			r.depth++
			r.at++
		case '}':
			r.at++
			if r.depth--; r.depth < base || margin && (r.at < 2 || r.src[r.at-2] == '\n') {
				r.depth = base - 1
				return
			}
		default:
			r.pass(c)
		}
	}
	r.depth = base - 1
}

// directive reads a line of the preprocessor. Of several branches, those are read that leave the braces and the statement as they were.
func (r *tableReader) directive() {
	start := r.at
	for r.at++; r.at < len(r.src) && (r.src[r.at] == ' ' || r.src[r.at] == '\t'); r.at++ {
	}
	word := r.word()
	switch name := string(r.src[word.start:word.end]); name {
	case "define":
		for r.at < len(r.src) && (r.src[r.at] == ' ' || r.src[r.at] == '\t') {
			r.at++
		}
		w := r.word()
		r.lineEnd()
		i := r.symbol(Macro, start, r.at, w.start, w.end)
		r.file.Symbols[i].Exported = true
		r.docOf(i, start)
		return
	case "if", "ifdef", "ifndef":
		rest := r.at
		r.lineEnd()
		if len(r.marks) < maxScopes {
			r.marks = append(r.marks, condition{r.depth, len(r.head)})
		}
		if f := bytes.Fields(r.src[rest:r.at]); name == "if" && len(f) > 0 && string(f[0]) == "0" {
			r.skipBranches(true)
		}
		return
	case "else", "elif":
		r.lineEnd()
		if n := len(r.marks); n > 0 && (r.marks[n-1].depth != r.depth || r.marks[n-1].head != len(r.head) || len(r.head) > 0) {
			r.skipBranches(false)
		}
		return
	case "endif":
		if n := len(r.marks); n > 0 {
			r.marks = r.marks[:n-1]
		}
	}
	r.lineEnd()
}

// lineEnd goes to the end of a line of the preprocessor, and over those that continue it.
func (r *tableReader) lineEnd() {
	for r.at < len(r.src) {
		i := bytes.IndexByte(r.src[r.at:], '\n')
		if i < 0 {
			r.at = len(r.src)
			return
		}
		line := bytes.TrimRight(r.src[r.at:r.at+i], "\r")
		r.at += i
		if !bytes.HasSuffix(line, []byte{'\\'}) {
			if j := bytes.Index(line, []byte("/*")); j >= 0 && !bytes.Contains(line[j:], []byte("*/")) && !bytes.Contains(line[:j], []byte("//")) {
				r.at -= i - j - 2
				r.tall("/*", "*/")
				continue
			}
			return
		}
		r.at++
	}
}

// skipBranches goes behind the #endif, or with other to another branch.
func (r *tableReader) skipBranches(other bool) {
	depth := 0
	for r.at < len(r.src) {
		i := bytes.IndexByte(r.src[r.at:], '\n')
		if i < 0 {
			r.at = len(r.src)
			return
		}
		r.at += i + 1
		line := bytes.TrimLeft(r.src[r.at:min(len(r.src), r.at+200)], " \t")
		if len(line) == 0 || line[0] != '#' {
			continue
		}
		line = bytes.TrimLeft(line[1:], " \t")
		switch {
		case bytes.HasPrefix(line, []byte("if")):
			depth++
		case bytes.HasPrefix(line, []byte("endif")):
			if depth--; depth < 0 {
				if n := len(r.marks); n > 0 {
					r.marks = r.marks[:n-1]
				}
				r.lineEnd()
				return
			}
		case other && depth == 0 && bytes.HasPrefix(line, []byte("el")):
			r.lineEnd()
			return
		}
	}
}
