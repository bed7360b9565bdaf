package cli

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/ocihttp"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/marketplace"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// market is the ref of a marketplace in the configuration.
func (w *world) market(name string) (ref.Ref, bool) {
	text, ok := w.config.Markets[name]
	if !ok {
		return ref.Ref{}, false
	}
	r, err := ref.Parse(text)
	return r, err == nil
}

// plugins reads marketplaces for the resolver.
type plugins struct{ w *world }

// repoFiles reads the files of one commit, or of a folder.
type repoFiles struct {
	w      *world
	at     ref.Ref // Git or Local
	commit string
}

func (f repoFiles) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if f.at.Kind == ref.Git {
		return f.w.git.ReadFile(ctx, f.at.URL, f.commit, name)
	}
	root, err := os.OpenRoot(absolute(f.w.base, filepath.FromSlash(f.at.Path)))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return fs.ReadFile(durable.RootFS(root), name)
}

// led notes that a catalogue names a repository elsewhere: it leads to no address further in than its own.
func (w *world) led(catalogue, to ref.Ref) {
	if w.web == nil {
		return
	}
	web := func(r ref.Ref) string {
		u, err := url.Parse(r.URL)
		switch {
		case r.Kind == ref.OCI:
			return ocihttp.New(w.web).Base(r.Host)
		case r.Kind != ref.Git || err != nil || u.Scheme != "https" && u.Scheme != "http":
			return ""
		}
		return origin.Of(u)
	}
	if from, at := web(catalogue), web(to); from != "" && at != "" {
		w.web.Led(from, at)
	}
}

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
		address, err := p.w.config.ForgeURL(r.Host, r.Owner, r.Repo)
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
func (p plugins) commit(ctx context.Context, r ref.Ref) (string, error) {
	releases, err := p.w.git.Versions(ctx, r)
	if err != nil {
		return "", err
	}
	chosen, _, err := resolver.Pick(releases, "", r.Version, "")
	return chosen.Commit, err
}

type sourceLine struct {
	Kind string `json:"kind"` // market or forge
	Name string `json:"name"`
	Ref  string `json:"ref"`
}

type sourceResult struct {
	Sources []sourceLine `json:"sources"`
}

func sourceCommand() command {
	return command{name: "source", group: "Sites", usage: "add, remove and list marketplaces", output: sourceResult{},
		example: "skl source add market anthropics/skills\nskl source add market ./catalogue --name team\nskl source list\nskl install market:team/release-tools",
		sub: []command{
			{name: "add", args: "market URL|owner/repo|DIR", usage: "add a marketplace", run: addSource,
				flags: []cli.Flag{&cli.StringFlag{Name: "name", Usage: "call it `NAME` (default: its own name)"}, dryRunFlag()}},
			{name: "remove", args: "NAME", usage: "remove a marketplace", run: removeSource, flags: []cli.Flag{dryRunFlag()}},
			{name: "list", args: "[NAME]", usage: "the marketplaces, or the plugins of one", run: listSources},
		}}
}

func addSource(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 2 || c.Args().First() != "market" {
		return diag.New(diag.Misuse, "usage", "write: skl source add market URL|owner/repo|DIR")
	}
	r, err := ref.Parse(c.Args().Get(1))
	if err != nil {
		return err
	}
	if r.Kind == ref.Local {
		r.Path = filepath.ToSlash(absolute(w.cwd, filepath.FromSlash(r.Path))) // the configuration has no directory of its own
	}
	m, err := w.readMarket(ctx, r)
	if err != nil {
		return err
	}
	name := c.String("name")
	if name == "" {
		name = m.Name
	}
	if old, ok := w.config.Markets[name]; ok && old != r.String() {
		return diag.New(diag.Misuse, "exists", "there is a marketplace %q already, from %s", name, old).Hint("add --name OTHER")
	}
	if err := w.editConfig(c.Bool("dry-run"), func(cfg *config.Config) error { return cfg.SetMarket(name, r.String()) }); err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(sourceResult{[]sourceLine{{"market", name, r.String()}}})
	}
	usable := 0
	for _, p := range m.Plugins {
		if p.Invalid == nil {
			usable++
		}
	}
	w.ui.Print("marketplace %s: %s, %d usable", name, ui.Count(len(m.Plugins), "plugin"), usable)
	w.ui.Hint("skl source list %s    skl install market:%s/PLUGIN", name, name)
	return nil
}

// readMarket reads the marketplace that r leads to, at its default branch or the version named.
func (w *world) readMarket(ctx context.Context, r ref.Ref) (marketplace.Marketplace, error) {
	f, err := w.load()
	if err != nil {
		return marketplace.Marketplace{}, err
	}
	rs := w.resolver(f.manifest)
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
	m, err := marketplace.Load(ctx, repoFiles{w, place.Ref, at.Commit}, dir)
	if err != nil {
		return marketplace.Marketplace{}, fmt.Errorf("%s: %w", r, err)
	}
	for i, p := range m.Plugins {
		_, m.Plugins[i].Invalid = p.Place(place.Ref, at.Commit)
	}
	return m, nil
}

func removeSource(_ context.Context, w *world, c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	if _, ok := w.config.Markets[name]; !ok {
		return diag.New(diag.Misuse, "unknown_market", "there is no marketplace %q", name).
			Meant(slices.Sorted(maps.Keys(w.config.Markets))...)
	}
	if err := w.editConfig(c.Bool("dry-run"), func(cfg *config.Config) error { return cfg.RemoveMarket(name) }); err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(sourceResult{[]sourceLine{}})
	}
	w.ui.Print("removed marketplace %s", name)
	return nil
}

// editConfig changes the user's config.toml, keeping its comments.
func (w *world) editConfig(dry bool, edit func(*config.Config) error) error {
	file := w.configPath()
	src, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	cfg, err := config.Parse(src, file)
	if err != nil {
		return err
	}
	if err := edit(cfg); err != nil || dry {
		return err
	}
	if err := w.private(filepath.Dir(file)); err != nil {
		return err
	}
	return durable.WriteFile(file, cfg.Bytes(), 0o600)
}

type pluginLine struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Problem     string `json:"problem,omitempty"`
}

func listSources(ctx context.Context, w *world, c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return w.listPlugins(ctx, name)
	}
	out := sourceResult{Sources: []sourceLine{}}
	for _, name := range slices.Sorted(maps.Keys(w.config.Markets)) {
		out.Sources = append(out.Sources, sourceLine{"market", name, w.config.Markets[name]})
	}
	forges := map[string]string{"github": "https://github.com", "gitlab": "https://gitlab.com", "codeberg": "https://codeberg.org"}
	maps.Copy(forges, w.config.Forges)
	for _, name := range slices.Sorted(maps.Keys(forges)) {
		out.Sources = append(out.Sources, sourceLine{"forge", name, forges[name]})
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	rows := [][]string{{"KIND", "NAME", "REF"}}
	for _, s := range out.Sources {
		rows = append(rows, []string{s.Kind, s.Name, s.Ref})
	}
	w.ui.Rows(rows)
	return nil
}

func (w *world) listPlugins(ctx context.Context, name string) error {
	r, ok := w.market(name)
	if !ok {
		return diag.New(diag.Misuse, "unknown_market", "there is no marketplace %q", name).
			Meant(slices.Sorted(maps.Keys(w.config.Markets))...).Hint("skl source add market URL|owner/repo|DIR")
	}
	m, err := w.readMarket(ctx, r)
	if err != nil {
		return err
	}
	lines := []pluginLine{}
	rows := [][]string{{"PLUGIN", "VERSION", "DESCRIPTION"}}
	for _, p := range m.Plugins {
		line := pluginLine{Name: p.Name, Version: p.Version, Description: p.Description}
		shown := cut(p.Description, 70)
		if p.Invalid != nil {
			line.Problem = p.Invalid.Error()
			shown = "not usable: " + line.Problem
		}
		lines = append(lines, line)
		rows = append(rows, []string{p.Name, orDash(p.Version), shown})
	}
	if w.ui.JSON {
		return w.ui.Result(map[string]any{"plugins": lines})
	}
	w.ui.Rows(rows)
	w.ui.Hint("%s", fmt.Sprintf("skl install market:%s/PLUGIN", name))
	return nil
}
