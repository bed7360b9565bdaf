package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"

	"github.com/skl-project/skl/registry/meta"
)

// A cell is what a search filters and counts by. Its numbers are those of search_values; the zero
// cell is that of an id which is not in use.
type cell struct {
	namespace uint32
	license   uint32 // less than 1<<31
	signed    bool
}

// Two pages with their row headers fill one page of the database.
const (
	cellSize  = 8   // bytes
	pageCells = 250 // cells
)

func (c cell) put(b []byte) {
	v := c.license << 1
	if c.signed {
		v |= 1
	}
	binary.LittleEndian.PutUint32(b, c.namespace)
	binary.LittleEndian.PutUint32(b[4:], v)
}

func getCell(b []byte) cell {
	v := binary.LittleEndian.Uint32(b[4:])
	return cell{binary.LittleEndian.Uint32(b), v >> 1, v&1 != 0}
}

func putCell(ctx context.Context, q meta.Querier, id int64, c cell) error {
	page := make([]byte, 0, pageCells*cellSize)
	if err := scanOne(ctx, q, &page, `SELECT cells FROM search_cells WHERE page = $1`, id/pageCells); err != nil {
		return err
	}
	if len(page) != pageCells*cellSize {
		page = make([]byte, pageCells*cellSize)
	}
	c.put(page[id%pageCells*cellSize:])
	_, err := q.ExecContext(ctx, `INSERT INTO search_cells (page, cells) VALUES ($1, $2) ON CONFLICT (page) DO UPDATE SET cells = excluded.cells`, id/pageCells, page)
	return err
}

// cells calls visit for each of ids, in their order, with its cell. It reads the pages that they lie on,
// one by one while they are few.
func cells(ctx context.Context, q meta.Querier, ids []int64, visit func(id int64, c cell)) error {
	const few = 40
	pages := map[int64][]byte{}
	for _, id := range ids {
		pages[id/pageCells] = nil
		if len(pages) > few {
			break
		}
	}
	query := func(query string, args ...any) error {
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var n int64
			var raw sql.RawBytes
			if err := rows.Scan(&n, &raw); err != nil {
				return err
			}
			if len(raw) == pageCells*cellSize {
				pages[n] = append([]byte(nil), raw...)
			}
		}
		return rows.Err()
	}
	if len(pages) > few {
		clear(pages)
		if err := query(`SELECT page, cells FROM search_cells`); err != nil {
			return err
		}
	} else {
		for n := range pages {
			if err := query(`SELECT page, cells FROM search_cells WHERE page = $1`, n); err != nil {
				return err
			}
		}
	}
	last := int64(-1)
	var page []byte
	for _, id := range ids {
		if n := id / pageCells; n != last {
			last, page = n, pages[n]
		}
		if page != nil {
			visit(id, getCell(page[id%pageCells*cellSize:]))
		}
	}
	return nil
}
