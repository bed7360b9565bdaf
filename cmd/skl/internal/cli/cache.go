package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/spec/diag"
)

func cacheCommand() command {
	return command{name: "cache", group: "Sites", usage: "show and clean the caches", output: search.Cache{},
		example: "skl cache dir\nskl cache clean\nskl cache gc --dry-run",
		sub: []command{
			{name: "dir", usage: "print the directories", run: func(_ context.Context, w *world, _ *cli.Context) error {
				out := w.search.Cache()
				return w.show(out, nil, func(say *report.Text) {
					say.Rows([][]string{{"WHAT", "DIRECTORY"}, {"cache", out.Cache}, {"index", out.Index}, {"store", out.Store}})
				})
			}},
			{name: "clean", usage: "delete the caches, indexes among them; the store of bundles stays", flags: []cli.Flag{dryRunFlag()},
				run: func(_ context.Context, w *world, c *cli.Context) error {
					out, err := w.search.CleanCache(c.Bool("dry-run"))
					return w.show(out, err, func(say *report.Text) { w.printCache(say, out, "file", c.Bool("dry-run")) })
				}},
			{name: "gc", usage: "delete bundles that no lock of this scope and no installed skill here names, and indexes of directories that are gone", flags: []cli.Flag{dryRunFlag()},
				run: func(ctx context.Context, w *world, c *cli.Context) error {
					out, err := w.search.CollectGarbage(ctx, c.Bool("dry-run"))
					return w.show(out, err, func(say *report.Text) { w.printCache(say, out, "bundle", c.Bool("dry-run")) })
				}},
		}}
}

func (w *world) printCache(say *report.Text, out search.Cache, noun string, dry bool) {
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	what := diag.Count(out.Entries, noun)
	switch {
	case out.Indexes == 1:
		what += " and the index of a directory that is gone"
	case out.Indexes > 1:
		what += fmt.Sprintf(" and %d indexes of directories that are gone", out.Indexes)
	}
	say.Print("%s %s, %s", verb, what, diag.Size(out.Bytes))
}
