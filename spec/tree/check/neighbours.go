package check

import (
	"math/rand/v2"
	"strings"
)

// neighbours finds among names the one that a word differs from in one letter, in a time that grows with the word and not with the names: a name is
// kept under what is left of it without each of its letters.
type neighbours struct {
	names []string
	whole map[uint64]int32 // by the hash of a name: which it is, the first of those that are equal but for the case
	least map[uint64]int32 // by that of a name without a letter: the first such
	at    map[gap][2]int32 // by that and the place of the letter: the first two that are not equal, -1 where there is none
	seed  uint64
}

// gap is a word without the letter at a place.
type gap struct {
	rest uint64
	at   int32
}

const none = -1

func newNeighbours(names []string) *neighbours {
	n := &neighbours{names, map[uint64]int32{}, map[uint64]int32{}, map[gap][2]int32{}, rand.Uint64() | 1}
	for i, name := range names {
		if len(name) < near-1 {
			continue
		}
		i := int32(i)
		h := n.hash(name)
		keep(n.whole, h.all(), i)
		for at := range len(h.word) {
			rest := h.without(at)
			keep(n.least, rest, i)
			key := gap{rest, int32(at)}
			if two, ok := n.at[key]; !ok {
				n.at[key] = [2]int32{i, none}
			} else if two[1] == none && strings.ToLower(names[two[0]]) != h.word {
				n.at[key] = [2]int32{two[0], i}
			}
		}
	}
	return n
}

func keep(m map[uint64]int32, key uint64, i int32) {
	if _, ok := m[key]; !ok {
		m[key] = i
	}
}

// near is the first name that slipped holds for, "" if there is none.
func (n *neighbours) near(word string) string {
	best := int32(none)
	found := func(i int32, ok bool) {
		if ok && i != none && (best == none || i < best) && slipped(word, n.names[i]) {
			best = i
		}
	}
	if len(word) < near-1 || len(n.names) == 0 {
		return ""
	}
	h := n.hash(word)
	all := h.all()
	i, ok := n.least[all] // a letter is missing
	found(i, ok)
	for at := range len(h.word) {
		rest := h.without(at)
		i, ok := n.whole[rest] // one is too many
		found(i, ok)
		if two, ok := n.at[gap{rest, int32(at)}]; ok { // one is another
			found(two[0], true)
			found(two[1], true)
		}
		if at > 0 {
			i, ok := n.whole[h.swapped(at)]
			found(i, ok)
		}
	}
	if best == none {
		return ""
	}
	return n.names[best]
}

// hashed is a word in lower case with the hash of each of its beginnings: a polynomial of its bytes, with the powers of its base.
type hashed struct {
	word          string
	start, powers []uint64
}

func (n *neighbours) hash(word string) hashed {
	h := hashed{strings.ToLower(word), make([]uint64, 1, len(word)+1), make([]uint64, 1, len(word)+1)}
	h.powers[0] = 1
	for i := range len(h.word) {
		h.start = append(h.start, h.start[i]*n.seed+uint64(h.word[i])+1)
		h.powers = append(h.powers, h.powers[i]*n.seed)
	}
	return h
}

func (h hashed) all() uint64 { return h.start[len(h.word)] }

// end is the hash of what follows the first at bytes.
func (h hashed) end(at int) uint64 {
	return h.all() - h.start[at]*h.powers[len(h.word)-at]
}

// without is the hash of the word without the byte at a place.
func (h hashed) without(at int) uint64 {
	return h.start[at]*h.powers[len(h.word)-at-1] + h.end(at+1)
}

// swapped is the hash of the word with the bytes at a place and before it swapped.
func (h hashed) swapped(at int) uint64 {
	base := h.powers[1]
	two := (uint64(h.word[at])+1)*base + uint64(h.word[at-1]) + 1
	return (h.start[at-1]*base*base+two)*h.powers[len(h.word)-at-1] + h.end(at+1)
}
