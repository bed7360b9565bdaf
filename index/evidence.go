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
	g, err := x.gather(ctx, q, o)
	if err != nil {
		return query.Pack{}, err
	}
	return g.pack(q, o), nil
}

// A gathering is what a pack is chosen from, the best first.
type gathering struct {
	list       []query.Evidence
	candidates []rank.Candidate
	ask        rank.Question
	total      int
	more       bool // matches that are not in list
	relaxed    bool
	pending    int
	left       query.LeftOut
	generation uint64
	notRead    []string
	behind     bool
}

// gather collects four times as many handles as the pack may have.
func (x *Index) gather(ctx context.Context, q query.Query, o rank.PackOptions) (g gathering, err error) {
	if o.MaxHandles <= 0 {
		o.MaxHandles = 8
	}
	n := max(q.Limit, 4*o.MaxHandles)
	lag, err := x.answer(ctx, q, n, func(s *search, f found, best []scored, total int) error {
		g = gathering{ask: s.ask, total: total, relaxed: f.relaxed && total > 0, pending: len(s.pending), left: x.LeftOut(), generation: s.v.Generation(), notRead: s.notRead}
		if f.refs != nil {
			hits, err := s.users(f.refs)
			if err != nil {
				return err
			}
			if best, g.total, err = s.best(found{hits: hits}, n); err != nil {
				return err
			}
		}
		now := time.Now()
		for _, b := range best {
			h, ok := s.handle(b)
			if !ok {
				continue
			}
			recent, overlaps := x.lately.of(h.ID, h.FilePath, h.Span.Start, h.Span.End, now)
			g.candidates = append(g.candidates, rank.Candidate{Path: h.FilePath, Start: h.Span.Start, End: h.Span.End, FirstLine: h.LineRange[0], LastLine: h.LineRange[1],
				Kind: h.NodeType, Tokens: h.TokenCount, Score: b.score, Recent: recent, Overlaps: overlaps})
			g.list = append(g.list, query.Evidence{ID: h.ID, FilePath: h.FilePath, NodeType: h.NodeType, Name: h.Name, Parent: h.Parent, Span: h.Span, LineRange: h.LineRange,
				TokenCount: h.TokenCount, Score: h.Score, Approximate: h.Approximate, Why: b.score.Parts})
		}
		g.more = g.total > len(g.list) || f.atLeast
		return nil
	})
	g.pending, g.behind = g.pending+lag.changed, lag.unlooked
	return g, err
}

// pack chooses.
func (g gathering) pack(q query.Query, o rank.PackOptions) query.Pack {
	const found = true // that nothing was is for the guidance to say: packs of several questions are joined
	out := query.Pack{QueryText: q.Text, TotalMatches: g.total, Handles: []query.Evidence{}, Files: []query.PackFile{}, ExpandSuggestion: []string{},
		Relaxed: g.relaxed, NotIndexed: g.pending, NotRead: g.notRead, Behind: g.behind, Note: noted(q, g.pending, g.notRead, g.behind, found, g.left), Generation: g.generation}
	if left := g.left.Note(true); g.total == 0 && left != "" && out.Note == "" {
		out.Note = left
	}
	chosen, suggested, guidance := rank.Pack(g.ask, g.candidates, g.total, g.more, o)
	out.Guidance = guidance
	byFile := make(map[string]int)
	for _, i := range chosen {
		e := g.list[i]
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
		out.ExpandSuggestion = append(out.ExpandSuggestion, g.list[i].ID)
	}
	out.SelectedCount = len(out.Handles)
	out.Truncated = out.TotalMatches > out.SelectedCount || g.more
	return out
}
