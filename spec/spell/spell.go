// Package spell finds the names that someone may have meant.
package spell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/order"
)

// Distance counts the insertions, deletions, replacements and swaps of neighbouring
// bytes that lead from a to b. Limit or more is given as limit, and takes a time of limit times the length.
func Distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(i-limit, 1), min(i+limit, len(b)) // beyond, it is limit at least
		row[from-1] = limit
		if from == 1 {
			row[0] = min(i, limit)
		}
		if to < len(b) {
			row[to+1] = limit
		}
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}

// Nearest returns up to n of names that are close to word, best first: those that
// contain it, or differ in few letters. Case does not matter.
func Nearest(word string, names []string, n int) []string {
	type scored struct {
		name string
		d    int
	}
	word = strings.ToLower(word)
	far := max(2, len(word)/3) + 1
	var all []scored
	for _, name := range names {
		lower := strings.ToLower(name)
		d := Distance(word, lower, far)
		if d > 1 && (len(word) > 2 && strings.Contains(lower, word) || word != "" && strings.HasPrefix(lower, word)) {
			d = 1
		}
		if d < far && d < max(len(word), len(lower)) { // something of it is left
			all = append(all, scored{name, d})
		}
	}
	order.Sort(all, func(a, b scored) int { return cmp.Or(a.d-b.d, strings.Compare(a.name, b.name)) })
	var out []string
	for _, s := range all {
		if len(out) < n && !slices.Contains(out, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}
