package apply

import (
	"context"
	"strings"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

const mostPlugins = 100 // that plugins which are asked for need

// A plugin can say that it needs others. Those of its marketplace are added before it, with all their skills, as if they were asked for;
// one of another marketplace is for the person to add, since whoever keeps the first one speaks for that alone.

// addNeeded adds the skills of the plugins that those of refs need.
func (p *picker) addNeeded(ctx context.Context, refs []ref.Ref) error {
	rs := p.a.Scope.Resolver(p.files.Manifest)
	seen := map[string]bool{}
	queue := make([]ref.Ref, 0, len(refs))
	for _, r := range refs {
		if r.Kind == ref.Name && !strings.HasPrefix(rs.Binding(r.Owner), "market:") {
			continue
		}
		if r.Kind == ref.Name || r.Kind == ref.Market {
			queue = append(queue, r)
		}
		if r.Kind == ref.Market && r.Path == "" {
			seen[r.WithoutVersion().String()] = true
		}
	}
	asked := len(queue)
	for i := 0; i < len(queue); i++ {
		place, err := rs.Locate(ctx, queue[i])
		if err != nil {
			return err
		}
		more, err := p.pluginNeeds(ctx, queue[i], place, refs)
		if err != nil {
			return err
		}
		for _, r := range more {
			if seen[r.String()] {
				continue
			}
			if seen[r.String()] = true; len(queue)-asked >= mostPlugins {
				return diag.New(diag.Failed, "too_large", "%s needs more than %d plugins", queue[0], mostPlugins)
			}
			p.a.Scope.Tell.Note("%s needs %s: its skills are installed too", queue[i], r)
			queue = append(queue, r)
			if err := p.addPlugin(ctx, r, queue[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// addPlugin adds the skills of one plugin that another one needs; of one without skills there is nothing to install.
func (p *picker) addPlugin(ctx context.Context, r, by ref.Ref) error {
	err := p.take(ctx, r, nil)
	if e, ok := diag.Own(err); ok && e.Code == source.CodeNoSkill {
		p.a.Scope.Tell.Warn("%s needs %s: %s", by, r, e.Message)
		return nil
	}
	return diag.Prefixed(err, by.String()+" needs "+r.String())
}

// pluginNeeds are the plugins of its own marketplace that the one at a place needs.
func (p *picker) pluginNeeds(ctx context.Context, r ref.Ref, place resolver.Place, asked []ref.Ref) (out []ref.Ref, err error) {
	if place.Needs == nil {
		return nil, nil
	}
	all, err := place.Needs(ctx)
	if e, ok := diag.Own(err); ok && e.Code == "plugin_unmet" {
		return nil, e.Hint("its skills without what it needs are among those of its repository: skl install -l %s", place.Ref.WithoutVersion())
	}
	if err != nil {
		return nil, err
	}
	market := r.Host
	if r.Kind == ref.Name {
		market = strings.TrimPrefix(place.Binding, "market:")
	}
	for _, n := range all {
		if n.Market == "" {
			out = append(out, ref.Ref{Kind: ref.Market, Host: market, Owner: n.Plugin})
			continue
		}
		other := ref.Ref{Kind: ref.Market, Host: n.Market, Owner: n.Plugin}
		if !p.hasPlugin(other, asked) {
			return nil, diag.New(diag.Unmet, "plugin_unmet", "%s needs plugin %s, to which its own does not lead", r.WithoutVersion(), n.Text).
				Hint("install it first: skl install %s", other)
		}
		p.a.Scope.Tell.Warn("%s needs plugin %s: the version of %s is not compared", r.WithoutVersion(), n.Text, other)
	}
	return out, nil
}

// hasPlugin reports whether skills of a plugin are in skl.toml or asked for.
func (p *picker) hasPlugin(plugin ref.Ref, asked []ref.Ref) bool {
	is := func(r ref.Ref) bool { return r.Kind == plugin.Kind && r.Host == plugin.Host && r.Owner == plugin.Owner }
	for _, r := range asked {
		if is(r) {
			return true
		}
	}
	for _, s := range p.files.Manifest.Skills {
		if r, err := ref.Parse(s.Ref); err == nil && is(r) {
			return true
		}
	}
	return false
}
