package search

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/skill"
)

// withheld are patterns of the skills below root that no model is given, so that a search gives none what skill_read refuses: those
// that only people start, disabled ones, releases that were blocked as registries last said, and without trust in the project all that
// lie in the directory of an agent. They are looked for where agents look in a project, at the time of the call.
func (s *Searcher) withheld(ctx context.Context, root string) ([]string, error) {
	trusted := s.Scope.TrustedAt(root)
	listing, err := roots.Discover(ctx, roots.Config{Project: root, Cwd: root, ProjectTrusted: trusted, Hosts: scope.HostIDs()})
	if err != nil {
		return nil, err
	}
	a := &apply.Applier{Scope: s.Scope, Signatures: signature.New(s.Scope)}
	gate, err := a.GateModels(ctx, apply.Recall, listing.Skills)
	if err != nil {
		return nil, err
	}
	copies := byName(listing)
	var out []string
	for _, r := range listing.Skills {
		rel, err := filepath.Rel(root, r.Path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if !trusted && strings.HasPrefix(rel, ".") {
			out = append(out, files.Directory(filepath.ToSlash(rel)))
			continue
		}
		if gate.Text(r, copies[skill.NameKey(r.Name)]) != nil {
			out = append(out, files.Directory(filepath.ToSlash(rel)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
