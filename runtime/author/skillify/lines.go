package skillify

import (
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// maxMergeLines bounds what is merged by lines; longer parts are a conflict as a whole.
const maxMergeLines = 20_000

// mergeLines merges two texts that come from one, by lines. Where both changed the same lines, the result has markers; clashes counts these.
func mergeLines(base, mine, new, to, mark string) (text string, clashes int) {
	b, o, t := lines(base), lines(mine), lines(new)
	if len(b)+len(o)+len(t) > maxMergeLines {
		return marked(mine, &base, new, to, mark), 1
	}
	inOurs, inTheirs := matches(base, mine, len(b)), matches(base, new, len(b))
	var w strings.Builder
	put := func(text string) { // the last line of a text may have no end
		if s := w.String(); text != "" && s != "" && !strings.HasSuffix(s, "\n") {
			w.WriteByte('\n')
		}
		w.WriteString(text)
	}
	i, j, k := 0, 0, 0
	for i <= len(b) {
		next := i
		for next < len(b) && (inOurs[next] < 0 || inTheirs[next] < 0) {
			next++
		}
		toJ, toK := len(o), len(t)
		if next < len(b) {
			toJ, toK = inOurs[next], inTheirs[next]
		}
		was, mine, new := b[i:next], o[j:toJ], t[k:toK]
		switch {
		case slices.Equal(mine, was), slices.Equal(mine, new):
			put(strings.Join(new, ""))
		case slices.Equal(new, was):
			put(strings.Join(mine, ""))
		default:
			before := strings.Join(was, "")
			put(marked(strings.Join(mine, ""), &before, strings.Join(new, ""), to, mark))
			clashes++
		}
		if next == len(b) {
			break
		}
		put(t[toK])
		i, j, k = next+1, toJ+1, toK+1
	}
	return w.String(), clashes
}

// lines are those of a text, each with its end.
func lines(text string) []string {
	out := strings.SplitAfter(text, "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// matches is for each of the n lines of a text the line of another one that it stays, -1 if none.
func matches(from, to string, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // else the result depends on how fast the machine is
	a, b, _ := dmp.DiffLinesToRunes(from, to)
	i, j := 0, 0
	for _, d := range dmp.DiffMainRunes(a, b, false) {
		count := len([]rune(d.Text))
		switch d.Type {
		case diffmatchpatch.DiffEqual:
			for range count {
				out[i] = j
				i, j = i+1, j+1
			}
		case diffmatchpatch.DiffDelete:
			i += count
		case diffmatchpatch.DiffInsert:
			j += count
		}
	}
	return out
}
