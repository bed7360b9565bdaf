package check

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	word := func(letters string) string {
		b := make([]byte, 3+r.IntN(4))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	near, tries := 0, 0
	for range 200 {
		var names []string
		for range 1 + r.IntN(60) {
			names = append(names, word("abA"))
		}
		slices.Sort(names)
		n := newNeighbours(names)
		for range 100 {
			w, want := word("abAd"), ""
			if i := slices.IndexFunc(names, func(name string) bool { return slipped(w, name) }); i >= 0 {
				want = names[i]
				near++
			}
			tries++
			if got := n.near(w); got != want {
				t.Fatalf("%q is near %q of %q, and %q was found", w, want, names, got)
			}
		}
	}
	if near < tries/20 || near > tries*19/20 {
		t.Errorf("%d of %d words are near a name: the test says little", near, tries)
	}
}
