package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

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
		r.Path = filepath.ToSlash(scope.Absolute(w.Cwd, filepath.FromSlash(r.Path))) // the configuration has no directory of its own
	}
	m, err := w.ReadMarket(ctx, r)
	if err != nil {
		return err
	}
	name := c.String("name")
	if name == "" {
		name = m.Name
	}
	if old, ok := w.Config.Markets[name]; ok && old != r.String() {
		return diag.New(diag.Misuse, "exists", "there is a marketplace %q already, from %s", name, old).Hint("add --name OTHER")
	}
	if err := w.EditConfig(c.Bool("dry-run"), func(cfg *config.Config) error { return cfg.SetMarket(name, r.String()) }); err != nil {
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
	w.ui.Print("marketplace %s: %s, %d usable", name, diag.Count(len(m.Plugins), "plugin"), usable)
	w.ui.Hint("skl source list %s    skl install market:%s/PLUGIN", name, name)
	return nil
}

func removeSource(_ context.Context, w *world, c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	if _, ok := w.Config.Markets[name]; !ok {
		return diag.New(diag.Misuse, "unknown_market", "there is no marketplace %q", name).
			Meant(slices.Sorted(maps.Keys(w.Config.Markets))...)
	}
	if err := w.EditConfig(c.Bool("dry-run"), func(cfg *config.Config) error { return cfg.RemoveMarket(name) }); err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(sourceResult{[]sourceLine{}})
	}
	w.ui.Print("removed marketplace %s", name)
	return nil
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
	for _, name := range slices.Sorted(maps.Keys(w.Config.Markets)) {
		out.Sources = append(out.Sources, sourceLine{"market", name, w.Config.Markets[name]})
	}
	forges := map[string]string{"github": "https://github.com", "gitlab": "https://gitlab.com", "codeberg": "https://codeberg.org"}
	maps.Copy(forges, w.Config.Forges)
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
	r, ok := w.Market(name)
	if !ok {
		return diag.New(diag.Misuse, "unknown_market", "there is no marketplace %q", name).
			Meant(slices.Sorted(maps.Keys(w.Config.Markets))...).Hint("skl source add market URL|owner/repo|DIR")
	}
	m, err := w.ReadMarket(ctx, r)
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
