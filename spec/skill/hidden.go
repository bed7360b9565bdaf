package skill

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// maxHidden bounds the findings about invisible characters per file and rule.
const maxHidden = 10

// hiddenText finds characters of text that people cannot see: those that carry
// text or reorder it (SPEC-HIDDEN-TEXT), and zero-width ones where neither an emoji
// nor a script needs them (SPEC-ZERO-WIDTH). Runs are one finding, with the text
// they smuggle. Text that is no UTF-8 has no findings. The whole text is read.
func hiddenText(file string, text []byte) []diag.Finding {
	h := hiddenScan{file: file, text: text, line: 1}
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
		if hiddenClass(r) == visible {
			i += w
			continue
		}
		i = h.run(i)
	}
	return h.found
}

type hiddenKind uint8

const (
	visible  hiddenKind = iota
	carries             // tags, variation selectors 17-256: any text fits in
	reorders            // bidirectional embeddings, overrides, isolates
	zeroWidth
)

func hiddenClass(r rune) hiddenKind {
	switch {
	case r >= 0xe0000 && r <= 0xe007f, r >= 0xe0100 && r <= 0xe01ef:
		return carries
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return reorders
	case r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x2064, r >= 0x206a && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb:
		return zeroWidth
	}
	switch r {
	case 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x3164, 0xfeff, 0xffa0:
		return zeroWidth
	}
	return visible
}

type hiddenScan struct {
	file            string
	text            []byte
	line, lineStart int
	found           []diag.Finding
	count           [2]int // findings so far: errors, warnings
}

// run reports the invisible characters that start at i and returns where they end.
func (h *hiddenScan) run(i int) int {
	before, _ := utf8.DecodeLastRune(h.text[:i])
	worst, smuggled, n, start := zeroWidth, []rune(nil), 0, i
	first, _ := utf8.DecodeRune(h.text[i:])
	for i < len(h.text) {
		r, w := utf8.DecodeRune(h.text[i:])
		class := hiddenClass(r)
		if class == visible {
			break
		}
		worst = min(worst, class)
		n++
		if c := decodeHidden(r); c != 0 && len(smuggled) < maxFeatureText {
			smuggled = append(smuggled, c)
		}
		i += w
	}
	after, _ := utf8.DecodeRune(h.text[i:])
	if worst == zeroWidth && (start == 0 && first == 0xfeff && n == 1 || n == 1 && joins(before, first, after)) {
		return i
	}
	h.report(worst, first, n, start, string(smuggled))
	return i
}

func (h *hiddenScan) report(worst hiddenKind, first rune, n, start int, smuggled string) {
	rule, slot, what := RuleHiddenText, 0, "invisible characters that can carry text"
	switch worst {
	case reorders:
		what = "characters that reorder the text around them"
	case zeroWidth:
		rule, slot, what = RuleZeroWidth, 1, "zero-width characters"
	}
	if h.count[slot]++; h.count[slot] > maxHidden {
		return
	}
	message := fmt.Sprintf("%d %s, the first U+%04X", n, what, first)
	if smuggled != "" {
		message += fmt.Sprintf(", which say %q", diag.Printable(smuggled))
	}
	f := problem(rule, h.line, start-h.lineStart+1, "%s", message)
	f.File = h.file
	h.found = append(h.found, *f)
}

// decodeHidden returns the character that a tag or a variation selector stands for, or 0.
func decodeHidden(r rune) rune {
	switch {
	case r >= 0xe0020 && r <= 0xe007e:
		return r - 0xe0000
	case r >= 0xe0100 && r <= 0xe01ef: // selectors 17-256 as bytes 16-255
		return r - 0xe0100 + 16
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
