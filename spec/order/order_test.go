package order

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type pair struct{ key, place int }

func byKey(a, b pair) int { return a.key - b.key }

// TestAsSlices compares both functions with those of slices, equal elements included.
func TestAsSlices(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		s := make([]pair, n)
		for i := range s {
			s[i] = pair{random.IntN(1 + n/3), i}
		}
		for name, of := range map[string][2]func([]pair, func(a, b pair) int){
			"Sort":   {Sort[[]pair], slices.SortFunc[[]pair]},
			"Stable": {Stable[[]pair], slices.SortStableFunc[[]pair]},
		} {
			got, want := slices.Clone(s), slices.Clone(s)
			of[0](got, byKey)
			of[1](want, byKey)
			if !slices.Equal(got, want) {
				t.Errorf("%s of %v: %v, want %v", name, s, got, want)
			}
		}
	}
}
