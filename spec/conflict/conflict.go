// Package conflict takes a text apart in which git left the markers of a merge that it could not make: of its styles merge, diff3 and
// zdiff3, with line endings of either kind.
//
// A marker is a line of at least seven equal characters, "<", "|", "=" or ">", and nothing or a blank and a label behind them. All markers
// of a file are as long as the first of them: longer ones belong to a merge of what was merged, and are text of the common ancestor.
//
// Errors are *diag.Error of class Failed and code conflict_markers, with the line of the marker that does not belong there.
package conflict

import (
	"bytes"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// size is the length of a marker, unless a repository says otherwise.
const size = 7

// Sides are the files that were merged.
type Sides struct {
	Ours, Theirs []byte
	Base         []byte // what both come from; nil where git did not write it
	Hunks        []Hunk // where they differ, in order
	Line         int    // of the first marker
}

// A Hunk is what both sides say in one place.
type Hunk struct {
	At           int    // in Ours, in bytes: where its text begins
	Ours, Theirs []byte // whole lines
}

// Line is the line of the first marker in src, 0 if there is none. What stands between complete markers, and whether they are complete, Split says.
func Line(src []byte) int {
	line := 0
	for text := range bytes.Lines(src) {
		line++
		if kind, _ := marker(text, 0); kind != 0 {
			return line
		}
	}
	return 0
}

// marker is the character that a line is a marker of, and its length; 0 if it is none. n is the length that a marker has; 0: seven or more,
// of "=" seven.
func marker(line []byte, n int) (kind byte, length int) {
	if len(line) < size {
		return 0, 0
	}
	kind = line[0]
	switch kind {
	case '<', '|', '=', '>':
	default:
		return 0, 0
	}
	rest := bytes.TrimLeft(line, string(rune(kind)))
	length = len(line) - len(rest)
	rest = bytes.TrimRight(rest, "\r\n")
	if length < size || n != 0 && length != n || n == 0 && kind == '=' && length != size || len(rest) > 0 && rest[0] != ' ' {
		return 0, 0
	}
	return kind, length
}

// A part is where a line belongs.
type part int

const (
	both part = iota
	ours
	base
	theirs
)

// Split takes src, the content of file, apart. A text without markers has no Line, and is both sides.
func Split(src []byte, file string) (*Sides, error) {
	s := &Sides{}
	var text [theirs + 1]bytes.Buffer // by part; that of both is not used
	at, n, line, opened, hasBase := both, 0, 0, 0, false
	for l := range bytes.Lines(src) {
		line++
		kind, length := marker(l, n)
		next, ok := follows(at, kind)
		switch {
		case !ok:
			return nil, bad(file, line, "the marker %q does not belong here", string(bytes.TrimRight(diagHead(l), "\r\n")))
		case kind == 0:
			write(&text, at, l)
			if h := len(s.Hunks) - 1; at == ours {
				s.Hunks[h].Ours = append(s.Hunks[h].Ours, l...)
			} else if at == theirs {
				s.Hunks[h].Theirs = append(s.Hunks[h].Theirs, l...)
			}
			continue
		case n == 0:
			n, s.Line = length, line
		}
		if next == ours {
			opened, s.Hunks = line, append(s.Hunks, Hunk{At: text[ours].Len()})
		}
		hasBase = hasBase || next == base
		at = next
	}
	if at != both {
		return nil, bad(file, opened, "the marker has no end")
	}
	s.Ours, s.Theirs = text[ours].Bytes(), text[theirs].Bytes()
	if hasBase {
		s.Base = append([]byte{}, text[base].Bytes()...)
	}
	return s, nil
}

// follows is where the lines behind a marker belong. ok is false where it does not belong.
func follows(at part, kind byte) (next part, ok bool) {
	switch {
	case kind == 0:
		return at, true
	case kind == '<' && at == both:
		return ours, true
	case kind == '|' && at == ours:
		return base, true
	case kind == '=' && (at == ours || at == base):
		return theirs, true
	case kind == '>' && at == theirs:
		return both, true
	}
	return both, false
}

func write(text *[theirs + 1]bytes.Buffer, at part, line []byte) {
	for p := ours; p <= theirs; p++ {
		if at == both || at == p {
			text[p].Write(line)
		}
	}
}

// diagHead is as much of a marker as a message shows.
func diagHead(line []byte) []byte { return line[:min(len(line), 60)] }

//go:noinline
func bad(file string, line int, format string, args ...any) error {
	return diag.New(diag.Failed, "conflict_markers", "the markers of a merge are not complete: "+format, args...).At(diag.Position{File: file, Line: line}).
		Hint("git checkout -m -- %s writes them anew, or keep one side: git checkout --ours -- %s", file, file)
}

// Between are the sides of a merge of two texts that both come from base: one hunk, of all lines between the first and the last in
// which the three differ.
func Between(base, ours, theirs []byte) *Sides {
	s := &Sides{Ours: ours, Theirs: theirs, Base: append([]byte{}, base...), Line: 1}
	if bytes.Equal(ours, theirs) {
		return s
	}
	start, end := shared(base, ours, theirs)
	s.Line += bytes.Count(ours[:start], []byte("\n"))
	s.Hunks = []Hunk{{At: start, Ours: ours[start : len(ours)-end], Theirs: theirs[start : len(theirs)-end]}}
	return s
}

// shared is how many bytes, in whole lines, three texts begin and end with alike.
func shared(base, ours, theirs []byte) (start, end int) {
	for rest := ours; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 || !bytes.HasPrefix(base[start:], rest[:n]) || !bytes.HasPrefix(theirs[start:], rest[:n]) {
			break
		}
		start, rest = start+n, rest[n:]
	}
	base, ours, theirs = base[start:], ours[start:], theirs[start:]
	for rest := ours; bytes.HasSuffix(rest, []byte("\n")); {
		at := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
		tail := ours[at:]
		if !endsIn(base, tail) || !endsIn(theirs, tail) {
			break
		}
		end, rest = len(tail), rest[:at]
	}
	return start, end
}

// endsIn reports whether lines are the last ones of text.
func endsIn(text, lines []byte) bool {
	before, ok := bytes.CutSuffix(text, lines)
	return ok && (len(before) == 0 || before[len(before)-1] == '\n')
}

// Marked is one text of sides that Between made, with markers as git writes them in its style diff3. Split gives the sides back, but for
// a line end that the last line of one of them may not have.
func (s *Sides) Marked() []byte {
	if len(s.Hunks) == 0 {
		return s.Ours
	}
	h, n := s.Hunks[0], size
	for _, text := range [][]byte{s.Ours, s.Theirs, s.Base} {
		for line := range bytes.Lines(text) {
			if length := len(line) - len(bytes.TrimLeft(line, string(line[:1]))); bytes.IndexByte([]byte("<|=>"), line[0]) >= 0 && length >= n {
				n = length + 1 // than what looks like a marker
			}
		}
	}
	after := len(s.Ours) - h.At - len(h.Ours)
	out := bytes.NewBuffer(bytes.Clone(s.Ours[:h.At]))
	for _, part := range []struct {
		sign, label string
		text        []byte
	}{{"<", " ours", h.Ours}, {"|", " base", s.Base[h.At : len(s.Base)-after]}, {"=", "", h.Theirs}, {">", " theirs", s.Ours[len(s.Ours)-after:]}} {
		out.WriteString(strings.Repeat(part.sign, n) + part.label + "\n")
		out.Write(part.text)
		if len(part.text) > 0 && part.text[len(part.text)-1] != '\n' && part.sign != ">" {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
