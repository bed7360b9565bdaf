package tool

import (
	"path"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/skl-project/skl/spec/diag"
)

// A Line is a command line that is understood completely.
type Line struct {
	Commands []string // each simple command, words separated by one blank; what no pattern but * may mean is marked
	Writes   []string // files that redirections write
	Text     string   // the line again, in a spelling that leaves a shell no choice
}

// Marks within Line.Commands. They mean themselves in no pattern, so that only * covers them.
const (
	markUnknown = '\x01' // a word that the shell expands: *.go, {a,b}, ~
	markBlank   = '\x02' // a blank inside a word
)

// readable is a part of a use as a person reads it.
func readable(part string) string {
	return strings.NewReplacer(string(markUnknown), "*", string(markBlank), " ").Replace(part)
}

const (
	maxCommand      = 64 << 10 // bytes
	maxCommandNodes = 10_000
)

// Commands takes a command line apart for patterns such as git *. It accepts simple commands, joined by
// && || ; | and line ends, in groups and subshells, and negated. It refuses whatever
// decides at run time what is run: substitutions, variables, arithmetic, assignments, functions, loops,
// background jobs, a command whose name is expanded or holds a blank or "..", and a redirection from or to
// a file that inside does not accept. Its error says what it was.
func Commands(line string, inside func(path string, write bool) error) (Line, error) {
	refuse := func(why string) (Line, error) {
		return Line{}, diag.New(diag.Refused, CodeDenied, "a command line that patterns judge %s", why)
	}
	if len(line) > maxCommand || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
		return refuse("has at most 64 KiB and no control characters")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return refuse("has to be well formed: " + diag.Brief(err.Error(), 200))
	}
	a := analysis{inside: inside}
	for _, s := range file.Stmts {
		a.stmt(s)
	}
	switch {
	case a.why != "":
		return refuse(a.why)
	case a.changesDir && len(a.files) > 0:
		return refuse("cannot both change the directory and name a file after < or >")
	case len(a.line.Commands) == 0:
		return refuse("has to hold a command")
	}
	for _, f := range a.files {
		if err := inside(f.path, f.write); err != nil {
			return Line{}, err
		}
		if f.write && f.path != "/dev/null" {
			a.line.Writes = append(a.line.Writes, f.path)
		}
	}
	file.Last = nil
	var out strings.Builder
	if err := syntax.NewPrinter().Print(&out, file); err != nil {
		return refuse("has to be well formed")
	}
	a.line.Text = strings.TrimSpace(out.String())
	return a.line, nil
}

// words are the words of a line that no expansion changes, wherever they are; none of one that is not well formed.
func words(line string) (out []string) {
	if len(line) > maxCommand {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			if text, known := new(analysis).word(w); known {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}

type redirected struct {
	path  string
	write bool
}

// An analysis goes through a line and rewrites each word into the spelling that was judged.
type analysis struct {
	inside     func(path string, write bool) error
	line       Line
	files      []redirected
	changesDir bool
	nodes      int
	why        string // the first thing that is refused
}

func (a *analysis) refuse(why string) {
	if a.why == "" {
		a.why = why
	}
}

func (a *analysis) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		a.stmt(s)
	}
}

func (a *analysis) stmt(s *syntax.Stmt) {
	if a.nodes++; a.nodes > maxCommandNodes || a.why != "" {
		a.refuse("has at most 10,000 commands")
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		a.refuse("starts nothing in the background")
	}
	s.Comments = nil
	for _, r := range s.Redirs {
		a.redirect(r)
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		a.call(c)
	case *syntax.BinaryCmd:
		a.stmt(c.X)
		a.stmt(c.Y)
	case *syntax.Subshell:
		c.Last = nil
		a.stmts(c.Stmts)
	case *syntax.Block:
		c.Last = nil
		a.stmts(c.Stmts)
	case nil:
		a.refuse("has no redirection without a command")
	default:
		a.refuse("holds simple commands only: no loops, conditions, functions, declarations or arithmetic")
	}
}

func (a *analysis) call(c *syntax.CallExpr) {
	if len(c.Assigns) > 0 || len(c.Args) == 0 {
		a.refuse("sets no variables")
		return
	}
	var b strings.Builder
	for i, word := range c.Args {
		text, known := a.word(word)
		if i == 0 {
			switch {
			case !known || text == "" || strings.ContainsAny(text, " \t\n"):
				a.refuse("names its commands as they are, without blanks")
			case strings.Contains("/"+filepath.ToSlash(text)+"/", "/../"):
				a.refuse(`names no command through ".."`)
			}
			switch path.Base(text) {
			case "cd", "pushd", "popd", "chdir", "builtin", "command":
				a.changesDir = true
			}
			b.WriteString(text)
			continue
		}
		b.WriteByte(' ')
		if known {
			b.WriteString(strings.Map(func(r rune) rune {
				if r == ' ' || r == '\t' || r == '\n' {
					return markBlank
				}
				return r
			}, text))
		} else {
			b.WriteRune(markUnknown)
		}
	}
	a.line.Commands = append(a.line.Commands, b.String())
}

// word returns what a word means after quotes are gone. The second result is false for one that the
// shell expands in place; then it stays as it is written. All others are quoted anew.
func (a *analysis) word(w *syntax.Word) (string, bool) {
	var b strings.Builder
	expands, plain := false, true
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text, wild := unescape(p.Value, b.Len() == 0)
			expands = expands || wild
			plain = plain && text == p.Value
			b.WriteString(text)
		case *syntax.SglQuoted:
			if p.Dollar {
				a.refuse("has no $'…'")
			}
			plain = false
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			plain = false
			if p.Dollar {
				a.refuse(`has no $"…"`)
			}
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					a.refuse("has no substitutions and variables")
					return "", false
				}
				b.WriteString(unescapeQuoted(lit.Value))
			}
		default:
			a.refuse("has no substitutions and variables")
			return "", false
		}
	}
	text := b.String()
	if expands {
		return "", false
	}
	if !plain || text == "" || !isPlain(text) {
		w.Parts = quoted(text)
	}
	return text, true
}

// isPlain reports whether no shell finds anything special in s.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("_./:,+-@%=", c) >= 0) {
			return false
		}
	}
	return true
}

// quoted is s between single quotes.
func quoted(s string) []syntax.WordPart {
	var parts []syntax.WordPart
	for i, piece := range strings.Split(s, "'") {
		if i > 0 {
			parts = append(parts, &syntax.Lit{Value: `\'`})
		}
		if piece != "" || s == "" {
			parts = append(parts, &syntax.SglQuoted{Value: piece})
		}
	}
	return parts
}

// unescape takes backslashes out of text that is not quoted. wild says that the shell would expand it.
func unescape(s string, first bool) (text string, wild bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case strings.IndexByte("*?[]{}!^$`", c) >= 0:
			wild = true
		case c == '~' && (first && i == 0 || i > 0 && (s[i-1] == ':' || s[i-1] == '=')):
			wild = true
		}
		b.WriteByte(c)
	}
	return b.String(), wild
}

// unescapeQuoted does so for text between double quotes.
func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (a *analysis) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		a.refuse("sets no variables")
		return
	}
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		text, known := a.word(r.Word)
		if !known || strings.Trim(text, "0123456789") != "" && text != "-" {
			a.refuse("copies file descriptors by number only")
		}
		return
	case syntax.Hdoc, syntax.DashHdoc:
		a.heredoc(r)
		return
	case syntax.WordHdoc:
		if _, known := a.word(r.Word); !known {
			a.refuse("expands nothing after <<<")
		}
		return
	}
	text, known := a.word(r.Word)
	if !known || text == "" {
		a.refuse("names the files after < and > as they are")
		return
	}
	switch r.Op {
	case syntax.RdrIn:
		a.files = append(a.files, redirected{text, false})
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		a.files = append(a.files, redirected{text, true})
	default:
		a.refuse("redirects by <, > and >> only")
	}
}

// heredoc accepts a body that is text.
func (a *analysis) heredoc(r *syntax.Redirect) {
	if r.Hdoc == nil {
		return
	}
	for _, part := range r.Hdoc.Parts {
		if _, ok := part.(*syntax.Lit); !ok {
			a.refuse("has no substitutions and variables")
		}
	}
}

// matchCommand is the pattern of bash. * is any text; "git *" and "git:*" mean git alone, too. A denial means
// a command by any path. What else it means, bound says.
func matchCommand(pattern, command string, strict bool) bool {
	if head, ok := strings.CutSuffix(pattern, ":*"); ok {
		pattern = head + " *"
	}
	if strict {
		name, rest, _ := strings.Cut(command, " ")
		if base := path.Base(name); base != name && matchCommand(pattern, strings.TrimSuffix(base+" "+rest, " "), false) {
			return true
		}
	}
	if head, ok := strings.CutSuffix(pattern, " *"); ok && matchStar(head, command) {
		return true
	}
	return matchStar(pattern, command)
}
