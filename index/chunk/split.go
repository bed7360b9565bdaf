package chunk

import (
	"bytes"
	"path"
	"strings"

	"github.com/skl-project/skl/index/lang"
)

// BinaryHead is how many bytes of a file are looked at for a NUL.
const BinaryHead = 8_000

// Sizes of pieces. They suit both sides: a piece is read whole by an agent that expands it, and is what a text
// query scores.
const (
	maxLines   = 100     // of a symbol or section that is one piece
	gapLines   = 50      // of a chunk that is cut out of text
	maxBytes   = 6_000   // of both
	softPieces = 1 << 10 // a file with more of them, and of less than softBytes each, gets fewer
	softBytes  = 256     //
)

// Split divides the file at path, a path with slashes relative to its repository that may decide on the language.
// src is not changed and not kept.
func Split(path string, src []byte) Outline {
	if IsBinary(src) {
		return Outline{Binary: true, Lines: newLines(src).count}
	}
	language := languageOf(path, src)
	o := Outline{Language: language}
	d := divider{src: src, lines: newLines(src)}
	switch language {
	case "markdown", "skill":
		o.Language = d.markdown(path, language)
	case "text":
	default:
		if read, _ := lang.Reads(lang.Language(language)); !read {
			break
		}
		f := lang.Scan(lang.Language(language), src)
		o.Broken = f.Broken
		d.code(lang.Language(language), f)
	}
	d.cover()
	d.finish(&o)
	return o
}

// languageOf tells a language from the name of a file, or from the line that says what runs it. Whether Markdown is more than that shows
// in its text.
func languageOf(name string, src []byte) string {
	for _, l := range []lang.Language{lang.Of(name), lang.OfText(name, src), lang.Unread(name)} {
		if l != "" {
			return string(l)
		}
	}
	base := path.Base(name)
	if strings.EqualFold(base, "SKILL.md") {
		return "skill"
	}
	switch strings.ToLower(path.Ext(base)) {
	case ".md", ".markdown", ".mdx":
		return "markdown"
	}
	return "text"
}

// IsBinary says whether src is no text in an encoding that keeps ASCII: it has a NUL in its first BinaryHead bytes, or is in UTF-16, most
// of which has NULs too.
func IsBinary(src []byte) bool {
	return bytes.IndexByte(src[:min(len(src), BinaryHead)], 0) >= 0 || IsUTF16(src)
}

// IsUTF16 says whether src begins with the mark of UTF-16, in either order of bytes.
func IsUTF16(src []byte) bool {
	return bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff"))
}

// lines knows where the lines of a text start.
type lines struct {
	starts []int32 // the last is behind the end: of what would be the next line
	count  int
	size   int
}

func newLines(src []byte) lines {
	n := bytes.Count(src, []byte{'\n'})
	starts := make([]int32, 1, n+2)
	for at := 0; ; {
		i := bytes.IndexByte(src[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
		starts = append(starts, int32(at))
	}
	l := lines{count: n, size: len(src)}
	if last := int(starts[len(starts)-1]); last < len(src) {
		l.count++
		starts = append(starts, int32(len(src)))
	}
	l.starts = starts
	return l
}

// at returns the line, counted from 0, that the byte at p stands on. near is a line that may be close, such as
// that of the last question.
func (l *lines) at(p, near int) int {
	s := l.starts
	near = min(max(near, 0), len(s)-1)
	lo, hi := 0, len(s) // s[lo] <= p < s[hi]
	if int(s[near]) <= p {
		lo = near
		for step := 1; lo+step < len(s); step *= 2 {
			if int(s[lo+step]) > p {
				hi = lo + step
				break
			}
			lo += step
		}
	} else {
		hi = near
	}
	for hi-lo > 1 {
		if m := (lo + hi) / 2; int(s[m]) <= p {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// start returns where line i, counted from 0, starts; of one behind the last it is the size of the text.
func (l *lines) start(i int) int {
	if i >= len(l.starts) {
		return l.size
	}
	return int(l.starts[i])
}

// region returns [start, end) with its lines.
func (l *lines) region(start, end, near int) Region {
	first := l.at(start, near)
	return Region{Start: start, End: end, FirstLine: first + 1, LastLine: l.at(max(end-1, start), first) + 1}
}
