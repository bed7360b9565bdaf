package git

import (
	"context"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/ref"
)

// maxLinks is the number of links of a commit that are looked at.
const maxLinks = 512

var _ source.Passer = (*Source)(nil)

// Passed lists what looks like a skill below r.Path and is none, links and submodules among it.
func (s *Source) Passed(ctx context.Context, r ref.Ref, at source.Release) ([]source.Passed, error) {
	repo, snap, err := s.open(ctx, r.URL, at.Commit)
	if err != nil {
		return nil, err
	}
	f := finder{repo: repo, snap: snap, ref: r, at: at}
	if err := f.look(); err != nil {
		return nil, err
	}
	if _, err := f.open(ctx, nil, f.manifests); err != nil { // for the directories that plugins name
		return nil, err
	}
	id, _, err := snap.tree(r.Path)
	if err != nil {
		return nil, err
	}
	var seen source.Lookout
	var links []file
	err = snap.walk(r.Path, id, func(string, int) bool { return true }, func(e file) {
		switch {
		case e.mode&modeType == modeModule:
			seen.Pass(e.path, "a submodule: its files are in another repository")
		case e.mode&modeType != modeLink:
			seen.File(e.path)
		case len(links) < maxLinks:
			links = append(links, e)
		}
	})
	if err != nil {
		return nil, err
	}
	blobs, err := repo.load(ctx, snap, idsOf(links))
	for _, l := range links {
		seen.Link(l.path, string(blobs[l.id]))
	}
	return seen.Passed(f.named(), false), err
}
