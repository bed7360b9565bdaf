package rank

import (
	"slices"
	"testing"
)

func TestFuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		lists [][]int
		want  []int
	}{
		{"one list stays", [][]int{{3, 1, 2}}, []int{3, 1, 2}},
		{"both beat one", [][]int{{1, 2, 3}, {4, 2, 5}}, []int{2, 1, 4, 3, 5}},
		{"repetitions do not count", [][]int{{1, 2, 2, 2}, {1}}, []int{1, 2}},
		{"equal sums by the better rank", [][]int{{1, 2, 9}, {8, 2, 1}}, []int{1, 2, 8, 9}},
		{"a missing list", [][]int{nil, {7}}, []int{7}},
		{"nothing", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Fuse(c.lists...); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			slices.Reverse(c.lists)
			if got := Fuse(c.lists...); !slices.Equal(got, c.want) {
				t.Errorf("in another order of lists: %v, want %v", got, c.want)
			}
		})
	}
}

func BenchmarkFuse(b *testing.B) {
	x, y := make([]int, 200), make([]int, 200)
	for i := range x {
		x[i], y[i] = i, (i*37)%300
	}
	for b.Loop() {
		Fuse(x, y)
	}
}
