package index

import (
	"context"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

const maxSuggested = 6

// Evidence answers q with a pack.
func (x *Index) Evidence(ctx context.Context, q query.Query, o rank.PackOptions) (query.Pack, error) {
	var out query.Pack
	if o.MaxHandles <= 0 {
		o.MaxHandles = 8
	}
	n := max(q.Limit, 4*o.MaxHandles)
	err := x.answer(ctx, q, n, func(s *search, f found, best []scored, total int) error {
		out = query.Pack{QueryText: q.Text, TotalMatches: total, Truncated: f.atLeast, Handles: []query.Evidence{}, Files: []query.PackFile{}, ExpandSuggestion: []string{},
			Relaxed: f.relaxed, NotIndexed: len(s.pending), Generation: s.v.Generation()}
		if f.refs != nil {
			hits, err := s.users(f.refs)
			if err != nil {
				return err
			}
			if best, out.TotalMatches, err = s.best(found{hits: hits}, n); err != nil {
				return err
			}
		}
		now := time.Now()
		var list []query.Evidence
		var candidates []rank.Candidate
		for _, b := range best {
			h, ok := s.handle(b)
			if !ok {
				continue
			}
			recent, overlaps := x.lately.of(h.ID, h.FilePath, h.Span.Start, h.Span.End, now)
			candidates = append(candidates, rank.Candidate{Path: h.FilePath, Start: h.Span.Start, End: h.Span.End, FirstLine: h.LineRange[0], LastLine: h.LineRange[1],
				Kind: h.NodeType, Tokens: h.TokenCount, Score: b.score, Recent: recent, Overlaps: overlaps})
			list = append(list, query.Evidence{ID: h.ID, FilePath: h.FilePath, NodeType: h.NodeType, Name: h.Name, Parent: h.Parent, Span: h.Span, LineRange: h.LineRange,
				TokenCount: h.TokenCount, Score: h.Score, Why: b.score.Parts})
		}
		cut := out.TotalMatches > len(list) || f.atLeast
		chosen, suggested, guidance := rank.Pack(candidates, out.TotalMatches, cut, o)
		out.Guidance = guidance
		byFile := make(map[string]int)
		for _, i := range chosen {
			e := list[i]
			out.Handles = append(out.Handles, e)
			out.SelectedTokens += e.TokenCount
			k, ok := byFile[e.FilePath]
			if !ok {
				k = len(out.Files)
				byFile[e.FilePath] = k
				out.Files = append(out.Files, query.PackFile{FilePath: e.FilePath, HandleIDs: []string{}})
			}
			out.Files[k].HandleIDs = append(out.Files[k].HandleIDs, e.ID)
			out.Files[k].TotalTokens += e.TokenCount
		}
		for _, i := range suggested[:min(len(suggested), maxSuggested)] {
			out.ExpandSuggestion = append(out.ExpandSuggestion, list[i].ID)
		}
		out.SelectedCount = len(out.Handles)
		out.Truncated = out.TotalMatches > out.SelectedCount || f.atLeast
		return nil
	})
	if err != nil {
		return query.Pack{}, err
	}
	out.Note = note(out.NotIndexed)
	return out, nil
}
