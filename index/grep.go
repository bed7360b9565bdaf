package index

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/order"
)

const (
	questionWords = 4      // a pattern of so many words is a question: it is enough to have some of them
	maxScanned    = 60_000 // pieces of rare words that are compared with each other for a question
)

// A word of a pattern. A piece has it if it has whole, or all the parts.
type word struct {
	whole string
	parts []string
	idf   float64
	n     int // pieces that have it, roughly
}

// wordsOf returns the words that matter: those that say little are left out unless there are no others.
func wordsOf(q rank.Question) []word {
	for _, stop := range []bool{false, true} {
		var list []word
		for _, w := range q.Words {
			if w.Stop && !stop || slices.ContainsFunc(list, func(l word) bool { return l.whole == w.Text }) {
				continue
			}
			list = append(list, word{whole: w.Text, parts: w.Parts})
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// grep finds words, or text with punctuation as it stands if any file has it.
func (s *search) grep(ctx context.Context, text string) (found, error) {
	long := len(text) > query.MaxText
	text, err := s.shortened(text)
	if err != nil {
		return found{}, err
	}
	if !long && strings.ContainsFunc(strings.TrimSpace(text), func(r rune) bool { return unicode.IsPunct(r) && r != '_' || unicode.IsSymbol(r) }) {
		f, err := s.literal(ctx, text)
		if err != nil || len(f.hits) > 0 {
			return f, err
		}
	}
	q := rank.Ask(text)
	words := wordsOf(q)
	if len(words) == 0 {
		return found{}, nil
	}
	pieces, _ := s.v.Totals()
	for i := range words {
		w := &words[i]
		n, err := s.v.Count(w.rarest(s))
		if err != nil {
			return found{}, err
		}
		w.n = n
		w.idf = math.Log1p(float64(pieces) / float64(n+1))
	}
	if len(words) < questionWords {
		rows, err := s.all(words)
		if err != nil {
			return found{}, err
		}
		if len(rows) == 0 && len(words) == 1 { // nothing speaks of it, but something may be called so
			paths, err := s.v.Rows(pathTerm + words[0].whole)
			if err != nil {
				return found{}, err
			}
			for _, r := range paths {
				rows = append(rows, scoredRow{row: r})
			}
		}
		// Fewer than were asked for are filled up with what has some of the words: the right one may lack a form of one.
		// Whether, does not depend on how many: total_matches is the same for every limit.
		if len(rows) >= query.DefaultLimit || len(rows) > 0 && (s.strict || len(words) == 1) {
			return found{rows: rows, byRow: true}, nil
		}
	}
	return s.some(words)
}

// rarest returns the term whose count stands for the word.
func (w *word) rarest(s *search) string {
	if len(w.parts) == 0 {
		return w.whole
	}
	best, least := w.whole, math.MaxInt
	for _, p := range w.parts {
		if n, err := s.v.Count(p); err == nil && n < least {
			best, least = p, n
		}
	}
	return best
}

// rows returns the pieces that have a word in their text.
func (s *search) rows(w word) ([]store.Row, error) {
	if len(w.parts) == 0 {
		return s.v.Rows(w.whole)
	}
	var rows []store.Row
	for i, p := range w.parts {
		list, err := s.v.Rows(p)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			rows = list
		} else {
			rows = both(rows, list)
		}
	}
	whole, err := s.v.Rows(w.whole)
	if err != nil {
		return nil, err
	}
	return either(rows, whole), nil
}

// byRarity sorts words, which are few, by how many pieces have them.
func byRarity(words []word) []word {
	rarest := slices.Clone(words)
	order.Stable(rarest, func(a, b word) int { return cmp.Compare(a.n, b.n) })
	return rarest
}

// all returns the pieces that have every word, in their text or, of several words, in their path; at least one in the text.
func (s *search) all(words []word) ([]scoredRow, error) {
	rarest := byRarity(words)
	var rows []store.Row
	var inText []store.Row
	for i, w := range rarest {
		list, err := s.rows(w)
		if err != nil {
			return nil, err
		}
		inText = either(inText, list)
		if len(words) > 1 {
			paths, err := s.v.Rows(pathTerm + w.whole)
			if err != nil {
				return nil, err
			}
			list = either(list, paths)
		}
		if i == 0 {
			rows = list
		} else {
			rows = both(rows, list)
		}
		if len(rows) == 0 {
			return nil, nil
		}
	}
	if len(words) > 1 {
		rows = both(rows, inText)
	}
	scored := make([]scoredRow, len(rows))
	for i, r := range rows {
		scored[i].row = r
	}
	for _, w := range words {
		if err := s.mark(scored, w); err != nil {
			return nil, err
		}
	}
	return scored, nil
}

// some returns the pieces that have some of the words: the rare ones, as common ones alone say nothing.
func (s *search) some(words []word) (found, error) {
	rarest := byRarity(words)
	f := found{byRow: true, relaxed: true}
	pre := make(map[store.Row]float64)
	total, used := 0, 0
	for _, w := range rarest {
		if used >= 2 && total+w.n > maxScanned {
			f.atLeast = true
			continue
		}
		list, err := s.rows(w)
		if err != nil {
			return found{}, err
		}
		if total += len(list); len(list) > 0 {
			used++
		}
		for _, r := range list {
			pre[r] += w.idf
		}
	}
	f.rows = make([]scoredRow, 0, len(pre))
	test := make(map[int64]bool)
	for r, p := range pre {
		seldom, known := test[r.File()]
		if !known {
			seldom = weighPath(s.v.File(r.File()).Path) < 0
			test[r.File()] = seldom
		}
		if seldom { // tests and copies would take most of the places
			p *= 0.6
		}
		f.rows = append(f.rows, scoredRow{r, p})
	}
	slices.SortFunc(f.rows, func(a, b scoredRow) int { return cmp.Compare(a.row, b.row) })
	for _, w := range rarest {
		if err := s.mark(f.rows, w); err != nil {
			return found{}, err
		}
	}
	s.context(f.rows)
	if len(words) >= questionWords {
		f.relaxed = false // a question asks for no more
	}
	return f, nil
}

// mark raises the rows that have a word in their names or path.
func (s *search) mark(rows []scoredRow, w word) error {
	terms := append([]string{w.whole}, w.parts...)
	for i, t := range terms {
		share := 1.0
		if i > 0 {
			share = 1 / float64(len(w.parts))
		}
		for _, kind := range []struct {
			prefix string
			weight float64
		}{{nameTerm, 2}, {pathTerm, 0.5}} {
			list, err := s.v.Rows(kind.prefix + t)
			if err != nil {
				return err
			}
			j := 0
			for i := range rows {
				for j < len(list) && list[j] < rows[i].row {
					j++
				}
				if j == len(list) {
					break
				}
				if list[j] == rows[i].row {
					rows[i].pre += kind.weight * share * w.idf
				}
			}
		}
	}
	return nil
}

// context raises pieces in whose file others match too: a little for each, so that of equal ones that of the better file comes first.
func (s *search) context(rows []scoredRow) {
	for i := 0; i < len(rows); {
		j, best, sum := i, 0.0, 0.0
		for ; j < len(rows) && rows[j].row.File() == rows[i].row.File(); j++ {
			best = max(best, rows[j].pre)
			sum += rows[j].pre
		}
		for ; i < j; i++ {
			rows[i].pre += 0.1 * (best + 0.1*min(sum, 5*best))
		}
	}
}

// both returns what two sorted lists have in common.
func both(a, b []store.Row) []store.Row {
	if len(a) > len(b) {
		a, b = b, a
	}
	out := make([]store.Row, 0, len(a))
	if len(b) > 16*len(a) {
		for _, r := range a {
			i, ok := slices.BinarySearch(b, r)
			if ok {
				out = append(out, r)
			}
			b = b[i:]
		}
		return out
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			out = append(out, a[i])
			i++
			j++
		}
	}
	return out
}

// either returns what one of two sorted lists has.
func either(a, b []store.Row) []store.Row {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]store.Row, 0, len(a)+len(b))
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] < b[j]:
			out = append(out, a[i])
			i++
		case a[i] > b[j]:
			out = append(out, b[j])
			j++
		default:
			out = append(out, a[i])
			i++
			j++
		}
	}
	return append(append(out, a[i:]...), b[j:]...)
}
