package index

import (
	"context"
	"time"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/diag"
)

// Expand returns the text of handles, at most maxTokens (0 for no limit) together. Its error is for a failure of the index;
// what is wrong with single handles is in the answer.
func (x *Index) Expand(ctx context.Context, ids []string, maxTokens int) (query.Expansion, error) {
	return x.expand(ctx, ids, maxTokens > 0, maxTokens)
}

func (x *Index) expand(ctx context.Context, ids []string, limited bool, maxTokens int) (query.Expansion, error) {
	var out query.Expansion
	q := query.Query{Expr: &query.Expr{Op: query.Union}, Limit: 1}
	_, err := x.answer(ctx, q, 1, func(s *search, _ found, _ []scored, _ int) error {
		out = query.Expansion{Contents: []query.Content{}}
		left := maxTokens
		given := make(map[string]bool, len(ids))
		for _, text := range ids {
			id, err := query.ParseID(text)
			if err != nil {
				out.FailedIDs = append(out.FailedIDs, failure(text, err.Error()))
				continue
			}
			if given[id] { // it is there, and paid for
				continue
			}
			given[id] = true
			c, ok, err := s.content(id)
			if err != nil {
				return err
			}
			if !ok {
				out.FailedIDs = append(out.FailedIDs, failure(id, "no part of a file has this handle now"))
				continue
			}
			if limited {
				if left <= 0 {
					out.Truncated = true
					out.FailedIDs = append(out.FailedIDs, query.Failure{HandleID: id, Code: "max_tokens", Message: "max_tokens was reached"})
					continue
				}
				if c.TokenCount > left {
					c.Content, c.Cut = c.Content[:chunk.Cut([]byte(c.Content), left)], true
					c.TokenCount = chunk.Tokens([]byte(c.Content))
					out.Truncated = true
				}
				left -= c.TokenCount
			}
			out.Contents = append(out.Contents, c)
		}
		return nil
	})
	if err != nil {
		return query.Expansion{}, err
	}
	return out, nil
}

func failure(id, why string) query.Failure {
	return query.Failure{HandleID: diag.Printable(id), Code: "handle_not_found", Message: why}
}

// changed returns what a handle stands for in a file that is another than the index says, if it has such a part.
func (s *search) changed(path, id string) (c query.Content, ok bool, err error) {
	r, text, err := newMaker(s.x.root).record(path)
	if err != nil || text == nil {
		return c, false, nil
	}
	for _, n := range r.Outline.Nodes {
		if query.ID(path, n.Type, n.Start, n.End) == id {
			s.x.lately.add(expanded{id, path, n.Start, n.End, time.Now()})
			return query.Content{HandleID: id, FilePath: path, LineRange: [2]int{n.FirstLine, n.LastLine}, TokenCount: n.Tokens, Content: string(text[n.Start:n.End])}, true, nil
		}
	}
	return c, false, nil
}

// content returns what a handle stands for.
func (s *search) content(id string) (c query.Content, ok bool, err error) {
	rows, err := s.v.Rows(handleTerm + string(handleKey(id)))
	if err != nil {
		return c, false, err
	}
	list := s.filesOf(rows)
	var last []*store.File // have to be read
	for _, f := range s.v.Files() {
		switch {
		case undivided(f):
			last = append(last, f)
		case f.Pieces == 0 && f.Flags&store.Binary == 0: // has no text, and so no row
			list = append(list, f)
		}
	}
	first := wholeFile
	for _, f := range append(list, last...) {
		if undivided(f) {
			b, ok := s.x.divided.of(s.x.root, f.Path, f.Stamp)
			if !ok {
				s.stale[f.Path] = f
				continue
			}
			s.blocks[f.ID], first = b, 0
		}
		o, err := s.outline(f)
		if err != nil {
			return c, false, err
		}
		for i := first; i < len(o.Nodes); i++ {
			n, err := s.region(hit{file: f, node: i})
			if err != nil {
				return c, false, err
			}
			if query.ID(f.Path, n.Type, n.Start, n.End) != id {
				continue
			}
			text, fresh := s.shown(f, n)
			if !fresh {
				return s.changed(f.Path, id)
			}
			if s.blocks[f.ID] != nil {
				n.Tokens = chunk.Tokens(text)
			}
			c = query.Content{HandleID: id, FilePath: f.Path, LineRange: [2]int{n.FirstLine, n.LastLine}, TokenCount: n.Tokens, Content: string(text)}
			s.x.lately.add(expanded{id, f.Path, n.Start, n.End, time.Now()})
			return c, true, nil
		}
		delete(s.blocks, f.ID) // of many large files, they take much room
	}
	return c, false, nil
}
