package index

import (
	"context"
	"slices"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/lang"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/store"
)

// fallBack answers a question for a name in the languages whose definitions, or uses, are not known: with the places that have the
// words, if there is nothing better, and in any case by saying which languages these are.
func (s *search) fallBack(ctx context.Context, e *query.Expr, f found) (found, error) {
	name, ok := e.AsksSymbol()
	uses := e.IsReferences()
	if !ok || !uses && len(f.hits)+len(f.rows) > 0 {
		return f, nil
	}
	_, last := query.SplitName(name)
	words, err := s.grep(ctx, last)
	if err != nil || words.relaxed {
		return f, err
	}
	for g := e; g.Op == query.InFile || g.Op == query.Limit; g = g.Args[0] {
		if g.Op == query.InFile {
			words = words.in(s.v, g.Glob)
		}
	}
	hits, err := s.asHits(words, nil)
	if err != nil {
		return f, err
	}
	hits = keep(hits, func(h hit) bool {
		l := lang.Language(h.file.Language)
		definitions, references := lang.Reads(l)
		return isCode(h.file) && !(uses && references || !uses && definitions)
	})
	for _, h := range hits {
		if l := h.file.Language; !slices.Contains(s.notRead, l) {
			s.notRead = append(s.notRead, l)
		}
	}
	slices.Sort(s.notRead)
	if len(f.refs) > 0 || len(hits) == 0 {
		return f, nil
	}
	return found{hits: hits}, nil
}

// isCode says whether a file is in a programming language.
func isCode(f *store.File) bool {
	switch f.Language {
	case "", "text", "markdown", "skill", "tree":
		return false
	}
	return true
}

// defining finds definitions that match words: by their names, and by what they say.
func (s *search) defining(ctx context.Context, text string) (found, error) {
	named, err := s.code(text)
	if err != nil {
		return found{}, err
	}
	for i := range named.hits {
		named.hits[i].base += byName
	}
	words, err := s.grep(ctx, text)
	if err != nil {
		return found{}, err
	}
	hits, err := s.asHits(words, nil)
	if err != nil {
		return found{}, err
	}
	out := named.hits
	for _, h := range hits {
		if h.node == wholeFile {
			continue
		}
		o, err := s.outline(h.file)
		if err != nil {
			return found{}, err
		}
		if u := unit(o, h.node); u != h.node {
			h.node, h.at = u, chunk.Region{}
		}
		if o.Nodes[h.node].Type.IsSymbol() {
			out = append(out, h)
		}
	}
	return found{hits: sortHits(out), relaxed: words.relaxed && len(named.hits) == 0, atLeast: words.atLeast}, nil
}

// byName is what a definition gains whose name is asked for, over those that only speak of it.
const byName = 2
