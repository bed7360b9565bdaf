package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

func diffCommand() command {
	return command{name: "diff", args: "NAME [VERSION]", group: "Team", usage: "compare an installed skill with its release, or two locks", output: inspect.Diff{}, complete: "skill",
		example: "skl diff pdf\nskl diff pdf 1.5.0\nskl diff --base origin/main --format md",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "compare skl.lock with the one of the git revision `REV`"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "text or md"},
			&cli.BoolFlag{Name: "stat", Usage: "files and line counts only"},
		},
		run: runDiff}
}

func runDiff(ctx context.Context, w *world, c *cli.Context) error {
	format := c.String("format")
	if format != "text" && format != "md" {
		return diag.New(diag.Misuse, "usage", "unknown format %q", format).Meant("text", "md")
	}
	if base := c.String("base"); base != "" {
		out, err := w.inspect.DiffLocks(ctx, base)
		if err := w.show(out, err, func() { w.printLocks(out, format == "md") }); err != nil || out.OK {
			return err
		}
		return refused("trust_downgrade")
	}
	if n := c.Args().Len(); n < 1 || n > 2 {
		return diag.New(diag.Misuse, "usage", "name one skill, and perhaps a version").Hint("skl diff --help")
	}
	out, err := w.inspect.Diff(ctx, c.Args().First(), c.Args().Get(1))
	return w.show(out, err, func() { w.printDiff(out, c.Bool("stat")) })
}

func (w *world) printDiff(d inspect.Diff, stat bool) {
	if w.ui.Screen {
		w.ui.Paged(ui.Painted(draw.Diff(w.ui.Look(), d, stat)))
		return
	}
	if len(d.Files) == 0 {
		w.ui.Print("%s: no differences between %s and %s", d.Name, d.From, d.To)
		return
	}
	w.ui.Print("%s  %s → %s", d.Name, d.From, d.To)
	for _, c := range d.Permissions {
		w.ui.Print("%s", c)
	}
	for _, f := range d.Files {
		w.ui.Print("%s %s +%d -%d", f.Change, f.Path, f.Add, f.Remove)
		if stat {
			continue
		}
		for line := range strings.Lines(f.Text) {
			line = strings.TrimSuffix(line, "\n")
			switch line[0] {
			case '+':
				w.ui.Print("%s", w.ui.Green(line))
			case '-':
				w.ui.Print("%s", w.ui.Red(line))
			default:
				w.ui.Print("%s", line)
			}
		}
	}
}

func (w *world) printLocks(out inspect.LocksDiff, md bool) {
	rows := [][]string{{"NAME", "CHANGE", "FROM", "TO", "PERMISSIONS", "TRUST"}}
	for _, d := range out.Skills {
		rows = append(rows, []string{d.Name, d.Change, orDash(d.From), orDash(d.To), orDash(strings.Join(slices.Concat(d.Permissions, d.Findings), "; ")), orDash(d.Downgrade)})
	}
	if md {
		w.ui.Print("| skill | change | from | to | permissions | trust |\n|---|---|---|---|---|---|")
		for _, row := range rows[1:] {
			for i := range row {
				row[i] = strings.ReplaceAll(row[i], "|", `\|`)
			}
			w.ui.Print("| %s |", strings.Join(row, " | "))
		}
		return
	}
	if w.ui.Screen {
		w.ui.Paged(ui.Painted(draw.Locks(w.ui.Look(), out.Skills)))
	} else {
		w.ui.Rows(rows)
	}
	if len(out.Skills) == 0 {
		w.ui.Note("skl.lock is the same as at %s", out.Base)
	}
}
