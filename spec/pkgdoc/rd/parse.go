package rd

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// A mode says how text is read.
type mode uint8

const (
	same    mode = iota // as the text around it
	latex               // markup and text
	code                // R: quotes and comments are known
	verb                // no markup
	math                // no markup, comments or escapes: LaTeX
	escapes             // nothing in braces follows
)

// A Macro is one that a file or a package defines with \newcommand: its text, in which #1 to #9 are arguments.
type Macro struct {
	text string
	args int
}

// macros are those of R, with the modes of their arguments. A mode behind optional may be missing.
// It is made when it is asked for: no command pays for it at its start.
var macros = sync.OnceValue(func() map[string][]mode {
	m := make(map[string][]mode)
	add := func(names string, modes ...mode) {
		for _, name := range strings.Fields(names) {
			m[name] = modes
		}
	}
	add("cr dots ldots R tab", escapes)
	add("author concept description details docType encoding format keyword note references seealso source title value arguments itemize enumerate describe", latex)
	add("acronym cite dfn dQuote email emph file linkS4class pkg sQuote strong bold var link CRANpkg sspace", latex)
	add("usage examples code dontshow donttest testonly dontdiff Sexpr", code)
	add("alias name synopsis Rdversion RdOpts command env kbd option samp special preformatted verb url out dontrun PR doi packageTitle packageDescription packageAuthor packageMaintainer packageDESCRIPTION packageIndices", verb)
	add("section subsection enc method S3method S4method tabular", latex, latex)
	add("href", verb, latex)
	add("if", latex, same)
	add("ifelse", latex, same, same)
	add("eqn deqn", math, math) // the second may be missing
	add("figure", verb, verb)
	add("newcommand renewcommand", verb, verb)
	return m
})

// Parse reads the text of an Rd file. Known are the macros that the package defines for all its files, and may be nil.
func Parse(text string, known map[string]Macro) ([]Node, error) {
	if len(text) > MaxBytes {
		return nil, &Error{0, "it is larger than 4 MiB"}
	}
	p := newParser(text, known)
	nodes := p.content(latex, 0, top)
	if p.err != nil {
		return nil, p.err
	}
	return nodes, nil
}

// Macros reads the definitions of a file of macros, and adds them to known.
func Macros(text string, known map[string]Macro) error {
	if len(text) > MaxBytes {
		return &Error{0, "it is larger than 4 MiB"}
	}
	p := newParser(text, known)
	p.content(latex, 0, top)
	for name, m := range p.own {
		known[name] = m
	}
	if p.err != nil {
		return p.err
	}
	return nil
}

func newParser(text string, known map[string]Macro) *parser {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return &parser{rest: []string{text}, line: 1, known: known, builtin: macros()}
}

type parser struct {
	rest           []string // what is left to read: the last is read first
	line           int      // of the file; text that a macro produced has none of its own
	builtin        map[string][]mode
	known, own     map[string]Macro
	calls, written int
	depth          int
	err            *Error
}

// A place says where text ends and what \item is in it.
type place uint8

const (
	top    place = iota // at the end of the file
	braces              // at a brace
	option              // at a bracket
)

func (p *parser) fail(text string) {
	if p.err == nil {
		p.err = &Error{p.line, text}
	}
	p.rest = nil
}

// peek is the n-th character that comes, 0 at the end.
func (p *parser) peek(n int) byte {
	for i := len(p.rest) - 1; i >= 0; i-- {
		if s := p.rest[i]; n < len(s) {
			return s[n]
		} else {
			n -= len(s)
		}
	}
	return 0
}

func (p *parser) end() bool {
	for len(p.rest) > 0 && p.rest[len(p.rest)-1] == "" {
		p.rest = p.rest[:len(p.rest)-1]
	}
	return len(p.rest) == 0
}

func (p *parser) next() byte {
	if p.end() {
		return 0
	}
	at := len(p.rest) - 1
	c := p.rest[at][0]
	p.rest[at] = p.rest[at][1:]
	if c == '\n' && at == 0 {
		p.line++
	}
	return c
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// content reads text to its end. items says how many arguments an \item has here: 0 for those of \itemize, else 2.
func (p *parser) content(m mode, items int, where place) (out []Node) {
	if p.depth++; p.depth > MaxDepth {
		p.fail("braces are nested deeper than 100")
	}
	defer func() { p.depth-- }()
	s := scan{p: p, mode: m, where: where, items: items}
	for !s.done && !p.end() {
		s.step()
	}
	s.flush()
	if !s.done && where != top && p.err == nil {
		p.fail("the file ends where a brace is open")
	}
	return s.out
}

// A scan is the reading of one text.
type scan struct {
	p     *parser
	mode  mode
	where place
	items int

	text  strings.Builder
	out   []Node
	open  int  // braces of code or verbatim text that are open
	quote byte // of the string of R that is open
	done  bool
}

func (s *scan) flush() {
	if s.text.Len() > 0 {
		tag := map[mode]string{latex: Text, code: Code, verb: Verbatim, math: Verbatim}[s.mode]
		s.out = append(s.out, Node{Tag: tag, Str: s.text.String()})
		s.text.Reset()
	}
}

// step reads what stands next.
func (s *scan) step() {
	p := s.p
	c := p.next()
	switch {
	case c == '%' && s.mode != math:
		for !p.end() && p.peek(0) != '\n' {
			p.next()
		}
	case c == '\\':
		s.backslash()
	case c == '#' && s.mode == latex && s.where == top && s.condition():
	case c == '{' && s.quote == 0:
		if s.mode == latex {
			s.flush()
			s.out = append(s.out, Node{Tag: List, Children: p.content(latex, s.items, braces)})
			return
		}
		s.open++
		s.text.WriteByte(c)
	case c == '}' && s.quote == 0:
		if s.open == 0 {
			s.done = s.where == braces
			return // one too many is left out
		}
		s.open--
		s.text.WriteByte(c)
	case c == ']' && s.where == option && s.open == 0:
		s.done = true
	default:
		s.text.WriteByte(c)
		if s.mode == code {
			s.inCode(c)
		}
	}
}

// inCode follows strings and comments of R.
func (s *scan) inCode(c byte) {
	p := s.p
	switch {
	case s.quote != 0:
		if c == s.quote {
			s.quote = 0
		}
	case c == '"' || c == '\'' || c == '`':
		s.quote = c
	case c == '#':
		for !p.end() && p.peek(0) != '\n' {
			switch c := p.peek(0); {
			case c == '\\' && strings.IndexByte(`\%{}`, p.peek(1)) >= 0:
				p.next()
				s.text.WriteByte(p.next())
				continue
			case c == '\\' && letter(p.peek(1)), c == '%':
				return // a macro, or a comment of Rd
			case c == '{':
				s.open++
			case c == '}':
				if s.open == 0 {
					return
				}
				s.open--
			}
			s.text.WriteByte(p.next())
		}
	}
}

func (s *scan) backslash() {
	p := s.p
	c := p.peek(0)
	switch {
	case s.mode == code && s.quote != 0:
		s.inString(c)
	case c == '\\' || c == '%' || c == '{' || c == '}':
		if s.mode == math {
			s.text.WriteByte('\\')
		}
		s.text.WriteByte(p.next())
	case s.mode != verb && s.mode != math && letter(c):
		s.flush()
		s.macro()
	default:
		s.text.WriteByte('\\')
	}
}

// inString reads a backslash in a string of R: two levels of escapes are in each other.
func (s *scan) inString(c byte) {
	p := s.p
	switch {
	case c == '%':
		s.text.WriteByte(p.next())
	case c == '\\':
		p.next() // of Rd's two this is one of R's, and what follows may be escaped by it
		s.text.WriteByte('\\')
		switch next := p.peek(0); {
		case next == '\\' && (p.peek(1) == s.quote || p.peek(1) == '\\'):
			p.next()
			s.text.WriteByte(p.next())
		case next == s.quote:
			s.text.WriteByte(p.next())
		}
	case c == s.quote:
		s.text.WriteByte('\\')
		s.text.WriteByte(p.next())
	case c == 'l' || c == 'v':
		s.flush()
		s.macro()
	default:
		s.text.WriteByte('\\')
	}
}

// condition reads a line of #ifdef, #ifndef or #endif. The text for another system than a Unix is left out.
func (s *scan) condition() bool {
	p := s.p
	if text := s.text.String(); text != "" && !strings.HasSuffix(text, "\n") {
		return false
	}
	if text := s.text.String(); text == "" && len(s.out) > 0 && s.out[len(s.out)-1].Tag == Text {
		return false
	}
	rest := p.rest[len(p.rest)-1]
	line, _, _ := strings.Cut(rest, "\n")
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "ifdef" && words[0] != "ifndef" && words[0] != "endif" {
		return false
	}
	for range len(line) {
		p.next()
	}
	if words[0] == "endif" || len(words) < 2 || (words[0] == "ifdef") == (words[1] == "unix") {
		return true
	}
	for !p.end() { // to the #endif
		rest := p.rest[len(p.rest)-1]
		line, _, _ := strings.Cut(rest, "\n")
		for range min(len(line)+1, len(rest)) {
			p.next()
		}
		if strings.HasPrefix(line, "#endif") {
			break
		}
	}
	return true
}

// macro reads a macro behind its backslash.
func (s *scan) macro() {
	p := s.p
	var name strings.Builder
	for letter(p.peek(0)) || name.Len() > 0 && '0' <= p.peek(0) && p.peek(0) <= '9' {
		name.WriteByte(p.next())
	}
	n := Node{Tag: `\` + name.String()}
	if m, ok := p.defined(name.String()); ok {
		p.expand(m)
		return
	}
	modes, ok := p.builtin[name.String()]
	switch {
	case n.Tag == `\item`:
		s.item(&n)
	case !ok:
		for p.peek(0) == '{' && p.err == nil {
			p.next()
			n.Children = append(n.Children, p.content(latex, s.items, braces)...)
		}
	case n.Tag == `\newcommand`, n.Tag == `\renewcommand`:
		p.define()
		return
	case modes[0] == escapes:
		if p.peek(0) == '{' && p.peek(1) == '}' {
			p.next()
			p.next()
		}
	default:
		s.arguments(&n, modes)
	}
	s.out = append(s.out, n)
}

// arguments reads what a macro of R has in brackets and braces.
func (s *scan) arguments(n *Node, modes []mode) {
	p := s.p
	if (n.Tag == `\link` || n.Tag == `\Sexpr`) && p.peek(0) == '[' {
		p.next()
		n.Option = p.content(latex, 0, option)
	}
	items := 2
	if n.Tag == `\itemize` || n.Tag == `\enumerate` {
		items = 0
	}
	for i, m := range modes {
		gap := 0
		for blank(p.peek(gap)) {
			gap++
		}
		if p.peek(gap) != '{' || i > 0 && gap > 0 && (m == verb || m == math) {
			break // what is missing is empty
		}
		for range gap + 1 {
			p.next()
		}
		if m == same {
			m = s.mode
		}
		inner := p.content(m, items, braces)
		if len(modes) == 1 {
			n.Children = inner
		} else {
			n.Children = append(n.Children, Node{Tag: List, Children: inner})
		}
	}
}

// item reads an \item: in lists of R's documentation it has none or two arguments.
func (s *scan) item(n *Node) {
	p := s.p
	if s.items == 0 {
		return
	}
	for range 2 {
		gap := 0
		for blank(p.peek(gap)) {
			gap++
		}
		if p.peek(gap) != '{' {
			return
		}
		for range gap + 1 {
			p.next()
		}
		n.Children = append(n.Children, Node{Tag: List, Children: p.content(latex, 2, braces)})
	}
}

func (p *parser) defined(name string) (Macro, bool) {
	if m, ok := p.own[name]; ok {
		return m, true
	}
	m, ok := p.known[name]
	return m, ok
}

// raw reads one argument as it stands, without its braces.
func (p *parser) raw() (string, bool) {
	gap := 0
	for blank(p.peek(gap)) {
		gap++
	}
	if p.peek(gap) != '{' {
		return "", false
	}
	for range gap + 1 {
		p.next()
	}
	var w strings.Builder
	for depth := 1; ; {
		if p.end() {
			p.fail("the file ends where a brace is open")
			return "", false
		}
		c := p.next()
		switch c {
		case '\\':
			w.WriteByte(c)
			c = p.next()
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return w.String(), true
			}
		}
		w.WriteByte(c)
	}
}

// define reads \newcommand{\name}{text}.
func (p *parser) define() {
	name, ok1 := p.raw()
	text, ok2 := p.raw()
	name = strings.TrimPrefix(strings.TrimSpace(name), `\`)
	if !ok1 || !ok2 || name == "" {
		return
	}
	m := Macro{text: text}
	for i := '1'; i <= '9'; i++ {
		if strings.Contains(text, "#"+string(i)) {
			m.args = int(i - '0')
		}
	}
	if p.own == nil {
		p.own = make(map[string]Macro)
	}
	p.own[name] = m
}

// expand puts the text of a macro in the place of its use.
func (p *parser) expand(m Macro) {
	pairs := make([]string, 0, 2*m.args)
	for i := range m.args {
		arg, ok := p.raw()
		if !ok {
			break
		}
		pairs = append(pairs, "#"+string(rune('1'+i)), arg)
	}
	text := strings.NewReplacer(pairs...).Replace(m.text)
	if m.args == 0 && p.peek(0) == '{' && p.peek(1) == '}' {
		p.next()
		p.next()
	}
	if p.calls, p.written = p.calls+1, p.written+len(text); p.calls > maxCalls || p.written > MaxBytes || len(p.rest) > 1000 {
		p.fail("its macros produce too much text")
		return
	}
	if p.err == nil && text != "" {
		p.rest = append(p.rest, text)
	}
}
