package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/lang"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/index/store"
)

const (
	previewBytes = 100
	attempts     = 5 // to find files that hold still
)

// A scored is a hit with what its text is worth.
type scored struct {
	hit
	part  chunk.Part
	score rank.Score
}

// Query answers q.
func (x *Index) Query(ctx context.Context, q query.Query) (query.Result, error) {
	var out query.Result
	lag, err := x.answer(ctx, q, q.Limit, func(s *search, f found, best []scored, total int) error {
		out = query.Result{Handles: []query.Handle{}, TotalMatches: total, Generation: s.v.Generation(), Relaxed: f.relaxed && total > 0, AtLeast: f.atLeast, NotIndexed: len(s.pending), NotRead: s.notRead}
		if f.refs != nil {
			return s.fillReferences(&out, f.refs, q.Limit)
		}
		for _, b := range best {
			h, ok := s.handle(b)
			if !ok {
				continue
			}
			out.Handles = append(out.Handles, h)
			out.TotalTokens += h.TokenCount
		}
		out.Truncated = out.TotalMatches > len(out.Handles) || out.AtLeast
		s.expandWithin(&out, best, q.ExpandBudget)
		return nil
	})
	if err != nil {
		return query.Result{}, err
	}
	out.NotIndexed, out.Behind = out.NotIndexed+lag.changed, lag.unlooked
	out.Note = query.Notes(q.AlikeNote(out.Handles), noted(q, out.NotIndexed, out.NotRead, out.Behind, out.TotalMatches > 0, x.LeftOut()))
	return out, nil
}

// A lag is what an answer does not cover because its time to follow the files ended, besides what it says itself.
type lag struct {
	changed  int  // files that were another than the index says
	unlooked bool // whether files changed is not known
}

// answer evaluates q and hands the best n of what it found to use, until no file turned out to be another than the index
// says, or its time for that ends: then files that changed are read for this answer alone, and what cannot be is left out. What use did
// before is then done again.
func (x *Index) answer(ctx context.Context, q query.Query, n int, use func(s *search, f found, best []scored, total int) error) (lag, error) {
	p := x.patience(ctx)
	var stale map[string]*store.File // of the attempt before
	var pending []files.File
	var behind lag
	for attempt := 1; ; attempt++ {
		last := attempt == attempts || attempt > 1 && p.over()
		err := x.mend(ctx, func() (err error) {
			if last {
				pending = withStale(pending, stale)
			} else {
				pending, err = x.refresh(ctx, p, q, stale)
				behind.unlooked = errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
				if err != nil && !behind.unlooked {
					return err
				}
			}
			stale, err = x.attempt(ctx, q, n, pending, use)
			return err
		})
		if err != nil {
			return lag{}, err
		}
		if len(stale) > 0 && !last {
			continue
		}
		for path := range stale {
			if !slices.ContainsFunc(pending, func(f files.File) bool { return f.Path == path }) {
				behind.changed++
			}
		}
		if (len(pending) > 0 || behind != lag{}) && x.o.Background {
			x.continueInBackground(ctx)
		}
		return behind, nil
	}
}

// withStale adds files to those that are read for an answer.
func withStale(pending []files.File, stale map[string]*store.File) []files.File {
	out := slices.Clip(pending)
	for path, f := range stale {
		if !slices.ContainsFunc(pending, func(p files.File) bool { return p.Path == path }) {
			out = append(out, files.File{Path: path, Stamp: f.Stamp})
		}
	}
	return out
}

func (x *Index) attempt(ctx context.Context, q query.Query, n int, pending []files.File, use func(s *search, f found, best []scored, total int) error) (stale map[string]*store.File, err error) {
	v, err := x.view(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	s := &search{x: x, v: v, q: q, pending: pending, local: map[int64]*local{}, locals: map[string]*store.File{}, stale: map[string]*store.File{}, blocks: map[int64]*blocks{}}
	if s.ask, err = s.asked(q.Text); err != nil {
		return nil, err
	}
	s.sentence = len(wordsOf(s.ask)) >= questionWords
	f, err := s.find(ctx, q.Expr)
	if err != nil {
		return nil, err
	}
	if f, err = s.fallBack(ctx, q.Expr, f); err != nil {
		return nil, err
	}
	if readsAll(q.Expr) {
		s.pending = nil
	}
	var best []scored
	total := len(f.refs)
	if f.refs == nil {
		if best, total, err = s.best(f, n); err != nil {
			return nil, err
		}
	}
	if err := use(s, f, best, total); err != nil {
		return nil, err
	}
	return s.stale, s.keepLocal(ctx, best, f.refs)
}

// keepLocal stores the files of an answer that were not indexed, so that their handles can be expanded.
func (s *search) keepLocal(ctx context.Context, best []scored, _ []reference) error {
	var c store.Change
	seen := map[int64]bool{}
	for _, b := range best {
		if l := s.local[b.file.ID]; l != nil && !seen[b.file.ID] {
			seen[b.file.ID] = true
			c.Put = append(c.Put, *l.record)
		}
	}
	if len(c.Put) == 0 {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, max(s.x.o.FirstAnswer, leastLook))
	defer cancel()
	_, err := s.x.store().Apply(short, c)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil // another writes: they are indexed soon
	}
	return err
}

// handle makes the handle of a match, from the text as it is.
func (s *search) handle(b scored) (query.Handle, bool) {
	n := b.part
	shown, ok := s.shown(b.file, n)
	if !ok {
		return query.Handle{}, false
	}
	if s.blocks[b.file.ID] != nil {
		n.Tokens = chunk.Tokens(shown)
	}
	h := query.Handle{ID: query.ID(b.file.Path, n.Type, n.Start, n.End), FilePath: b.file.Path, NodeType: n.Type.String(), Name: n.Name, Parent: n.Owner,
		Span: query.Span{Start: n.Start, End: n.End}, LineRange: [2]int{n.FirstLine, n.LastLine}, TokenCount: n.Tokens,
		Preview: query.Preview(shown, previewBytes), MatchLine: b.line, Score: round(b.score.Value)}
	h.Approximate = n.Type.IsSymbol() && lang.Approximate(lang.Language(b.file.Language))
	if n.Parent >= 0 {
		if o, err := s.outline(b.file); err == nil {
			p := o.Nodes[n.Parent]
			h.ParentID = query.ID(b.file.Path, p.Type, p.Start, p.End)
			if h.Parent == "" {
				h.Parent = p.Name
			}
		}
	}
	if h.MatchLine == 0 && b.at.End > b.at.Start {
		h.MatchLine = s.matchLine(b)
	}
	return h, true
}

// matchLine returns the first line of a piece that has a word of the question, 0 for none.
func (s *search) matchLine(b scored) int {
	text, ok := s.text(b.file)
	from, to := b.at.Start, min(b.at.End, len(text))
	if !ok || from >= to {
		return 0
	}
	matched := make(map[string]bool, len(b.score.Matched))
	for _, m := range b.score.Matched {
		matched[m] = true
	}
	line := b.at.FirstLine
	for _, l := range bytes.SplitAfter(text[from:to], []byte{'\n'}) {
		has := false
		rank.Terms(l, func(t []byte) { has = has || matched[string(t)] })
		if has {
			return line
		}
		line++
	}
	return 0
}

// round makes scores short; they are not more exact than that.
func round(v float64) float64 { return float64(int64(v*1000+0.5)) / 1000 }

// fillReferences makes handles of references.
func (s *search) fillReferences(out *query.Result, refs []reference, limit int) error {
	out.TotalMatches = len(refs)
	for _, r := range refs {
		if len(out.RefHandles) == limit {
			break
		}
		text, ok := s.text(r.file)
		if !ok || r.End > len(text) {
			continue
		}
		h := query.RefHandle{FilePath: r.file.Path, Span: query.Span{Start: r.Start, End: r.End}, LineRange: [2]int{r.FirstLine, r.LastLine},
			Name: r.Name, Qualifier: r.Qualifier, RefType: string(r.Kind)}
		from := bytes.LastIndexByte(text[:r.Start], '\n') + 1
		to := len(text)
		if i := bytes.IndexByte(text[r.End:], '\n'); i >= 0 {
			to = r.End + i
		}
		h.Preview = query.Preview(text[from:to], 2*previewBytes)
		if r.Source >= 0 {
			o, err := s.outline(r.file)
			if err != nil {
				return err
			}
			n := o.Nodes[r.Source]
			h.SourceHandle = query.ID(r.file.Path, n.Type, n.Start, n.End)
		}
		out.RefHandles = append(out.RefHandles, h)
		out.TotalTokens += chunk.Tokens([]byte(h.Preview))
	}
	out.Truncated = out.TotalMatches > len(out.RefHandles)
	return nil
}

// expandWithin adds content to the handles, the best first, as far as budget goes; not more than two of a file if not all fit, and none that
// overlaps another.
func (s *search) expandWithin(out *query.Result, best []scored, budget int) {
	if budget <= 0 || len(out.Handles) == 0 {
		return
	}
	all := out.TotalTokens <= budget
	perFile := make(map[string]int)
	var taken []query.Handle
	used := 0
	for i := range out.Handles {
		h := &out.Handles[i]
		if !all {
			if used+h.TokenCount > budget || perFile[h.FilePath] == 2 || slices.ContainsFunc(taken, func(t query.Handle) bool {
				return t.FilePath == h.FilePath && h.LineRange[0] <= t.LineRange[1]+2 && t.LineRange[0] <= h.LineRange[1]+2
			}) {
				continue
			}
		}
		j := slices.IndexFunc(best, func(b scored) bool {
			return b.file.Path == h.FilePath && b.part.Start == h.Span.Start && b.part.End == h.Span.End
		})
		if j < 0 {
			continue
		}
		text, ok := s.shown(best[j].file, best[j].part)
		if !ok {
			continue
		}
		h.Content = string(text)
		used += h.TokenCount
		perFile[h.FilePath]++
		taken = append(taken, *h)
		out.ExpandedHandleIDs = append(out.ExpandedHandleIDs, h.ID)
		s.x.lately.add(expanded{h.ID, h.FilePath, h.Span.Start, h.Span.End, time.Now()})
	}
	out.ExpandedCount = len(out.ExpandedHandleIDs)
	if out.AutoExpanded = all && out.ExpandedCount == len(out.Handles); !out.AutoExpanded {
		out.ExpandNote = expandNote(out.ExpandedCount, len(out.Handles), used, out.TotalTokens)
	}
}

func expandNote(expanded, handles, used, tokens int) string {
	return fmt.Sprintf("%d of %d handles are expanded, %d of %d tokens: the rest exceeds expand_budget; expand what you need", expanded, handles, used, tokens)
}

// Files returns the paths of all files in which q matches something, sorted. It is complete for literals, regular
// expressions and globs of files.
func (x *Index) Files(ctx context.Context, q query.Query) (paths []string, err error) {
	_, err = x.answer(ctx, q, 1, func(s *search, f found, _ []scored, _ int) error {
		paths = paths[:0]
		for _, h := range f.hits {
			paths = append(paths, h.file.Path)
		}
		for _, r := range f.refs {
			paths = append(paths, r.file.Path)
		}
		for _, r := range f.rows {
			paths = append(paths, s.v.File(r.row.File()).Path)
		}
		slices.Sort(paths)
		paths = slices.Compact(paths)
		return nil
	})
	return paths, err
}
