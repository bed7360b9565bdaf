package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func skillifyCommand() command {
	return command{name: "skillify", args: "PACKAGE|SKILL…", group: "Author", usage: "make a skill of the documentation of a package of R, Go or npm", output: author.Skillified{}, complete: "dir",
		example: "skl skillify r:jsonlite\nskl skillify go:example.com/acme/queue\nskl skillify npm:@acme/queue\nskl skillify ./jsonlite -o skills\nskl skillify --check\nskl skillify --update skills/jsonlite --merge",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the skill to `DIR` if that is called as the skill is, else to a folder in it; without it, below the data directory"},
			&cli.StringFlag{Name: "encoding", Usage: "`WHERE` the keys of corteza.skill/v1 stand: metadata, or top", Value: "metadata"},
			&cli.BoolFlag{Name: "check", Usage: "compare skills that were made, all that are here if none is named, with the packages that are installed; exit 3 if one is behind"},
			&cli.BoolFlag{Name: "update", Usage: "bring a skill that was made to what its package says now, and show what changes"},
			&cli.BoolFlag{Name: "merge", Usage: "with --update: keep what a person changed"},
			&cli.StringFlag{Name: "from", Usage: "with --check or --update: the `PACKAGE` to compare with, where it is not the installed one"},
			&cli.BoolFlag{Name: "summarize", Usage: "have a model write the prose of the overview; each sentence says what it is taken from, and that is checked"},
			&cli.StringFlag{Name: "model", Usage: "with --summarize: the `MODEL`, as for skl run"},
			dryRunFlag(),
		},
		run: runSkillify}
}

func runSkillify(ctx context.Context, w *world, c *cli.Context) error {
	switch check, update := c.Bool("check"), c.Bool("update"); {
	case check && update:
		return diag.New(diag.Misuse, "usage", "--check changes nothing, --update does: choose one")
	case (check || update) && (c.IsSet("output") || c.IsSet("encoding")):
		return diag.New(diag.Misuse, "usage", "-o and --encoding are for a new skill; one that was made stays where and as it is").Hint("skl skillify PACKAGE -o DIR")
	case check && c.Bool("summarize"), c.IsSet("model") && !c.Bool("summarize"):
		return diag.New(diag.Misuse, "usage", "--summarize is for what writes a skill, --model for --summarize")
	case !update && c.Bool("merge"), !check && !update && c.IsSet("from"), check && c.Bool("dry-run"):
		return diag.New(diag.Misuse, "usage", "--merge is for --update, --from for --check and --update, --dry-run for what writes")
	case check:
		return w.skillifyCheck(ctx, c)
	case update:
		return w.skillifyUpdate(ctx, c)
	}
	if c.Args().Len() != 1 {
		return diag.New(diag.Misuse, "usage", "skillify takes one package").Hint("skl skillify r:NAME    skl skillify go:MODULE    skl skillify npm:NAME    skl skillify ./DIR")
	}
	encoding := c.String("encoding")
	if encoding != "metadata" && encoding != "top" {
		return diag.New(diag.Misuse, "usage", "--encoding %q is not one", encoding).Meant("metadata", "top")
	}
	out, err := w.author().Skillify(ctx, author.SkillifyRequest{Package: c.Args().First(), Output: c.String("output"), TopLevel: encoding == "top", Version: build.Current().Version, DryRun: c.Bool("dry-run"),
		Prose: author.Prose{Summarize: c.Bool("summarize"), Model: c.String("model")}})
	return w.show(out, err, func(say *report.Text) { w.printSkillified(say, &out) })
}

func (w *world) printSkillified(say *report.Text, out *author.Skillified) {
	r := out.Report
	sign := map[string]string{"written": "✓ made ", "unchanged": "✓ unchanged ", "would_write": "would make "}[out.State]
	say.Print("%s%s of %s %s  %s, %s  %s", sign, out.Name, out.Package, out.Version, diag.Count(r.Files, "file"), diag.Size(int64(r.Bytes)), w.scope.Short(out.Path))
	say.Print("  %s, %d with a description, on %s; %s", diag.Count(r.Symbols, "symbol"), r.Documented, diag.Count(r.Pages, "page"), diag.Count(r.Guides, "guide"))
	say.Print("  SKILL.md has %s, about %d tokens; the longest reference about %d", diag.Count(r.Lines, "line"), r.Tokens, r.Largest)
	if s := out.Summary; s != nil {
		say.Print("  overview: %s by %s%s", diag.Count(len(s.Sentences), "sentence"), s.By, map[bool]string{true: ", as written before"}[s.Cached])
	}
	if r.Hidden > 0 {
		say.Note("%s that do not show were taken out of its text", diag.Count(r.Hidden, "character"))
	}
	for i, n := range r.Notes {
		if i == 10 {
			say.Note("and %d more notes: --json has them", len(r.Notes)-i)
			break
		}
		say.Note("%s", n)
	}
	for _, f := range out.Findings {
		say.Note("%s: %s: %s [%s]", diag.Position{File: f.File, Line: f.Line}, string(f.Severity), f.Message, f.Rule)
	}
	if out.State == "written" {
		at := w.scope.Short(out.Path)
		switch {
		case strings.HasPrefix(at, "~"): // in quotes no shell knows it
			at = out.Path
		case !filepath.IsAbs(at) && !strings.HasPrefix(at, "."): // else it is the name of a repository
			at = "./" + filepath.ToSlash(at)
		}
		say.Hint("skl install %s", diag.Quote(at))
	}
}
