package rank

import (
	"cmp"
	"slices"
)

// Fuse makes one list of several, each best first, by reciprocal rank: an item gets 1/(60+rank) from each list that
// has it. The numbers are names of items; a repetition within a list does not count. Equal sums come by the best rank
// in any list, then by the number. The order of the lists does not matter.
func Fuse(lists ...[]int) []int {
	type item struct {
		number, best int
		sum          int64 // in units small enough to be exact, so that the order of the lists cannot matter
	}
	const unit = 1 << 40
	at := map[int]int{}
	var items []item
	for _, list := range lists {
		in := map[int]bool{}
		for rank, number := range list {
			if in[number] {
				continue
			}
			in[number] = true
			i, ok := at[number]
			if !ok {
				i = len(items)
				at[number] = i
				items = append(items, item{number: number, best: rank})
			}
			items[i].sum += unit / int64(61+rank)
			items[i].best = min(items[i].best, rank)
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.best, b.best), cmp.Compare(a.number, b.number))
	})
	fused := make([]int, len(items))
	for i, it := range items {
		fused[i] = it.number
	}
	return fused
}
