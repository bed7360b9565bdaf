package tree

import (
	"strings"
)

// A nodeReader turns the text of nodes into their fields. What it makes depends
// on the unescaped text, on whether the node has children, and on isOp alone, so
// that a printed node reads the same.
type nodeReader struct {
	isOp func(string) bool
	sc   scanner
	buf  []byte
}

// A remark is a rule that a node breaks.
type remark struct {
	rule, text string
	sure       bool // what is meant is sure if no step follows that may have been meant: it is a warning then
}

// read fills n from text, in which escapes are gone and lines are joined.
// A label keeps the name and the operators of a call.
func (r *nodeReader) read(n *Node, text string, label bool) (remarks [2]remark) {
	text = r.annotation(n, text)
	n.Text = text
	word, rest, bold := r.firstWord(text)
	if word == "" {
		r.prose(n, text, &remarks)
		return remarks
	}
	kind, reserved := Primitive(word)
	if kind == Explore && r.known(word) {
		reserved = false // the skill defines it
	}
	switch {
	case reserved && !label:
		if !r.primitive(n, kind, word, rest, bold, &remarks) {
			r.prose(n, text, &remarks)
		}
	case isCall(rest) || r.known(word):
		r.call(n, word, rest, bold, &remarks)
	default:
		r.prose(n, text, &remarks)
	}
	return remarks
}

// isCall reports whether rest, which follows the name of an op, makes a call of it also
// when no such op is known.
func isCall(rest string) bool {
	return rest == "" || strings.HasPrefix(rest, "<<") || strings.HasPrefix(rest, ">>")
}

func (r *nodeReader) known(name string) bool { return r.isOp != nil && r.isOp(name) }

// annotation cuts the comment behind a free arrow off. An arrow is free behind a
// blank or an operator.
func (r *nodeReader) annotation(n *Node, text string) string {
	if !strings.Contains(text, "←") {
		return text
	}
	r.sc.reset(text)
	i := -1
	for from := 0; ; {
		i = r.sc.find("←", from, len(text))
		if i <= 0 || strings.IndexByte(blanks+"<>|", text[i-1]) >= 0 && trim(text[:i]) != "" {
			break
		}
		from = i + len("←")
	}
	if i <= 0 || trim(text[i+len("←"):]) == "" {
		return text
	}
	n.Note = trim(text[i+len("←"):])
	return trim(text[:i])
}

// firstWord returns the name that text starts with, perhaps in bold, if it has
// the form of an op's, and what follows.
func (r *nodeReader) firstWord(text string) (word, rest string, bold bool) {
	rest = text
	if strings.HasPrefix(text, "**") {
		end := strings.Index(text[2:], "**")
		if end < 0 || end > 128 || !isOpName(text[2:2+end]) {
			return "", text, false
		}
		word, rest, bold = text[2:2+end], text[2+end+2:], true
	} else {
		n := 0
		for n < len(text) && (text[n] == '_' || '0' <= text[n] && text[n] <= '9' || 'A' <= text[n] && text[n] <= 'Z') {
			n++
		}
		word, rest = text[:n], text[n:]
		if !isOpName(word) {
			return "", text, false
		}
	}
	if rest != "" && strings.IndexByte(blanks, rest[0]) < 0 && !strings.HasPrefix(rest, "<<") && !strings.HasPrefix(rest, ">>") {
		return "", text, false
	}
	return word, trim(rest), bold
}

// operators are the parts of a text around its free << and >>.
type operators struct {
	head      string
	ins, outs []string // pieces between bars
	in, out   bool     // the operator is there
	swapped   bool     // >> came first
}

// split finds the operators of text. With bars false the inputs are one piece.
func (r *nodeReader) split(text string, from int, bars bool) (o operators) {
	r.sc.reset(text)
	a, b := r.sc.find("<<", from, len(text)), r.sc.findPair('>', 0)
	o.in = a >= 0
	if o.in && b > a || b < 0 && o.in {
		b = r.sc.findPair('>', a+2)
	}
	o.out = b >= 0
	inEnd, outEnd, head := len(text), len(text), len(text)
	switch {
	case o.in && o.out && b < a:
		o.swapped, outEnd, head = true, a, b
	case o.in && o.out:
		inEnd, head = b, a
	case o.in:
		head = a
	case o.out:
		head = b
	}
	o.head = trim(text[:head])
	if o.in && bars {
		o.ins = r.sc.split("|", a+2, inEnd)
	} else if s := ""; o.in {
		if s = trim(text[a+2 : inEnd]); s != "" {
			o.ins = []string{s}
		}
	}
	if o.out {
		o.outs = r.sc.split("|", b+2, outEnd)
	}
	return o
}

// canonical writes the operators with single blanks behind front. It returns text
// itself when that is canonical already.
func (r *nodeReader) canonical(text, front string, o operators) string {
	b := append(r.buf[:0], front...)
	b = appendPart(b, o.head)
	if o.swapped {
		b = appendOperator(b, " >>", o.outs)
		b = appendOperator(b, " <<", o.ins)
	} else {
		if o.in {
			b = appendOperator(b, " <<", o.ins)
		}
		if o.out {
			b = appendOperator(b, " >>", o.outs)
		}
	}
	if len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	r.buf = b
	if string(b) == text {
		return text
	}
	return string(b)
}

func appendPart(b []byte, s string) []byte {
	if s == "" {
		return b
	}
	return append(append(b, ' '), s...)
}

func appendOperator(b []byte, op string, pieces []string) []byte {
	b = append(b, op...)
	for i, s := range pieces {
		if i > 0 {
			b = append(b, " |"...)
		}
		b = appendPart(b, s)
	}
	return b
}

func (o operators) args() (out []Arg) {
	for _, s := range o.ins {
		if s != "" {
			out = append(out, parseArg(s))
		}
	}
	return out
}

func (o operators) targets() (out []Target) {
	for _, s := range o.outs {
		out = appendTargets(out, s)
	}
	return out
}

func written(word string, bold bool) string {
	if bold {
		return "**" + word + "**"
	}
	return word
}

func (r *nodeReader) call(n *Node, word, rest string, bold bool, remarks *[2]remark) {
	o := r.split(rest, 0, true)
	n.Kind, n.Name, n.Bold, n.Inline = Call, word, bold, o.head
	n.Args, n.Outs = o.args(), o.targets()
	n.Text = r.canonical(n.Text, written(word, bold), o)
	if o.swapped {
		remarks[0] = outOfOrder
	}
}

var outOfOrder = remark{rule: ruleOrder, text: "outputs stand before inputs: write << first, then >>"}

// prose reads everything that is not a primitive or a call: a reading, a binding or natural language.
func (r *nodeReader) prose(n *Node, text string, remarks *[2]remark) {
	n.Body = text
	if strings.Contains(text, ">>") {
		r.sc.reset(text)
		b := r.sc.findPair('>', 0)
		if b >= 0 {
			if r.sc.findPair('<', b+2) >= 0 {
				remarks[0] = outOfOrder
			}
			o := operators{head: trim(text[:b]), out: true, outs: r.sc.split("|", b+2, len(text))}
			n.Body, n.Outs = o.head, o.targets()
			n.Text = r.canonical(text, "", o)
		}
	}
	switch {
	case strings.HasPrefix(n.Body, "Read "):
		r.reading(n)
	case strings.HasPrefix(n.Body, "bind "), strings.HasPrefix(n.Body, "Set "), strings.HasPrefix(n.Body, "set "):
		binding(n)
	}
}

func binding(n *Node) {
	_, rest, _ := strings.Cut(n.Body, " ")
	rest = strings.TrimLeft(rest, blanks)
	name := ""
	if strings.HasPrefix(rest, "`") {
		end := strings.IndexByte(rest[1:], '`')
		if end < 0 {
			return
		}
		name, rest = rest[1:1+end], rest[1+end+1:]
	} else {
		end := identLen(rest)
		if w := rest[:end]; (w == "context" || w == "ctx") && strings.HasPrefix(rest[end:], ".") {
			end += 1 + identLen(rest[end+1:])
		}
		name, rest = rest[:end], rest[end:]
	}
	name = withoutContext(name)
	if !isIdent(name) {
		return
	}
	tight := strings.TrimLeft(rest, blanks)
	switch {
	case strings.HasPrefix(tight, "=") && !strings.HasPrefix(tight, "=="):
		tight = tight[1:]
	case strings.HasPrefix(tight, "to ") && tight != rest:
		tight = tight[3:]
	default:
		return
	}
	if expr := trim(tight); expr != "" {
		n.Kind, n.Var, n.Body = Bind, name, expr
	}
}

// reading recognises a reading by its path: the first code span behind the word.
func (r *nodeReader) reading(n *Node) {
	rest := strings.TrimLeft(n.Body[len("Read "):], blanks)
	if !strings.HasPrefix(rest, "`") {
		return
	}
	end := strings.IndexByte(rest[1:], '`')
	if end < 0 {
		return
	}
	path := trim(rest[1 : 1+end])
	if !isFile(path) {
		return
	}
	n.Kind, n.Path = Read, path
	n.Section, n.Matching = section(trim(rest[1+end+1:]))
}

// isFile: it has a dot or a slash, and is no field of the context.
func isFile(s string) bool {
	return strings.ContainsAny(s, "./") && !strings.ContainsAny(s, " \t") && withoutContext(s) == s
}

// Words is what stands behind the path of a reading.
func (n *Node) Words() string {
	_, words, _ := strings.Cut(n.Body, n.Path+"`")
	return trim(words)
}

// section finds which part of a file a reading wants.
func section(text string) (name string, matching bool) {
	if rest, ok := strings.CutPrefix(text, "→"); ok {
		if rest, ok = strings.CutPrefix(trim(rest), "§"); ok {
			rest = trim(rest)
			if m, ok := strings.CutPrefix(rest, "matching "); ok {
				return bare(trim(m)), true
			}
			return bare(rest), false
		}
	}
	if _, rest, ok := strings.Cut(text, "section matching `"); ok {
		if name, _, ok = strings.Cut(rest, "`"); ok && isPath(name) {
			return name, true
		}
	}
	rest, ok := strings.CutPrefix(text, "for ")
	if !ok {
		return "", false
	}
	rest = trim(rest)
	if head, ok := strings.CutSuffix(rest, " section"); ok {
		rest = trim(head)
		if !strings.ContainsAny(rest, " \t`") {
			return rest, false
		}
	}
	if name, ok = unquote(rest, '`'); ok {
		return name, false
	}
	return "", false
}
