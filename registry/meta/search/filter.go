package search

import (
	"cmp"
	"context"
	mathbits "math/bits"
	"slices"

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

// most returns the n most frequent values; of equals the ones that were seen first.
func (t tally) most(n int) (values []int64) {
	for value, count := range t {
		if count > 0 {
			values = append(values, int64(value))
		}
	}
	slices.SortFunc(values, func(a, b int64) int { return cmp.Or(t[b]-t[a], cmp.Compare(a, b)) })
	return values[:min(n, len(values))]
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
func (n *counter) name(ctx context.Context, q meta.Querier, db Database) error {
	namespaces, licenses := n.namespaces.most(maxFacets), n.licenses.most(maxFacets+1)
	rows, err := q.QueryContext(ctx, `SELECT v.id, v.value FROM `+db.Among("$1")+` CROSS JOIN search_values AS v WHERE v.id = j.value`, meta.Array(slices.Concat(namespaces, licenses)))
	if err != nil {
		return err
	}
	defer rows.Close()
	names := map[int64]string{}
	for rows.Next() {
		var id int64
		var value string
		if err := rows.Scan(&id, &value); err != nil {
			return err
		}
		names[id] = value
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range namespaces {
		n.facets["namespace"][names[id]] = n.namespaces[id]
	}
	for _, id := range licenses {
		if names[id] != "" && len(n.facets["license"]) < maxFacets {
			n.facets["license"][names[id]] = n.licenses[id]
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
