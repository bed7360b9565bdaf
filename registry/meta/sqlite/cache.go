package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/registry/meta"
)

// Limits of what searches keep in memory, beside 8 bytes for each skill. A list takes one bit for each skill.
const (
	oneIn    = 20      // lists are kept that hold at least one skill in 20; others are quickly read again
	maxLists = 256     // and together at most
	maxKept  = 4 << 20 // bytes
	maxTerms = 256     // bytes of the text of such a list
	maxID    = 1 << 28 // skills beyond are not found
)

// A cache holds the state that the latest search saw, for the searches that see the same one. Its methods may be
// called concurrently. A nil cache holds nothing: it is for transactions that write, as
// the number of a state that was rolled back is used again.
type cache struct {
	mu     sync.Mutex
	latest *state
}

// A state is the search index after a number of changes, and what searches have read of it. That number is in
// the database, so a transaction finds the state that it sees itself, whichever process made it.
type state struct {
	changes, last int64 // last is the highest id in use
	mu            sync.Mutex
	lists         map[terms]bits
	pages         [][]byte // of all cells, by number; nil before a search needs them
}

// terms are an index and a query of it.
type terms struct{ table, match string }

// state returns the state that q sees.
func (c *cache) state(ctx context.Context, q meta.Querier) (*state, error) {
	s := &state{lists: map[terms]bits{}}
	rows, err := q.QueryContext(ctx, `SELECT coalesce((SELECT cells FROM search_cells WHERE page = -1), 0), last FROM search_ids`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&s.changes, &s.last); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	s.last = min(max(s.last, 0), maxID)
	if c == nil {
		return s, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest != nil && c.latest.changes == s.changes {
		return c.latest, nil
	}
	if c.latest == nil || c.latest.changes < s.changes { // not for one that still sees an older state
		c.latest = s
	}
	return s, nil
}

// changed counts a change of the index, in the row of search_cells that is no page.
func changed(ctx context.Context, q meta.Querier) error {
	_, err := q.ExecContext(ctx, `INSERT INTO search_cells (page, cells) VALUES (-1, 1) ON CONFLICT (page) DO UPDATE SET cells = cells + 1`)
	return err
}

// find returns the ids of the skills that have all words. Words of kept lists are not asked for again.
func (s *state) find(ctx context.Context, q meta.Querier, words []string) (bits, error) {
	var kept bits
	var rest []string
	for _, w := range words {
		switch list := s.kept(terms{"search", match([]string{w}, "")}); {
		case list == nil:
			rest = append(rest, w)
		case kept == nil:
			kept = list
		default:
			kept = kept.and(list)
		}
	}
	if rest == nil {
		return kept, nil
	}
	list, err := s.list(ctx, q, terms{"search", match(rest, "")})
	if err != nil || kept == nil {
		return list, err
	}
	if list.count() == 0 && !slices.ContainsFunc(rest, isSurelyWord) {
		// The index leaves out what it takes for no word, such as a lone accent; by itself that finds nothing.
		return s.list(ctx, q, terms{"search", match(words, "")})
	}
	return kept.and(list), nil
}

// isSurelyWord reports whether the index takes w for a word.
func isSurelyWord(w string) bool {
	return strings.ContainsFunc(w, func(r rune) bool { return 'a' <= r|' ' && r|' ' <= 'z' || '0' <= r && r <= '9' })
}

func (s *state) kept(t terms) bits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[t]
}

// list returns the ids that match t, which must not be changed.
func (s *state) list(ctx context.Context, q meta.Querier, t terms) (bits, error) {
	if list := s.kept(t); list != nil {
		return list, nil
	}
	list := s.none()
	n := 0
	err := eachID(ctx, q, `SELECT CAST(group_concat(rowid) AS BLOB) FROM `+t.table+` WHERE `+t.table+` MATCH $1`, func(id int64) {
		list.set(id)
		n++
	}, t.match)
	if err != nil {
		return nil, err
	}
	if int64(n)*oneIn >= s.last && len(t.match) <= maxTerms {
		s.mu.Lock()
		defer s.mu.Unlock()
		for other := range s.lists { // any
			if len(s.lists) < min(maxLists, maxKept/(8*len(list))) {
				break
			}
			delete(s.lists, other)
		}
		s.lists[t] = list
	}
	return list, nil
}

// none returns an empty set for ids of s.
func (s *state) none() bits { return make(bits, s.last/64+1) }

// cells returns the pages of cells by number, at least those of ids. A page that does not exist is nil.
// They must not be changed.
func (s *state) cells(ctx context.Context, q meta.Querier, ids bits) ([][]byte, error) {
	const few = 40 // that are read one by one
	s.mu.Lock()
	pages := s.pages
	s.mu.Unlock()
	if pages != nil {
		return pages, nil
	}
	var wanted []int64
	for id := ids.next(0); id >= 0 && len(wanted) <= few; id = ids.next((id/pageCells + 1) * pageCells) {
		wanted = append(wanted, id/pageCells)
	}
	pages = make([][]byte, len(ids)*64/pageCells+1)
	read := func(query string, args ...any) error {
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var n int
			var raw sql.RawBytes
			if err := rows.Scan(&n, &raw); err != nil {
				return err
			}
			if n >= 0 && n < len(pages) && len(raw) == pageCells*cellSize {
				pages[n] = bytes.Clone(raw)
			}
		}
		return rows.Err()
	}
	if len(wanted) <= few {
		for _, n := range wanted {
			if err := read(`SELECT page, cells FROM search_cells WHERE page = $1`, n); err != nil {
				return nil, err
			}
		}
		return pages, nil
	}
	if err := read(`SELECT page, cells FROM search_cells WHERE page >= 0`); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = pages
	return pages, nil
}
