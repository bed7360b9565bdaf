package solve

import "math/bits"

// A set is a bitmap. Those of one skill have the same length: the first 64 members are in low, others in high. Its methods change
// nothing and share nothing that could change.
type set struct {
	low  uint64
	high []uint64
}

// full is the set of 0 … n-1.
func full(n int) set {
	if n <= 64 {
		return set{low: ^uint64(0) >> (64 - n)}
	}
	s := set{^uint64(0), make([]uint64, (n-1)/64)}
	for i := range s.high {
		s.high[i] = ^uint64(0)
	}
	if n%64 != 0 {
		s.high[len(s.high)-1] = 1<<(n%64) - 1
	}
	return s
}

// only is the set of i, among n.
func only(n, i int) set {
	var s set
	if n > 64 {
		s.high = make([]uint64, (n-1)/64)
	}
	if i < 64 {
		s.low = 1 << i
	} else {
		s.high[i/64-1] = 1 << (i % 64)
	}
	return s
}

func (s *set) has(i int) bool {
	if i < 64 {
		return s.low&(1<<i) != 0
	}
	return s.high[i/64-1]&(1<<(i%64)) != 0
}

func (s *set) count() int {
	n := bits.OnesCount64(s.low)
	for _, w := range s.high {
		n += bits.OnesCount64(w)
	}
	return n
}

// within reports whether all of s is in t.
func (s *set) within(t *set) bool {
	if s.low&^t.low != 0 {
		return false
	}
	for i, w := range s.high {
		if w&^t.high[i] != 0 {
			return false
		}
	}
	return true
}

// meets reports whether s and t have something in common.
func (s *set) meets(t *set) bool {
	if s.low&t.low != 0 {
		return true
	}
	for i, w := range s.high {
		if w&t.high[i] != 0 {
			return true
		}
	}
	return false
}

func (s *set) and(t *set) set {
	out := set{low: s.low & t.low}
	if s.high != nil {
		out.high = make([]uint64, len(s.high))
		for i := range s.high {
			out.high[i] = s.high[i] & t.high[i]
		}
	}
	return out
}

func (s *set) or(t *set) set {
	out := set{low: s.low | t.low}
	if t.high != nil {
		out.high = append([]uint64(nil), t.high...)
		for i, w := range s.high {
			out.high[i] |= w
		}
	}
	return out
}

// not is what of 0 … n-1 is not in s.
func (s *set) not(n int) set {
	out := full(n)
	out.low &^= s.low
	for i, w := range s.high {
		out.high[i] &^= w
	}
	return out
}
