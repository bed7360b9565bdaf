package scope

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/ocihttp"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/resolver/source/marketplace"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

// Market finds a marketplace by its name: in the configuration, or in m. Where they mean two places, neither is taken.
func (sc *Scope) Market(m *manifest.Manifest, name string) (_ ref.Ref, ok bool, err error) {
	mine, ok := sc.Config.Markets[name]
	theirs, written := m.Markets[name]
	if ok && written && sc.whole(mine) != sc.whole(theirs) {
		return ref.Ref{}, false, diag.New(diag.Refused, "market_differs", "marketplace %s is %s in skl.toml, and %s in your configuration", name, theirs, mine).
			Hint("skl source remove %s    or change [market.%s] of skl.toml", name, name)
	}
	if !ok && !written {
		return ref.Ref{}, false, nil
	}
	if !ok {
		if err := sc.checkWritten(filepath.Join(sc.Base, "skl.toml"), "market "+name, theirs); err != nil {
			return ref.Ref{}, false, err
		}
	}
	r, err := ref.Parse(sc.whole(cmp.Or(mine, theirs)))
	return r, err == nil, err
}

// whole is the ref of a marketplace with a folder by its whole path: that in skl.toml is relative to it.
func (sc *Scope) whole(text string) string {
	r, err := ref.Parse(text)
	if err != nil {
		return text
	}
	if r.Kind == ref.Local {
		r.Path = filepath.ToSlash(Absolute(sc.Base, filepath.FromSlash(r.Path)))
	}
	return r.String()
}

// MarketRecord is what skl.toml records of the marketplace of a name, so that whoever clones the project finds it. ok is false for one that the
// configuration does not name, and for a folder outside of the project, which others do not have; that is said once.
func (sc *Scope) MarketRecord(name string) (text string, ok bool) {
	text, ok = sc.Config.Markets[name]
	if !ok {
		return "", false
	}
	r, err := ref.Parse(text)
	if err != nil {
		return "", false // the configuration is checked where it is read
	}
	if r.Kind != ref.Local {
		return text, true
	}
	rel, err := filepath.Rel(sc.Base, filepath.FromSlash(r.Path))
	if err != nil || !filepath.IsLocal(rel) {
		if line := "marketplace " + name; !sc.told[line] {
			sc.told[line] = true
			sc.Tell.Warn("marketplace %s is the folder %s, which others do not have: it is not written to skl.toml", name, sc.Short(filepath.FromSlash(r.Path)))
		}
		return "", false
	}
	return "./" + filepath.ToSlash(rel), true
}

// plugins reads marketplaces for the resolver. It holds no Scope: of what an interface holds, the program keeps every exported method.
type plugins func(ctx context.Context, market ref.Ref, at source.Release, name string) (resolver.Place, error)

// Plugin implements resolver.PluginReader.
func (read plugins) Plugin(ctx context.Context, market ref.Ref, at source.Release, name string) (resolver.Place, error) {
	return read(ctx, market, at, name)
}

// plugin is where the skills of a plugin are.
func (sc *Scope) plugin(ctx context.Context, market ref.Ref, at source.Release, name string) (resolver.Place, error) {
	files := sc.repoFiles(market, at.Commit)
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
	out, picked, err := sc.part(ctx, market, at, plugin)
	if err != nil {
		return resolver.Place{}, err
	}
	out.Has, out.Around, out.None = picked.Has, picked.Around, func() error { return picked.None(name) }
	out.Near, out.Links, out.Passed = picked.Near, picked.Links, picked.Passed
	out.Needs = func(ctx context.Context) ([]resolver.PluginNeed, error) {
		out := make([]resolver.PluginNeed, len(picked.Needs))
		for i, n := range picked.Needs {
			out[i] = resolver.PluginNeed{Plugin: n.Name, Market: n.Market, Text: n.String()}
			if n.Market != "" && n.Market != m.Name {
				continue
			}
			out[i].Market = ""
			if err := sc.checkPluginNeed(ctx, market, at, m, name, n); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return out, nil
}

// checkPluginNeed refuses what the plugin of a name needs of its own marketplace m, and is not there.
func (sc *Scope) checkPluginNeed(ctx context.Context, market ref.Ref, at source.Release, m marketplace.Marketplace, name string, n marketplace.Need) error {
	plugin, err := m.Plugin(n.Name)
	if err != nil {
		return unmetPlugin("plugin %s needs plugin %s: %w", name, n, err)
	}
	if n.Range == "" {
		return nil
	}
	_, picked, err := sc.part(ctx, market, at, plugin)
	switch {
	case err != nil:
		return fmt.Errorf("plugin %s needs plugin %s: %w", name, n, err)
	case picked.Version == "":
		return unmetPlugin("plugin %s needs plugin %s, and %s has it without a version", name, n, m.Name)
	case !n.Allows(picked.Version):
		return unmetPlugin("plugin %s needs plugin %s, and %s has %s %s", name, n, m.Name, n.Name, diag.Printable(picked.Version))
	}
	return nil
}

//go:noinline
func unmetPlugin(format string, args ...any) *diag.Error {
	return diag.New(diag.Unmet, "plugin_unmet", format, args...)
}

// part is where a plugin of a marketplace is, and which skills there are its own.
func (sc *Scope) part(ctx context.Context, market ref.Ref, at source.Release, plugin marketplace.Plugin) (resolver.Place, marketplace.Selection, error) {
	var none marketplace.Selection
	where, err := plugin.Place(sc.reached(market), at.Commit, sc.leadsInward)
	if err != nil {
		return resolver.Place{}, none, err
	}
	r := where.Ref
	r.URL = sc.Config.Canonical(r.URL)
	if r.Kind == ref.Forge {
		address, err := sc.Config.ForgeURL(r.Host, r.Owner, r.Repo)
		if err != nil {
			return resolver.Place{}, none, err
		}
		r = ref.Ref{Kind: ref.Git, URL: address, Path: r.Path, Version: r.Version}
	}
	sc.led(market, r)
	out, files := resolver.Place{Ref: r, Commit: where.Commit}, sc.repoFiles(market, at.Commit)
	root := r.Path
	if r.Kind == ref.Local {
		// Paths of skills are relative to the marketplace's folder, not to the plugin's.
		out.Ref, root = market, plugin.Source.Path
	} else {
		if out.Commit == "" {
			if out.Commit, err = sc.pluginCommit(ctx, r); err != nil {
				return resolver.Place{}, none, err
			}
		}
		files = sc.repoFiles(r, out.Commit)
	}
	out.Ref.Path, out.Ref.Version = "", ""
	if r.Kind == ref.Local {
		out.Ref.Path = market.Path
	}
	picked, err := plugin.Skills(ctx, files, root)
	return out, picked, err
}

// pluginCommit resolves the version of a plugin that is elsewhere and not pinned.
func (sc *Scope) pluginCommit(ctx context.Context, r ref.Ref) (ref.Commit, error) {
	releases, err := sc.Git.Versions(ctx, r)
	if err != nil {
		return "", err
	}
	chosen, _, err := resolver.Pick(releases, "", r.Version, "")
	return chosen.Commit, err
}

// reached is r at the address that it is fetched from: what a catalogue may lead to depends on where it is.
//
//go:noinline
func (sc *Scope) reached(r ref.Ref) ref.Ref {
	if r.Kind == ref.Git {
		r.URL = sc.Config.Reach(r.URL)
	}
	return r
}

// repoFiles reads the files of one commit, or of a folder.
type repoFiles struct {
	git    *git.Source
	base   string  // of the scope
	at     ref.Ref // Git or Local
	commit ref.Commit
}

func (sc *Scope) repoFiles(at ref.Ref, commit ref.Commit) repoFiles {
	return repoFiles{sc.Git, sc.Base, at, commit}
}

func (f repoFiles) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if f.at.Kind == ref.Git {
		return f.git.ReadFile(ctx, f.at.URL, f.commit, name)
	}
	root, err := os.OpenRoot(Absolute(f.base, filepath.FromSlash(f.at.Path)))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return fs.ReadFile(durable.RootFS(root), name)
}

func (f repoFiles) ReadLink(ctx context.Context, name string) (string, error) {
	if f.at.Kind == ref.Git {
		return f.git.ReadLink(ctx, f.at.URL, f.commit, name)
	}
	root, err := os.OpenRoot(Absolute(f.base, filepath.FromSlash(f.at.Path)))
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	text, err := root.Readlink(filepath.FromSlash(name))
	return filepath.ToSlash(text), err
}

func (f repoFiles) ReadDir(ctx context.Context, name string) ([]string, error) {
	if f.at.Kind == ref.Git {
		return f.git.ReadDir(ctx, f.at.URL, f.commit, name)
	}
	root, err := os.OpenRoot(Absolute(f.base, filepath.FromSlash(f.at.Path)))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(durable.RootFS(root), cmp.Or(name, "."))
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name()+"/")
		} else {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// led notes that a catalogue names a repository elsewhere: it leads to no address further in than its own.
func (sc *Scope) led(catalogue, to ref.Ref) {
	if sc.HTTP == nil {
		return
	}
	web := func(r ref.Ref) string {
		u, err := url.Parse(sc.Config.Reach(r.URL))
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

// A readMarket is a marketplace with what its plugins hold.
type readMarket struct {
	Name    string
	plugins []Plugin
}

// readMarket reads the marketplace that r leads to, at its default branch or the version named, and counts the skills of the
// plugins that lie beside it. Those of other repositories are not looked at.
func (sc *Scope) readMarket(ctx context.Context, r ref.Ref) (readMarket, error) {
	f, err := sc.Load()
	if err != nil {
		return readMarket{}, err
	}
	rs := sc.Resolver(f.Manifest)
	place, err := rs.Locate(ctx, r)
	if err != nil {
		return readMarket{}, err
	}
	at, err := rs.Head(ctx, place.Ref)
	if err != nil {
		return readMarket{}, err
	}
	dir := ""
	if place.Ref.Kind == ref.Git {
		dir = place.Ref.Path
	}
	files := sc.repoFiles(place.Ref, at.Commit)
	m, err := marketplace.Load(ctx, files, dir)
	if err != nil {
		return readMarket{}, fmt.Errorf("%s: %w", r, err)
	}
	out := readMarket{Name: m.Name, plugins: []Plugin{}}
	var found []source.Found
	for _, p := range m.Plugins {
		one := Plugin{Name: p.Name, Version: p.Version, Description: p.Description}
		where, err := p.Place(sc.reached(place.Ref), at.Commit, sc.leadsInward)
		beside := err == nil && p.Source.Ref == (ref.Ref{})
		if beside && found == nil {
			if found, err = sc.skillsAt(ctx, place.Ref, at); err != nil {
				return readMarket{}, err
			}
		}
		switch {
		case err != nil:
			one.Problem = err.Error()
		case beside:
			root := where.Ref.Path
			if place.Ref.Kind == ref.Local {
				root = p.Source.Path
			}
			if err := one.count(ctx, p, files, root, found); err != nil {
				return readMarket{}, err
			}
		}
		out.plugins = append(out.plugins, one)
	}
	return out, nil
}

// skillsAt are all skills of the repository or folder of a marketplace; none is an empty list that is not nil.
func (sc *Scope) skillsAt(ctx context.Context, r ref.Ref, at source.Release) ([]source.Found, error) {
	var src source.Source = sc.Git
	if r.Kind == ref.Local {
		src = sc.Local
	} else {
		r.Path, r.Version = "", ""
	}
	found, err := src.Skills(ctx, r, at, nil)
	return append([]source.Found{}, found...), err
}

// count says how many of found are the plugin's, or what it has instead.
func (one *Plugin) count(ctx context.Context, p marketplace.Plugin, files repoFiles, root string, found []source.Found) error {
	picked, err := p.Skills(ctx, files, root)
	if err != nil {
		one.Problem = err.Error()
		return ctx.Err()
	}
	n := len(resolver.Offered(found, picked.Has))
	one.Version = picked.Version
	for _, need := range picked.Needs {
		one.Needs = append(one.Needs, need.String())
	}
	if one.Skills = &n; n == 0 {
		one.Problem = "it has no skills"
		if e, ok := diag.Own(picked.None(p.Name)); ok && len(e.Hints) > 0 {
			one.Problem = "no skills: " + e.Hints[0]
		}
	}
	return nil
}
