package search

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/skl-project/skl/registry/meta"
)

// mergeAt is how large the entries of changes become, in bytes, before a change merges what is fresh: some hundred skills. Searches read
// them all after each change. None counts for less than mergeLeast.
const mergeAt, mergeLeast = 512 << 10, 1 << 10

// put makes what searches know of a skill an entry, the zero entry for nothing. What postings and cells have of it is kept beside, until they are
// made to say the same: that costs little for many skills at once, and much for each.
func put(ctx context.Context, q meta.Querier, db Database, id int64, e entry) error {
	if _, err := q.ExecContext(ctx, `INSERT INTO search_fresh (id, was) SELECT CAST($1 AS BIGINT), coalesce((SELECT entry FROM search_skills WHERE id = $1), $2) WHERE true
		ON CONFLICT (id) DO NOTHING`, id, []byte{}); err != nil {
		return err
	}
	raw := e.encode()
	var err error
	if e.namespace == 0 {
		_, err = q.ExecContext(ctx, `DELETE FROM search_skills WHERE id = $1`, id)
	} else {
		_, err = q.ExecContext(ctx, `INSERT INTO search_skills (id, entry) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET entry = excluded.entry`, id, raw)
	}
	if err != nil {
		return err
	}
	size, err := number(ctx, q, `UPDATE search_ids SET changes = changes + 1, mark = $1, fresh = fresh + $2 RETURNING fresh`, newMark(), max(len(raw), mergeLeast))
	if err != nil || size < mergeAt {
		return err
	}
	return merge(ctx, q, db)
}

// newMark is a number that no other state has.
func newMark() int64 { return int64(rand.Uint64() >> 1) }

// merge makes postings and cells say what entries say.
func merge(ctx context.Context, q meta.Querier, db Database) error {
	rows, err := q.QueryContext(ctx, `SELECT f.id, f.was, s.entry FROM search_fresh AS f LEFT JOIN search_skills AS s ON s.id = f.id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	d := newDifference()
	for rows.Next() {
		var id int64
		var before, after []byte
		if err := rows.Scan(&id, &before, &after); err != nil {
			return err
		}
		old, err := decodeEntry(before)
		if err != nil {
			return err
		}
		now, err := decodeEntry(after)
		if err != nil {
			return err
		}
		d.add(id, old, now)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := d.write(ctx, q, db); err != nil {
		return err
	}
	return settle(ctx, q)
}

// settle says that nothing is fresh, and that postings and cells are others than before.
func settle(ctx context.Context, q meta.Querier) error {
	if _, err := q.ExecContext(ctx, `DELETE FROM search_fresh`); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, `UPDATE search_ids SET base = $1, mark = $2, fresh = 0`, newMark(), newMark())
	return err
}

// A difference is what postings and cells do not say yet.
type difference struct {
	blocks map[int64]map[string][]posting
	pages  map[int64]map[int]cell
}

func newDifference() *difference {
	return &difference{map[int64]map[string][]posting{}, map[int64]map[int]cell{}}
}

// add adds what is another for a skill now.
func (d *difference) add(id int64, old, now entry) {
	block := d.blocks[id/blockSkills]
	if block == nil {
		block = map[string][]posting{}
		d.blocks[id/blockSkills] = block
	}
	before, after := old.keys(), now.keys()
	for key, in := range after {
		if before[key] != in {
			block[key] = append(block[key], posting{uint16(id % blockSkills), in})
		}
	}
	for key := range before {
		if after[key] == 0 {
			block[key] = append(block[key], posting{uint16(id % blockSkills), 0})
		}
	}
	page := d.pages[id/pageCells]
	if page == nil {
		page = map[int]cell{}
		d.pages[id/pageCells] = page
	}
	page[int(id%pageCells)] = now.cell
}

// write changes postings and cells.
func (d *difference) write(ctx context.Context, q meta.Querier, db Database) error {
	for _, number := range slices.Sorted(maps.Keys(d.blocks)) {
		for keys := range slices.Chunk(slices.Sorted(maps.Keys(d.blocks[number])), 2000) {
			if err := writeBlock(ctx, q, db, number, keys, d.blocks[number]); err != nil {
				return err
			}
		}
	}
	for _, number := range slices.Sorted(maps.Keys(d.pages)) {
		if err := writeCells(ctx, q, number, d.pages[number]); err != nil {
			return err
		}
	}
	return nil
}

// writeBlock changes the postings of some words in a block.
func writeBlock(ctx context.Context, q meta.Querier, db Database, number int64, keys []string, changes map[string][]posting) error {
	list, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, `SELECT p.word, p.skills FROM `+db.Texts("$1")+` CROSS JOIN search_postings AS p WHERE p.block = $2 AND p.word = j.value`, string(list), number)
	if err != nil {
		return err
	}
	defer rows.Close()
	have := map[string][]byte{}
	for rows.Next() {
		var key string
		var raw []byte
		if err := rows.Scan(&key, &raw); err != nil {
			return err
		}
		have[key] = raw
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var kept [][2]string
	var gone []string
	for _, key := range keys {
		slices.SortFunc(changes[key], func(a, b posting) int { return int(a.at) - int(b.at) })
		raw, err := changeBlock(have[key], changes[key])
		if err != nil {
			return err
		}
		if raw != nil {
			kept = append(kept, [2]string{key, hex.EncodeToString(raw)})
		} else if have[key] != nil {
			gone = append(gone, key)
		}
	}
	if kept != nil {
		if list, err = json.Marshal(kept); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, `INSERT INTO search_postings (block, word, skills) SELECT CAST($2 AS BIGINT), j.word, j.bytes FROM `+db.Pairs("$1")+` WHERE true
			ON CONFLICT (block, word) DO UPDATE SET skills = excluded.skills`, string(list), number); err != nil {
			return err
		}
	}
	if gone != nil {
		if list, err = json.Marshal(gone); err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, `DELETE FROM search_postings WHERE block = $2 AND word IN (SELECT j.value FROM `+db.Texts("$1")+`)`, string(list), number)
	}
	return err
}
