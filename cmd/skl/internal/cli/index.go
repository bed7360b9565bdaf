package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/memory"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
)

func indexPathFlags() []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: "path", Usage: "the index of `DIR` (default: the repository of the working directory)"},
		&cli.BoolFlag{Name: "skills", Usage: "search installed skills instead"}, leftOutFlag()}
}

func indexCommand() command {
	return command{name: "index", args: "[DIR]", memory: memory.Index, instead: "skl index DIR --glob '**/*.go'", group: "Code", usage: "index a directory for search; query does so by itself", output: search.Indexed{},
		example: "skl index\nskl index status\nskl index drop 'vendor/**'",
		flags: append([]cli.Flag{&cli.StringFlag{Name: "glob", Usage: "only files whose path matches `GLOB`"},
			&cli.BoolFlag{Name: "anew", Usage: "read unchanged files again, too"}}, indexPathFlags()...),
		sub: []command{
			{name: "status", instead: "skl index status --path %s", usage: "show what the index holds", output: search.Status{}, flags: indexPathFlags(), run: runIndexStatus,
				example: "skl index status\nskl index status --skills --json"},
			{name: "drop", args: "[GLOB]", instead: "skl index drop 'vendor/**'", usage: "forget indexed files; without GLOB the whole index", output: search.Dropped{}, flags: append(indexPathFlags(), dryRunFlag()), run: runIndexDrop,
				example: "skl index drop\nskl index drop 'vendor/**' --dry-run"},
			indexFeedbackCommand(), indexServeCommand(),
		},
		run: runIndex}
}

// leftOutFlag asks for what is left out otherwise.
func leftOutFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "left-out", Usage: "cover files that match `PATTERN`, as in .gitignore, although git ignores them, they hold keys or passwords by their name (.env, *.pem, …), or are linked from outside; may be repeated"}
}

// tellLeftOut says what was left out: [query.LeftOut.Note].
func tellLeftOut(say *report.Text, l query.LeftOut, divided bool) {
	if note := l.Note(divided); note != "" {
		say.Note("%s", note)
	}
	if l.Secret+l.Linked > 0 {
		say.Hint("skl index status --json lists them; --left-out PATTERN covers them")
	}
}

// indexPlace is what the flags, or an argument, name.
func indexPlace(c *cli.Context, arg string) (search.Place, error) {
	p := search.Place{Path: c.String("path"), Skills: c.Bool("skills"), LeftOut: c.StringSlice("left-out")}
	switch {
	case p.Skills && p.Path+arg != "":
		return search.Place{}, diag.New(diag.Misuse, "usage", "--skills and a directory exclude each other").Hint("leave out one of them")
	case p.Path != "" && arg != "":
		return search.Place{}, diag.New(diag.Misuse, "usage", "two directories are given: %s and %s", arg, p.Path).Hint("leave out --path")
	}
	p.Path += arg
	return p, nil
}

func runIndex(ctx context.Context, w *world, c *cli.Context) error {
	if c.NArg() > 1 {
		return diag.New(diag.Misuse, "usage", "index takes one directory").Hint("skl index DIR --glob '**/*.go'")
	}
	place, err := indexPlace(c, c.Args().First())
	if err != nil {
		return err
	}
	out, err := w.search.Index(ctx, search.IndexRequest{Place: place, Glob: c.String("glob"), Anew: c.Bool("anew")})
	if err != nil {
		return err
	}
	all := out.Roots
	if !place.Skills {
		all = []search.RootReport{out.RootReport}
	}
	return w.show(out, nil, func(say *report.Text) {
		for _, r := range all {
			say.Print("%s %s: %d new, %d changed, %d removed, %d unchanged, in %s", screen.Done, r.Name, r.Added, r.Changed, r.Removed, r.Unchanged, r.Elapsed.Round(time.Millisecond))
			tellLeftOut(say, r.LeftOut, true)
		}
	})
}

func runIndexStatus(ctx context.Context, w *world, c *cli.Context) error {
	place, err := indexPlace(c, "")
	if err != nil {
		return err
	}
	out, err := w.search.Status(ctx, place)
	return w.show(out, err, func(say *report.Text) { w.printIndexStatus(say, place, out) })
}

func (w *world) printIndexStatus(say *report.Text, place search.Place, out search.Status) {
	rows := [][]string{{"ROOT", "FILES", "TOKENS", "SIZE", "INDEXED"}}
	all := out.Roots
	if !place.Skills {
		all = []search.RootStatus{{Status: out.Status, Name: out.Name}}
	}
	for _, s := range all {
		rows = append(rows, []string{s.Name, fmt.Sprintf("%d of %d", s.FilesIndexed, s.FilesTotal), strconv.Itoa(s.TotalTokens), diag.Size(s.IndexSizeBytes), cmp.Or(s.LastIndexed, "never")})
	}
	say.Rows(rows)
	var languages []string
	for _, l := range slices.SortedFunc(maps.Keys(out.Languages), func(a, b string) int {
		return cmp.Or(cmp.Compare(out.Languages[b], out.Languages[a]), cmp.Compare(a, b))
	}) {
		languages = append(languages, fmt.Sprintf("%s %d", l, out.Languages[l]))
	}
	if len(languages) > 0 {
		say.Print("languages: %s", languages)
	}
	if out.LeftOut.Ignored > 0 {
		say.Print("ignored by git: %s", diag.Count(out.LeftOut.Ignored, "path"))
	}
	tellLeftOut(say, out.LeftOut, true)
	if out.FilesIndexed < out.FilesTotal {
		say.Hint("skl index%s", place.Flags())
	}
}

func runIndexDrop(ctx context.Context, w *world, c *cli.Context) error {
	if c.NArg() > 1 {
		return diag.New(diag.Misuse, "usage", "index drop takes one glob").Hint("skl index drop 'vendor/**'")
	}
	place, err := indexPlace(c, "")
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	out, err := w.search.Drop(ctx, search.DropRequest{Place: place, Glob: c.Args().First(), Whole: c.NArg() == 0, DryRun: dry})
	return w.show(out, err, func(say *report.Text) {
		verb := map[bool]string{false: "dropped", true: "would drop"}[dry]
		say.Print("%s %s from the index of %s", verb, diag.Count(out.Files, "file"), out.Name)
	})
}
