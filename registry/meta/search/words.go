package search

import (
	"math"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is how long a word may be, in bytes; what follows is not looked at. PostgreSQL takes no key beyond 2,704.
const maxWord = 256

// Words splits a text into the words that are indexed and sought: letters and digits, without case, and without accents on Latin letters.
func Words(text string) []string { return split(text, math.MaxInt) }

// split is Words up to a limit.
func split(text string, limit int) []string {
	var all []string
	var word []byte
	end := func() {
		if len(word) > 0 && len(all) < limit {
			all = append(all, string(word))
		}
		word = word[:0]
	}
	for _, r := range text {
		if len(all) == limit {
			break
		}
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case r < utf8.RuneSelf || !isLetter(r):
			if r < combiningFirst || r > combiningLast || len(word) == 0 {
				end()
			}
			continue
		default:
			r = fold(r)
		}
		if len(word)+utf8.UTFMax <= maxWord {
			word = utf8.AppendRune(word, r)
		}
	}
	end()
	return all
}

// Accents that follow their letter belong to the word, and are left out.
const combiningFirst, combiningLast = 0x300, 0x36f

func isLetter(r rune) bool {
	if !unicode.In(r, unicode.L, unicode.N, unicode.Co) {
		return false
	}
	// Letters to Unicode today, and marks to unicode61.
	return !(0x19b0 <= r && r <= 0x19c0 || r == 0x19c8 || r == 0x19c9 || r == 0x1cf2 || r == 0x1cf3)
}

// fold returns what all forms of a letter have in common.
func fold(r rune) rune {
	r = unicode.ToLower(unicode.ToUpper(r))
	if unicode.Is(unicode.Latin, r) {
		var b [utf8.UTFMax]byte
		if d := norm.NFD.Properties(b[:utf8.EncodeRune(b[:], r)]).Decomposition(); d != nil {
			if base, _ := utf8.DecodeRune(d); base != r {
				return fold(base)
			}
		}
	}
	return r
}
