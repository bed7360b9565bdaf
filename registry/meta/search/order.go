package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/registry/meta"
)

// An order sorts what a search found.
type order struct {
	meta.Querier
	state  *state
	search meta.Search
	words  []string
	lists  []*list // of the words
	ids    bits    // what was found
	total  int     // how many these are
	some   *some   // nil if they have all words
}

const (
	exactBonus = 1_000 // more than any other score
	little     = 0.001 // less than a difference of scores that matters
)

// list returns those ids that the page of the search needs, and those before them, best first, with their scores. There are
// three ranks, whose scores do not overlap: the best maxScored by [rank.Scorer], whose score is above 1; up to maxRanked
// by cheaper means, between 0 and 1; the others, newest first, with 0.
func (o *order) list(ctx context.Context) ([]int64, map[int64]float64, error) {
	exact, err := o.exact(ctx)
	if err != nil {
		return nil, nil, err
	}
	best := map[int64]float64{} // score of what is ranked
	for _, id := range slices.Backward(exact) {
		if o.ids.has(id) && len(best) < maxRanked {
			best[id] = exactBonus
		}
	}
	o.choose(best)
	sorted := make([]int64, 0, len(best)+o.search.Limit)
	for id, score := range best {
		sorted = append(sorted, id)
		if score >= exactBonus {
			best[id] = exactBonus + squeeze(score-exactBonus)
		} else {
			best[id] = squeeze(score)
		}
	}
	byScore := func(a, b int64) int { return cmp.Or(cmp.Compare(best[b], best[a]), cmp.Compare(b, a)) }
	slices.SortFunc(sorted, byScore)
	top := sorted[:min(maxScored, len(sorted))]
	if err := o.score(ctx, top, best); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(top, byScore)
	for id := range o.ids.backward() {
		if len(sorted)-o.search.Limit >= o.search.Offset {
			break
		}
		if _, done := best[id]; !done {
			sorted = append(sorted, id)
		}
	}
	return sorted, best, nil
}

// squeeze keeps the order of scores, below 1.
func squeeze(score float64) float64 { return max(score, 0) / (1 + max(score, 0)) }

// exact returns the skills whose name is the text.
func (o *order) exact(ctx context.Context) ([]int64, error) {
	ids, err := o.state.idList(ctx, o, `SELECT id FROM skills WHERE name = $1 ORDER BY namespace LIMIT 1000`, strings.Join(o.words, "-"))
	if err != nil {
		return nil, err
	}
	if namespace, name, ok := strings.Cut(strings.TrimSpace(o.search.Text), "/"); ok {
		one, err := o.state.idList(ctx, o, `SELECT id FROM skills WHERE namespace = $1 AND name = $2`, namespace, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, one...)
	}
	return ids, nil
}

// Weights by which skills are chosen: of each word in name or keywords, and of all words in what a skill says of itself.
const (
	namedWeight = 4
	saidWeight  = 2
)

// choose adds to best up to maxRanked skills, with scores that cost little: only lists of ids are read.
func (o *order) choose(best map[int64]float64) {
	chosen, weights := o.ids, []int32(nil)
	if o.some != nil {
		weights = o.some.weights
	} else {
		weights = make([]int32, len(o.ids)*64)
		some := o.state.empty()
		for _, l := range o.lists {
			add(weights, l.in(named), o.ids, namedWeight)
			some.add(l.in(named))
		}
		if o.total <= maxRanked {
			add(weights, intersect(o.lists, said), o.ids, saidWeight)
		} else { // of words that so many skills have, one in a text says little
			chosen = o.ids.and(some)
		}
	}
	for _, id := range heaviest(chosen, weights, maxRanked) {
		best[id] += float64(weights[id]) / 1000
	}
}

// score gives the skills of top the scores that all of skl ranks by.
func (o *order) score(ctx context.Context, top []int64, best map[int64]float64) error {
	scorer := weights().New(rank.Ask(o.search.Text), o.corpus())
	// Skills that have all words differ by where they say them. A sentence is also about what skills say in
	// their bodies, which takes longer to read than all the rest.
	among := o.state.db.Among("$1")
	query := `SELECT s.id, s.namespace, s.name, s.keywords, s.description, '' FROM ` + among + ` CROSS JOIN skills AS s WHERE s.id = j.value`
	if o.some != nil {
		query = `SELECT s.id, s.namespace, s.name, s.keywords, s.description, coalesce(r.body, '') FROM ` + among + ` CROSS JOIN skills AS s
			LEFT JOIN releases AS r ON r.namespace = s.namespace AND r.name = s.name AND r.version = s.latest WHERE s.id = j.value`
	}
	rows, err := o.QueryContext(ctx, query, meta.Array(top))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		d := rank.Document{Kind: "skill"}
		if err := rows.Scan(&id, &d.Owner, &d.Name, &d.Signature, &d.Doc, &d.Body); err != nil {
			return err
		}
		// The scorer knows only whole words, and gives a prefix 0: then the score from before decides, and how much of the
		// name it is.
		value := 1 + scorer.Score(d).Value
		if best[id] >= exactBonus {
			best[id] -= exactBonus
			value += exactBonus
		}
		best[id] = value + (best[id]+o.closeness(d.Name)/100)*little
	}
	return rows.Err()
}

// closeness is the share of the words of a name that the words of the search begin.
func (o *order) closeness(name string) float64 {
	parts := Words(name)
	n := 0
	for _, p := range parts {
		if slices.ContainsFunc(o.words, func(w string) bool { return strings.HasPrefix(p, w) }) {
			n++
		}
	}
	return float64(n) / float64(max(len(parts), 1))
}

// corpus says how frequent the words of the question are. Of skills that have them all that matters little, and would be slow to find out.
func (o *order) corpus() rank.Corpus {
	c := rank.Corpus{Length: usualTerms}
	if o.some == nil {
		return c
	}
	n := make(map[string]int, len(o.some.sought))
	for _, w := range o.some.sought {
		n[w.term] = w.n
	}
	c.Documents = int(o.state.last)
	c.Frequency = func(term string) int {
		if have, ok := n[term]; ok {
			return have
		}
		return c.Documents / 2 // a word that holds others together, or one too many
	}
	return c
}

// weights are those of index/rank, but for keywords, which are few words and not a signature, and for bodies.
func weights() rank.Weights {
	const signature, body = 3, 5
	w := rank.DefaultWeights()
	w.Field[signature], w.Shorter[signature], w.Usual[signature] = 3, 0.3, 4
	w.Field[body], w.Shorter[body] = 0.4, 0.8
	w.Size = 0 // nobody reads a skill's release in parts
	return w
}

// usualTerms is the mean number of terms in the part of a body that is scored.
const usualTerms = 400
