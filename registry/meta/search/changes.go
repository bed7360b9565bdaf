package search

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/meta"
)

// A point is where in the line of changes a state is. The mark is a random number of the change: one that was rolled back, or that a
// database lost which went back, has another than the one in its place.
type point struct{ change, mark int64 }

// slots is how many of the latest changes a database tells.
const slots = 256

// changed counts a change of what search knows of a skill.
func changed(ctx context.Context, q meta.Querier, id int64) error {
	mark := int64(rand.Uint64() >> 1)
	if _, err := q.ExecContext(ctx, `UPDATE search_ids SET changes = changes + 1, mark = $1`, mark); err != nil {
		return err
	}
	n, err := number(ctx, q, `SELECT changes FROM search_ids`)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `INSERT INTO search_changes (slot, change, mark, skill) VALUES ($1, $2, $3, $4)
		ON CONFLICT (slot) DO UPDATE SET change = excluded.change, mark = excluded.mark, skill = excluded.skill`, n%slots, n, mark, id)
	return err
}

// look says where in the line of changes q is.
func (s *state) look(ctx context.Context, q meta.Querier) error {
	rows, err := q.QueryContext(ctx, `SELECT changes, mark, last FROM search_ids`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&s.change, &s.mark, &s.last); err != nil {
			return err
		}
	}
	s.last = min(max(s.last, 0), maxID)
	return rows.Err()
}

// follow takes over what searches read of a state before s. It changes what is not right any more: that is little, as most words of
// most lists are not those of a skill that changed. If the database does not tell all changes since, s stays empty.
func (s *state) follow(ctx context.Context, q meta.Querier, from *state) error {
	ids, err := s.since(ctx, q, from.point)
	if err != nil || ids == nil {
		return err
	}
	all, err := skills(ctx, q, s.db.Among("$1")+` CROSS JOIN skills AS s`, `s.id = j.value`, meta.Array(ids))
	if err != nil {
		return err
	}
	has := make(map[int64]vocabulary, len(ids)) // what is not there has no words
	for _, k := range all {
		has[k.id] = k.vocabulary()
	}
	from.mu.Lock()
	lists, pages := maps.Clone(from.lists), from.pages
	from.mu.Unlock()
	for t, list := range lists {
		own := int64(len(list))*64 != s.room()
		if own {
			longer := s.none()
			copy(longer, list)
			list = longer
		}
		for _, id := range ids {
			if is := has[id].match(t); is != list.has(id) {
				if !own {
					list, own = slices.Clone(list), true
				}
				if is {
					list.set(id)
				} else {
					list.clear(id)
				}
			}
		}
		s.lists[t] = list
	}
	if pages == nil {
		return nil
	}
	s.pages = s.noPages()
	copy(s.pages, pages)
	for i := range ids {
		ids[i] /= pageCells
	}
	slices.Sort(ids)
	return readPages(ctx, q, s.pages, `SELECT page, cells FROM `+s.db.Among("$1")+` CROSS JOIN search_cells WHERE page = j.value`, meta.Array(slices.Compact(ids)))
}

// since returns the skills that changed after a point, each once, or nil if s does not go on from there, or not all are told.
func (s *state) since(ctx context.Context, q meta.Querier, p point) ([]int64, error) {
	if s.change-p.change >= slots {
		return nil, nil
	}
	rows, err := q.QueryContext(ctx, `SELECT change, mark, skill FROM search_changes WHERE change >= $1 ORDER BY change`, p.change)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	next := p
	for rows.Next() {
		var at point
		var id int64
		if err := rows.Scan(&at.change, &at.mark, &id); err != nil {
			return nil, err
		}
		if at.change != next.change || at.change == p.change && at.mark != p.mark || at.change == s.change && at.mark != s.mark {
			return nil, nil
		}
		if at != p && id >= 0 {
			ids = append(ids, id)
		}
		next.change++
	}
	if err := rows.Err(); err != nil || next.change != s.change+1 {
		return nil, err
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// A vocabulary is the sorted words of a skill in each field.
type vocabulary [Named + 1][]string

func (f Fields) vocabulary() (v vocabulary) {
	v[Named] = slices.Concat(f.Name, f.Keywords)
	v[Said] = slices.Concat(v[Named], f.Namespace, f.Description)
	v[All] = slices.Concat(v[Said], f.Body)
	for _, words := range v {
		slices.Sort(words)
	}
	return v
}

// match reports whether a skill with these words is one of t.
func (v vocabulary) match(t Terms) bool {
	for w := range strings.SplitSeq(t.Words, " ") {
		i, _ := slices.BinarySearch(v[t.Field], w)
		if i == len(v[t.Field]) || !strings.HasPrefix(v[t.Field][i], w) {
			return false
		}
	}
	return true
}
