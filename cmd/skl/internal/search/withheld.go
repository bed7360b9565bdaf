package search

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/skill"
)

// withheld are patterns of the skills below root that no model is given, so that a search gives none what skill_read refuses: those
// that only people start, disabled ones, and without trust in the project all that lie in the directory of an agent. They are
// looked for where agents look in a project, at the time of the call.
func withheld(ctx context.Context, root string, trusted bool) ([]string, error) {
	listing, err := roots.Discover(ctx, roots.Config{Project: root, Cwd: root, ProjectTrusted: trusted, Hosts: scope.HostIDs()})
	if err != nil {
		return nil, err
	}
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
		if r.State != roots.Disabled && (r.ModelInvocation == "" || skill.Invocation(r.ModelInvocation).ByModel()) {
			continue
		}
		out = append(out, files.Directory(filepath.ToSlash(rel)))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
