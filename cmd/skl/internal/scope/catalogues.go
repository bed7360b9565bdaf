package scope

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A Place is where skills come from: a marketplace or a forge of the configuration.
type Place struct {
	Kind string `json:"kind"` // market or forge
	Name string `json:"name"`
	Ref  string `json:"ref"`
	In   string `json:"in"` // where that is written: config.toml, skl.toml, or "" of a forge that needs no configuration
}

// Places are the marketplaces of the configuration and of skl.toml, and the forges, each sorted by name.
func (sc *Scope) Places() ([]Place, error) {
	f, err := sc.Load()
	if err != nil {
		return nil, err
	}
	out := []Place{}
	for _, name := range slices.Sorted(maps.Keys(sc.Config.Markets)) {
		out = append(out, Place{"market", name, sc.Config.Markets[name], "config.toml"})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Manifest.Markets)) {
		if at := f.Manifest.Markets[name]; sc.whole(at) != sc.whole(sc.Config.Markets[name]) {
			out = append(out, Place{"market", name, at, "skl.toml"})
		}
	}
	forges := map[string]string{"github": "https://github.com", "gitlab": "https://gitlab.com", "codeberg": "https://codeberg.org"}
	maps.Copy(forges, sc.Config.Forges)
	for _, name := range slices.Sorted(maps.Keys(forges)) {
		in := ""
		if sc.Config.Forges[name] != "" {
			in = "config.toml"
		}
		out = append(out, Place{"forge", name, forges[name], in})
	}
	return out, nil
}

// A MarketRequest asks to write a marketplace into the configuration.
type MarketRequest struct {
	Ref    string // a URL, owner/repo or a directory
	Name   string // "" is the marketplace's own
	DryRun bool
}

// AddMarket reads a marketplace and writes it into the configuration. It returns its place and its plugins.
func (sc *Scope) AddMarket(ctx context.Context, q MarketRequest) (Place, []Plugin, error) {
	r, err := ref.Parse(q.Ref)
	if err == nil && q.Name != "" {
		err = config.CheckName(q.Name, "market")
	}
	if err != nil {
		return Place{}, nil, err
	}
	if r.Kind == ref.Local {
		r.Path = filepath.ToSlash(Absolute(sc.Cwd, filepath.FromSlash(r.Path))) // the configuration has no directory of its own
	}
	m, err := sc.readMarket(ctx, r)
	if err != nil {
		return Place{}, nil, err
	}
	name := cmp.Or(q.Name, m.Name)
	if old, ok := sc.Config.Markets[name]; ok && old != r.String() {
		return Place{}, nil, diag.New(diag.Misuse, "exists", "there is a marketplace %q already, from %s", name, old).Hint("add --name OTHER")
	}
	err = sc.EditConfig(q.DryRun, func(cfg *config.Config) error { return cfg.SetMarket(name, r.String()) })
	return Place{"market", name, r.String(), "config.toml"}, m.plugins, err
}

// RemoveMarket takes a marketplace out of the configuration.
func (sc *Scope) RemoveMarket(name string, dry bool) error {
	if _, ok := sc.Config.Markets[name]; !ok {
		return sc.unknownMarket(name)
	}
	return sc.EditConfig(dry, func(cfg *config.Config) error { return cfg.RemoveMarket(name) })
}

func (sc *Scope) unknownMarket(name string) *diag.Error {
	return diag.New(diag.Misuse, "unknown_market", "there is no marketplace %q", name).Meant(slices.Sorted(maps.Keys(sc.Config.Markets))...)
}

// A Plugin is an entry of a marketplace.
type Plugin struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Skills      *int     `json:"skills"`            // how many it has; null where nobody looked, since it lies elsewhere
	Needs       []string `json:"needs,omitempty"`   // other plugins, with the range of versions
	Problem     string   `json:"problem,omitempty"` // why it cannot be used, or what it has instead of skills
}

// Plugins lists the plugins of a marketplace.
func (sc *Scope) Plugins(ctx context.Context, market string) ([]Plugin, error) {
	f, err := sc.Load()
	if err != nil {
		return nil, err
	}
	r, ok, err := sc.Market(f.Manifest, market)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, sc.unknownMarket(market).Hint("skl source add market URL|owner/repo|DIR")
	}
	m, err := sc.readMarket(ctx, r)
	return m.plugins, err
}
