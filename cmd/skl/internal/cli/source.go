package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
)

type sourceResult struct {
	Sources []scope.Place `json:"sources"`
}

func sourceCommand() command {
	return command{name: "source", group: "Sites", usage: "add, remove and list marketplaces", output: sourceResult{},
		example: "skl source add market anthropics/skills\nskl source add market ./catalogue --name team\nskl source list\nskl install market:team/release-tools\nskl source remove team",
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
	at, plugins, err := w.scope.AddMarket(ctx, scope.MarketRequest{Ref: c.Args().Get(1), Name: c.String("name"), DryRun: c.Bool("dry-run")})
	return w.show(sourceResult{[]scope.Place{at}}, err, func(say *report.Text) {
		with, without, elsewhere, broken := 0, 0, 0, 0
		for _, p := range plugins {
			switch {
			case p.Skills == nil && p.Problem != "":
				broken++
			case p.Skills == nil:
				elsewhere++
			case *p.Skills == 0:
				without++
			default:
				with++
			}
		}
		said := []string{fmt.Sprintf("%d with skills", with)}
		for _, part := range []struct {
			n    int
			what string
		}{{without, "without"}, {elsewhere, "in other repositories, not looked at"}, {broken, "not usable"}} {
			if part.n > 0 {
				said = append(said, fmt.Sprintf("%d %s", part.n, part.what))
			}
		}
		say.Print("marketplace %s: %s: %s", at.Name, diag.Count(len(plugins), "plugin"), strings.Join(said, ", "))
		say.Hint("skl source list %s    skl install market:%s/PLUGIN", at.Name, at.Name)
	})
}

func removeSource(_ context.Context, w *world, c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	err = w.scope.RemoveMarket(name, c.Bool("dry-run"))
	return w.show(sourceResult{[]scope.Place{}}, err, func(say *report.Text) { say.Print("removed marketplace %s", name) })
}

func listSources(ctx context.Context, w *world, c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return w.listPlugins(ctx, name)
	}
	places, err := w.scope.Places()
	out := sourceResult{places}
	return w.show(out, err, func(say *report.Text) {
		rows := [][]string{{"KIND", "NAME", "IN", "REF"}}
		for _, s := range out.Sources {
			rows = append(rows, []string{s.Kind, s.Name, report.OrDash(s.In), s.Ref})
		}
		say.Rows(rows)
	})
}

func (w *world) listPlugins(ctx context.Context, name string) error {
	plugins, err := w.scope.Plugins(ctx, name)
	return w.show(map[string]any{"plugins": plugins}, err, func(say *report.Text) {
		rows := [][]string{{"PLUGIN", "VERSION", "SKILLS", "DESCRIPTION"}}
		for _, p := range plugins {
			shown, skills := report.Cut(p.Description, 70), "?"
			if p.Skills != nil {
				skills = strconv.Itoa(*p.Skills)
			}
			if p.Problem != "" {
				shown = "not usable: " + p.Problem
			}
			rows = append(rows, []string{p.Name, report.OrDash(p.Version), skills, shown})
		}
		say.Rows(rows)
		say.Hint("skl install market:%s/PLUGIN", name)
	})
}
