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

// A PluginNeed is a plugin that another one needs.
type PluginNeed struct {
	Plugin string
	Market string // its marketplace by its own name; "" is that of who needs it
	Text   string // both, with the range that is asked for
}

// market leads from market:NAME/plugin[/skill] to the place of the plugin.
func (rs *Resolver) market(ctx context.Context, r ref.Ref) (Place, error) {
	at, ok, err := rs.Market(r.Host)
	if err != nil {
		return Place{}, err
	}
	if !ok || rs.Plugins == nil {
		return Place{}, diag.New(diag.Misuse, "unknown_market", "there is no marketplace %q", r.Host).
			Hint("skl source add market URL|owner/repo|DIR --name %s", r.Host)
	}
	place, err := rs.Locate(ctx, at)
	if err != nil {
		return Place{}, err
	}
	release, err := rs.Head(ctx, place.Ref)
	if err != nil {
		return Place{}, diag.Prefixed(err, at.WithoutVersion().String())
	}
	p, err := rs.Plugins.Plugin(ctx, place.Ref, release, r.Owner)
	if err != nil {
		return Place{}, pinned(err, r)
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

// Head is the release a catalogue at r, a ref of kind Git or Local, is read at:
// the version r names, else the default branch (not the newest version tag).
func (rs *Resolver) Head(ctx context.Context, r ref.Ref) (source.Release, error) {
	src := rs.Git
	switch r.Kind {
	case ref.Local:
		src = rs.Local
	case ref.OCI:
		return source.Release{}, diag.New(diag.Misuse, "invalid_ref", "a catalogue is in a git repository or a folder, not in an OCI registry")
	case ref.Embedded:
		return source.Release{}, diag.New(diag.Misuse, "invalid_ref", "a catalogue is in a git repository or a folder, not in skl itself")
	}
	releases, err := src.Versions(ctx, r)
	if err != nil {
		return source.Release{}, err
	}
	if r.Version == "" {
		for _, release := range releases {
			if release.Default || release.Kind == source.Folder {
				return release, nil
			}
		}
	}
	release, _, err := Pick(releases, "", r.Version, "")
	return release, err
}
