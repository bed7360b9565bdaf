package search

import (
	"bytes"
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// Limits of what searches keep in memory, beside 8 bytes for each skill. A list takes one bit for each skill.
const (
	oneIn    = 20       // lists are kept that hold at least one skill in 20; others are quickly read again
	maxLists = 512      // and together at most
	maxKept  = 16 << 20 // bytes
	maxTerms = 256      // bytes of the words of such a list
	maxID    = 1 << 28  // skills beyond are not found
)

// A Cache holds the state that the latest search saw, for the searches that see the same one or the next. Its methods may be
// called concurrently. The zero Cache is empty.
type Cache struct {
	mu     sync.Mutex
	latest *state
}

// A state is the search index after a number of changes, and what searches have read of it. Which state a transaction sees is
// in the database, whichever process made it.
type state struct {
	db    Database
	point       // it is at
	last  int64 // the highest id in use
	made  time.Time
	mu    sync.Mutex
	lists map[Terms]bits // which are not changed
	pages [][]byte       // of all cells, by number; nil before a search needs them
}

// outdated is when a cache gives up a state that is ahead of the database's: that one went back.
const outdated = time.Minute

// state returns the state that q sees.
func (c *Cache) state(ctx context.Context, q meta.Querier, db Database) (*state, error) {
	s := &state{db: db, lists: map[Terms]bits{}, made: time.Now()}
	if err := s.look(ctx, q); err != nil || c == nil {
		return s, err
	}
	c.mu.Lock()
	latest := c.latest
	c.mu.Unlock()
	if latest != nil && latest.point == s.point {
		return latest, nil
	}
	if latest != nil && latest.change < s.change {
		if err := s.follow(ctx, q, latest); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.latest == nil || c.latest.change < s.change || s.made.Sub(c.latest.made) > outdated: // not for one that still sees an older state
		c.latest = s
	case c.latest.point == s.point: // another search was faster
		return c.latest, nil
	}
	return s, nil
}

// find returns the ids of the skills that have all words. Each is asked for by itself: of a frequent word and a rare one, the
// list of the frequent one is kept.
func (s *state) find(ctx context.Context, q meta.Querier, words []string) (bits, error) {
	wanted := make([]Terms, len(words))
	for i, w := range words {
		wanted[i] = terms(All, w)
	}
	lists, err := s.read(ctx, q, wanted...)
	return intersect(lists), err
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

// none returns an empty set for ids of s. There is room for some more, so that a new skill seldom makes all lists longer.
func (s *state) none() bits { return make(bits, s.room()/64) }

// room is for how many ids the sets of s have bits.
func (s *state) room() int64 { return (s.last/idStep + 1) * idStep }

const idStep = 4096

// all returns a set with all ids, also of skills that are gone.
func (s *state) all() bits {
	b := s.none()
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}

// cells returns the pages of cells by number, at least those of ids. A page that does not exist is nil.
// They must not be changed.
func (s *state) cells(ctx context.Context, q meta.Querier, ids bits) ([][]byte, error) {
	const few = 40 // that are read without the others
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
	pages = s.noPages()
	if len(wanted) <= few {
		return pages, readPages(ctx, q, pages, `SELECT page, cells FROM `+s.db.Among("$1")+` CROSS JOIN search_cells WHERE page = j.value`, meta.Array(wanted))
	}
	if err := readPages(ctx, q, pages, `SELECT page, cells FROM search_cells WHERE page >= 0`); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = pages
	return pages, nil
}

// noPages has a place for each page of s.
func (s *state) noPages() [][]byte { return make([][]byte, s.room()/pageCells+1) }

// readPages puts the pages that answer a query in their places.
func readPages(ctx context.Context, q meta.Querier, pages [][]byte, query string, args ...any) error {
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
