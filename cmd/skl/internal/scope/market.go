package scope

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/ocihttp"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/marketplace"
	"github.com/skl-project/skl/spec/ref"
)

// Market is the ref of a marketplace in the configuration.
func (sc *Scope) Market(name string) (ref.Ref, bool) {
	text, ok := sc.Config.Markets[name]
	if !ok {
		return ref.Ref{}, false
	}
	r, err := ref.Parse(text)
	return r, err == nil
}

// plugins reads marketplaces for the resolver.
type plugins struct{ w *Scope }

// Plugin implements resolver.PluginReader.
func (p plugins) Plugin(ctx context.Context, market ref.Ref, at source.Release, name string) (resolver.Place, error) {
	files := repoFiles{p.w, market, at.Commit}
	dir := ""
	if market.Kind == ref.Git {
		dir = market.Path
	}
	m, err := marketplace.Load(ctx, files, dir)
	if err != nil {
		return resolver.Place{}, err
	}
	plugin, err := m.Plugin(name)
	if err != nil {
		return resolver.Place{}, err
	}
	where, err := plugin.Place(market, at.Commit)
	if err != nil {
		return resolver.Place{}, err
	}
	r := where.Ref
	if r.Kind == ref.Forge {
		address, err := p.w.Config.ForgeURL(r.Host, r.Owner, r.Repo)
		if err != nil {
			return resolver.Place{}, err
		}
		r = ref.Ref{Kind: ref.Git, URL: address, Path: r.Path, Version: r.Version}
	}
	p.w.led(market, r)
	out := resolver.Place{Ref: r, Commit: where.Commit}
	root := r.Path
	if r.Kind == ref.Local {
		// Paths of skills are relative to the marketplace's folder, not to the plugin's.
		out.Ref, root = market, plugin.Source.Path
	} else {
		if out.Commit == "" {
			if out.Commit, err = p.commit(ctx, r); err != nil {
				return resolver.Place{}, err
			}
		}
		files = repoFiles{p.w, r, out.Commit}
	}
	out.Ref.Path, out.Ref.Version = "", ""
	if r.Kind == ref.Local {
		out.Ref.Path = market.Path
	}
	picked, err := plugin.Skills(ctx, files, root)
	if err != nil {
		return resolver.Place{}, err
	}
	out.Has, out.None = picked.Has, func() error { return picked.None(name) }
	if picked.Named {
		for _, dir := range picked.Paths {
			out.Near = append(out.Near, path.Base(dir))
		}
	}
	return out, nil
}

// commit resolves the version of a plugin that is elsewhere and not pinned.
func (p plugins) commit(ctx context.Context, r ref.Ref) (ref.Commit, error) {
	releases, err := p.w.git.Versions(ctx, r)
	if err != nil {
		return "", err
	}
	chosen, _, err := resolver.Pick(releases, "", r.Version, "")
	return chosen.Commit, err
}

// repoFiles reads the files of one commit, or of a folder.
type repoFiles struct {
	w      *Scope
	at     ref.Ref // Git or Local
	commit ref.Commit
}

func (f repoFiles) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if f.at.Kind == ref.Git {
		return f.w.git.ReadFile(ctx, f.at.URL, f.commit, name)
	}
	root, err := os.OpenRoot(Absolute(f.w.Base, filepath.FromSlash(f.at.Path)))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return fs.ReadFile(durable.RootFS(root), name)
}

// led notes that a catalogue names a repository elsewhere: it leads to no address further in than its own.
func (sc *Scope) led(catalogue, to ref.Ref) {
	if sc.HTTP == nil {
		return
	}
	web := func(r ref.Ref) string {
		u, err := url.Parse(r.URL)
		switch {
		case r.Kind == ref.OCI:
			return ocihttp.New(sc.HTTP).Base(r.Host)
		case r.Kind != ref.Git || err != nil || u.Scheme != "https" && u.Scheme != "http":
			return ""
		}
		return origin.Of(u)
	}
	if from, at := web(catalogue), web(to); from != "" && at != "" {
		sc.HTTP.Led(from, at)
	}
}

// ReadMarket reads the marketplace that r leads to, at its default branch or the version named.
func (sc *Scope) ReadMarket(ctx context.Context, r ref.Ref) (marketplace.Marketplace, error) {
	f, err := sc.Load()
	if err != nil {
		return marketplace.Marketplace{}, err
	}
	rs := sc.Resolver(f.Manifest)
	place, err := rs.Locate(ctx, r)
	if err != nil {
		return marketplace.Marketplace{}, err
	}
	at, err := rs.Head(ctx, place.Ref)
	if err != nil {
		return marketplace.Marketplace{}, err
	}
	dir := ""
	if place.Ref.Kind == ref.Git {
		dir = place.Ref.Path
	}
	m, err := marketplace.Load(ctx, repoFiles{sc, place.Ref, at.Commit}, dir)
	if err != nil {
		return marketplace.Marketplace{}, fmt.Errorf("%s: %w", r, err)
	}
	for i, p := range m.Plugins {
		_, m.Plugins[i].Invalid = p.Place(place.Ref, at.Commit)
	}
	return m, nil
}
