package audit

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxShell    = 64 << 10 // bytes that are parsed at once: the parser calls itself for each bracket
	maxRestarts = 24       // of the parser in one text; then each line is parsed for itself
)

// A shellText is a text of shell.
type shellText struct {
	*auditor
	prose bool
	vars  map[string]value
	funcs map[string]bool
	self  map[string]bool // variables that are set to themselves, or else to something: X=${X:-…}
	base  int             // line before that of the statement
}

// A placed is a statement and the line before its text.
type placed struct {
	stmt *syntax.Stmt
	base int
}

// placeholder is what stands for a value in prose: <name>, and $(Build.Name) in pipelines.
var placeholder = pattern{text: `<[A-Za-z][^<>|&;()\n]{0,60}>|\$\([A-Z]\w*\.\w+\)`}

// shell reads a text of shell. What is no shell is read line by line; in a file it is dynamic-exec as well.
func (a *auditor) shell(src string, line int, prose bool) {
	s := &shellText{auditor: a, prose: prose, vars: map[string]value{}, funcs: map[string]bool{}, self: map[string]bool{}}
	if outer := a.script; a.same && outer != nil {
		s.vars, s.funcs, s.self = outer.vars, outer.funcs, outer.self
	}
	outer, folder := a.script, a.folder
	a.script, a.same = s, false
	defer func() { a.script, a.folder = outer, folder }()
	if prose {
		src = placeholder.get().ReplaceAllString(src, "$$_")
	}
	src = strings.ReplaceAll(src, holeText, "")
	var list []placed
	restarts := 0
	for base := line - 1; src != ""; {
		chunk := src
		if len(chunk) > maxShell {
			chunk = chunk[:strings.LastIndexByte(chunk[:maxShell], '\n')+1]
			if chunk == "" {
				a.add(Dynamic, "", base+1)
				chunk = src[:strings.IndexByte(src+"\n", '\n')]
				src, base = strings.TrimPrefix(src[len(chunk):], "\n"), base+1
				continue
			}
		}
		if restarts > maxRestarts {
			if i := strings.IndexByte(chunk, '\n'); i >= 0 {
				chunk = chunk[:i+1]
			}
		}
		done := 0 // bytes of chunk
		parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
		var failed error
		for stmt, err := range parser.StmtsSeq(strings.NewReader(chunk)) {
			if failed != nil {
				continue // the parser may go on behind an error, and must not be left there
			}
			if err != nil {
				failed = err
				continue
			}
			list = append(list, placed{stmt, base})
			done = int(stmt.End().Offset())
		}
		if failed == nil {
			base += strings.Count(chunk, "\n")
			src = src[len(chunk):]
			continue
		}
		restarts++
		// The line that the next statement begins on is read by words.
		rest := chunk[min(done, len(chunk)):]
		skip := len(rest) - len(strings.TrimLeft(rest, " \t\r\n;&|"))
		done += skip
		end := len(chunk)
		if i := strings.IndexByte(chunk[min(done, len(chunk)):], '\n'); i >= 0 {
			end = done + i + 1
		}
		at := base + 1 + strings.Count(chunk[:min(done, len(chunk))], "\n")
		if bad := strings.TrimSpace(chunk[min(done, len(chunk)):end]); bad != "" {
			if !prose {
				a.add(Dynamic, "", at)
			}
			var words []value
			for _, w := range strings.Fields(bad) {
				words = append(words, value{strings.Trim(w, "\"'`;()")})
			}
			if !prose || command(bad) {
				a.exec(words, nil, at, prose)
			}
		}
		base += strings.Count(chunk[:end], "\n")
		src = src[end:]
	}
	for _, p := range list {
		s.collect(p.stmt)
	}
	for _, p := range list {
		s.base = p.base
		s.walk(p.stmt)
	}
}

// collect learns what variables and functions are.
func (s *shellText) collect(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name == nil {
				break
			}
			var v value
			switch {
			case n.Array != nil:
				for _, e := range n.Array.Elems {
					if e.Value != nil {
						v = either(v, s.word(e.Value))
					}
				}
			case n.Value != nil:
				v = s.word(n.Value)
			case n.Naked:
				return true
			default:
				v = value{""}
			}
			if n.Value != nil {
				for _, part := range n.Value.Parts {
					if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
						part = q.Parts[0]
					}
					if e, ok := part.(*syntax.ParamExp); ok && e.Param != nil && e.Param.Value == n.Name.Value && e.Exp != nil {
						s.self[n.Name.Value] = true
					}
				}
			}
			if n.Append {
				v = either(v, cat(s.vars[n.Name.Value], v))
			}
			switch old := s.vars[n.Name.Value]; {
			case len(old) == 1 && old[0] == "" && !n.Append:
				s.vars[n.Name.Value] = v.or() // it was only declared
			case len(old) > 0 && len(v) == 1 && v[0] == "":
			default:
				s.vars[n.Name.Value] = either(old, v.or())
			}
		case *syntax.ForClause:
			if it, ok := n.Loop.(*syntax.WordIter); ok {
				v := value{}
				for _, w := range it.Items {
					v = either(v, s.word(w))
				}
				s.vars[it.Name.Value] = either(s.vars[it.Name.Value], v.or())
			}
		case *syntax.FuncDecl:
			if n.Name != nil {
				s.funcs[n.Name.Value] = true
			}
		case *syntax.CallExpr:
			if len(n.Args) > 1 && (n.Args[0].Lit() == "read" || n.Args[0].Lit() == "mapfile" || n.Args[0].Lit() == "readarray" || n.Args[0].Lit() == "getopts") {
				for _, w := range n.Args[1:] {
					if name := w.Lit(); name != "" && name[0] != '-' {
						s.vars[name] = either(s.vars[name], unknown)
					}
				}
			}
		}
		return true
	})
}

// walk notes what statements do.
func (s *shellText) walk(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			s.stmt(n)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				s.pipe(n)
			}
		case *syntax.Subshell:
			s.apart(n.Stmts)
			return false
		case *syntax.CmdSubst:
			s.apart(n.Stmts)
			return false
		case *syntax.ParamExp:
			s.prompts(n)
			s.variable(n)
		case *syntax.TestClause:
			s.tests(n)
		case *syntax.Assign:
			s.assign(n)
		case *syntax.DeclClause:
			s.declaration(n)
		}
		return true
	})
}

// apart walks statements of a shell of their own, whose cd is not that of the script.
func (s *shellText) apart(list []*syntax.Stmt) {
	folder := s.folder
	for _, stmt := range list {
		s.walk(stmt)
	}
	s.folder = folder
}

// enter follows a cd out of the project. In the project and in folders for temporary files paths are as they are written.
func (s *shellText) enter(args []value) {
	to := "~"
	for _, v := range args {
		if to = v.or()[0]; to == "" || to[0] != '-' {
			break
		}
	}
	if strings.HasPrefix(to, "-") {
		s.folder = "" // it was there before
		return
	}
	if to != "" && strings.IndexByte("/~", to[0]) < 0 && s.folder != "" {
		to = path.Join(s.folder, to)
	}
	s.folder = ""
	if to == "" || strings.IndexByte("/~", to[0]) < 0 || strings.IndexByte(to, hole) >= 0 {
		return
	}
	for _, temporary := range []string{"/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/path", "/your", "/dev"} {
		if to = path.Clean(to); to == temporary || strings.HasPrefix(to, temporary+"/") {
			return
		}
	}
	s.folder = to
}

// assign notes what a variable of the environment does that is set. PATH and its like stand for what they were.
func (s *shellText) assign(n *syntax.Assign) {
	if n.Name == nil || n.Value == nil && n.Array == nil {
		return
	}
	name := n.Name.Value
	if n.Value != nil {
		s.element(s.word(n.Value), s.line(n), false)
	}
	r := variableRole(name)
	if r == 0 {
		return
	}
	var v value
	if r == asFolders {
		old, set := s.vars[name]
		s.vars[name] = value{"$"}
		v = s.word(n.Value)
		if delete(s.vars, name); set {
			s.vars[name] = old
		}
	} else if v = s.word(n.Value); n.Array != nil {
		for _, e := range n.Array.Elems {
			v = either(v, s.word(e.Value))
		}
	}
	if strings.HasSuffix(name, "COMMAND") && r == asLine {
		s.inScript(v, s.line(n), s.prose)
		return
	}
	s.acting(r, "env", v, s.line(n), s.prose)
}

// declaration notes the variables that declare -p and export -p print.
func (s *shellText) declaration(n *syntax.DeclClause) {
	prints, named := false, false
	for _, a := range n.Args {
		if option := s.word(a.Value).or()[0]; a.Naked && a.Name == nil {
			prints = prints || strings.HasPrefix(option, "-") && strings.IndexByte(option, 'p') > 0
		} else if a.Name != nil && prints {
			named = true
			s.env(a.Name.Value, s.line(n))
		}
	}
	if prints && !named || n.Variant.Value == "export" && len(n.Args) == 0 {
		s.add(Env, "*", s.line(n))
	}
}

// inScript reads lines of shell that the script which is read runs itself: its functions are no programs.
func (a *auditor) inScript(v value, line int, prose bool) {
	for _, text := range v.or() {
		a.same = true
		a.lineOf(text, line, prose)
		a.same = false
	}
}

func (s *shellText) line(n syntax.Node) int { return s.base + int(n.Pos().Line()) }

func (s *shellText) stmt(n *syntax.Stmt) {
	var stdin value
	for _, r := range n.Redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if r.Hdoc != nil {
				stdin = s.here(r)
			}
		case syntax.WordHdoc:
			stdin = s.word(r.Word)
		case syntax.RdrIn, syntax.RdrInOut:
			stdin = unknown
			for _, p := range s.word(r.Word) {
				s.use(Reads, p, s.line(r))
			}
		case syntax.DplIn, syntax.DplOut:
			for _, p := range s.word(r.Word) { // what is no number is a file
				if strings.Trim(p, "0123456789-") != "" && strings.IndexByte(p, hole) != 0 {
					s.use(Writes, p, s.line(r))
				}
			}
		default:
			for _, p := range s.word(r.Word) {
				if s.prose && strings.HasPrefix(p, holeText) {
					p = "."
				}
				s.use(Writes, p, s.line(r))
			}
		}
	}
	if c, ok := n.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		words := s.words(c)
		if name := words[0]; name.known() && s.funcs[name[0]] {
			return
		}
		s.elements(words, s.line(c))
		if name := words[0].or()[0]; name == "cd" || name == "pushd" {
			s.enter(words[1:])
		}
		s.exec(words, stdin, s.line(c), s.prose)
		if s.told != nil {
			var from []*syntax.Stmt
			for _, w := range c.Args {
				from = append(from, within(w)...)
			}
			for _, r := range n.Redirs {
				if r.Op == syntax.WordHdoc || r.Op == syntax.RdrIn {
					from = append(from, within(r.Word)...)
				}
			}
			if input := s.commands(from); len(input) > 0 {
				s.tell(words, input, s.line(c), s.prose)
			}
		}
	}
}

// within are the statements whose output a word is made of.
func within(w *syntax.Word) (out []*syntax.Stmt) {
	if w == nil {
		return nil
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.CmdSubst:
			out = append(out, p.Stmts...)
		case *syntax.ProcSubst:
			if p.Op == syntax.CmdIn {
				out = append(out, p.Stmts...)
			}
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if c, ok := q.(*syntax.CmdSubst); ok {
					out = append(out, c.Stmts...)
				}
			}
		}
	}
	return out
}

// Bounds of what is told of the commands before a pipe: a long pipe is walked once for each of its commands.
const (
	maxInput = 16
	maxNodes = 300
)

// commands are the words of the simple commands in statements, in no order.
func (s *shellText) commands(from []*syntax.Stmt) (out [][]string) {
	nodes := 0
	for len(from) > 0 && nodes < maxNodes {
		stmt := from[0]
		from = from[1:]
		if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok { // the last commands of a pipe are nearest
			nodes++
			from = append([]*syntax.Stmt{b.Y, b.X}, from[:min(len(from), maxInput)]...)
			continue
		}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if nodes++; nodes > maxNodes {
				return false
			}
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && len(out) < maxInput {
				words := texts(s.words(c))
				if words[0] == "sudo" && len(words) > 1 {
					words = words[1:]
				}
				words[0] = called(words[0])
				out = append(out, words)
			}
			return len(out) < maxInput
		})
		if len(out) >= maxInput {
			break
		}
	}
	return out
}

func (s *shellText) words(c *syntax.CallExpr) []value {
	out := make([]value, 0, len(c.Args))
	for _, w := range c.Args {
		v := s.word(w)
		if list := s.braces(w, v); list != nil {
			out = append(out, list...)
			continue
		}
		out = append(out, v)
		i := len(out) - 1
		if len(w.Parts) == 1 {
			if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdIn {
				out[i] = value{"/dev/fd/"}
			}
		}
	}
	return out
}

// pipe is what comes out of a pipe and is run.
func (s *shellText) pipe(n *syntax.BinaryCmd) {
	c, ok := n.Y.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return
	}
	words := s.words(c)
	if name := words[0]; name.known() && called(name[0]) == "sudo" {
		words = unwrap(words[1:], 0, "sudo")
	}
	if len(words) == 0 {
		return
	}
	name := words[0]
	if !name.known() {
		return
	}
	if s.told != nil {
		named := slices.Clone(words)
		named[0] = value{called(name[0])}
		s.tell(named, s.commands([]*syntax.Stmt{n.X}), s.line(c), s.prose)
	}
	lower := strings.ToLower(called(name[0]))
	if r, ok := runners()[lower]; ok && (len(words) == 1 || slices.ContainsFunc(words[1:], func(v value) bool { return v.or()[0] == "-s" || v.or()[0] == "-" }) || !slices.ContainsFunc(words[1:], func(v value) bool { return !strings.HasPrefix(v.or()[0], "-") })) {
		for _, o := range r[1:] {
			if slices.ContainsFunc(words[1:], func(v value) bool { return v.or()[0] == o }) {
				return
			}
		}
		s.text(langOf(r[0]), s.output(n.X), s.line(c))
	}
	if has(databases, lower) || has(" ed ex red ", lower) {
		input := s.output(n.X)
		s.queries(lower, nil, input, s.line(c), s.prose)
		s.edits(lower, nil, input, s.line(c), s.prose)
	}
	if lower == "xargs" && len(unwrap(words[1:], 0, "xargs")) > 0 {
		if p := unwrap(words[1:], 0, "xargs")[0]; p.known() {
			if r, ok := runners()[p[0]]; ok && r[0] == "shell" {
				s.add(Dynamic, "", s.line(c))
			}
		}
	}
}

// output is what a statement prints, where that is a constant that was encoded.
func (s *shellText) output(n *syntax.Stmt) value {
	switch c := n.Cmd.(type) {
	case *syntax.CallExpr:
		words := s.words(c)
		if len(words) == 0 || !words[0].known() {
			return nil
		}
		switch args := words[1:]; words[0][0] {
		case "echo":
			for len(args) > 0 && strings.HasPrefix(args[0].or()[0], "-") {
				args = args[1:]
			}
			return join(args, " ")
		case "printf":
			for len(args) > 0 && args[0].or()[0] == "--" {
				args = args[1:]
			}
			if len(args) == 1 {
				return args[0].each(func(s string) (string, bool) { return unescape(s), !strings.Contains(s, "%") })
			}
			if len(args) > 1 && (args[0].or()[0] == "%s" || args[0].or()[0] == `%s\n`) {
				return join(args[1:], "")
			}
		case "base64", "rev", "xxd", "cat":
			for _, r := range n.Redirs {
				if r.Op == syntax.WordHdoc {
					return decoder(words)(s.word(r.Word))
				} else if r.Hdoc != nil {
					return decoder(words)(s.here(r))
				}
			}
		}
	case *syntax.BinaryCmd:
		if r, ok := c.Y.Cmd.(*syntax.CallExpr); ok && (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) && len(r.Args) > 0 {
			return decoder(s.words(r))(s.output(c.X))
		}
	}
	return nil
}

// decoder is what a filter makes of its input.
func decoder(words []value) func(value) value {
	none := func(value) value { return nil }
	if !words[0].known() {
		return none
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(words[1:], func(v value) bool { return slices.Contains(options, v.or()[0]) })
	}
	switch name := words[0][0]; {
	case name == "base64" && has("-d", "-D", "--decode", "-di", "-id"):
		return func(v value) value { return v.each(decodeBase64) }
	case name == "rev":
		return func(v value) value { return v.each(reverse) }
	case name == "xxd" && has("-r", "-p", "-rp", "-pr"):
		return func(v value) value { return v.each(decodeHex) }
	case name == "cat" && len(words) == 1:
		return func(v value) value { return v }
	case name == "tr" && len(words) == 3 && words[1].or()[0] == "A-Za-z" && words[2].or()[0] == "N-ZA-Mn-za-m":
		return func(v value) value { return v.each(rot13) }
	case name == "tr" && len(words) == 3 && words[1].or()[0] == "-d":
		return func(v value) value {
			return v.each(func(s string) (string, bool) {
				return strings.Map(func(r rune) rune {
					if strings.ContainsRune(unescape(words[2].or()[0]), r) {
						return -1
					}
					return r
				}, s), true
			})
		}
	}
	return none
}

// word is what a word may be.
//
//go:noinline
func (s *shellText) word(w *syntax.Word) value {
	if w == nil {
		return value{""}
	}
	return s.parts(w.Parts, nil)
}

// here is the text of a here-document. In one whose mark is quoted a backslash is itself.
func (s *shellText) here(r *syntax.Redirect) value {
	for _, p := range r.Word.Parts {
		if lit, ok := p.(*syntax.Lit); !ok || strings.IndexByte(lit.Value, '\\') >= 0 {
			return s.parts(r.Hdoc.Parts, asWritten)
		}
	}
	return s.parts(r.Hdoc.Parts, inHere)
}

// backslashes takes away those that end a line or stand before another.
var backslashes = strings.NewReplacer("\\\n", "", `\\`, `\`)

// Escapes of double quotes and of here-documents: any other backslash stays.
var (
	inQuotes  = strings.NewReplacer("\\\n", "", `\\`, `\`, `\"`, `"`, `\$`, "$", "\\`", "`")
	inHere    = strings.NewReplacer("\\\n", "", `\\`, `\`, `\$`, "$", "\\`", "`")
	asWritten = strings.NewReplacer()
)

// maxParts bounds the parts of one word whose text is computed; what has more is not known.
const maxParts = 500

// parts is the text of the parts of a word. Escapes are those of the quotes around it, nil outside of quotes.
func (s *shellText) parts(parts []syntax.WordPart, escapes *strings.Replacer) value {
	out := value{""}
	for i, p := range parts {
		if i == maxParts {
			return cat(out, unknown)
		}
		switch p := p.(type) {
		case *syntax.Lit:
			text := p.Value
			switch {
			case strings.IndexByte(text, '\\') < 0:
			case escapes != nil:
				text = escapes.Replace(text)
			default:
				text = backslashes.Replace(text)
				if s.prose {
					text = inProse(text)
				} else {
					text = strings.ReplaceAll(text, `\`, "")
				}
			}
			out = cat(out, value{text})
		case *syntax.SglQuoted:
			if p.Dollar {
				out = cat(out, value{unescape(ansi().Replace(p.Value))})
			} else {
				out = cat(out, value{p.Value})
			}
		case *syntax.DblQuoted:
			out = cat(out, s.parts(p.Parts, inQuotes))
		case *syntax.ParamExp:
			out = cat(out, s.param(p))
		case *syntax.CmdSubst:
			out = cat(out, s.substitution(p))
		default:
			out = cat(out, unknown)
		}
	}
	return out
}

// substitution is what a command prints.
func (s *shellText) substitution(p *syntax.CmdSubst) value {
	if len(p.Stmts) == 0 {
		return value{""}
	}
	own := false
	syntax.Walk(p, func(n syntax.Node) bool {
		if e, ok := n.(*syntax.ParamExp); ok && e.Param != nil && (e.Param.Value == "0" || e.Param.Value == "BASH_SOURCE") {
			own = true
		}
		return !own
	})
	if own {
		return value{"."}
	}
	if len(p.Stmts) == 1 {
		if c, ok := p.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			switch c.Args[0].Lit() {
			case "pwd", "git":
				return value{"."}
			case "mktemp":
				return value{"/tmp/mktemp"}
			case "command", "which":
				if len(c.Args) > 1 {
					return s.word(c.Args[len(c.Args)-1])
				}
			}
		}
		return s.output(p.Stmts[0]).each(func(s string) (string, bool) { return strings.TrimRight(s, "\n"), true }).or()
	}
	return unknown
}

// param is what a variable may be.
func (s *shellText) param(p *syntax.ParamExp) value {
	if p.Param == nil || p.Excl || p.Length || p.Width {
		return unknown
	}
	name := p.Param.Value
	v, set := s.vars[name]
	switch name {
	case "HOME":
		return value{"~"}
	case "PWD", "CLAUDE_SKILL_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR", "SKILL_DIR", "SKILL_ROOT", "BASH_SOURCE", "0", "GITHUB_WORKSPACE":
		return value{"."}
	case "TMPDIR", "TEMP", "TMP":
		return value{"/tmp"}
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if d := s.word(p.Exp.Word); !set {
				return either(d, nil).or()
			} else {
				return either(slices.Clone(v), d)
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		default:
			return unknown
		}
	}
	if p.Slice != nil || p.Repl != nil {
		return unknown
	}
	return v.or()
}

// variable notes a variable of the environment.
func (s *shellText) variable(p *syntax.ParamExp) {
	if p.Param == nil {
		return
	}
	name := p.Param.Value
	if _, set := s.vars[name]; set {
		if !s.self[name] {
			return
		}
	}
	if p.Excl {
		s.add(Env, "*", s.line(p))
		return
	}
	if strings.ToUpper(name) != name || len(name) < 2 || name[0] <= '9' || s.prose && !secret(name) {
		return
	}
	s.env(name, s.line(p))
}
