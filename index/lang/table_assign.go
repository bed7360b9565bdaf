package lang

import (
	"bytes"
	"strings"
)

// An assignBracket is one that is open in a language whose definitions are assignments.
type assignBracket struct {
	kind    byte   // '{', '(' or '['; 0 around all
	callee  string // the word before it
	start   int
	fn      int   // the function whose parameters it holds, -1 for none
	class   int   // the class that a call makes, -1 for none
	members bool  // of class stand directly in it
	open    []int // symbols that end with the statement at hand
}

const maxAssignName = 200 // bytes of one that is looked at

// classMakers are the functions of R that make a class of what they are given.
const classMakers = " R6Class R6::R6Class setClass methods::setClass setRefClass methods::setRefClass ggproto ggplot2::ggproto new_class S7::new_class "

// An assignReader reads R: what is assigned is a definition if it is a function, makes a class, or stands outside of all brackets.
type assignReader struct {
	*tableReader
	stack  []assignBracket
	fresh  bool       // the next token begins a statement
	target tableToken // the name that began it, if nothing else came yet
	last   tableToken
	params bool // last closed the parameters of a function
	fn     int  // the function whose parameters come next, -1 for none
	class  int  // the class whose call comes next, -1 for none
	deep   int  // brackets within those of stack, which are too many
}

func (r *tableReader) assignments() {
	a := assignReader{tableReader: r, stack: []assignBracket{{fn: -1, class: -1}}, fresh: true, fn: -1, class: -1}
	for {
		tok := r.next()
		if tok.kind == 0 {
			for i := range a.stack {
				a.ends(&a.stack[i], a.last.end)
			}
			return
		}
		a.token(tok)
	}
}

func (a *assignReader) top() *assignBracket { return &a.stack[len(a.stack)-1] }

// ends is the end of the statement at hand in a bracket.
func (a *assignReader) ends(b *assignBracket, at int) {
	for _, i := range b.open {
		s := &a.file.Symbols[i]
		s.Span.End = max(s.Span.End, at)
	}
	b.open = b.open[:0]
	a.fresh, a.target = true, tableToken{}
}

func (a *assignReader) token(tok tableToken) {
	top := a.top()
	params := a.params
	switch tok.kind {
	case '\n':
		if top.kind != '(' && top.kind != '[' && !params && !a.goesOn() {
			a.ends(top, a.last.end)
		}
		return
	case ';':
		a.ends(top, a.last.end)
	case ',':
		if top.kind == '(' {
			a.ends(top, a.last.end)
		}
	case '(', '[', '{':
		a.opened(tok)
	case ')', ']', '}':
		a.closed(tok)
		return
	case '-':
		if a.last.kind == '<' && a.last.end == tok.start {
			a.assigned(tok, false)
		}
	case '=':
		if a.last.end != tok.start || strings.IndexByte("<>!=", a.last.kind) < 0 {
			a.assigned(tok, true)
		}
	case '<': // of "<-"
	case 'w', 's':
		if tok.kind == 'w' && (a.said(tok, "r") || a.said(tok, "R")) && a.rawText() {
			a.fresh, a.target = false, tableToken{}
			break
		}
		if tok.kind == 'w' && a.said(tok, "else") {
			a.ends(top, a.last.end)
		}
		a.target = tableToken{}
		if a.fresh {
			a.target = tok
		}
		a.fresh = tok.kind == 'w' && a.among(" else repeat ", tok)
	default:
		a.fresh, a.target = false, tableToken{}
	}
	a.last, a.params = tok, false
}

// rawText passes over what follows in r"--( … )--".
func (a *assignReader) rawText() bool {
	if a.ending || a.at >= len(a.src) || a.src[a.at] != '"' && a.src[a.at] != '\'' {
		return false
	}
	q, p := a.src[a.at], a.at+1
	for p < len(a.src) && a.src[p] == '-' && p-a.at < 20 {
		p++
	}
	if p >= len(a.src) || strings.IndexByte("([{", a.src[p]) < 0 {
		return false
	}
	closer := string(")]}"[strings.IndexByte("([{", a.src[p])]) + string(a.src[a.at+1:p]) + string(q)
	i := bytes.Index(a.src[p:], []byte(closer))
	if i < 0 {
		a.ending = true
		return false
	}
	a.at = p + i + len(closer)
	return true
}

// goesOn says whether the line does not end the statement.
func (a *assignReader) goesOn() bool {
	switch a.last.kind {
	case 0, '+', '*', '/', '^', '~', '&', '|', '<', '-', '=', '$', '@', ':', '!', '%', ',', '?':
		return a.last.kind != 0
	case '>':
		return a.last.end >= 2 && a.src[a.last.end-2] != '-'
	case 'w':
		return a.among(" function else in repeat ", a.last)
	}
	return false
}

// opened begins what a bracket holds.
func (a *assignReader) opened(tok tableToken) {
	b := assignBracket{kind: tok.kind, start: tok.start, fn: -1, class: -1}
	top := a.top()
	if tok.kind == '(' && a.last.kind == '\\' {
		b.fn, a.fn = a.fn, -1
		b.callee = "function"
	}
	if tok.kind == '(' && a.last.kind == 'w' {
		switch b.callee = a.textOf(a.last); {
		case b.callee == "function":
			b.fn, a.fn = a.fn, -1
		case a.among(classMakers, a.last):
			if b.class, a.class = a.class, -1; b.class < 0 && a.target == a.last {
				b.class = a.called(Class)
			}
			b.members = strings.HasSuffix(b.callee, "ggproto")
		case b.callee == "list" && top.class >= 0:
			b.class, b.members = top.class, true
		case a.target == a.last && a.among(" setGeneric methods::setGeneric ", a.last):
			a.called(Function)
		case a.target == a.last && a.among(" setMethod methods::setMethod ", a.last):
			if i := a.called(Method); i >= 0 {
				a.file.Symbols[i].Owner = a.argument(a.file.Symbols[i].Span.End)
			}
		}
	}
	a.fn, a.class = -1, -1
	a.fresh, a.target = true, tableToken{}
	if len(a.stack) < maxScopes {
		a.stack = append(a.stack, b)
	} else {
		a.deep++
	}
}

// past returns where something stands that is not space, from p on.
func (a *assignReader) past(p int) int {
	for p < len(a.src) && isBlank(a.src[p]) {
		p++
	}
	return p
}

// closed ends what a bracket held.
func (a *assignReader) closed(tok tableToken) {
	if a.deep > 0 {
		a.deep--
		a.fresh, a.target, a.last = false, tableToken{}, tok
		return
	}
	b := a.top()
	a.ends(b, a.last.end)
	a.fresh, a.last, a.params = false, tok, false
	if len(a.stack) == 1 {
		return
	}
	if b.callee == "function" {
		a.params = true
		if b.fn >= 0 {
			a.file.Symbols[b.fn].Signature = oneLine(a.src[b.start:tok.end], maxSignature)
		}
	}
	a.fresh = b.kind == '(' && strings.Contains(" if for while function ", " "+b.callee+" ")
	a.stack = a.stack[:len(a.stack)-1]
}

// assigned makes a definition of the name before an assignment.
func (a *assignReader) assigned(tok tableToken, equals bool) {
	name, top := a.target, a.top()
	a.fresh, a.target = true, tableToken{} // "y <- x <- function()"
	if name.kind == 0 || equals && (top.kind == '(' || top.kind == '[') && !top.members {
		return
	}
	if name.end-name.start > maxAssignName || bytes.IndexByte(a.src[name.start:name.end], '\n') >= 0 {
		return // a text
	}
	kind := Variable
	p := a.past(tok.end)
	rest := a.src[p:]
	n := 0
	for n < len(rest) && (a.letter(rest[n]) || rest[n] >= '0' && rest[n] <= '9' || rest[n] == ':') {
		n++
	}
	word := string(rest[:min(n, maxAssignName)])
	q := a.past(p + n)
	calls := n < len(rest) && q < len(a.src) && a.src[q] == '('
	switch {
	case calls && word == "function", bytes.HasPrefix(rest, []byte(`\(`)):
		kind = Function
	case calls && strings.Contains(classMakers, " "+word+" "):
		kind = Class
	}
	switch {
	case top.kind == '(' && top.members:
		kind = map[Kind]Kind{Function: Method}[kind]
		if kind == "" {
			kind = Field
		}
	case kind == Variable && len(a.stack) > 1:
		return
	}
	i := a.add(kind, name, tok.end)
	switch kind {
	case Function, Method:
		a.fn = i
	case Class:
		a.class = i
	}
}

// called makes a definition of a call that names it: setClass("A", …).
func (a *assignReader) called(kind Kind) int {
	start := a.past(a.at)
	if start >= len(a.src) || strings.IndexByte("\"'", a.src[start]) < 0 {
		return -1
	}
	end := bytes.IndexByte(a.src[start+1:min(len(a.src), start+maxAssignName)], a.src[start])
	if end < 0 {
		return -1
	}
	call := a.target
	i := a.add(kind, tableToken{'s', start, start + end + 2}, start+end+2)
	a.file.Symbols[i].Span.Start = call.start
	a.docOf(i, call.start)
	return i
}

// argument returns the text behind a comma, if there is one.
func (a *assignReader) argument(p int) string {
	p = a.past(p)
	if p >= len(a.src) || a.src[p] != ',' {
		return ""
	}
	p = a.past(p + 1)
	for _, word := range []string{"signature", "("} {
		if bytes.HasPrefix(a.src[p:], []byte(word)) {
			p = a.past(p + len(word))
		}
	}
	if p >= len(a.src) || strings.IndexByte("\"'", a.src[p]) < 0 {
		return ""
	}
	end := bytes.IndexByte(a.src[p+1:min(len(a.src), p+maxAssignName)], a.src[p])
	return a.text(p+1, p+1+max(end, 0))
}

// add adds a definition that ends with the statement at hand.
func (a *assignReader) add(kind Kind, name tableToken, end int) int {
	start, stop := name.start, name.end
	if name.kind == 's' && stop-start > 2 {
		start, stop = start+1, stop-1
	}
	i := a.symbol(kind, name.start, end, start, stop)
	s := &a.file.Symbols[i]
	s.Exported = a.src[start] != '.'
	if top := a.top(); top.members && top.class >= 0 {
		s.Owner = a.file.Symbols[top.class].Name
	}
	a.docOf(i, name.start)
	top := a.top()
	top.open = append(top.open, i)
	return i
}
