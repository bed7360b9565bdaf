package skill

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// maxHidden bounds the findings about invisible characters per file and rule.
const maxHidden = 10

// hiddenText are the findings about invisible characters: those that carry text or reorder it (SPEC-HIDDEN-TEXT), and
// zero-width ones (SPEC-ZERO-WIDTH).
func hiddenText(file string, text []byte) (found []diag.Finding) {
	var count [2]int // errors, warnings
	for _, h := range FindHidden(text) {
		rule, slot := RuleHiddenText, 0
		if h.Kind == ZeroWidth {
			rule, slot = RuleZeroWidth, 1
		}
		if count[slot]++; count[slot] > maxHidden {
			continue
		}
		f := problem(rule, h.Line, h.Column, "%s", h.String())
		f.File = file
		found = append(found, *f)
	}
	return found
}

// A Hidden is a run of characters that people cannot see.
type Hidden struct {
	Kind         HiddenKind
	Line, Column int // from 1, in bytes
	Offset       int // of the first in the text
	Count        int // characters
	First        rune
	Text         string // that they carry, as far as it can be read
}

func (h Hidden) String() string {
	what := map[HiddenKind]string{Carries: "invisible characters that can carry text", Reorders: "characters that reorder the text around them", ZeroWidth: "zero-width characters"}[h.Kind]
	message := fmt.Sprintf("%d %s, the first U+%04X", h.Count, what, h.First)
	if h.Text != "" {
		message += fmt.Sprintf(", which say %q", diag.Printable(h.Text))
	}
	return message
}

// FindHidden finds the runs of invisible characters of a text, but not those that emoji, scripts and text in two
// directions are written with. Text that is no UTF-8 has none. The whole text is read.
func FindHidden(text []byte) []Hidden {
	h := hiddenScan{text: text, line: 1}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c == '\n' {
				h.line++
				h.lineStart = i + 1
			}
			i++
			continue
		}
		if c != 0xcd && c != 0xd8 && c != 0xe1 && c != 0xe2 && c != 0xe3 && c != 0xef && c != 0xf3 {
			_, w := utf8.DecodeRune(text[i:]) // no invisible character starts with c
			i += w
			continue
		}
		r, w := utf8.DecodeRune(text[i:])
		if hiddenClass(r) == visible && !(isSelector(r) && selects(text[i+w:])) {
			i += w
			continue
		}
		i = h.run(i)
	}
	return h.found
}

// isSelector reports whether r is one of the first 16 variation selectors, of which writing has one behind a character.
func isSelector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// selects reports whether text starts with a variation selector.
func selects(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return isSelector(r) || r >= 0xe0100 && r <= 0xe01ef
}

// A HiddenKind says what invisible characters can do.
type HiddenKind uint8

const (
	visible   HiddenKind = iota
	Carries              // tags, variation selectors, long runs of zero-width characters: any text fits in
	Reorders             // bidirectional embeddings, overrides, isolates
	ZeroWidth            // a few characters without width
)

func hiddenClass(r rune) HiddenKind {
	switch {
	case r >= 0xe0000 && r <= 0xe007f, r >= 0xe0100 && r <= 0xe01ef:
		return Carries
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return Reorders
	case r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x2064, r >= 0x206a && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb:
		return ZeroWidth
	}
	switch r {
	case 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x3164, 0xfeff, 0xffa0:
		return ZeroWidth
	}
	return visible
}

type hiddenScan struct {
	text            []byte
	line, lineStart int
	found           []Hidden
	rightLine       int // line of which is known whether it has letters that are written from right to left
	right           bool
}

// maxBits is how many zero-width characters stand together where they are no slip of a keyboard.
const maxBits = 8

// run notes the invisible characters that start at i and returns where they end.
func (h *hiddenScan) run(i int) int {
	before, _ := utf8.DecodeLastRune(h.text[:i])
	worst, smuggled, n, start := ZeroWidth, []rune(nil), 0, i
	first, _ := utf8.DecodeRune(h.text[i:])
	var bits []rune
	override := false
	for i < len(h.text) {
		r, w := utf8.DecodeRune(h.text[i:])
		class := hiddenClass(r)
		if class == visible && isSelector(r) {
			class = Carries
		}
		if class == visible {
			break
		}
		worst = min(worst, class)
		override = override || r == 0x202d || r == 0x202e
		n++
		if c := decodeHidden(r); c != 0 && len(smuggled) < maxFeatureText {
			smuggled = append(smuggled, c)
		}
		if class == ZeroWidth && len(bits) < 8*maxFeatureText {
			bits = append(bits, r)
		}
		i += w
	}
	after, _ := utf8.DecodeRune(h.text[i:])
	switch {
	case worst == ZeroWidth && (start == 0 && first == 0xfeff && n == 1 || n == 1 && joins(before, first, after)):
		return i
	case worst == Carries && (isFlag(before, h.text[start:i]) || n == 1 && first >= 0xe0100 && unicode.Is(unicode.Han, before)):
		return i
	case worst == Reorders && !override && h.rightToLeft():
		return i
	case worst == ZeroWidth && n >= maxBits:
		worst, smuggled = Carries, []rune(readBits(bits))
	}
	h.found = append(h.found, Hidden{worst, h.line, start - h.lineStart + 1, start, n, first, string(smuggled)})
	return i
}

// isFlag reports whether tags behind a black flag are those of a flag of a region: "gbsct" and the end.
func isFlag(before rune, tags []byte) bool {
	list := []rune(string(tags))
	if before != 0x1f3f4 || len(list) < 4 || len(list) > 7 || list[len(list)-1] != 0xe007f {
		return false
	}
	for _, r := range list[:len(list)-1] {
		if c := r - 0xe0000; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

// rightToLeft reports whether the line that is read has letters that are written from right to left.
func (h *hiddenScan) rightToLeft() bool {
	if h.rightLine != h.line {
		h.rightLine, h.right = h.line, false
		rest := h.text[h.lineStart:]
		for len(rest) > 0 && rest[0] != '\n' && !h.right {
			r, w := utf8.DecodeRune(rest)
			h.right, rest = isRightToLeft(r), rest[w:]
		}
	}
	return h.right
}

// readBits reads two characters without width as bits, eight to a letter; it is "" if that is no text.
func readBits(list []rune) string {
	other := rune(0)
	for _, r := range list {
		if r != list[0] {
			other = r
			break
		}
	}
	for _, one := range []rune{list[0], other} {
		for offset := range 8 {
			var out []byte
			ok := true
			for i := offset; i+8 <= len(list) && ok; i += 8 {
				c := byte(0)
				for _, r := range list[i : i+8] {
					c <<= 1
					if r == one {
						c |= 1
					}
				}
				if ok = c >= ' ' && c < 0x7f || c == '\n'; ok {
					out = append(out, c)
				}
			}
			if ok && len(out) > 1 {
				return string(out)
			}
		}
	}
	return ""
}

// decodeHidden returns the character that a tag or a variation selector stands for, or 0.
func decodeHidden(r rune) rune {
	switch {
	case r >= 0xe0020 && r <= 0xe007e:
		return r - 0xe0000
	case r >= 0xe0100 && r <= 0xe01ef: // selectors 17-256 as bytes 16-255
		return r - 0xe0100 + 16
	case isSelector(r):
		return r - 0xfe00
	}
	return 0
}

// joins reports whether a single zero-width character is ordinary writing
// between before and after: emoji sequences, and scripts that need joiners or marks.
func joins(before, r, after rune) bool {
	switch r {
	case 0x200d:
		return isEmojiPart(before) && isEmojiPart(after) || needsJoiners(before)
	case 0x200c:
		return needsJoiners(before) && needsJoiners(after)
	case 0x200e, 0x200f, 0x061c:
		return isRightToLeft(before) || isRightToLeft(after)
	case 0x200b:
		return unicode.In(before, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	}
	return false
}

func isEmojiPart(r rune) bool {
	return r == 0xfe0f || r == 0x200d || r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0x3030 || r == 0x303d
}

func needsJoiners(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

func isRightToLeft(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko)
}
