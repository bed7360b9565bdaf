package sqlite

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
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
	ids    bits  // what was found
	total  int   // how many these are
	some   *some // nil if they have all words
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
	if err := o.choose(ctx, best); err != nil {
		return nil, nil, err
	}
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
	ids, err := idList(ctx, o, `SELECT CAST(group_concat(id) AS BLOB) FROM (SELECT id FROM skills WHERE name = $1 ORDER BY namespace LIMIT 1000)`, strings.ToLower(strings.Join(o.words, "-")))
	if err != nil {
		return nil, err
	}
	if namespace, name, ok := strings.Cut(strings.TrimSpace(o.search.Text), "/"); ok {
		one, err := idList(ctx, o, `SELECT id FROM skills WHERE namespace = $1 AND name = $2`, namespace, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, one...)
	}
	return ids, nil
}

// choose adds to best up to maxRanked skills, with scores that cost little.
func (o *order) choose(ctx context.Context, best map[int64]float64) error {
	add := func(some bits) {
		for id := range some.backward() {
			if len(best) == maxRanked {
				return
			}
			if _, found := best[id]; !found { // an exact match keeps its bonus
				best[id] = 0
			}
		}
	}
	switch {
	case o.some != nil:
		for _, id := range heaviest(o.ids, o.some.weights, maxRanked) {
			best[id] += float64(o.some.weights[id]) / 1000
		}
		return nil
	case o.total <= maxRanked:
		add(o.ids)
		return o.bm25(ctx, `SELECT rowid, bm25(search, 10, 5, 2, 3, 1) FROM search WHERE search MATCH $1`, match(o.words, ""), best)
	}
	// Of words that so many skills have, one in a text says little; and to rank takes
	// ten times as long as to find.
	for _, operator := range []string{"", " OR "} {
		named, err := o.state.list(ctx, o, terms{"search_name", match(o.words, operator)})
		if err != nil {
			return err
		}
		if add(o.ids.and(named)); len(o.words) == 1 || len(best) == maxRanked {
			break
		}
	}
	return o.bm25(ctx, `SELECT rowid, bm25(search_name, 10, 5) FROM search_name WHERE search_name MATCH $1`, match(o.words, " OR "), best)
}

// bm25 adds the score that query gives, of the ids that are the keys of best.
func (o *order) bm25(ctx context.Context, query, match string, best map[int64]float64) error {
	if len(best) == 0 {
		return nil
	}
	first := int64(math.MaxInt64)
	ids := make([]int64, 0, len(best))
	for id := range best {
		ids = append(ids, id)
		first = min(first, id)
	}
	// The plus keeps the ids away from the full-text index, which would start anew for each of them; where to start is
	// what it shall know.
	rows, err := o.QueryContext(ctx, query+` AND rowid >= $2 AND +rowid IN (SELECT value FROM json_each($3))`, match, first, array(ids))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var s float64
		if err := rows.Scan(&id, &s); err != nil {
			return err
		}
		best[id] -= s // FTS5 gives the best the lowest number
	}
	return rows.Err()
}

// array writes numbers as JSON.
func array(ids []int64) string {
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, id, 10)
	}
	return string(append(list, ']'))
}

// score gives the skills of top the scores that all of skl ranks by.
func (o *order) score(ctx context.Context, top []int64, best map[int64]float64) error {
	scorer := weights().New(rank.Ask(o.search.Text), o.corpus())
	// Skills that have all words differ by where they say them. A sentence is also about what skills say in
	// their bodies, which takes longer to read than all the rest.
	query := `SELECT s.id, s.namespace, s.name, s.keywords, s.description, '' FROM json_each($1) AS j CROSS JOIN skills AS s ON s.id = j.value`
	if o.some != nil {
		query = `SELECT s.id, s.namespace, s.name, s.keywords, s.description, coalesce(r.body, '') FROM json_each($1) AS j CROSS JOIN skills AS s ON s.id = j.value
			LEFT JOIN releases AS r ON r.namespace = s.namespace AND r.name = s.name AND r.version = s.latest`
	}
	rows, err := o.QueryContext(ctx, query, array(top))
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
		// The scorer knows only whole words, and gives a prefix 0: then the score from before decides.
		value := 1 + scorer.Score(d).Value
		if best[id] >= exactBonus {
			best[id] -= exactBonus
			value += exactBonus
		}
		best[id] = value + best[id]*little
	}
	return rows.Err()
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
