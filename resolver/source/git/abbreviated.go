package git

import (
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/ref"
)

var _ source.Abbreviator = (*Source)(nil)

// A historian is a rung that can list commits without their files.
type historian interface {
	// commits calls visit with every commit that tips reach, and may with others.
	commits(ctx context.Context, tips []plumbing.Hash, limit int64, visit func(plumbing.Hash)) error
}

// Commits implements [source.Abbreviator]. It asks for the whole history, without trees and files, so it is for people who
// paste a short id, not for what is locked.
func (s *Source) Commits(ctx context.Context, r ref.Ref, prefix string) ([]ref.Commit, error) {
	repo, err := s.repo(r.URL)
	if err != nil {
		return nil, err
	}
	adverts, err := repo.refs(ctx)
	if err != nil {
		return nil, err
	}
	var tips []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for _, a := range adverts {
		if !a.id.IsZero() && !seen[a.id] {
			seen[a.id] = true
			tips = append(tips, a.id)
		}
	}
	if len(tips) == 0 {
		return nil, nil
	}
	found, err := repo.abbreviated(ctx, tips, prefix)
	if err != nil {
		return nil, explain(r.URL, plumbing.ZeroHash, err)
	}
	return found, nil
}

// abbreviated lists the commits whose ids start with prefix, sorted.
func (r *repo) abbreviated(ctx context.Context, tips []plumbing.Hash, prefix string) ([]ref.Commit, error) {
	done, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if r.offline {
		return nil, offlineError(r.url)
	}
	for _, g := range r.rungs[r.first:] {
		h, ok := g.(historian)
		if !ok {
			continue
		}
		var found []ref.Commit
		err := h.commits(ctx, tips, r.limit, func(id plumbing.Hash) {
			if strings.HasPrefix(id.String(), prefix) {
				found = append(found, ref.Commit(id.String()))
			}
		})
		slices.Sort(found)
		return slices.Compact(found), err
	}
	return nil, &unsupported{"commits cannot be listed here without their files"}
}

func (w *wire) commits(ctx context.Context, tips []plumbing.Hash, limit int64, visit func(plumbing.Hash)) error {
	if err := w.greet(ctx); err != nil {
		return err
	}
	if !w.v2 || !w.can("filter") {
		return &unsupported{"the server cannot leave out files"}
	}
	set := newObjectSet(limit)
	err := w.fetchPackBy(ctx, func([]plumbing.Hash, bool) []byte { return fetchCommitsV2(tips) }, skipToPackV2, tips, false, set)
	if err != nil {
		return err
	}
	for id, o := range set.byID {
		if o.kind == plumbing.CommitObject {
			visit(id)
		}
	}
	return nil
}

// fetchCommitsV2 asks for all commits that wants reach, without trees.
func fetchCommitsV2(wants []plumbing.Hash) []byte {
	body := appendPkt(make([]byte, 0, 256+50*len(wants)), "command=fetch")
	body = appendPkt(body, "object-format=sha1")
	body = append(body, "0001"...)
	body = appendPkt(body, "no-progress")
	body = appendPkt(body, "ofs-delta")
	body = appendPkt(body, "filter tree:0")
	for _, id := range wants {
		body = appendPkt(body, "want %s", id)
	}
	body = appendPkt(body, "done")
	return append(body, "0000"...)
}

func (f *folder) commits(ctx context.Context, _ []plumbing.Hash, _ int64, visit func(plumbing.Hash)) error {
	if err := f.open(); err != nil {
		return err
	}
	all, err := f.repo.store.IterEncodedObjects(plumbing.CommitObject)
	if err != nil {
		return err
	}
	return all.ForEach(func(c plumbing.EncodedObject) error {
		visit(c.Hash())
		return ctx.Err()
	})
}
