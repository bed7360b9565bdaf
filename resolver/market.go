package resolver

import (
	"context"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A PluginReader finds plugins of a marketplace, whose repository is at the place and
// release given.
type PluginReader interface {
	// Plugin says where the plugin's skills are. A plugin in the marketplace's own
	// repository has the commit of at.
	Plugin(ctx context.Context, market ref.Ref, at source.Release, plugin string) (Place, error)
}

// market leads from market:NAME/plugin[/skill] to the place of the plugin.
func (rs *Resolver) market(ctx context.Context, r ref.Ref) (Place, error) {
	at, ok := rs.Market(r.Host)
	if !ok || rs.Plugins == nil {
		return Place{}, diag.New(diag.Misuse, "unknown_market", "there is no marketplace %q", r.Host).
			Hint("skl source add market URL|owner/repo|DIR --name %s", r.Host)
	}
	place, err := rs.Locate(ctx, at)
	if err != nil {
		return Place{}, err
	}
	src := rs.Git
	if place.Ref.Kind == ref.Local {
		src = rs.Local
	}
	releases, err := src.Versions(ctx, place.Ref)
	if err != nil {
		return Place{}, err
	}
	release, err := head(releases, place.Ref.Version)
	if err != nil {
		return Place{}, naming(err, at)
	}
	p, err := rs.Plugins.Plugin(ctx, place.Ref, release, r.Owner)
	if err != nil {
		return Place{}, err
	}
	if r.Path != "" {
		p.Ref.Skill = r.Path
	}
	if r.Version != "" {
		if p.Commit != "" {
			return Place{}, diag.New(diag.Misuse, "pinned_plugin", "plugin %s is pinned by its marketplace, so it takes no version", r.Owner)
		}
		p.Ref.Version = r.Version
	}
	return p, nil
}

// head is the release a marketplace is read at: its default branch, unless its ref says otherwise.
func head(releases []source.Release, version string) (source.Release, error) {
	if version == "" {
		for _, r := range releases {
			if r.Default || r.Kind == source.Folder {
				return r, nil
			}
		}
	}
	r, _, err := Pick(releases, "", version, "")
	return r, err
}
