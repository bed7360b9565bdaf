package search

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{1, 2, 17} {
		for _, share := range []float64{0, 0.01, 0.5, 1} {
			b, other := make(bits, size), make(bits, size)
			var want, both []int64
			for id := range int64(size * 64) {
				if r.Float64() < share {
					b.set(id)
					want = append(want, id)
				}
				if r.IntN(2) == 0 {
					other.set(id)
					if b.has(id) {
						both = append(both, id)
					}
				}
			}
			b.set(-1)
			b.set(int64(size * 64))
			if b.has(-1) || b.has(int64(size*64)) {
				t.Error("it has what is outside")
			}
			if got := forward(b); !slices.Equal(got, want) || b.count() != len(want) {
				t.Errorf("%d ids %v, want %v", b.count(), got, want)
			}
			if got := forward(b.and(other)); !slices.Equal(got, both) {
				t.Errorf("in both are %v, want %v", got, both)
			}
			got := slices.Collect(b.backward())
			slices.Reverse(got)
			if !slices.Equal(got, want) {
				t.Errorf("backward %v, want %v", got, want)
			}
		}
	}
}

func forward(b bits) (ids []int64) {
	for id := b.next(0); id >= 0; id = b.next(id + 1) {
		ids = append(ids, id)
	}
	return ids
}
