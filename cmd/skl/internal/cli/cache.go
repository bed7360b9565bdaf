package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

type cacheResult struct {
	Cache   string `json:"cache"`
	Index   string `json:"index"` // part of the cache
	Store   string `json:"store"`
	Entries int    `json:"entries"`           // removed, or with --dry-run removable
	Indexes int    `json:"indexes,omitempty"` // of directories that are gone, removed or removable
	Bytes   int64  `json:"bytes"`
}

func cacheCommand() command {
	return command{name: "cache", group: "Sites", usage: "show and clean the caches", output: cacheResult{},
		example: "skl cache dir\nskl cache clean\nskl cache gc --dry-run",
		sub: []command{
			{name: "dir", usage: "print the directories", run: func(_ context.Context, w *world, _ *cli.Context) error {
				if w.ui.JSON {
					return w.ui.Result(w.cacheDirs())
				}
				w.ui.Rows([][]string{{"WHAT", "DIRECTORY"}, {"cache", w.Dirs.Cache}, {"index", w.indexDir()}, {"store", w.Store().Dir}})
				return nil
			}},
			{name: "clean", usage: "delete the caches, indexes among them; the store of bundles stays", run: cleanCache, flags: []cli.Flag{dryRunFlag()}},
			{name: "gc", usage: "delete bundles that no lock of this scope and no installed skill here names, and indexes of directories that are gone", run: collect, flags: []cli.Flag{dryRunFlag()}},
		}}
}

func (w *world) cacheDirs() cacheResult {
	return cacheResult{Cache: w.Dirs.Cache, Index: w.indexDir(), Store: w.Store().Dir}
}

func cleanCache(_ context.Context, w *world, c *cli.Context) error {
	out := w.cacheDirs()
	filepath.WalkDir(w.Dirs.Cache, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				out.Entries++
				out.Bytes += info.Size()
			}
		}
		return nil
	})
	if !c.Bool("dry-run") {
		if err := store.Remove(w.Dirs.Cache); err != nil {
			return err
		}
	}
	return w.printCache(out, "file", c.Bool("dry-run"))
}

// collect keeps the bundles that the locks of the project and the user name, and the indexes of directories that are there. Other
// projects fetch again what they miss.
func collect(ctx context.Context, w *world, c *cli.Context) error {
	keep := map[bundle.Digest]bool{}
	for _, path := range []string{filepath.Join(w.Base, "skl.lock"), filepath.Join(w.Dirs.Config, "skl.lock"), filepath.Join(scope.ManagedBase, "skl.lock")} {
		src, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		l, err := lock.Parse(src, w.Short(path))
		if err != nil {
			return err
		}
		for _, s := range l.Skills {
			keep[s.Tree] = true
		}
	}
	out := w.cacheDirs()
	var err error
	out.Entries, out.Bytes, err = w.Store().Prune(keep, c.Bool("dry-run"))
	if err != nil {
		return err
	}
	orphans, err := index.Orphans(w.indexDir())
	if err != nil {
		return err
	}
	for _, o := range orphans {
		if !c.Bool("dry-run") {
			if err := o.Remove(ctx); err != nil {
				return err
			}
		}
		out.Indexes++
		out.Bytes += o.Bytes
	}
	return w.printCache(out, "bundle", c.Bool("dry-run"))
}

func (w *world) printCache(out cacheResult, noun string, dry bool) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
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
	w.ui.Print("%s %s, %s", verb, what, ui.Size(out.Bytes))
	return nil
}
