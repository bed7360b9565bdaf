package store

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Grams returns a filter of the trigrams of src, whose ASCII letters count as small: a Bloom filter of one
// hash, of a power of two of bits, four for each distinct trigram or more, at least 64 bytes and at most 64 KiB.
// work is reused if it is not nil.
func Grams(src []byte, work *GramSet) []byte {
	if work == nil {
		work = new(GramSet)
	}
	work.fill(src)
	size := 512 // bits
	for size < 4*len(work.list) && size < 1<<19 {
		size *= 2
	}
	out := make([]byte, size/8)
	mask := uint32(size - 1)
	for _, h := range work.list {
		work.bits[h>>6] = 0
		h &= mask
		out[h>>3] |= 1 << (h & 7)
	}
	work.list = work.list[:0]
	return out
}

// A GramSet is room for Grams to work in. It holds nothing between calls.
type GramSet struct {
	bits [1 << 19 / 64]uint64
	list []uint32 // the hashes that are set in bits
}

// hash spreads a trigram over 19 bits.
func hash(t uint32) uint32 { return t * 0x9e3779b1 >> 13 }

// fill marks and lists the hashes of all trigrams.
func (g *GramSet) fill(src []byte) {
	if len(src) < 3 {
		return
	}
	t := uint32(fold(src[0]))<<8 | uint32(fold(src[1]))
	for _, c := range src[2:] {
		t = (t<<8 | uint32(fold(c))) & 0xffffff
		h := hash(t)
		if w := &g.bits[h>>6]; *w&(1<<(h&63)) == 0 {
			*w |= 1 << (h & 63)
			g.list = append(g.list, h)
		}
	}
}

func fold(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// A Gate says which files cannot hold what is searched. The zero Gate lets every file pass.
type Gate struct {
	hashes []uint32 // all of these are needed
	groups [][]Gate // and of each of these one
}

// LiteralGate returns the gate of an exact text, which may differ in the case of ASCII letters.
func LiteralGate(s string) Gate {
	var g Gate
	for i := 0; i+3 <= len(s); i++ {
		g.hashes = append(g.hashes, hash(uint32(fold(s[i]))<<16|uint32(fold(s[i+1]))<<8|uint32(fold(s[i+2]))))
	}
	slices.Sort(g.hashes)
	g.hashes = slices.Compact(g.hashes)
	return g
}

// RegexGate returns the gate of a regular expression.
func RegexGate(re *syntax.Regexp) Gate {
	return gateOf(re.Simplify(), 0)
}

// gateOf looks at most 100 levels deep; what lies below may hold anything.
func gateOf(re *syntax.Regexp, depth int) Gate {
	if depth > 100 {
		return Gate{}
	}
	switch re.Op {
	case syntax.OpLiteral:
		return literalGate(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return gateOf(re.Sub[0], depth+1)
	case syntax.OpConcat:
		var g Gate
		for _, sub := range re.Sub {
			part := gateOf(sub, depth+1)
			g.hashes = append(g.hashes, part.hashes...)
			g.groups = append(g.groups, part.groups...)
		}
		return g
	case syntax.OpAlternate:
		branches := make([]Gate, len(re.Sub))
		for i, sub := range re.Sub {
			if branches[i] = gateOf(sub, depth+1); branches[i].open() {
				return Gate{} // this branch may hold anything
			}
		}
		return Gate{groups: [][]Gate{branches}}
	}
	return Gate{}
}

func literalGate(runes []rune, anyCase bool) Gate {
	// With (?i), some letters outside ASCII equal ASCII ones (the Kelvin sign, the long s), so those letters end a run.
	var g Gate
	run := make([]byte, 0, 64)
	flush := func() {
		g.hashes = append(g.hashes, LiteralGate(string(run)).hashes...)
		run = run[:0]
	}
	for _, r := range runes {
		// U+FFFD also matches a byte that is no UTF-8.
		if r == utf8.RuneError || anyCase && (r >= 0x80 || r == 'k' || r == 'K' || r == 's' || r == 'S') {
			flush()
			continue
		}
		run = append(run, string(r)...)
	}
	flush()
	return g
}

func (g Gate) open() bool { return len(g.hashes) == 0 && len(g.groups) == 0 }

// Passes says whether a file with this filter may hold what is searched.
func (g Gate) Passes(grams []byte) bool {
	if len(grams) == 0 {
		return true
	}
	mask := uint32(len(grams)*8 - 1)
	for _, h := range g.hashes {
		if h &= mask; grams[h>>3]&(1<<(h&7)) == 0 {
			return false
		}
	}
	for _, branches := range g.groups {
		if !slices.ContainsFunc(branches, func(b Gate) bool { return b.Passes(grams) }) {
			return false
		}
	}
	return true
}
