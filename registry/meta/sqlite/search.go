package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/skl-project/skl/registry/meta"
)

// Limits of a search.
const (
	maxWords  = 12    // of the text; more are ignored
	maxRanked = 1_000 // matches that are ranked by their words
	maxLimit  = 100
)

// Search implements [meta.Dialect].
//
// Total and facets count all matches, and only matches. A skill whose name is the text comes first; the
// others follow by BM25. Of more than 1,000 matches, those with a word in name or keywords are ranked by these,
// at most 1,000; the others come behind them, newest first, with the score 0.
func (d dialect) Search(ctx context.Context, q meta.Querier, s meta.Search) (meta.Hits, error) {
	if s.Limit <= 0 {
		s.Limit = 20
	}
	s.Limit, s.Offset = min(s.Limit, maxLimit), max(s.Offset, 0)
	count := newCounter()
	h := meta.Hits{Facets: count.facets}
	text := words(s.Text)
	if text == nil && strings.TrimSpace(s.Text) != "" {
		return h, nil // no skill has a word without letters
	}
	f, err := newFilter(ctx, q, s)
	if err != nil || f == nil {
		return h, err
	}

	st, err := d.cache.state(ctx, q)
	if err != nil {
		return meta.Hits{}, err
	}
	var found bits
	var list []int64 // in the order that s asks for
	if text != nil {
		found, err = st.find(ctx, q, text)
	} else if list, err = ordered(ctx, q, s); err == nil {
		found = st.none()
		for _, id := range list {
			found.set(id)
		}
	}
	if err != nil {
		return meta.Hits{}, err
	}
	pages, err := st.cells(ctx, q, found)
	if err != nil {
		return meta.Hits{}, err
	}
	kept := f.pick(found, pages, count)
	if err := count.name(ctx, q); err != nil {
		return meta.Hits{}, err
	}
	if h.Total = count.all; h.Total == 0 {
		return h, nil
	}

	var scores map[int64]float64
	switch {
	case text == nil:
	case s.Sort == "" || s.Sort == "relevance":
		list, scores, err = rank(ctx, q, st, s, text, kept, h.Total)
	default:
		list, err = ordered(ctx, q, s)
	}
	if err != nil {
		return meta.Hits{}, err
	}
	list = slices.DeleteFunc(list, func(id int64) bool { return !kept.has(id) })
	list = list[min(s.Offset, len(list)):]
	h.IDs = list[:min(s.Limit, len(list))]
	for _, id := range h.IDs {
		h.Scores = append(h.Scores, scores[id])
	}
	return h, nil
}

// words splits a text as the index splits the text of skills.
func words(text string) []string {
	var all []string
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co) || r == unicode.ReplacementChar
	}) {
		if all = append(all, w); len(all) == maxWords {
			break
		}
	}
	return all
}

// match is an FTS5 query for the words, each as a prefix: all of them, or any with the operator " OR ".
// A word is letters and digits; its quotes keep AND, OR, NOT and NEAR from being operators.
func match(words []string, operator string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(operator)
		}
		b.WriteString(`"` + w + `" * `)
	}
	return b.String()
}

// ordered returns the ids of all skills, or those of the namespace of s, in the order of s. It reads an index only.
func ordered(ctx context.Context, q meta.Querier, s meta.Search) ([]int64, error) {
	order := "name, namespace"
	switch s.Sort {
	case "updated":
		order = "updated DESC, id DESC"
	case "downloads":
		order = "downloads DESC, id DESC"
	}
	if s.Namespace != "" {
		return idList(ctx, q, `SELECT CAST(group_concat(id) AS BLOB) FROM (SELECT id FROM skills WHERE namespace = $1 ORDER BY `+order+`)`, s.Namespace)
	}
	return idList(ctx, q, `SELECT CAST(group_concat(id) AS BLOB) FROM (SELECT id FROM skills ORDER BY `+order+`)`)
}

// rank returns those of ids, which are total ids that match words, that the page of s needs, and those before them,
// best first.
func rank(ctx context.Context, q meta.Querier, st *state, s meta.Search, words []string, ids bits, total int) ([]int64, map[int64]float64, error) {
	exact, err := idList(ctx, q, `SELECT CAST(group_concat(id) AS BLOB) FROM (SELECT id FROM skills WHERE name = $1 ORDER BY namespace LIMIT 1000)`, strings.ToLower(strings.Join(words, "-")))
	if err != nil {
		return nil, nil, err
	}
	if namespace, name, ok := strings.Cut(strings.TrimSpace(s.Text), "/"); ok {
		one, err := idList(ctx, q, `SELECT id FROM skills WHERE namespace = $1 AND name = $2`, namespace, name)
		if err != nil {
			return nil, nil, err
		}
		exact = append(exact, one...)
	}
	best := map[int64]float64{} // score of what is ranked
	for _, id := range slices.Backward(exact) {
		if ids.has(id) && len(best) < maxRanked {
			best[id] = exactBonus
		}
	}
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
	if total <= maxRanked {
		add(ids)
		err = score(ctx, q, `SELECT rowid, bm25(search, 10, 5, 2, 3, 1) FROM search WHERE search MATCH $1`, match(words, ""), best)
	} else {
		// Of words that so many skills have, one in a text says little; and to rank takes
		// ten times as long as to find.
		for _, operator := range []string{"", " OR "} {
			named, err := st.list(ctx, q, terms{"search_name", match(words, operator)})
			if err != nil {
				return nil, nil, err
			}
			if add(ids.and(named)); len(words) == 1 || len(best) == maxRanked {
				break
			}
		}
		err = score(ctx, q, `SELECT rowid, bm25(search_name, 10, 5) FROM search_name WHERE search_name MATCH $1`, match(words, " OR "), best)
	}
	if err != nil {
		return nil, nil, err
	}

	sorted := make([]int64, 0, len(best)+s.Limit)
	for id := range best {
		sorted = append(sorted, id)
	}
	slices.SortFunc(sorted, func(a, b int64) int { return cmp.Or(cmp.Compare(best[b], best[a]), cmp.Compare(b, a)) })
	for id := range ids.backward() {
		if len(sorted)-s.Limit >= s.Offset {
			break
		}
		if _, done := best[id]; !done {
			sorted = append(sorted, id)
		}
	}
	return sorted, best, nil
}

// exactBonus is more than BM25 ever gives.
const exactBonus = 1_000

// score adds the score that query gives, of the ids that are the keys of best.
func score(ctx context.Context, q meta.Querier, query, match string, best map[int64]float64) error {
	list := []byte{'['}
	first := int64(math.MaxInt64)
	for id := range best {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, id, 10)
		first = min(first, id)
	}
	list = append(list, ']')
	// The plus keeps the ids away from the full-text index, which would start anew for each of them; where to start is
	// what it shall know.
	rows, err := q.QueryContext(ctx, query+` AND rowid >= $2 AND +rowid IN (SELECT value FROM json_each($3))`, match, first, string(list))
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

// idList reads the answer to a query for one text of numbers.
func idList(ctx context.Context, q meta.Querier, query string, args ...any) ([]int64, error) {
	var ids []int64
	err := eachID(ctx, q, query, func(id int64) { ids = append(ids, id) }, args...)
	return ids, err
}

// eachID calls visit for each number in the text that answers a query: that is many times as fast as a row for each.
// The text is best a blob, as the driver copies that once.
func eachID(ctx context.Context, q meta.Querier, query string, visit func(id int64), args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var raw sql.RawBytes
		if err := rows.Scan(&raw); err != nil {
			return err
		}
		var n int64
		for i, c := range raw {
			if c != ',' {
				n = n*10 + int64(c-'0')
			}
			if c == ',' || i == len(raw)-1 {
				visit(n)
				n = 0
			}
		}
	}
	return rows.Err()
}
