package search

import (
	"context"
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

// bits are the license and whether it is signed.
func (c cell) bits() uint32 {
	v := c.license << 1
	if c.signed {
		v |= 1
	}
	return v
}

func (c *cell) setBits(v uint32) { c.license, c.signed = v>>1, v&1 != 0 }

func (c cell) put(b []byte) {
	binary.LittleEndian.PutUint32(b, c.namespace)
	binary.LittleEndian.PutUint32(b[4:], c.bits())
}

func getCell(b []byte) (c cell) {
	c.namespace = binary.LittleEndian.Uint32(b)
	c.setBits(binary.LittleEndian.Uint32(b[4:]))
	return c
}

// writeCells changes some cells of a page.
func writeCells(ctx context.Context, q meta.Querier, number int64, cells map[int]cell) error {
	page := make([]byte, 0, pageCells*cellSize)
	if err := scanOne(ctx, q, &page, `SELECT cells FROM search_cells WHERE page = $1`, number); err != nil {
		return err
	}
	if len(page) != pageCells*cellSize {
		page = make([]byte, pageCells*cellSize)
	}
	for i, c := range cells {
		c.put(page[i*cellSize:])
	}
	_, err := q.ExecContext(ctx, `INSERT INTO search_cells (page, cells) VALUES ($1, $2) ON CONFLICT (page) DO UPDATE SET cells = excluded.cells`, number, page)
	return err
}
