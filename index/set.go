package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/order"
)

// A Set is several indexes that are asked as one. Paths in its answers begin with the name of their index, and a slash if that does not
// end with a colon. Handles are the same as those of the single index.
type Set struct {
	members []member
}

type member struct {
	name  string
	index *Index
}

// Add adds an index, which the Set closes. The name may have slashes.
func (s *Set) Add(name string, x *Index) { s.members = append(s.members, member{name, x}) }

// Close closes all indexes.
func (s *Set) Close() error {
	var errs []error
	for _, m := range s.members {
		errs = append(errs, m.index.Close())
	}
	return errors.Join(errs...)
}

func (m member) path(p string) string {
	if strings.HasSuffix(m.name, ":") {
		return m.name + p
	}
	return m.name + "/" + p
}

// Query answers q from all indexes, the best first.
func (s *Set) Query(ctx context.Context, q query.Query) (query.Result, error) {
	out := query.Result{Handles: []query.Handle{}}
	results := make([]query.Result, len(s.members))
	strict := false // some index has all the words
	for i, m := range s.members {
		r, err := m.index.Query(ctx, q)
		if err != nil {
			return query.Result{}, err
		}
		results[i] = r
		strict = strict || !r.Relaxed && r.TotalMatches > 0
		out.NotIndexed += r.NotIndexed
		out.NotRead = query.Languages(out.NotRead, r.NotRead)
		out.Behind = out.Behind || r.Behind
	}
	for i, m := range s.members {
		r := results[i]
		if r.Relaxed && strict {
			continue
		}
		for _, h := range r.Handles {
			h.FilePath = m.path(h.FilePath)
			out.Handles = append(out.Handles, h)
		}
		for _, h := range r.RefHandles {
			h.FilePath = m.path(h.FilePath)
			out.RefHandles = append(out.RefHandles, h)
		}
		out.TotalMatches += r.TotalMatches
		out.AtLeast = out.AtLeast || r.AtLeast
		out.Relaxed = out.Relaxed || r.Relaxed
	}
	order.Stable(out.Handles, func(a, b query.Handle) int { return cmp.Compare(b.Score, a.Score) })
	out.Handles = out.Handles[:min(len(out.Handles), q.Limit)]
	out.RefHandles = out.RefHandles[:min(len(out.RefHandles), q.Limit)]
	used := 0
	for i := range out.Handles {
		h := &out.Handles[i]
		out.TotalTokens += h.TokenCount
		if h.Content == "" {
			continue
		}
		if used+h.TokenCount > q.ExpandBudget { // each index has spent all of it
			h.Content = ""
			continue
		}
		used += h.TokenCount
		out.ExpandedHandleIDs = append(out.ExpandedHandleIDs, h.ID)
	}
	for _, h := range out.RefHandles {
		out.TotalTokens += chunk.Tokens([]byte(h.Preview))
	}
	out.ExpandedCount = len(out.ExpandedHandleIDs)
	out.AutoExpanded = out.ExpandedCount > 0 && out.ExpandedCount == len(out.Handles)
	if q.ExpandBudget > 0 && len(out.Handles) > 0 && !out.AutoExpanded {
		out.ExpandNote = expandNote(out.ExpandedCount, len(out.Handles), used, out.TotalTokens)
	}
	out.Truncated = out.AtLeast || out.TotalMatches > len(out.Handles)+len(out.RefHandles)
	out.Note = query.Notes(q.AlikeNote(out.Handles), noted(q, out.NotIndexed, out.NotRead, out.Behind, out.TotalMatches > 0, s.LeftOut()))
	return out, nil
}

// Evidence answers q with a pack from all indexes.
func (s *Set) Evidence(ctx context.Context, q query.Query, o rank.PackOptions) (query.Pack, error) {
	var all gathering
	order := []int{}
	gathered := make([]gathering, len(s.members))
	strict := false
	for i, m := range s.members {
		g, err := m.index.gather(ctx, q, o)
		if err != nil {
			return query.Pack{}, err
		}
		gathered[i] = g
		strict = strict || !g.relaxed && g.total > 0
		all.pending += g.pending
		all.notRead = query.Languages(all.notRead, g.notRead)
		all.behind = all.behind || g.behind
		all.left.Add(g.left, m.path)
	}
	for i, m := range s.members {
		g := gathered[i]
		if g.relaxed && strict {
			continue
		}
		for i := range g.list {
			g.list[i].FilePath = m.path(g.list[i].FilePath)
			g.candidates[i].Path = g.list[i].FilePath
			order = append(order, len(order))
		}
		all.ask = g.ask
		all.list = append(all.list, g.list...)
		all.candidates = append(all.candidates, g.candidates...)
		all.total += g.total
		all.more = all.more || g.more
		all.relaxed = all.relaxed || g.relaxed
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all.candidates[b].Score.Value, all.candidates[a].Score.Value) })
	sorted := all
	sorted.list, sorted.candidates = nil, nil
	for _, i := range order {
		sorted.list = append(sorted.list, all.list[i])
		sorted.candidates = append(sorted.candidates, all.candidates[i])
	}
	return sorted.pack(q, o), nil
}

// Expand returns the text of handles of any of the indexes.
func (s *Set) Expand(ctx context.Context, ids []string, maxTokens int) (query.Expansion, error) {
	out := query.Expansion{Contents: []query.Content{}}
	left := ids
	if len(s.members) == 0 {
		for _, id := range ids {
			out.FailedIDs = append(out.FailedIDs, failure(id, "nothing is indexed"))
		}
	}
	for i, m := range s.members {
		limit := maxTokens
		for _, c := range out.Contents {
			limit -= c.TokenCount
		}
		e, err := m.index.expand(ctx, left, maxTokens > 0, limit)
		if err != nil {
			return query.Expansion{}, err
		}
		for _, c := range e.Contents {
			c.FilePath = m.path(c.FilePath)
			out.Contents = append(out.Contents, c)
		}
		out.Truncated = out.Truncated || e.Truncated
		left = nil
		for _, f := range e.FailedIDs {
			if f.Code == "handle_not_found" && i < len(s.members)-1 {
				left = append(left, f.HandleID)
			} else {
				out.FailedIDs = append(out.FailedIDs, f)
			}
		}
		if len(left) == 0 {
			break
		}
	}
	return out, nil
}

// Files returns the paths of all files in which q matches something, sorted.
func (s *Set) Files(ctx context.Context, q query.Query) ([]string, error) {
	var out []string
	for _, m := range s.members {
		list, err := m.index.Files(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			out = append(out, m.path(p))
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out, nil
}

// LeftOut is what the last answers did not cover on purpose.
func (s *Set) LeftOut() (all query.LeftOut) {
	for _, m := range s.members {
		all.Add(m.index.LeftOut(), m.path)
	}
	return all
}
