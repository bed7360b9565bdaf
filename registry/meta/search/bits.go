package search

import (
	"iter"
	mathbits "math/bits"
)

// Bits are a set of ids, one bit for each id from 0. What is outside cannot be in it.
type bits []uint64

func (b bits) set(id int64) {
	if id >= 0 && id < int64(len(b))*64 {
		b[id/64] |= 1 << (id % 64)
	}
}

func (b bits) clear(id int64) {
	if id >= 0 && id < int64(len(b))*64 {
		b[id/64] &^= 1 << (id % 64)
	}
}

func (b bits) has(id int64) bool {
	return id >= 0 && id < int64(len(b))*64 && b[id/64]>>(id%64)&1 != 0
}

func (b bits) count() int {
	n := 0
	for _, w := range b {
		n += mathbits.OnesCount64(w)
	}
	return n
}

// and returns a new set of what is in both, which are of one state.
func (b bits) and(c bits) bits {
	both := make(bits, len(b))
	for i := range both {
		both[i] = b[i] & c[i]
	}
	return both
}

// intersect returns what is in a field of all lists, at least one, of one state. It may be that of one of them.
func intersect(all []*list, f field) bits {
	both := all[0].in(f)
	for _, l := range all[1:] {
		both = both.and(l.in(f))
	}
	return both
}

// add adds what is in c, which is of the same state.
func (b bits) add(c bits) {
	for i := range b {
		b[i] |= c[i]
	}
}

// next returns the lowest id in b that is at least id, or -1.
func (b bits) next(id int64) int64 {
	i := id / 64
	if i >= int64(len(b)) {
		return -1
	}
	for w := b[i] >> (id % 64) << (id % 64); ; w = b[i] {
		if w != 0 {
			return i*64 + int64(mathbits.TrailingZeros64(w))
		}
		if i++; i == int64(len(b)) {
			return -1
		}
	}
}

// backward yields the ids, the highest first.
func (b bits) backward() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := len(b) - 1; i >= 0; i-- {
			for w := b[i]; w != 0; {
				n := mathbits.Len64(w) - 1
				if !yield(int64(i)*64 + int64(n)) {
					return
				}
				w &^= 1 << n
			}
		}
	}
}
