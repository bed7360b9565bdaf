package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

func listCommand() command {
	return command{name: "list", instead: "skl which %s", aliases: []string{"ls"}, group: "Skills", usage: "show the skills of all roots, and which copy each agent loads",
		output:  report.Listed{},
		example: "skl list\nskl list --shadowed\nskl list --host claude-code\nskl list --all --fields name,version,path\nskl list --roots",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "shadowed", Usage: "also copies that are hidden, and by what"},
			&cli.BoolFlag{Name: "all", Usage: "every copy in every state, and the skills that come with skl"},
			&cli.BoolFlag{Name: "roots", Usage: "the directories that are searched, strongest first"},
			hostFlag("show what the agent `HOST` does (repeatable)"),
			&cli.StringFlag{Name: "fields", Usage: "columns, such as name,version,trust,state,permissions,signer,hosts,path"},
		},
		run: runList}
}

// listFields are the columns that --fields can name.
var listFields = []string{"name", "copy", "version", "trust", "state", "source", "digest", "scope", "path", "description", "qualified",
	"format", "signature", "signer", "hosts", "ungated", "copy_of", "generated_from", "shadowed_by", "trust_reason", "root", "priority",
	"model_invocation", "side_effects", "tools", "library_depends", "permissions"}

func runList(ctx context.Context, w *world, c *cli.Context) error {
	for _, f := range splitList([]string{c.String("fields")}) {
		if !slices.Contains(listFields, f) {
			return diag.New(diag.Misuse, "unknown_field", "unknown field %q", f).Meant(spell.Nearest(f, listFields, 3)...).Hint("the fields are: %s", strings.Join(listFields, ", "))
		}
	}
	fields := splitList([]string{c.String("fields")})
	l, err := w.inspect.List(ctx, inspect.ListRequest{Hosts: namesIn(c, "host"), Shadowed: c.Bool("shadowed"), All: c.Bool("all"), Asks: slices.Contains(fields, "permissions")})
	if err != nil {
		return err
	}
	want := report.Listing{Shadowed: c.Bool("shadowed"), All: c.Bool("all"), Roots: c.Bool("roots"), Fields: fields}
	return w.desk.List(l, want).Write(w.ui)
}

func whichCommand() command {
	return command{name: "which", args: "NAME", group: "Copies", usage: "print the path of the copy that wins", output: inspect.Winner{}, complete: "skill",
		example: "skl which pdf\nskl which pdf --all\nskl which pdf --host claude-code\ncat \"$(skl which pdf)/SKILL.md\"",
		flags:   []cli.Flag{hostFlag("the copy that the agent `HOST` loads"), &cli.BoolFlag{Name: "all", Usage: "print the paths of all copies, the one that wins first"}},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			out, err := w.inspect.Which(ctx, name, namesIn(c, "host"))
			return w.show(out, err, func(say *report.Text) {
				say.Print("%s", out.Path)
				for _, r := range out.Copies {
					if r.Path != out.Path && c.Bool("all") {
						say.Print("%s", r.Path)
					} else if r.Path != out.Path {
						say.Note("also %s [%s]", w.scope.Short(r.Path), r.State)
					}
				}
			})
		}}
}

// oneName is the one argument of commands about one skill.
func oneName(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", diag.New(diag.Misuse, "usage", "%s takes one %s", commandPath(c), strings.ToUpper(c.Command.ArgsUsage)).Hint("skl %s --help", commandPath(c))
	}
	return c.Args().First(), nil
}

// commandPath is the command that c was read for, with those that it is a part of.
func commandPath(c *cli.Context) string {
	var names []string
	for _, up := range c.Lineage() {
		if up.Command != nil && up.Command.Name != "" && up.Command.Name != "skl" {
			names = append([]string{up.Command.Name}, names...)
		}
	}
	return strings.Join(names, " ")
}
