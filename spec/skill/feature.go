package skill

import (
	"bytes"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// FeatureKind is something in a body that only some hosts understand.
type FeatureKind string

const (
	LoadCommand  FeatureKind = "load-command"  // !`cmd`, not right behind a word, or a fence opened by ```!: runs when the skill is loaded
	ArgumentsVar FeatureKind = "arguments"     // $ARGUMENTS, $ARGUMENTS[0]
	NumberedVar  FeatureKind = "numbered"      // $0, $1: counted from 0 by Claude Code, from 1 by OpenCode
	NamedVar     FeatureKind = "named"         // $name, for a name listed in arguments
	FileInclude  FeatureKind = "file"          // @path
	HostVar      FeatureKind = "host-variable" // ${CLAUDE_…}
	BaseDir      FeatureKind = "base-dir"      // {baseDir}
	CanopyTree   FeatureKind = "canopy"        // ## Tree, ## Agent, ## Rules, ## Response:
	HTMLComment  FeatureKind = "comment"       // <!-- … -->: hidden from people, read by models
)

// A Feature is one use in a body.
type Feature struct {
	Kind   FeatureKind
	Line   int    // from 1, of the body
	Column int    // from 1, in bytes
	Text   string // the command, variable, path, heading or comment; at most 200 bytes of it
}

// Hosts returns the agents, by host id, that give the feature its meaning.
func (k FeatureKind) Hosts() []string {
	switch k {
	case LoadCommand, FileInclude, ArgumentsVar, NumberedVar:
		return []string{"claude-code", "opencode"}
	case NamedVar, HostVar:
		return []string{"claude-code"}
	case BaseDir:
		return []string{"openclaw", "corteza"}
	case CanopyTree:
		return []string{"canopy"}
	}
	return nil
}

// BodyFeatures finds what only some hosts understand in a body, in order. Names
// are the frontmatter's argument names, for $name.
//
// Hosts substitute $ARGUMENTS, ${CLAUDE_…} and {baseDir} as text, so these are found in
// code fences too; the rest only outside, where hosts act on it. Canopy headings
// count when the body has a "## Tree". The time is linear in len(body).
func BodyFeatures(body []byte, names ...string) []Feature {
	s := scanner{names: names}
	for line := range bytes.Lines(body) {
		s.line++
		s.scan(bytes.TrimRight(line, "\r\n"))
	}
	if s.command != nil {
		s.found = append(s.found, *s.command)
	}
	if s.comment != nil {
		s.endComment()
	}
	if !s.hasTree {
		s.found = slices.DeleteFunc(s.found, func(f Feature) bool { return f.Kind == CanopyTree })
	}
	order.Stable(s.found, func(a, b Feature) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return s.found
}

// A scanner goes over a body line by line.
type scanner struct {
	names   []string
	line    int
	found   []Feature
	hasTree bool

	fence   []byte   // the run of ` or ~ that opened the current code fence
	command *Feature // the ```! fence being read
	comment *Feature // the HTML comment being read
}

const maxFeatureText = 200

func (s *scanner) add(kind FeatureKind, column int, text []byte) {
	s.found = append(s.found, Feature{kind, s.line, column + 1, diag.Head(string(text), maxFeatureText)})
}

func (s *scanner) scan(line []byte) {
	if s.fence != nil {
		s.inFence(line)
		return
	}
	if s.comment == nil && s.opensFence(line) {
		return
	}
	if s.comment == nil {
		s.heading(line)
	}
	s.substitutions(line)
	s.text(line)
}

// opensFence recognises a code fence (CommonMark 4.5).
func (s *scanner) opensFence(line []byte) bool {
	rest := bytes.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 || len(rest) < 3 || rest[0] != '`' && rest[0] != '~' {
		return false
	}
	run := len(rest) - len(bytes.TrimLeft(rest, string(rest[:1])))
	info := bytes.TrimSpace(rest[run:])
	if run < 3 || rest[0] == '`' && bytes.IndexByte(info, '`') >= 0 {
		return false
	}
	s.fence = rest[:run]
	if bytes.HasPrefix(info, []byte("!")) {
		s.command = &Feature{LoadCommand, s.line, len(line) - len(rest) + 1, diag.Head(string(bytes.TrimSpace(info[1:])), maxFeatureText)}
	}
	return true
}

func (s *scanner) inFence(line []byte) {
	rest := bytes.TrimSpace(line)
	if len(rest) >= len(s.fence) && len(bytes.TrimLeft(rest, string(s.fence[:1]))) == 0 {
		if s.command != nil {
			s.found = append(s.found, *s.command)
		}
		s.fence, s.command = nil, nil
		return
	}
	if s.command != nil {
		if len(s.command.Text) < maxFeatureText {
			s.command.Text = strings.TrimSpace(diag.Head(s.command.Text+"\n"+string(line[:min(len(line), maxFeatureText)]), maxFeatureText))
		}
		return
	}
	s.substitutions(line)
}

func (s *scanner) heading(line []byte) {
	text, ok := bytes.CutPrefix(line, []byte("## "))
	if !ok {
		return
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 40)])), ":")
	switch word {
	case "Tree":
		s.hasTree = true
	case "Agent", "Rules", "Response":
	default:
		return
	}
	s.add(CanopyTree, 0, line)
}

// substitutions finds what hosts replace anywhere in a body.
func (s *scanner) substitutions(line []byte) {
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch {
		case line[i] == '$' && bytes.HasPrefix(rest, []byte("$ARGUMENTS")) && (i == 0 || line[i-1] != '\\'):
			n := len("$ARGUMENTS")
			if d := digits(rest[min(n+1, len(rest)):]); d > 0 && rest[n] == '[' && n+1+d < len(rest) && rest[n+1+d] == ']' {
				n += d + 2
			}
			s.add(ArgumentsVar, i, rest[:n])
		case line[i] == '$' && bytes.HasPrefix(rest, []byte("${CLAUDE_")):
			n := len("${CLAUDE_")
			for n < len(rest) && n < 64 && (rest[n] == '_' || 'A' <= rest[n] && rest[n] <= 'Z') {
				n++
			}
			if n < len(rest) && rest[n] == '}' {
				s.add(HostVar, i, rest[:n+1])
			}
		case line[i] == '{' && bytes.HasPrefix(rest, []byte("{baseDir}")):
			s.add(BaseDir, i, rest[:len("{baseDir}")])
		}
	}
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && n < 4 && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

// text finds what hosts act on outside code fences.
func (s *scanner) text(line []byte) {
	for i := 0; i < len(line); {
		rest := line[i:]
		switch {
		case s.comment != nil:
			end := bytes.Index(rest, []byte("-->"))
			if end < 0 {
				s.growComment(rest)
				return
			}
			s.growComment(rest[:end])
			s.endComment()
			i += end + 3
		case bytes.HasPrefix(rest, []byte("<!--")):
			s.comment = &Feature{HTMLComment, s.line, i + 1, ""}
			i += 4
		case bytes.HasPrefix(rest, []byte("!`")) && (i == 0 || line[i-1] != '`' && line[i-1] != '_' && !isAlnum(line[i-1])):
			end := bytes.IndexByte(rest[2:], '`')
			if end < 0 {
				i += 2
				continue
			}
			if end > 0 {
				s.add(LoadCommand, i, rest[2:2+end])
			}
			i += end + 3
		case rest[0] == '`':
			i += codeSpan(rest)
		case rest[0] == '\\':
			i += 2
		case rest[0] == '$':
			i += s.variable(rest, i)
		case rest[0] == '@' && (i == 0 || strings.IndexByte(" \t(\"'*_", line[i-1]) >= 0):
			i += s.include(rest, i)
		default:
			i++
		}
	}
	if s.comment != nil {
		s.growComment(nil)
	}
}

// codeSpan returns the length of the inline code that starts rest, or of its
// backticks when nothing closes it. A command in it still counts: hosts look for
// !` before they look for code.
func codeSpan(rest []byte) int {
	run := len(rest) - len(bytes.TrimLeft(rest, "`"))
	if run > 1 {
		return run
	}
	end := bytes.IndexByte(rest[1:], '`')
	if end < 0 || bytes.HasSuffix(rest[1:1+end], []byte("!")) {
		return 1
	}
	return end + 2
}

// variable reads $1 or $name at the start of rest and returns how far to go on.
func (s *scanner) variable(rest []byte, column int) int {
	n := 1
	for n < len(rest) && (rest[n] == '_' || isAlnum(rest[n])) {
		n++
	}
	word := rest[1:n]
	switch {
	case len(word) > 0 && len(word) <= 2 && digits(word) == len(word):
		s.add(NumberedVar, column, rest[:n])
	case len(word) > 0 && slices.Contains(s.names, string(word)):
		s.add(NamedVar, column, rest[:n])
	}
	return n
}

// include reads @path at the start of rest. A path has an extension or starts
// with a dot, slash or tilde; anything else is a person, a decorator or a package.
func (s *scanner) include(rest []byte, column int) int {
	n := 1
	for n < len(rest) && (isAlnum(rest[n]) || strings.IndexByte("._-/~", rest[n]) >= 0) {
		n++
	}
	path := strings.TrimRight(string(rest[1:n]), ".")
	dot := strings.LastIndexByte(path, '.')
	hasExtension := dot > 0 && dot+1 < len(path) && isLetter(path[dot+1]) && path[dot-1] != '/'
	isPath := strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "/")
	if path != "" && (hasExtension || isPath) {
		s.add(FileInclude, column, []byte("@"+path))
	}
	return n
}

func (s *scanner) growComment(text []byte) {
	if len(s.comment.Text) < maxFeatureText {
		s.comment.Text = diag.Head(s.comment.Text+"\n"+string(text[:min(len(text), maxFeatureText)]), maxFeatureText)
	}
}

func (s *scanner) endComment() {
	s.comment.Text = strings.TrimSpace(s.comment.Text)
	s.found = append(s.found, *s.comment)
	s.comment = nil
}
