package skill

import (
	"bytes"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// MaxFrontmatter is the largest frontmatter that is read, in bytes between its fences.
const MaxFrontmatter = 64 << 10

// FileName is the name of the file that makes a directory a skill.
const FileName = "SKILL.md"

// A frontmatter is the part of a SKILL.md between two "---" lines.
type frontmatter struct {
	src        []byte
	bom        bool  // the file starts with a byte order mark
	start, end int   // the YAML text is src[start:end]; it starts on line 2
	body       int   // offset of the line after the closing fence
	bodyLine   int   // its number
	lines      []int // offset of every line of the YAML text
	root       []Field
	flowRoot   bool       // the mapping is written in braces
	quotes     []diag.Fix // what the lenient retry had to quote
}

// split finds the fences of src: a first line of three hyphens and the next such
// line, each perhaps followed by blanks. It never looks further than MaxFrontmatter.
func split(src []byte) (*frontmatter, *diag.Finding) {
	fm := &frontmatter{src: src, bodyLine: 2}
	rest := src
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		fm.bom, rest = true, src[3:]
	}
	first, _, found := bytes.Cut(rest, []byte("\n"))
	if !isFence(first) {
		return nil, problem(RuleFrontmatter, 1, 1, "the file does not start with a frontmatter between two lines of three hyphens")
	}
	fm.start = len(src) - len(rest) + len(first)
	if found {
		fm.start++
	}
	for at := fm.start; at < len(src); {
		if at-fm.start > MaxFrontmatter {
			return nil, problem(RuleYAMLSize, 1, 1, "no closing line of three hyphens within the first %d KiB", MaxFrontmatter>>10)
		}
		next := len(src)
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		fm.bodyLine++
		if isFence(bytes.TrimSuffix(src[at:next], []byte("\n"))) {
			fm.end, fm.body = at, next
			return fm, nil
		}
		fm.lines = append(fm.lines, at)
		at = next
	}
	return nil, problem(RuleFrontmatter, 1, 1, "the frontmatter is not closed by a line of three hyphens")
}

func isFence(line []byte) bool {
	return len(line) >= 3 && line[0] == '-' && string(bytes.TrimRight(line, " \t\r")) == "---"
}

// checkText refuses what different parsers read as different text: bytes that
// are not UTF-8, and characters that only some of them take for line ends.
func (fm *frontmatter) checkText() *diag.Finding {
	text := fm.src[fm.start:fm.end]
	if !utf8.Valid(text) {
		for i, w := 0, 0; i < len(text); i += w {
			var r rune
			if r, w = utf8.DecodeRune(text[i:]); r == utf8.RuneError && w == 1 {
				return fm.problemAt(RuleEncoding, fm.start+i, "the frontmatter is not UTF-8")
			}
		}
	}
	for at := bytes.IndexByte(text, '\r'); at >= 0; {
		if at+1 == len(text) || text[at+1] != '\n' {
			return fm.problemAt(RuleYAMLSyntax, fm.start+at, "a carriage return without a line feed ends a line for some parsers only")
		}
		next := bytes.IndexByte(text[at+1:], '\r')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	for _, sep := range []string{"\u0085", "\u2028", "\u2029"} {
		if at := bytes.Index(text, []byte(sep)); at >= 0 {
			return fm.problemAt(RuleYAMLSyntax, fm.start+at, "%s ends a line for some parsers only", diag.Printable(sep))
		}
	}
	return nil
}

// span returns the place of the bytes [start, end) of the file, which lie in the frontmatter.
func (fm *frontmatter) span(start, end int) Span {
	start = min(max(start, fm.start), fm.end)
	end = min(max(end, start), fm.end)
	lo, hi := 0, len(fm.lines)
	for lo < hi {
		if mid := (lo + hi) / 2; fm.lines[mid] <= start {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return Span{Start: start, End: end, Line: 2, Column: 1}
	}
	return Span{Start: start, End: end, Line: lo + 1, Column: start - fm.lines[lo-1] + 1}
}

func (fm *frontmatter) problemAt(rule string, offset int, format string, args ...any) *diag.Finding {
	at := fm.span(offset, offset)
	return problem(rule, at.Line, at.Column, format, args...)
}
