package search

import (
	"context"
	"math"
	mathbits "math/bits"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/registry/meta"
)

// A sought word is a word of a question that says something, and the skills that have it.
type sought struct {
	term   string // as index/rank writes it
	prefix string // that all forms of the word begin with
	said   bits   // skills with it in name, keywords, namespace or description
	any    bits   // or in the body
	n      int    // skills of any
}

const maxSought = 8 // words of a sentence that are looked for; each takes milliseconds

// seek returns the words of a question that say something, but for their skills.
func seek(text string) []sought {
	content := map[string]bool{}
	words := Words(text)
	for _, read := range []string{text, strings.Join(words, " ")} { // as it was written, and as it is indexed
		for _, t := range rank.Ask(read).Content() {
			content[t.Text] = true
		}
	}
	var all []sought
	for _, w := range words {
		var terms []string
		rank.Terms([]byte(w), func(t []byte) { terms = append(terms, string(t)) })
		if len(terms) == 0 || !content[terms[0]] || slices.ContainsFunc(all, func(o sought) bool { return o.term == terms[0] }) {
			continue
		}
		all = append(all, sought{term: terms[0], prefix: common(w, terms[0])})
	}
	// Long words are seldom frequent.
	sort.SliceStable(all, func(i, j int) bool { return len(all[i].prefix) > len(all[j].prefix) })
	return all[:min(len(all), maxSought)]
}

// common returns the beginning that a word and its stem have in common, or the word if that is short.
func common(word, stem string) string {
	n := 0
	for n < min(len(word), len(stem)) && word[n] == stem[n] {
		n++
	}
	for n < len(word) && !utf8.RuneStart(word[n]) {
		n--
	}
	if n < 3 {
		return word
	}
	return word[:n]
}

// fill finds the skills that have words.
func (s *state) fill(ctx context.Context, q meta.Querier, all []sought) error {
	wanted := make([]string, len(all))
	for i, w := range all {
		wanted[i] = w.prefix
	}
	lists, err := s.read(ctx, q, wanted)
	if err != nil {
		return err
	}
	for i := range all {
		w := &all[i]
		w.any, w.said, w.n = lists[i].in(anywhere), lists[i].in(said), lists[i].in(anywhere).count()
		if s.frequent(w.any, often) {
			w.said = w.any
		}
	}
	return nil
}

// often is one of how many skills has a word that tells so little that it does not matter where it stands.
const often = 20

// bodyShare is what a word in a body counts, relative to one outside of it.
const bodyShare = 0.3

// some are the skills that have the words of a question that tell most.
type some struct {
	sought  []sought
	ids     bits
	weights []int32 // of the words that a skill has, by id
	pages   [][]byte
}

// some returns the skills that pass f and have at least half of the weight that the best of them has, and those of full, which have all words. It is nil if the
// question has no word that says something, or no skill that passes f has one. What does not pass f changes nothing.
func (s *state) some(ctx context.Context, q meta.Querier, f *filter, text string, full bits) (*some, error) {
	all := seek(text)
	if err := s.fill(ctx, q, all); err != nil {
		return nil, err
	}
	found := s.empty()
	for _, w := range all {
		found.add(w.any)
	}
	pages, err := s.cells(ctx, q, found)
	if err != nil {
		return nil, err
	}
	r := &some{sought: all, ids: f.pick(found, pages, newCounter()), pages: pages}
	r.weights = make([]int32, len(r.ids)*64)
	for _, w := range all {
		weight := 10 + 1000*math.Log(1+(max(0, float64(s.last)-float64(w.n))+0.5)/(float64(w.n)+0.5))
		add(r.weights, w.any, r.ids, int32(weight*bodyShare))
		add(r.weights, w.said, r.ids, int32(weight*(1-bodyShare)))
	}
	best := slices.Max(r.weights)
	if best == 0 {
		return nil, nil
	}
	for i := range r.ids {
		for b := r.ids[i]; b != 0; b &= b - 1 {
			if r.weights[i*64+mathbits.TrailingZeros64(b)] < (best+1)/2 && !full.has(int64(i*64+mathbits.TrailingZeros64(b))) {
				r.ids[i] &^= b & -b
			}
		}
	}
	return r, nil
}

// add adds weight for the ids that are in both sets.
func add(weights []int32, some, kept bits, weight int32) {
	for i := range kept {
		for b := some[i] & kept[i]; b != 0; b &= b - 1 {
			weights[i*64+mathbits.TrailingZeros64(b)] += weight
		}
	}
}

// heaviest returns the ids of a set with the highest weights, in no order, at most n. Of equal weights the highest ids are among them.
func heaviest(ids bits, weights []int32, n int) []int64 {
	var all []int32
	for id := range ids.backward() {
		all = append(all, weights[id])
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	least := all[max(0, len(all)-n)]
	var best, equal []int64
	for id := range ids.backward() {
		switch w := weights[id]; {
		case w > least:
			best = append(best, id)
		case w == least:
			equal = append(equal, id)
		}
	}
	return append(best, equal[:min(len(equal), n-len(best))]...)
}
