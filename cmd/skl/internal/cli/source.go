package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
)

type sourceResult struct {
	Sources []scope.Place `json:"sources"`
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
	at, plugins, err := w.AddMarket(ctx, scope.MarketRequest{Ref: c.Args().Get(1), Name: c.String("name"), DryRun: c.Bool("dry-run")})
	return w.show(sourceResult{[]scope.Place{at}}, err, func() {
		usable := 0
		for _, p := range plugins {
			if p.Problem == "" {
				usable++
			}
		}
		w.ui.Print("marketplace %s: %s, %d usable", at.Name, diag.Count(len(plugins), "plugin"), usable)
		w.ui.Hint("skl source list %s    skl install market:%s/PLUGIN", at.Name, at.Name)
	})
}

func removeSource(_ context.Context, w *world, c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	err = w.RemoveMarket(name, c.Bool("dry-run"))
	return w.show(sourceResult{[]scope.Place{}}, err, func() { w.ui.Print("removed marketplace %s", name) })
}

func listSources(ctx context.Context, w *world, c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return w.listPlugins(ctx, name)
	}
	out := sourceResult{w.Places()}
	return w.show(out, nil, func() {
		rows := [][]string{{"KIND", "NAME", "REF"}}
		for _, s := range out.Sources {
			rows = append(rows, []string{s.Kind, s.Name, s.Ref})
		}
		w.ui.Rows(rows)
	})
}

func (w *world) listPlugins(ctx context.Context, name string) error {
	plugins, err := w.Plugins(ctx, name)
	return w.show(map[string]any{"plugins": plugins}, err, func() {
		rows := [][]string{{"PLUGIN", "VERSION", "DESCRIPTION"}}
		for _, p := range plugins {
			shown := cut(p.Description, 70)
			if p.Problem != "" {
				shown = "not usable: " + p.Problem
			}
			rows = append(rows, []string{p.Name, orDash(p.Version), shown})
		}
		w.ui.Rows(rows)
		w.ui.Hint("skl install market:%s/PLUGIN", name)
	})
}
