package check

import (
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// A source is a text file of the skill, cut into lines.
type source struct {
	name   string
	text   string
	starts []int // offset of each line
	lined  []lineKind
	from   int // the line that lined starts at
}

func newSource(name, text string) *source {
	f := &source{name: name, text: text, starts: make([]int, 1, strings.Count(text, "\n")+1)}
	if strings.HasPrefix(text, "\ufeff") {
		f.starts[0] = len("\ufeff")
	}
	for i := range len(text) {
		if text[i] == '\n' {
			f.starts = append(f.starts, i+1)
		}
	}
	return f
}

// source returns a file, nil if it cannot be read as text.
func (c *checker) source(name string) *source {
	f, ok := c.files[name]
	if !ok {
		if text, ok := c.read(name); ok && utf8.ValidString(text) {
			f = newSource(name, text)
		}
		c.files[name] = f
	}
	return f
}

// read returns a file of the skill of at most MaxFileBytes.
func (c *checker) read(name string) (string, bool) {
	if c.skill.FS == nil || !fs.ValidPath(name) {
		return "", false
	}
	f, err := c.skill.FS.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil || len(b) > MaxFileBytes {
		return "", false
	}
	return string(b), true
}

// exists reports whether the skill has a file called name.
func (c *checker) exists(name string) bool {
	if c.skill.FS == nil || !fs.ValidPath(name) {
		return false
	}
	found, ok := c.found[name]
	if !ok {
		_, err := fs.Stat(c.skill.FS, name)
		found = err == nil
		c.found[name] = found
	}
	return found
}

// lines is how many lines f has; what follows the last line end is one too.
func (f *source) lines() int { return len(f.starts) }

// line returns a line, counted from 1, without its end, and its offset.
func (f *source) line(n int) (string, int) {
	if n < 1 || n > len(f.starts) {
		return "", len(f.text)
	}
	start, end := f.starts[n-1], len(f.text)
	if n < len(f.starts) {
		end = f.starts[n] - 1
	}
	return strings.TrimSuffix(f.text[start:end], "\r"), start
}

// offset is where a line starts; that of the line behind the last one is the file's size.
func (f *source) offset(n int) int {
	if n > len(f.starts) {
		return len(f.text)
	}
	return f.starts[max(n, 1)-1]
}

// newline is the line end of the file.
func (f *source) newline() string {
	if i := strings.IndexByte(f.text, '\n'); i > 0 && f.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// raw returns the text of a node as it is written, and its offset. It is empty
// for one that continues over lines.
func (c *checker) raw(n *tree.Node) (text string, at int) {
	f := c.source(n.Pos.File)
	if f == nil || n.Last != n.Pos.Line || n.Pos.Column < 1 {
		return "", 0
	}
	text, at = f.line(n.Pos.Line)
	if n.Pos.Column > len(text) || n.OnLine != "" && strings.ContainsAny(text, `\&`) { // its column is not sure where characters are escaped
		return "", 0
	}
	return strings.TrimRight(text[n.Pos.Column-1:], " \t"), at + n.Pos.Column - 1
}

// replace is the fix that writes another text for a node, whose raw text is old. It
// is nil when the node cannot be replaced as a whole.
func (c *checker) replace(n *tree.Node, note string, with func(old string) (string, bool)) *diag.Fix {
	old, at := c.raw(n)
	if old == "" || n.Note != "" {
		return nil
	}
	text, ok := with(old)
	if !ok {
		return nil
	}
	return &diag.Fix{Note: note, Start: at, End: at + len(old), Text: text}
}

type lineKind uint8

const (
	plainLine lineKind = iota
	emptyLine
	headLine
	hiddenLine // of an HTML comment
	openLine   // of a fence
	codeLine
	closeLine
	quoteLine
	ruleLine
)

// kinds classifies the lines from the first one on, as the parser does.
func (f *source) kinds(first int) []lineKind {
	if f.from == first {
		return f.lined
	}
	out := make([]lineKind, f.lines()+1)
	f.lined, f.from = out, first
	fence, comment := "", false
	for n := first; n <= f.lines(); n++ {
		line, _ := f.line(n)
		text := strings.TrimSpace(line)
		run := 0
		for run < len(text) && (text[0] == '`' || text[0] == '~') && text[run] == text[0] {
			run++
		}
		switch {
		case comment:
			out[n], comment = hiddenLine, !strings.Contains(text, "-->")
		case fence != "":
			out[n] = codeLine
			if len(text) >= len(fence) && strings.Trim(text, fence[:1]) == "" {
				out[n], fence = closeLine, ""
			}
		case text == "":
			out[n] = emptyLine
		case run >= 3 && (text[0] == '~' || !strings.Contains(text[run:], "`")):
			out[n], fence = openLine, text[:run]
		case line[0] == '#' && isHeading(line):
			out[n] = headLine
		case strings.HasPrefix(text, "<!--"):
			out[n], comment = hiddenLine, !strings.Contains(text[4:], "-->")
		case text[0] == '>':
			out[n] = quoteLine
		case len(text) >= 3 && (strings.Trim(text, "-") == "" || strings.Trim(text, "_") == "" || strings.Trim(text, "*") == ""):
			out[n] = ruleLine
		}
	}
	return out
}

func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	return len(line)-len(rest) <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// words yields the words of a text: letters, digits and "_".
func words(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i := 0; i < len(text); i++ {
			start := i
			for i < len(text) && isWordByte(text[i]) {
				i++
			}
			if i > start && !yield(text[start:i], start) {
				return
			}
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// isOpName reports whether s has the form of an op's name.
func isOpName(s string) bool {
	if len(s) < 2 || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// IsName reports whether s could be a name.
func IsName(s string) bool {
	if s == "" || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if !isWordByte(s[i]) {
			return false
		}
	}
	return true
}

// blank writes spaces over quotes and code, so that what remains is the author's own text.
func blank(text string, quotes string) string {
	if !strings.ContainsAny(text, quotes) {
		return text
	}
	b := []byte(text)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if strings.IndexByte(quotes, c) < 0 || c == '\'' && i > 0 && isWordByte(text[i-1]) {
			continue
		}
		end := strings.IndexByte(text[i+1:], c)
		if end < 0 {
			continue
		}
		for k := i; k <= i+1+end; k++ {
			b[k] = ' '
		}
		i += 1 + end
	}
	return string(b)
}

// spans yields the texts between backticks.
func spans(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			_, rest, ok := strings.Cut(text, "`")
			if !ok {
				return
			}
			code, after, ok := strings.Cut(rest, "`")
			if !ok || !yield(code) {
				return
			}
			text = after
		}
	}
}

// local cleans a path as a tree writes it; ok is false for what leaves the skill
// or has slots that only a run fills.
func local(name string) (string, bool) {
	if name == "" || strings.ContainsAny(name, "<>{}$*\\`") || strings.Contains(name, "…") {
		return "", false
	}
	name = path.Clean(name)
	return name, fs.ValidPath(name) && name != "."
}
