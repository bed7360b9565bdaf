package git

import (
	"context"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/lock"
)

// Signed returns, for [attest.Verifier.Verify], the locked commit and those of the named tags that stand for it, as far as
// somebody signed them. Nothing about them is verified but that they have the ids the repository gives.
func (s *Source) Signed(ctx context.Context, skill lock.Skill, tags []string) ([][]byte, error) {
	repo, snap, err := s.open(ctx, skill.URL, skill.Commit)
	if err != nil {
		return nil, err
	}
	data, _ := snap.set.get(snap.commit, plumbing.CommitObject)
	signed, err := attest.GitEvidence("commit", data)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	if signed != nil {
		out = append(out, signed)
	}
	if len(tags) == 0 || repo.offline && signed != nil {
		return out, nil
	}
	refs, err := repo.refs(ctx)
	if err != nil {
		return nil, err
	}
	var ids []plumbing.Hash
	for _, name := range tags {
		for i := range refs {
			if a := &refs[i]; a.name == "refs/tags/"+name && a.id == snap.commit && !a.tag.IsZero() && !slices.Contains(ids, a.tag) {
				ids = append(ids, a.tag)
			}
		}
	}
	for _, id := range ids {
		data, err := repo.tag(ctx, id)
		if err != nil {
			return nil, err
		}
		if signed, err = attest.GitEvidence("tag", data); err != nil {
			return nil, err
		}
		if signed != nil {
			out = append(out, signed)
		}
	}
	return out, nil
}

// tag fetches an annotated tag.
func (r *repo) tag(ctx context.Context, id plumbing.Hash) ([]byte, error) {
	done, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if r.offline {
		return nil, offlineError(r.url)
	}
	var set *objectSet
	err = r.climb(func(g rung) error {
		set = newObjectSet(r.limit)
		return g.tag(ctx, id, set)
	})
	if err != nil {
		return nil, explain(r.url, id, err)
	}
	data, ok := set.get(id, plumbing.TagObject)
	if !ok {
		return nil, digestError(r.url, id)
	}
	return data, nil
}

// TagsOf are the names that a tag of a version may have, for the skill of that name; see [Source.Versions].
//
//go:noinline
func TagsOf(skill, version string) []string {
	tags := make([]string, 0, 6)
	for i, before := range []string{"", "v", "-v", "--v", "@", "@v"} {
		if i > 1 {
			before = skill + before
		}
		tags = append(tags, before+version)
	}
	return tags
}
