package query

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/spec/spell"
)

// Parse reads an expression of the S-expression language and simplifies it.
//
//	(grep "words")  (literal "text")  (regex "RE2")  (code "symbol")  (definition "symbol")  (references "symbol")
//	(defining "words")  (section "heading")  (file "glob")  (children "parent")  (children-named "parent" "name")
//	(in-file "glob" QUERY)  (union QUERY…)  (intersect QUERY…)  (limit N QUERY)
//
// A string stands in double quotes and may span lines; \n, \t and \r are what they are in Go, \ and another character is
// that character, but in a regex only \" and \\ are allowed besides, so that "\d" is not read as "d". Between
// the parts stands white space; there are no comments. N is 1 to MaxLimit.
//
// It takes at most MaxDSL bytes, MaxForms forms and MaxDepth levels. The code of its errors is "query_parse", and "glob_pattern"
// for a glob; they say where: line and column from 1 (columns in bytes), and the offset in bytes.
func Parse(dsl string) (*Expr, error) {
	e, err := parse(dsl)
	if err != nil {
		return nil, err
	}
	return simplify(e), nil
}

// parse is Parse without simplifying.
func parse(dsl string) (*Expr, error) {
	p := &parser{src: dsl}
	switch {
	case len(dsl) > MaxDSL:
		return nil, diag.New(diag.Misuse, "query_parse", "the query has %d bytes, %d are allowed", len(dsl), MaxDSL)
	case !utf8.ValidString(dsl):
		return nil, diag.New(diag.Misuse, "query_parse", "the query is not UTF-8")
	}
	p.space()
	if p.pos == len(p.src) {
		return nil, p.fail(p.pos, "the query is empty").Hint(`(grep "words")`)
	}
	e, err := p.form(1)
	if err != nil {
		return nil, err
	}
	end := p.pos
	p.space()
	if p.pos < len(p.src) {
		err := p.fail(p.pos, "the query goes on after its first form, with %s", p.here())
		if p.src[p.pos] == '(' {
			return nil, err.Hint("for several queries: (union %s %s)", shorten(p.src[:end]), shorten(p.src[p.pos:]))
		}
		return nil, err.Hint("the first form ends at byte %d", end)
	}
	return e, nil
}

// shorten cuts an expression for a hint.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= 40 {
		return s
	}
	return "(…)"
}

type parser struct {
	src   string
	pos   int
	forms int
}

// fail makes an error about the byte at the offset at.
func (p *parser) fail(at int, format string, args ...any) *diag.Error {
	return diag.New(diag.Misuse, "query_parse", "%s %s", fmt.Sprintf(format, args...), p.place(at))
}

func (p *parser) place(at int) string {
	before := p.src[:at]
	line := 1 + strings.Count(before, "\n")
	column := at - strings.LastIndexByte(before, '\n')
	return fmt.Sprintf("at line %d, column %d (byte %d)", line, column, at)
}

// here names what stands at the position.
func (p *parser) here() string {
	if p.pos == len(p.src) {
		return "the end"
	}
	if word := p.word(); word != "" {
		return quote(word)
	}
	_, n := utf8.DecodeRuneInString(p.src[p.pos:])
	return quote(p.src[p.pos : p.pos+n])
}

// word returns the letters, digits, - and _ at the position, without moving.
func (p *parser) word() string {
	end := p.pos
	for end < len(p.src) {
		c := p.src[end]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			break
		}
		end++
	}
	return p.src[p.pos:end]
}

func (p *parser) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

// form reads "(" operator arguments ")".
func (p *parser) form(depth int) (*Expr, error) {
	open := p.pos
	if p.pos == len(p.src) || p.src[p.pos] != '(' {
		err := p.fail(p.pos, "a query begins with (, not with %s", p.here())
		return nil, p.hintBare(err)
	}
	p.forms++
	switch {
	case depth > MaxDepth:
		return nil, p.fail(open, "the query has more than %d levels", MaxDepth)
	case p.forms > MaxForms:
		return nil, p.fail(open, "the query has more than %d forms", MaxForms)
	}
	p.pos++
	p.space()
	op, err := p.operator(open)
	if err != nil {
		return nil, err
	}
	e := &Expr{Op: op}
	for _, a := range forms[op].args {
		for more := true; more; more = a == many && !p.closes() && p.pos < len(p.src) {
			p.space()
			if err := p.argument(e, a, depth); err != nil {
				return nil, err
			}
		}
	}
	if !p.closes() {
		if p.pos == len(p.src) {
			return nil, p.fail(open, "the form %s has no ) for its (", op)
		}
		err := p.fail(p.pos, "%s takes %s, and here is also %s", op, signature(op), p.here())
		if p.src[p.pos] == '"' && len(forms[op].args) == 1 {
			err.Hint(`for several: (union (%s "a") (%s "b"))`, op, op)
		}
		return nil, err
	}
	p.pos++
	return e, nil
}

// closes skips space and says whether ")" is next.
func (p *parser) closes() bool {
	p.space()
	return p.pos < len(p.src) && p.src[p.pos] == ')'
}

func (p *parser) operator(open int) (Op, error) {
	word := p.word()
	for op, f := range forms {
		if f.name == word {
			p.pos += len(word)
			return Op(op), nil
		}
	}
	names := make([]string, len(forms))
	for op, f := range forms {
		names[op] = f.name
	}
	if word == "" {
		err := p.fail(p.pos, "an operator follows (, not %s", p.here())
		if p.pos == len(p.src) {
			err = p.fail(open, "the query ends after (")
		}
		return 0, err.Hint("operators: %s", strings.Join(names, ", "))
	}
	err := p.fail(p.pos, "there is no operator %s", quote(word))
	if near := spell.Nearest(strings.ReplaceAll(word, "_", "-"), names, 2); len(near) > 0 {
		return 0, err.Meant(near...).Hint("did you mean %s?", strings.Join(near, " or "))
	}
	return 0, err.Hint("operators: %s", strings.Join(names, ", "))
}

// signature says what op takes.
func signature(op Op) string {
	words := make([]string, 0, 2)
	for _, a := range forms[op].args {
		words = append(words, wants(op, a))
	}
	return strings.Join(words, " and ")
}

func wants(op Op, a argument) string {
	switch a {
	case number:
		return fmt.Sprintf("a number from 1 to %d", MaxLimit)
	case one:
		return "one query"
	case many:
		return "queries"
	case files:
		return "a glob in double quotes"
	case name:
		return "a name in double quotes"
	}
	switch op {
	case Grep, Literal:
		return "a text in double quotes"
	case Regex:
		return "an expression in double quotes"
	case Section:
		return "a heading in double quotes"
	}
	return "a name in double quotes"
}

// argument reads an argument into e.
func (p *parser) argument(e *Expr, a argument, depth int) error {
	if p.pos == len(p.src) || p.src[p.pos] == ')' {
		return p.fail(p.pos, "%s lacks %s", e.Op, wants(e.Op, a))
	}
	at := p.pos
	switch a {
	case one, many:
		if p.src[p.pos] != '(' {
			return p.hintBare(p.fail(at, "%s takes %s here, not %s", e.Op, wants(e.Op, a), p.here()))
		}
		q, err := p.form(depth + 1)
		if err != nil {
			return err
		}
		e.Args = append(e.Args, q)
	case number:
		n, err := p.number(e.Op)
		if err != nil {
			return err
		}
		e.N = n
	default:
		s, err := p.text(e.Op, a)
		if err != nil {
			return err
		}
		return p.setText(e, a, s, at)
	}
	return nil
}

// setText checks s, which was read at the offset at, and puts it into e.
func (p *parser) setText(e *Expr, a argument, s string, at int) error {
	if a == files {
		g, err := glob.Parse(s)
		if err != nil {
			if e, ok := errors.AsType[*diag.Error](err); ok {
				e.Message += ", in the query " + p.place(at)
			}
			return err
		}
		if s == "" {
			return p.fail(at, "%s has an empty glob", e.Op)
		}
		e.Glob = g
		return nil
	}
	s, why, hint := checkText(e.Op, s)
	if why != "" {
		err := p.fail(at, "the text of %s %s", e.Op, why)
		if hint != "" {
			err.Hint("%s", hint)
		}
		return err
	}
	if a == name {
		e.Name = s
	} else {
		e.Text = s
	}
	return nil
}

func (p *parser) number(op Op) (int, error) {
	at, word := p.pos, p.word()
	digits := word != "" && strings.Trim(word, "0123456789") == ""
	n, err := strconv.Atoi(word)
	switch {
	case !digits:
		return 0, p.fail(at, "%s takes %s here, not %s", op, wants(op, number), p.here())
	case err != nil || n < 1 || n > MaxLimit:
		return 0, p.fail(at, "the number %s is not from 1 to %d", quote(word), MaxLimit)
	}
	p.pos += len(word)
	return n, nil
}

// text reads a string.
func (p *parser) text(op Op, a argument) (string, error) {
	open := p.pos
	if p.src[p.pos] != '"' {
		return "", p.hintBare(p.fail(open, "%s takes %s here, not %s", op, wants(op, a), p.here()))
	}
	p.pos++
	var b []byte
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			return string(b), nil
		case c != '\\':
			b = append(b, c)
		case p.pos < len(p.src):
			c := p.src[p.pos]
			p.pos++
			if op == Regex && strings.IndexByte(`ntr"\`, c) < 0 {
				_, n := utf8.DecodeRuneInString(p.src[p.pos-1:])
				escape := p.src[p.pos-2 : p.pos-1+n]
				return "", p.fail(p.pos-2, `the string of regex has a single \ in %s`, escape).Hint(`write \%s`, escape)
			}
			b = append(b, unescape(c))
		}
	}
	return "", p.fail(open, `the string has no " at its end`)
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}

// hintBare tells those who wrote a text without its quotes, or with others.
func (p *parser) hintBare(err *diag.Error) *diag.Error {
	rest := p.src[p.pos:]
	switch {
	case rest == "":
		return err
	case rest[0] == '\'' || rest[0] == '`' || strings.HasPrefix(rest, "“") || strings.HasPrefix(rest, "”"):
		return err.Hint(`strings stand in double quotes: "text"`)
	case rest[0] == ';' || rest[0] == '#':
		return err.Hint("there are no comments")
	case rest[0] == '"':
		return err.Hint(`a query of a text: (grep "text")`)
	case p.word() != "":
		return err.Hint(`strings stand in double quotes, queries in parentheses: (grep %q)`, shortWord(p.word()))
	}
	return err
}

func shortWord(w string) string {
	if len(w) > 40 {
		return "words"
	}
	return w
}

// checkText checks the text of a leaf and returns it without white space around it, if that says nothing there.
// If why is not empty, it says what is wrong.
func checkText(op Op, s string) (text, why, hint string) {
	if op != Literal && op != Regex {
		s = strings.TrimSpace(s)
	}
	most := MaxText
	if op == Grep {
		most = MaxPattern
	}
	switch {
	case len(s) > most:
		return "", fmt.Sprintf("has %d bytes, %d are allowed", len(s), most), ""
	case !utf8.ValidString(s):
		return "", "is not UTF-8", ""
	case s == "":
		return "", "is empty", ""
	case op == Regex:
		why, hint = checkRegex(s)
	}
	return s, why, hint
}

// checkRegex says what is wrong with an RE2 expression, and where.
func checkRegex(s string) (why, hint string) {
	_, err := syntax.Parse(s, syntax.Perl)
	if err == nil {
		return "", ""
	}
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return "is not an expression", ""
	}
	why = string(e.Code)
	if at := strings.Index(s, e.Expr); e.Expr != "" && at >= 0 {
		why += fmt.Sprintf(": %s from its byte %d", quote(e.Expr), at+1)
	}
	switch {
	case strings.HasPrefix(e.Expr, "(?=") || strings.HasPrefix(e.Expr, "(?!") || strings.HasPrefix(e.Expr, "(?<"):
		hint = "RE2 has no look-ahead and no look-behind: search for more, and sort it out when reading"
	case e.Code == syntax.ErrInvalidEscape && len(e.Expr) > 1 && e.Expr[1] >= '1' && e.Expr[1] <= '9':
		hint = "RE2 has no back references"
	default:
		hint = "to search for the text as it is, use literal"
	}
	return "is not an RE2 expression, " + why, hint
}
