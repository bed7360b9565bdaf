package search

import (
	"bytes"
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/skl-project/skl/registry/meta"
)

// Limits of what searches keep in memory, beside 8 bytes for each skill and the entries of those that are fresh. A list takes three bits for each skill.
const (
	oneIn    = 20       // lists are kept that hold at least one skill in 20; others are quickly read again
	maxLists = 512      // and together, in a base and in a state each, at most
	maxKept  = 16 << 20 // bytes
	maxID    = 1 << 28  // skills beyond are not found
)

// A Cache holds the state that the latest search saw, for the searches that see the same one or the next. Its methods may be
// called concurrently. The zero Cache is empty.
type Cache struct {
	mu     sync.Mutex
	latest *state
}

// A base is what postings and cells say until they are changed, and what searches have read of them.
type base struct {
	mark  int64 // a random number: one that was rolled back, or that a database lost which went back, has another than the one in its place
	lists lists
	mu    sync.Mutex
	pages [][]byte // of all cells, by number; nil before a search needs them
}

// A state is the index after a number of changes: a base, and what has changed since. Which one a transaction sees is in the database,
// whichever process made it.
type state struct {
	db      Database
	changes int64
	mark    int64 // like that of a base
	last    int64 // the highest id in use
	made    time.Time
	base    *base
	fresh   map[int64]entry
	lists   lists
	mu      sync.Mutex
	pages   [][]byte // like those of the base
}

// A list has the skills that have a word which begins so: those that have it in a field are list.in(field).
type list [fields]bits

func (l *list) in(f field) bits { return l[f-1] }

// Lists are kept lists, by the beginning of words. They are not changed.
type lists struct {
	mu   sync.Mutex
	kept map[string]*list
}

func (l *lists) get(beginning string) *list {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[beginning]
}

func (l *lists) keep(beginning string, one *list) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[string]*list{}
	}
	for other := range l.kept { // any
		if len(l.kept) < min(maxLists, maxKept/(8*fields*len(one[0]))) {
			break
		}
		delete(l.kept, other)
	}
	l.kept[beginning] = one
}

// outdated is when a cache gives up a state that is ahead of the database's: that one went back.
const outdated = time.Minute

// state returns the state that q sees.
func (c *Cache) state(ctx context.Context, q meta.Querier, db Database) (*state, error) {
	s := &state{db: db, made: time.Now(), base: &base{}}
	if err := s.look(ctx, q); err != nil {
		return nil, err
	}
	var latest *state
	if c != nil {
		c.mu.Lock()
		latest = c.latest
		c.mu.Unlock()
	}
	if latest != nil {
		if latest.mark == s.mark && latest.changes == s.changes {
			return latest, nil
		}
		if latest.base.mark == s.base.mark {
			s.base = latest.base
		}
	}
	if err := s.readFresh(ctx, q); err != nil || c == nil {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.latest == nil || c.latest.changes < s.changes || s.made.Sub(c.latest.made) > outdated: // not for one that still sees an older state
		c.latest = s
	case c.latest.mark == s.mark: // another search was faster
		return c.latest, nil
	}
	return s, nil
}

// look reads which state it is.
func (s *state) look(ctx context.Context, q meta.Querier) error {
	rows, err := q.QueryContext(ctx, `SELECT changes, mark, base, last FROM search_ids`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&s.changes, &s.mark, &s.base.mark, &s.last); err != nil {
			return err
		}
	}
	s.last = min(max(s.last, 0), maxID)
	return rows.Err()
}

// readFresh reads the entries of what is fresh.
func (s *state) readFresh(ctx context.Context, q meta.Querier) error {
	rows, err := q.QueryContext(ctx, `SELECT f.id, s.entry FROM search_fresh AS f LEFT JOIN search_skills AS s ON s.id = f.id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.fresh = map[int64]entry{}
	for rows.Next() {
		var id int64
		var raw sql.RawBytes
		if err := rows.Scan(&id, &raw); err != nil {
			return err
		}
		if s.fresh[id], err = decodeEntry(raw); err != nil {
			return err
		}
	}
	return rows.Err()
}

// read returns the skills that have words which begin as each of those given. They must not be changed.
func (s *state) read(ctx context.Context, q meta.Querier, beginnings []string) ([]*list, error) {
	all := make([]*list, len(beginnings))
	for i, w := range beginnings {
		if all[i] = s.lists.get(w); all[i] != nil {
			continue
		}
		if before := slices.Index(beginnings[:i], w); before >= 0 {
			all[i] = all[before]
			continue
		}
		one, err := s.based(ctx, q, w)
		if err != nil {
			return nil, err
		}
		all[i] = s.correct(one, w)
		if s.frequent(all[i].in(anywhere), oneIn) {
			s.lists.keep(w, all[i])
		}
	}
	return all, nil
}

// based returns the skills that have a word which begins so in the base.
func (s *state) based(ctx context.Context, q meta.Querier, beginning string) (*list, error) {
	if one := s.base.lists.get(beginning); one != nil {
		return one, nil
	}
	var blocks []int64
	for n := range s.room() / blockSkills {
		blocks = append(blocks, n)
	}
	query, args := `SELECT p.block, p.skills FROM `+s.db.Among("$1")+` CROSS JOIN search_postings AS p WHERE p.block = j.value AND `, []any{meta.Array(blocks), beginning}
	if utf8.RuneCountInString(beginning) <= shortPrefix {
		query += `p.word = $2`
		args[1] = beginning + prefixMark
	} else {
		query += `p.word >= $2 AND p.word <= $3`
		args = append(args, beginning+string(utf8.MaxRune))
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	one := s.none()
	for rows.Next() {
		var block int
		var raw sql.RawBytes
		if err := rows.Scan(&block, &raw); err != nil {
			return nil, err
		}
		const words = blockSkills / 64
		var part [fields][]uint64
		for f := range part {
			part[f] = one[f][block*words:][:words]
		}
		if err := addBlock(part, raw); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if s.frequent(one.in(anywhere), oneIn) {
		s.base.lists.keep(beginning, one)
	}
	return one, nil
}

// correct returns a list of the base as it is in s.
func (s *state) correct(one *list, beginning string) *list {
	own := false
	if int64(len(one[0]))*64 != s.room() {
		longer := s.none()
		for f := range longer {
			copy(longer[f], one[f])
		}
		one, own = longer, true
	}
	for id, e := range s.fresh {
		in := e.narrowest(beginning)
		for f := anywhere; f <= named; f++ {
			if is := in >= f; is != one.in(f).has(id) {
				if !own {
					one, own = &list{slices.Clone(one[0]), slices.Clone(one[1]), slices.Clone(one[2])}, true
				}
				if is {
					one.in(f).set(id)
				} else {
					one.in(f).clear(id)
				}
			}
		}
	}
	return one
}

// frequent reports whether one skill in n, or more, is in a list.
func (s *state) frequent(list bits, n int) bool { return int64(list.count()*n) >= s.last }

// none returns empty sets for ids of s, of whole blocks.
func (s *state) none() *list {
	n := s.room() / 64
	all := make(bits, fields*n)
	return &list{all[:n:n], all[n : 2*n : 2*n], all[2*n:]}
}

// empty returns an empty set.
func (s *state) empty() bits { return make(bits, s.room()/64) }

// room is for how many ids the sets of s have bits.
func (s *state) room() int64 { return (s.last/blockSkills + 1) * blockSkills }

// all returns a set with all ids, also of skills that are gone.
func (s *state) all() bits {
	b := s.empty()
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}

// cells returns the pages of cells by number, at least those of ids. A page that does not exist is nil.
// They must not be changed.
func (s *state) cells(ctx context.Context, q meta.Querier, ids bits) ([][]byte, error) {
	s.mu.Lock()
	pages := s.pages
	s.mu.Unlock()
	if pages != nil {
		return pages, nil
	}
	pages, whole, err := s.base.cells(ctx, q, s.db, ids)
	if err != nil {
		return nil, err
	}
	pages = append(slices.Clone(pages), make([][]byte, max(0, len(ids)*64/pageCells+1-len(pages)))...)
	own := map[int64]bool{}
	for id, e := range s.fresh {
		n := id / pageCells
		if n < 0 || n >= int64(len(pages)) {
			continue
		}
		if !own[n] {
			pages[n] = append(make([]byte, 0, pageCells*cellSize), pages[n]...)[:pageCells*cellSize]
			own[n] = true
		}
		e.put(pages[n][id%pageCells*cellSize:])
	}
	if whole {
		s.mu.Lock()
		s.pages = pages
		s.mu.Unlock()
	}
	return pages, nil
}

// cells returns the pages of cells by number, at least those of ids, and whether these are all.
func (b *base) cells(ctx context.Context, q meta.Querier, db Database, ids bits) (pages [][]byte, whole bool, err error) {
	const few = 40 // that are read without the others
	b.mu.Lock()
	pages = b.pages
	b.mu.Unlock()
	if pages != nil {
		return pages, true, nil
	}
	var wanted []int64
	for id := ids.next(0); id >= 0 && len(wanted) <= few; id = ids.next((id/pageCells + 1) * pageCells) {
		wanted = append(wanted, id/pageCells)
	}
	query, args := `SELECT page, cells FROM search_cells`, []any(nil)
	if whole = len(wanted) > few; !whole {
		query, args = `SELECT page, cells FROM `+db.Among("$1")+` CROSS JOIN search_cells WHERE page = j.value`, []any{meta.Array(wanted)}
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	found := map[int][]byte{}
	for rows.Next() {
		var n int
		var raw sql.RawBytes
		if err := rows.Scan(&n, &raw); err != nil {
			return nil, false, err
		}
		if n >= 0 && n <= maxID/pageCells && len(raw) == pageCells*cellSize {
			found[n] = bytes.Clone(raw)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, false, err
	}
	if len(found) > 0 {
		pages = make([][]byte, slices.Max(slices.Collect(maps.Keys(found)))+1)
	}
	for n, page := range found {
		pages[n] = page
	}
	if whole {
		b.mu.Lock()
		b.pages = pages
		b.mu.Unlock()
	}
	return pages, whole, nil
}
