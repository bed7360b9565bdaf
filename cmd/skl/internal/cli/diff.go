package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func diffCommand() command {
	return command{name: "diff", args: "NAME [VERSION]", group: "Team", usage: "compare an installed skill with its release, or two locks", output: inspect.Diff{}, complete: "skill",
		example: "skl diff pdf\nskl diff pdf 1.5.0\nskl diff --base origin/main --format md",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "compare skl.lock with the one of the git revision `REV`"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "text, json, or md: a comment for a pull request"},
			&cli.BoolFlag{Name: "stat", Usage: "files and line counts only"},
		},
		run: runDiff}
}

func runDiff(ctx context.Context, w *world, c *cli.Context) error {
	format := c.String("format")
	if !slices.Contains([]string{"text", "json", "md"}, format) {
		return diag.New(diag.Misuse, "usage", "unknown format %q", format).Meant("text", "md", "json")
	}
	if base := c.String("base"); base != "" {
		out, err := w.inspect.DiffLocks(ctx, base)
		if err != nil {
			return err
		}
		r := report.LocksOf(out, format == "md")
		if format == "json" {
			return r.JSON(w.ui)
		}
		return r.Write(w.ui)
	}
	if format == "md" {
		return diag.New(diag.Misuse, "usage", "--format md is of two locks").Hint("skl diff --base REV --format md")
	}
	if n := c.Args().Len(); n < 1 || n > 2 {
		return diag.New(diag.Misuse, "usage", "name one skill, and perhaps a version").Hint("skl diff --help")
	}
	out, err := w.inspect.Diff(ctx, c.Args().First(), c.Args().Get(1))
	if err != nil {
		return err
	}
	r := report.DiffOf(out, c.Bool("stat"))
	if format == "json" {
		return r.JSON(w.ui)
	}
	return r.Write(w.ui)
}
