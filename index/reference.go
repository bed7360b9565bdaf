package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
)

// A reference is a use of a name in a file.
type reference struct {
	file *store.File
	chunk.Reference
}

// references finds the uses of a name. If it is qualified, those whose qualifier ends alike, or all if there are none.
func (s *search) references(ctx context.Context, text string) (found, error) {
	qualifiers, name := query.SplitName(text)
	list, err := s.mentions(name)
	if err != nil {
		return found{}, err
	}
	same := func(n []byte) bool { return bytes.EqualFold(n, []byte(name)) }
	stored, err := s.v.References(list)
	if err != nil {
		return found{}, err
	}
	uses := make([][]reference, len(list))
	errs := make([]error, len(list))
	err = parallel(ctx, len(list), func(i int) {
		var named []chunk.Reference
		named, errs[i] = stored[i].Named(same)
		for _, r := range named {
			uses[i] = append(uses[i], reference{list[i], r})
		}
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return found{}, err
	}
	refs := slices.Concat([]reference{}, slices.Concat(uses...)) // never nil
	// Names that differ in case are others in most languages; they are shown if there are no better ones.
	if exact := keep(refs, func(r reference) bool { return r.Name == name }); len(exact) > 0 {
		refs = exact
	}
	if len(qualifiers) > 0 {
		want := strings.ToLower(qualifiers[len(qualifiers)-1])
		fit := keep(refs, func(r reference) bool {
			_, last := query.SplitName(r.Qualifier)
			return strings.ToLower(last) == want
		})
		if len(fit) > 0 {
			refs = fit
		}
	}
	sortReferences(refs)
	return found{refs: refs}, nil
}

// mentions returns all files that may have a name.
func (s *search) mentions(name string) ([]*store.File, error) {
	key := rank.Key(name)
	if key == "" {
		return s.v.Passing(store.LiteralGate(name)) // such as $ and _, which are no words
	}
	rows, err := s.v.Rows(key)
	return s.filesOf(rows), err
}

// sortReferences puts those of likelier files first.
func sortReferences(refs []reference) {
	weights := make(map[*store.File]float64)
	weight := func(f *store.File) float64 {
		w, ok := weights[f]
		if !ok {
			w = weighPath(f.Path)
			weights[f] = w
		}
		return w
	}
	slices.SortStableFunc(refs, func(a, b reference) int {
		return cmp.Or(cmp.Compare(weight(b.file), weight(a.file)), strings.Compare(a.file.Path, b.file.Path), cmp.Compare(a.Start, b.Start))
	})
}

// users returns the nodes that hold references.
func (s *search) users(refs []reference) ([]hit, error) {
	hits := []hit{}
	for _, r := range refs {
		node := r.Source
		if node < 0 {
			o, err := s.outline(r.file)
			if err != nil {
				return nil, err
			}
			if node = nodeAt(o, r.Start); node < 0 {
				continue
			}
		}
		hits = append(hits, hit{file: r.file, node: node, line: r.FirstLine, at: r.Region})
	}
	return sortHits(hits), nil
}
