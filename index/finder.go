package index

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/diag"
)

// A finder calls yield with the start of each match in text; one per line is enough.
type finder func(text []byte, yield func(at, end int))

// literal finds exact text, in every file that has it.
func (s *search) literal(ctx context.Context, text string) (found, error) {
	if text == "" {
		return found{}, nil
	}
	return s.scan(ctx, store.LiteralGate(text), literalFinder([]byte(text)), len(text)-1)
}

func literalFinder(want []byte) finder {
	return func(text []byte, yield func(at, end int)) {
		for at := 0; at <= len(text); {
			i := bytes.Index(text[at:], want)
			if i < 0 {
				return
			}
			yield(at+i, at+i+len(want))
			at += i
			nl := bytes.IndexByte(text[at:], '\n')
			if nl < 0 {
				return
			}
			at += max(nl+1, 1)
		}
	}
}

// regex finds the lines that match an expression, in every file.
func (s *search) regex(ctx context.Context, expr string) (found, error) {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return found{}, diag.New(diag.Misuse, "query_parse", "%q is not a regular expression: %v", expr, err)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return found{}, diag.New(diag.Misuse, "query_parse", "%q is not a regular expression: %v", expr, err)
	}
	return s.scan(ctx, store.RegexGate(parsed), regexFinder(re, needleOf(parsed.Simplify())), 0)
}

// A needle is a text that every match of an expression has, the longest that is seen at once. An empty one tells nothing.
type needle struct {
	text []byte
	fold bool // letters of ASCII may be small or capital; those of text are small
}

func needleOf(re *syntax.Regexp) (longest needle) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return foldedNeedle(re.Rune)
		}
		if !slices.Contains(re.Rune, utf8.RuneError) { // which matches a byte that is no UTF-8
			return needle{text: []byte(string(re.Rune))}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needleOf(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if n := needleOf(sub); len(n.text) > len(longest.text) {
				longest = n
			}
		}
	}
	return longest
}

// foldedNeedle returns the longest part of a literal that matches nothing but ASCII: "k" also matches the sign of Kelvin, "s" a long s.
func foldedNeedle(literal []rune) needle {
	longest, part := needle{fold: true}, []byte(nil)
	for _, r := range literal {
		switch r = unicode.ToLower(r); {
		case r < utf8.RuneSelf && r != 'k' && r != 's':
			part = append(part, byte(r))
		default:
			part = nil
		}
		if len(part) > len(longest.text) {
			longest.text = part
		}
	}
	return longest
}

// small returns text with small letters of ASCII, in buf if there is room.
func small(text, buf []byte) []byte {
	buf = append(buf[:0], text...)
	for i, c := range buf {
		if 'A' <= c && c <= 'Z' {
			buf[i] = c | 0x20
		}
	}
	return buf
}

// regexFinder tries the lines that have the needle.
func regexFinder(re *regexp.Regexp, n needle) finder {
	room := sync.Pool{New: func() any { return new([]byte) }}
	return func(text []byte, yield func(at, end int)) {
		in := text // what has the needle
		if n.fold && len(n.text) > 0 {
			buf := room.Get().(*[]byte)
			defer room.Put(buf)
			*buf = small(text, *buf)
			in = *buf
		}
		for at := 0; at < len(text); {
			if len(n.text) > 0 {
				i := bytes.Index(in[at:], n.text)
				if i < 0 {
					return
				}
				at += bytes.LastIndexByte(text[at:at+i], '\n') + 1
			}
			end := len(text)
			next := end
			if nl := bytes.IndexByte(text[at:], '\n'); nl >= 0 {
				end = at + nl
				next = end + 1
			}
			line := bytes.TrimSuffix(text[at:end], []byte{'\r'})
			if m := re.FindIndex(line); m != nil {
				yield(at+m[0], at+m[1])
			}
			at = next
		}
	}
}
