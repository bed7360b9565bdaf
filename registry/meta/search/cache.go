package search

import (
	"bytes"
	"context"
	"database/sql"
	"sync"

	"github.com/skl-project/skl/registry/meta"
)

// Limits of what searches keep in memory, beside 8 bytes for each skill. A list takes one bit for each skill.
const (
	oneIn    = 20      // lists are kept that hold at least one skill in 20; others are quickly read again
	maxLists = 256     // and together at most
	maxKept  = 4 << 20 // bytes
	maxTerms = 256     // bytes of the words of such a list
	maxID    = 1 << 28 // skills beyond are not found
)

// A Cache holds the state that the latest search saw, for the searches that see the same one. Its methods may be
// called concurrently. The zero Cache is empty.
type Cache struct {
	mu     sync.Mutex
	latest *state
}

// A state is the search index after a number of changes, and what searches have read of it. That number is in
// the database, so a transaction finds the state that it sees itself, whichever process made it.
type state struct {
	db            Database
	changes, last int64 // last is the highest id in use
	mu            sync.Mutex
	lists         map[Terms]bits
	pages         [][]byte // of all cells, by number; nil before a search needs them
}

// state returns the state that q sees.
func (c *Cache) state(ctx context.Context, q meta.Querier, db Database) (*state, error) {
	s := &state{db: db, lists: map[Terms]bits{}}
	rows, err := q.QueryContext(ctx, `SELECT changes, last FROM search_ids`)
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

// changed counts a change of the index.
func changed(ctx context.Context, q meta.Querier) error {
	_, err := q.ExecContext(ctx, `UPDATE search_ids SET changes = changes + 1`)
	return err
}

// find returns the ids of the skills that have all words. Words of kept lists are not asked for again.
func (s *state) find(ctx context.Context, q meta.Querier, words []string) (bits, error) {
	var found bits
	var rest []string
	for _, w := range words {
		switch list := s.kept(terms(All, w)); {
		case list == nil:
			rest = append(rest, w)
		case found == nil:
			found = list
		default:
			found = found.and(list)
		}
	}
	if rest == nil {
		return found, nil
	}
	lists, err := s.read(ctx, q, terms(All, rest...))
	if err != nil || found == nil {
		return lists[0], err
	}
	return found.and(lists[0]), nil
}

func (s *state) kept(t Terms) bits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[t]
}

// read returns the ids that match each of wanted. They must not be changed.
func (s *state) read(ctx context.Context, q meta.Querier, wanted ...Terms) ([]bits, error) {
	lists := make([]bits, len(wanted))
	var missing []Terms
	var of []int // wanted
	for i, t := range wanted {
		if lists[i] = s.kept(t); lists[i] == nil {
			missing, of = append(missing, t), append(of, i)
			lists[i] = s.none()
		}
	}
	if missing == nil {
		return lists, nil
	}
	counts := make([]int64, len(missing))
	if err := s.db.Lists(ctx, q, missing, func(list int, id int64) {
		lists[of[list]].set(id)
		counts[list]++
	}); err != nil {
		return lists, err
	}
	for i, t := range missing {
		if counts[i]*oneIn >= s.last && len(t.Words) <= maxTerms {
			s.keep(t, lists[of[i]])
		}
	}
	return lists, nil
}

func (s *state) keep(t Terms, list bits) {
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
