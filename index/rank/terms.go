package rank

import (
	"bytes"
	"encoding/binary"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxTerm is the most bytes that a term has; what is longer is cut at a character.
	MaxTerm = 64

	maxWord   = 128 // bytes of an identifier that is still taken apart; a longer one is most likely data
	maxNumber = 20  // digits
)

// Terms calls yield with each term of text in order, repetitions included. The slice is valid during the call only.
//
//   - An identifier of several parts gives the whole without separators ("getuserbyid"), then its parts: camel case,
//     "HTTPServer" (http, server) and snake case are taken apart. A part of one letter that does not stand last is given
//     together with the next part: "OAuthToken" has the terms oauthtoken, oauth, auth, token.
//   - Digits belong to the letters before them: "sha256Sum" has sha256 and sum. "SHA-256" gives also sha256.
//   - Wholes, parts and single words of ASCII are given by their stem; a number of up to 20 digits gives itself, a
//     longer one nothing.
//   - Words of other scripts are lower-cased and given whole. Chinese, Japanese and Korean give each pair of neighbours.
//
// All terms are lower case and have 1 to MaxTerm bytes. Time is linear; nothing is allocated per term.
func Terms(text []byte, yield func(term []byte)) {
	c := cutters.Get().(*cutter)
	c.yield = yield
	c.text(text)
	c.release()
}

// Key returns the term under which the name of a symbol is found: two names that differ only in case, in underscores or
// by a plural have one key. Of a qualified name it is the key of the last identifier. It is empty if name has no letter or digit.
func Key(name string) string {
	var key string
	c := cutters.Get().(*cutter)
	c.yield = func(term []byte) {
		if !c.part {
			key = string(term)
		}
	}
	c.text([]byte(name))
	c.release()
	return key
}

// A cutter cuts text into terms. It is kept in a pool, since what is given to yield would otherwise be allocated.
type cutter struct {
	yield func(term []byte)
	want  *starts // if not nil, only terms that may be among these are yielded
	part  bool    // the term is a part of the identifier that was yielded before, or of a run of Chinese
	count int     // of terms, also of those that are not wanted

	joined [maxWord]byte // the identifier in lower case, without underscores
	cuts   [maxWord]uint8
	term   [MaxTerm + 8]byte // a stem may grow by a letter
}

var cutters = sync.Pool{New: func() any { return new(cutter) }}

func (c *cutter) release() {
	c.yield, c.want, c.part, c.count = nil, nil, false, 0
	cutters.Put(c)
}

// starts is a set of the first two bytes of terms. Stemming keeps them, so most words of a text can be passed over
// before they are stemmed. It may say yes for others.
type starts [32]uint32

func start(w []byte) (i, bit uint) {
	i = uint(w[0] & 31)
	if len(w) > 1 {
		bit = uint(w[1] & 31)
	}
	return i, bit
}

func (s *starts) add(w []byte) {
	i, bit := start(w)
	s[i] |= 1 << bit
}

func (s *starts) has(w []byte) bool {
	i, bit := start(w)
	return s[i]&(1<<bit) != 0
}

func (c *cutter) text(text []byte) {
	text = text[:len(text):len(text)] // what is behind it may belong to others
	for i := 0; i < len(text); {
		first := class[text[i]]
		if first == space {
			i++
			continue
		}
		begin, rest := i, uint8(0)
		if first != high {
			for i++; i < len(text); i++ {
				k := class[text[i]]
				if k&(space|high) != 0 {
					break
				}
				rest |= k
			}
		}
		if i < len(text) && text[i] >= utf8.RuneSelf {
			i = c.foreign(text, begin)
			continue
		}
		c.word(text[begin:i], first, rest)
		if i < len(text) && text[i] == '-' && first == upper && rest == upper {
			c.acronym(text[begin:], i-begin)
		}
	}
}

// word cuts one run of ASCII letters, digits and underscores. first is the class of its first byte, rest those of the others.
func (c *cutter) word(w []byte, first, rest uint8) {
	switch {
	case first|rest == digit:
		if len(w) <= maxNumber {
			c.give(w, false)
		}
	case rest&^lower == 0 && first&(lower|upper) != 0, first|rest == upper:
		c.give(w, false)
	default:
		c.identifier(w)
	}
}

// give yields the stem of w, which has letters and digits of ASCII only.
func (c *cutter) give(w []byte, part bool) {
	c.count++
	if c.want != nil && !c.want.has(w) {
		return
	}
	n := min(len(w), MaxTerm)
	// Digits and small letters have the bit that capitals lack. Eight bytes at a time, if there are so many behind w.
	if i := 0; (n+7)&^7 <= cap(w) {
		for ; i < n; i += 8 {
			binary.LittleEndian.PutUint64(c.term[i:], binary.LittleEndian.Uint64(w[i:i+8])|0x2020202020202020)
		}
	} else {
		for ; i < n; i++ {
			c.term[i] = w[i] | upper
		}
	}
	c.part = part
	c.yield(stem(c.term[:n]))
}

// acronym yields "sha256" for "SHA-256", given that the text begins with n capitals and a hyphen.
func (c *cutter) acronym(text []byte, n int) {
	end := n + 1
	for end < len(text) && class[text[end]] == digit {
		end++
	}
	if n < 2 || end == n+1 || end > MaxTerm || end < len(text) && class[text[end]] != space {
		return
	}
	w := append(append(c.joined[:0], text[:n]...), text[n+1:end]...)
	c.give(w, false)
}

// identifier cuts a word that mixes cases, digits or underscores.
func (c *cutter) identifier(w []byte) {
	w = bytes.Trim(w, "_")
	if len(w) == 0 {
		return
	}
	var n, parts, numbers, letters int // letters: of the part so far
	var seen, before uint8             // before: class of the byte before
	for i, b := range w[:min(len(w), maxWord)] {
		k := class[b]
		seen |= k
		if k == under {
			letters, before = 0, k
			continue
		}
		next := uint8(space)
		if i+1 < len(w) {
			next = class[w[i+1]]
		}
		switch {
		case n == 0 || before == under,
			k == upper && before == lower,
			k == upper && before == upper && next == lower && !(w[i+1] == 's' && plural(w[i+1:])),
			k&(upper|lower) != 0 && before == digit && letters > 0 && next == lower:
			c.cuts[parts] = uint8(n)
			parts++
			letters = 0
		}
		if k == digit && before != digit {
			numbers++
		}
		if k != digit {
			letters++
		}
		c.joined[n] = b | k&upper
		n++
		before = k
	}
	joined := c.joined[:n]
	c.give(joined, false)
	if parts == 1 || len(w) > maxWord || seen&(upper|under) == 0 && numbers > 2 {
		return // what changes between letters and digits so often is a number of another base
	}
	for i := range parts {
		from, end := int(c.cuts[i]), n
		if i+1 < parts {
			end = int(c.cuts[i+1])
			if end-from == 1 && class[joined[from]] == lower {
				end = n
				if i+2 < parts {
					end = int(c.cuts[i+2])
				}
				if from == 0 && end == n {
					continue // that is the whole
				}
			}
		}
		c.give(joined[from:end], true)
	}
}

// plural says that the s at the start of w, which follows capitals, is the plural of an acronym, as in "URLsOf".
func plural(w []byte) bool { return len(w) == 1 || class[w[1]] != lower }

// foreign cuts the word at the start of text[at:], which has other characters than ASCII in it or behind it, and
// returns where it ends; this is at least one character further.
func (c *cutter) foreign(text []byte, at int) int {
	end, ascii, rest := at, true, uint8(0)
	n := 0         // bytes of the term
	var last rune  // the character before, if it is written without spaces between words
	alone := false // last was not given as a part of a pair
	flush := func() {
		if n > 0 {
			c.count++
			c.part = false
			c.yield(c.term[:n])
		}
		n = 0
		if last != 0 && alone {
			c.pair(last, 0)
		}
		last, alone = 0, false
	}
	for end < len(text) {
		r, size := utf8.DecodeRune(text[end:])
		if r < utf8.RuneSelf {
			k := class[r]
			if k == space {
				break
			}
			if end > at {
				rest |= k
			}
			r |= rune(k & upper)
		} else {
			if !inWord(r) {
				if end == at {
					return at + size
				}
				break
			}
			if ascii && end > at {
				n = copyLower(c.term[:MaxTerm], text[at:end])
			}
			ascii = false
			r = unicode.ToLower(r)
		}
		end += size
		switch {
		case ascii:
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			if last == 0 {
				flush()
				alone = true
			} else {
				c.pair(last, r)
				alone = false
			}
			last = r
		case r == '_':
			flush()
		default:
			if last != 0 {
				flush()
			}
			if n+utf8.RuneLen(r) <= MaxTerm {
				n += utf8.EncodeRune(c.term[n:], r)
			}
		}
	}
	if ascii {
		c.word(text[at:end], class[text[at]], rest)
		return end
	}
	flush()
	return end
}

// inWord says whether r may stand in a word.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// pair yields two neighbours, or one if the second is 0.
func (c *cutter) pair(a, b rune) {
	var buf [2 * utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], a)
	if b != 0 {
		n += utf8.EncodeRune(buf[n:], b)
	}
	c.count++
	c.part = b != 0
	copy(c.term[:], buf[:n])
	c.yield(c.term[:n])
}

// copyLower copies letters, digits and underscores of ASCII, but not the underscores, as far as there is room.
func copyLower(to, from []byte) int {
	n := 0
	for _, b := range from {
		if k := class[b]; k != under && n < len(to) {
			to[n] = b | k&upper
			n++
		}
	}
	return n
}
