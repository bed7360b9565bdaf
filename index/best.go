package index

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
)

// best returns the n best of what was found, the best first, and the number of all.
func (s *search) best(f found, n int) (best []scored, total int, err error) {
	keep := max(considered, 2*n)
	var list []scored
	if f.byRow {
		list, total, err = s.bestRows(f.rows, keep)
	} else {
		list, total, err = s.bestHits(f.hits, keep)
	}
	if err != nil {
		return nil, 0, err
	}
	weights := rank.DefaultWeights()
	if s.sentence {
		weights = rank.SentenceWeights(s.ask.Kind)
	}
	scorer := weights.New(s.ask, s.corpus())
	out := list[:0]
	for _, c := range list {
		if s.blocks[c.file.ID] != nil { // its text is not at hand
			c.score.Value = c.base
			out = append(out, c)
			continue
		}
		text, ok := s.text(c.file)
		if !ok {
			continue
		}
		c.score = scorer.Score(s.document(c, text))
		if f := s.fit(c); f != 1 {
			less := c.score.Value * (f - 1)
			c.score.Value += less
			c.score.Parts = append(c.score.Parts, rank.Part{Name: "fit", Value: less})
		}
		c.score.Value += c.base
		if c.base != 0 {
			c.score.Parts = append(c.score.Parts, rank.Part{Name: "match", Value: c.base})
		}
		out = append(out, c)
	}
	s.surround(out)
	slices.SortStableFunc(out, better)
	if f.byRow {
		s.gather(out)
		slices.SortStableFunc(out, better)
	}
	return out[:min(n, len(out))], total, nil
}

// better says which of two matches comes first.
func better(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score.Value, a.score.Value), cmp.Compare(a.part.Tokens, b.part.Tokens), strings.Compare(a.file.Path, b.file.Path), cmp.Compare(a.part.Start, b.part.Start))
}

const (
	fileBest  = 4     // matches of a file that say what it is worth
	fileShare = 0.025 // of the score of each of them that the others get
	fileAgain = 0.9   // of its score that a match keeps for each better one of its file, where files are meant rather than functions
)

// gather raises what stands in a file that has more of the best, as the words of a question are spread over it. Where a question does not
// ask for a function, the second match of a file is worth less than the first. The list is sorted, and is not afterwards.
func (s *search) gather(list []scored) {
	sum, seen := make(map[*store.File]float64), make(map[*store.File]int)
	for _, c := range list {
		if seen[c.file]++; seen[c.file] <= fileBest {
			sum[c.file] += c.score.Value
		}
	}
	again := 1.0
	switch s.ask.Kind {
	case rank.Concept, rank.Config, rank.Failure:
		again = fileAgain
	}
	keep := make(map[*store.File]float64)
	for i := range list {
		c := &list[i].score
		file := list[i].file
		if keep[file] == 0 {
			keep[file] = 1
		}
		if more := round(fileShare * max(0, sum[file]-c.Value)); more > 0 {
			c.Value += more
			c.Parts = append(c.Parts, rank.Part{Name: "file", Value: more})
		}
		if less := round(c.Value * (1 - keep[file])); less > 0 {
			c.Value -= less
			c.Parts = append(c.Parts, rank.Part{Name: "again", Value: -less})
		}
		keep[file] *= again
	}
}

const (
	besideLines = 30  // between a match and another that raises it
	besideShare = 0.1 // of the score of the other, at most
)

// surround raises what stands beside another match of its file: what belongs together stands together, and words of a question are
// spread over it.
func (s *search) surround(list []scored) {
	if !s.sentence {
		return
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := &list[order[i]], &list[order[j]]
		return cmp.Or(strings.Compare(a.file.Path, b.file.Path), cmp.Compare(a.part.FirstLine, b.part.FirstLine), cmp.Compare(order[i], order[j])) < 0
	})
	more := make([]float64, len(list))
	for k, i := range order {
		for _, step := range []int{-1, 1} {
			for m := k + step; m >= 0 && m < len(order) && list[order[m]].file == list[i].file; m += step {
				other, c := &list[order[m]], &list[i]
				gap := max(other.part.FirstLine-c.part.LastLine, c.part.FirstLine-other.part.LastLine)
				if gap > besideLines {
					break
				}
				if gap > 0 { // else one is in the other
					more[i] = max(more[i], besideShare*other.score.Value*(1-float64(gap)/(besideLines+1)))
				}
			}
		}
	}
	for i := range list {
		if m := round(more[i]); m > 0 {
			list[i].score.Value += m
			list[i].score.Parts = append(list[i].score.Parts, rank.Part{Name: "beside", Value: m})
		}
	}
}

// fit is the share of its score that a match keeps for being of a form that seldom answers a sentence: what a sentence speaks of is done by
// functions. In other languages than Go, types hold their methods.
func (s *search) fit(c scored) float64 {
	if !s.sentence {
		return 1
	}
	switch name := c.file.Path[strings.LastIndexByte(c.file.Path, '/')+1:]; {
	case c.file.Language == "go" && (c.part.Type == chunk.Struct || c.part.Type == chunk.Class):
		return 0.75
	case c.file.Language == "go" && c.part.Type == chunk.Chunk && c.part.Parent < 0:
		return 0.8
	case c.file.Language == "text" && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".golden") || strings.HasPrefix(name, "LICENSE")):
		return 0.7
	case c.file.Language == "markdown":
		return 0.85
	}
	return 1
}

// bestRows chooses pieces by what the index says, and returns the nodes that they are shown as.
func (s *search) bestRows(rows []scoredRow, n int) ([]scored, int, error) {
	rows, err := s.onePerNode(rows)
	if err != nil {
		return nil, 0, err
	}
	total := len(rows)
	rows = s.highest(rows, n)
	list := make([]scored, 0, len(rows))
	for _, r := range rows {
		file := s.v.File(r.row.File())
		o, err := s.outline(file)
		if err != nil {
			return nil, 0, err
		}
		if r.row.Piece() >= len(o.Pieces) {
			continue
		}
		p := o.Pieces[r.row.Piece()]
		list = append(list, scored{hit: hit{file: file, node: p.Node, at: p.Region}, part: o.Nodes[p.Node]})
	}
	return list, total, nil
}

// onePerNode keeps, of pieces that are shown as one node, the one that the index says most of. Few files have such pieces.
func (s *search) onePerNode(rows []scoredRow) ([]scoredRow, error) {
	worse := make(map[store.Row]bool)
	best := make(map[[2]int64]scoredRow) // by file and node
	for _, r := range rows {
		file := s.v.File(r.row.File())
		if file.Flags&store.Shared == 0 {
			continue
		}
		o, err := s.outline(file)
		if err != nil {
			return nil, err
		}
		if r.row.Piece() >= len(o.Pieces) {
			continue
		}
		key := [2]int64{file.ID, int64(o.Pieces[r.row.Piece()].Node)}
		other, ok := best[key]
		switch {
		case ok && other.pre >= r.pre:
			worse[r.row] = true
			continue
		case ok:
			worse[other.row] = true
		}
		best[key] = r
	}
	if len(worse) == 0 {
		return rows, nil
	}
	return keep(rows, func(r scoredRow) bool { return !worse[r.row] }), nil
}

// highest returns the n rows that the index says most of, in order. Among equals those of the first paths are taken.
func (s *search) highest(rows []scoredRow, n int) []scoredRow {
	return largest(rows, n, func(r scoredRow) float64 { return r.pre }, func(a, b scoredRow) int {
		return cmp.Compare(s.v.Order(a.row.File()), s.v.Order(b.row.File()))
	})
}

// largest returns the n elements of list with the largest values, in the order of list. Of those whose values are equal at the end, the
// first are taken: by tie, and then by list.
func largest[T any](list []T, n int, value func(T) float64, tie func(a, b T) int) []T {
	if len(list) <= n {
		return list
	}
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = value(v)
	}
	limit := nthLargest(slices.Clone(values), n)
	var chosen, equal []int
	for i, v := range values {
		switch {
		case v > limit:
			chosen = append(chosen, i)
		case v == limit:
			equal = append(equal, i)
		}
	}
	if need := n - len(chosen); len(equal) > need {
		slices.SortStableFunc(equal, func(i, j int) int { return tie(list[i], list[j]) })
		equal = equal[:need]
	}
	chosen = append(chosen, equal...)
	slices.Sort(chosen)
	out := make([]T, len(chosen))
	for i, k := range chosen {
		out[i] = list[k]
	}
	return out
}

// nthLargest returns the value that n-1 others are at least as large as; it reorders list.
func nthLargest(list []float64, n int) float64 {
	lo, hi, k := 0, len(list)-1, n-1
	for lo < hi {
		a, b, c := list[lo], list[(lo+hi)/2], list[hi]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for list[i] > pivot {
				i++
			}
			for list[j] < pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return list[k]
		}
	}
	return list[k]
}

func (s *search) bestHits(hits []hit, n int) ([]scored, int, error) {
	hits, err := s.onePerHandle(hits)
	if err != nil {
		return nil, 0, err
	}
	total := len(hits)
	hits = likeliest(hits, n)
	list := make([]scored, len(hits))
	for i, h := range hits {
		part, err := s.region(h)
		if err != nil {
			return nil, 0, err
		}
		list[i] = scored{hit: h, part: part}
	}
	return list, total, nil
}

// onePerHandle keeps, of nodes of one type and span, such as both names of "var a, b = 1, 2", the one that is worth most: they have
// one handle, and stand together.
func (s *search) onePerHandle(hits []hit) ([]hit, error) {
	var out []hit // nil as long as it is what hits begins with
	for i := 1; i < len(hits); i++ {
		a, b := hits[i-1], hits[i]
		if out != nil {
			a = out[len(out)-1]
		}
		same, err := s.sameHandle(a, b)
		if err != nil {
			return nil, err
		}
		if same && out == nil {
			out = slices.Clone(hits[:i])
		}
		if same && b.base > a.base {
			out[len(out)-1] = b
		} else if !same && out != nil {
			out = append(out, b)
		}
	}
	if out == nil {
		return hits, nil
	}
	return out, nil
}

// sameHandle says whether two hits that stand together have one handle. Those with a line are of text, and those have pieces of their own.
func (s *search) sameHandle(a, b hit) (bool, error) {
	if a.file != b.file || a.line > 0 || b.line > 0 || a.node < 0 || b.node < 0 {
		return false, nil
	}
	o, err := s.outline(a.file)
	if err != nil {
		return false, err
	}
	m, n := &o.Nodes[a.node], &o.Nodes[b.node]
	return m.Type == n.Type && m.Start == n.Start && m.End == n.End, nil
}

// likeliest returns the n hits that are worth most before their text is looked at. Among equals the first are taken.
func likeliest(hits []hit, n int) []hit {
	var file *store.File
	var weight float64
	value := func(h hit) float64 {
		if h.file != file { // those of a file stand together
			file, weight = h.file, weighPath(h.file.Path)
		}
		return h.base + weight
	}
	return largest(hits, n, value, func(hit, hit) int { return 0 })
}

// corpus describes all pieces to the scorer.
func (s *search) corpus() rank.Corpus {
	pieces, tokens := s.v.Totals()
	c := rank.Corpus{Documents: pieces + 1}
	c.Length = max(20, 0.6*float64(tokens)/float64(c.Documents)) // of ten tokens, about six are words
	c.Frequency = func(term string) int {
		n, err := s.v.Count(term)
		if err != nil {
			return 0
		}
		return n
	}
	return c
}

// document describes a match to the scorer: what matched of a node, not all of a long one.
func (s *search) document(c scored, text []byte) rank.Document {
	n := c.part
	from, to := n.Start, n.End
	if c.at.End > c.at.Start {
		from, to = c.at.Start, c.at.End
	}
	to = min(to, from+16<<10)
	d := rank.Document{Name: n.Name, Owner: n.Owner, Path: c.file.Path, Signature: n.Signature, Kind: n.Type.String(), Tokens: n.Tokens, Exported: n.Exported, Lines: n.LastLine - n.FirstLine + 1}
	if n.DocEnd > n.DocStart && n.DocEnd <= len(text) {
		d.Doc = text[n.DocStart:n.DocEnd]
		if from <= n.DocStart && n.DocEnd <= n.Start {
			from = n.DocEnd // it is not counted twice
		}
	}
	if from, to = min(from, len(text)), min(to, len(text)); from < to {
		d.Body = text[from:to]
		d.Made = written(c.file.Path, text, d.Body)
	}
	if n.Type == chunk.Chunk && n.Parent >= 0 {
		if o, err := s.outline(c.file); err == nil {
			d.Name, d.Owner = o.Nodes[n.Parent].Name, o.Nodes[n.Parent].Owner
		}
	}
	if s.x.o.Prior != nil {
		d.Prior = s.x.o.Prior(d.Kind, d.Path)
	}
	return d
}

// weighPath is below 0 for files that are seldom what is looked for: tests, copies of others' code, what programs wrote.
func weighPath(path string) float64 {
	w := 0.0
	lower := strings.ToLower(path)
	if rank.IsTest(lower) {
		w -= 0.5
	}
	if strings.HasPrefix(lower, "examples/") || strings.Contains(lower, "/examples/") {
		w -= 0.5
	}
	if rank.IsMade(path) || rank.IsForeign(lower) {
		w--
	}
	return w
}
