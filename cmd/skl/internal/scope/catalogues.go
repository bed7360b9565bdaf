package scope

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/resolver/source/marketplace"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A Place is where skills come from: a marketplace or a forge of the configuration.
type Place struct {
	Kind string `json:"kind"` // market or forge
	Name string `json:"name"`
	Ref  string `json:"ref"`
}

// Places are the configured marketplaces, and the forges, each sorted by name.
func (sc *Scope) Places() []Place {
	out := []Place{}
	for _, name := range slices.Sorted(maps.Keys(sc.Config.Markets)) {
		out = append(out, Place{"market", name, sc.Config.Markets[name]})
	}
	forges := map[string]string{"github": "https://github.com", "gitlab": "https://gitlab.com", "codeberg": "https://codeberg.org"}
	maps.Copy(forges, sc.Config.Forges)
	for _, name := range slices.Sorted(maps.Keys(forges)) {
		out = append(out, Place{"forge", name, forges[name]})
	}
	return out
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
	if err != nil {
		return Place{}, nil, err
	}
	if r.Kind == ref.Local {
		r.Path = filepath.ToSlash(Absolute(sc.Cwd, filepath.FromSlash(r.Path))) // the configuration has no directory of its own
	}
	m, err := sc.ReadMarket(ctx, r)
	if err != nil {
		return Place{}, nil, err
	}
	name := cmp.Or(q.Name, m.Name)
	if old, ok := sc.Config.Markets[name]; ok && old != r.String() {
		return Place{}, nil, diag.New(diag.Misuse, "exists", "there is a marketplace %q already, from %s", name, old).Hint("add --name OTHER")
	}
	err = sc.EditConfig(q.DryRun, func(cfg *config.Config) error { return cfg.SetMarket(name, r.String()) })
	return Place{"market", name, r.String()}, pluginsOf(m), err
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
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Problem     string `json:"problem,omitempty"` // why it cannot be used
}

// Plugins lists the plugins of a marketplace.
func (sc *Scope) Plugins(ctx context.Context, market string) ([]Plugin, error) {
	r, ok := sc.Market(market)
	if !ok {
		return nil, sc.unknownMarket(market).Hint("skl source add market URL|owner/repo|DIR")
	}
	m, err := sc.ReadMarket(ctx, r)
	if err != nil {
		return nil, err
	}
	return pluginsOf(m), nil
}

func pluginsOf(m marketplace.Marketplace) []Plugin {
	out := []Plugin{}
	for _, p := range m.Plugins {
		one := Plugin{Name: p.Name, Version: p.Version, Description: p.Description}
		if p.Invalid != nil {
			one.Problem = p.Invalid.Error()
		}
		out = append(out, one)
	}
	return out
}
