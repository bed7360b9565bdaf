package search

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/skl-project/skl/registry/meta"
)

// Limits of a search.
const (
	maxWords  = 12    // of the text; more are ignored
	maxRanked = 1_000 // matches that are ranked by their words
	maxScored = 200   // the best of these, which are scored by index/rank
	maxLimit  = 100

	sentenceWords   = 5  // a text with so many is a sentence:
	sentenceMatches = 10 // that fewer skills have all words of it is chance
)

// Search implements [meta.Dialect] for db. A nil cache holds nothing: it is for transactions that write, as
// the number of a state that was rolled back is used again.
//
// Skills match that have all words. If there are none, or the text is a sentence and there are less than ten, those match that have
// the words which tell most: see [state.some]. Total and facets count all matches, and only matches.
//
// A skill whose name is the text comes first; the others follow as [order] sorts them. Of more than 1,000 matches, those
// with a word in name or keywords are ranked by these, at most 1,000; the others come behind them,
// newest first, with the score 0.
func (c *Cache) Search(ctx context.Context, q meta.Querier, db Database, s meta.Search) (meta.Hits, error) {
	if s.Limit <= 0 {
		s.Limit = 20
	}
	s.Limit, s.Offset = min(s.Limit, maxLimit), max(s.Offset, 0)
	count := newCounter()
	h := meta.Hits{Facets: count.facets}
	text := split(s.Text, maxWords)
	if text == nil && strings.TrimSpace(s.Text) != "" {
		return h, nil // no skill has a word without letters
	}
	f, err := newFilter(ctx, q, s)
	if err != nil || f == nil {
		return h, err
	}

	st, err := c.state(ctx, q, db)
	if err != nil {
		return meta.Hits{}, err
	}
	lists, err := st.read(ctx, q, text)
	if err != nil {
		return meta.Hits{}, err
	}
	var found bits
	if text == nil {
		found = st.all()
	} else {
		found = intersect(lists, anywhere)
	}
	pages, err := st.cells(ctx, q, found)
	if err != nil {
		return meta.Hits{}, err
	}
	kept := f.pick(found, pages, count)
	var some *some
	if count.all == 0 && len(text) > 1 || count.all < sentenceMatches && len(text) >= sentenceWords {
		if some, err = st.some(ctx, q, f, s.Text, kept); err != nil {
			return meta.Hits{}, err
		}
	}
	if some != nil {
		count = newCounter()
		h.Relaxed, h.Facets = true, count.facets
		kept = f.pick(some.ids, some.pages, count)
	}
	if err := count.name(ctx, q, db); err != nil {
		return meta.Hits{}, err
	}
	if h.Total = count.all; h.Total == 0 {
		return h, nil
	}

	var list []int64
	var scores map[int64]float64
	if text != nil && (s.Sort == "" || s.Sort == "relevance") {
		o := order{Querier: q, state: st, search: s, words: text, lists: lists, ids: kept, total: h.Total, some: some}
		list, scores, err = o.list(ctx)
	} else {
		list, err = st.sorted(ctx, q, s, kept, h.Total)
	}
	if err != nil {
		return meta.Hits{}, err
	}
	list = list[min(s.Offset, len(list)):]
	h.IDs = list[:min(s.Limit, len(list))]
	for _, id := range h.IDs {
		h.Scores = append(h.Scores, scores[id])
	}
	return h, nil
}

// sorted returns those of total ids that the page of s needs, and those before them, in the order of s. Many are found by reading an
// index in that order, until there are enough; few are sorted.
func (st *state) sorted(ctx context.Context, q meta.Querier, s meta.Search, ids bits, total int) ([]int64, error) {
	order := "s.name, s.namespace"
	switch s.Sort {
	case "updated":
		order = "s.updated DESC, s.id DESC"
	case "downloads":
		order = "s.downloads DESC, s.id DESC"
	}
	wanted := min(s.Offset+s.Limit, total)
	expected := int64(wanted) * st.last / int64(total) // read before enough are found
	if expected < int64(total) {
		for limit := int64(256); ; limit *= 8 { // a number of the statement, so that it can be planned for
			if limit < 2*expected {
				continue
			}
			var found []int64
			n := int64(0)
			if err := eachID(ctx, q, st.db.IDs(fmt.Sprintf(`SELECT s.id FROM skills AS s ORDER BY %s LIMIT %d`, order, limit)), func(id int64) {
				if n++; ids.has(id) {
					found = append(found, id)
				}
			}); err != nil || n < limit || len(found) >= wanted {
				return found, err
			}
			if limit > int64(total) {
				break // they are far behind
			}
		}
	}
	list := make([]int64, 0, total)
	for id := range ids.backward() {
		list = append(list, id)
	}
	return st.idList(ctx, q, `SELECT s.id FROM `+st.db.Among("$1")+` CROSS JOIN skills AS s WHERE s.id = j.value ORDER BY `+order+` LIMIT $2`, meta.Array(list), wanted)
}

// idList returns the ids that a query answers, in its order.
func (st *state) idList(ctx context.Context, q meta.Querier, query string, args ...any) ([]int64, error) {
	var ids []int64
	err := eachID(ctx, q, st.db.IDs(query), func(id int64) { ids = append(ids, id) }, args...)
	return ids, err
}

// eachID calls visit for each number in the text that answers a query of [Database.IDs]: that is many times as fast as a row for each.
// An answer of no text is none.
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
		eachNumber(raw, visit)
	}
	return rows.Err()
}

// eachNumber calls visit for each number of a text of numbers and commas.
func eachNumber(raw []byte, visit func(id int64)) {
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
