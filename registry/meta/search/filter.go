package search

import (
	"context"
	mathbits "math/bits"
	"sort"

	"github.com/skl-project/skl/registry/meta"
)

// A filter is what a search asks of cells.
type filter struct {
	namespaces map[uint32]bool // nil: any
	namespace  uint32          // 0: any
	license    uint32          // 0: any
	signed     *bool
}

// newFilter returns nil if no cell can pass.
func newFilter(ctx context.Context, q meta.Querier, s meta.Search) (*filter, error) {
	f := &filter{signed: s.Signed}
	var err error
	if s.Namespaces != nil {
		f.namespaces = make(map[uint32]bool, len(s.Namespaces))
		for _, n := range s.Namespaces {
			id, err := lookup(ctx, q, "namespace", n)
			if err != nil {
				return nil, err
			}
			if id != 0 {
				f.namespaces[id] = true
			}
		}
		if len(f.namespaces) == 0 {
			return nil, nil
		}
	}
	if s.Namespace != "" {
		if f.namespace, err = lookup(ctx, q, "namespace", s.Namespace); err != nil || f.namespace == 0 {
			return nil, err
		}
	}
	if s.License != "" {
		if f.license, err = lookup(ctx, q, "license", s.License); err != nil || f.license == 0 {
			return nil, err
		}
	}
	return f, nil
}

func (f *filter) keeps(c cell) bool {
	return c.namespace != 0 &&
		(f.namespaces == nil || f.namespaces[c.namespace]) &&
		(f.namespace == 0 || f.namespace == c.namespace) &&
		(f.license == 0 || f.license == c.license) &&
		(f.signed == nil || *f.signed == c.signed)
}

// pick returns those of ids whose cells f keeps, and counts them.
func (f *filter) pick(ids bits, pages [][]byte, n *counter) bits {
	kept := make(bits, len(ids))
	for i, w := range ids {
		for ; w != 0; w &= w - 1 {
			id := i*64 + mathbits.TrailingZeros64(w)
			page := pages[id/pageCells]
			if page == nil {
				continue
			}
			if c := getCell(page[id%pageCells*cellSize:]); f.keeps(c) {
				kept[i] |= w & -w
				n.add(c)
			}
		}
	}
	return kept
}

// maxFacets is how many values of a facet are told.
const maxFacets = 20

// A counter counts the facets of cells.
type counter struct {
	namespaces, licenses tally
	signed, all          int
	facets               map[string]map[string]int
}

// A tally counts values by their numbers, which are few and small.
type tally []int

func (t *tally) add(value uint32) {
	if n := int(value) + 1; n > len(*t) {
		*t = append(*t, make([]int, n-len(*t))...)
	}
	(*t)[value]++
}

func newCounter() *counter {
	return &counter{facets: map[string]map[string]int{"namespace": {}, "license": {}, "signed": {}}}
}

func (n *counter) add(c cell) {
	n.namespaces.add(c.namespace)
	n.licenses.add(c.license)
	n.all++
	if c.signed {
		n.signed++
	}
}

// name fills facets with the most frequent values. To have no license is not a value.
func (n *counter) name(ctx context.Context, q meta.Querier) error {
	for kind, counts := range map[string]tally{"namespace": n.namespaces, "license": n.licenses} {
		var values []int
		for value, count := range counts {
			if count > 0 {
				values = append(values, value)
			}
		}
		sort.Slice(values, func(i, j int) bool {
			a, b := values[i], values[j]
			return counts[a] > counts[b] || counts[a] == counts[b] && a < b
		})
		for _, id := range values {
			var value string
			if err := scanOne(ctx, q, &value, `SELECT value FROM search_values WHERE id = $1`, id); err != nil {
				return err
			}
			if value != "" {
				n.facets[kind][value] = counts[id]
			}
			if len(n.facets[kind]) == maxFacets {
				break
			}
		}
	}
	if n.signed > 0 {
		n.facets["signed"]["true"] = n.signed
	}
	if n.all > n.signed {
		n.facets["signed"]["false"] = n.all - n.signed
	}
	return nil
}
