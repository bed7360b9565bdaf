package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

type indexResult struct {
	Root string `json:"root"`
	index.Report
}

func indexCommand() command {
	path := &cli.StringFlag{Name: "path", Usage: "the index of `DIR` (default: the repository of the working directory)"}
	return command{name: "index", args: "[DIR]", group: "Code", usage: "index a directory for search; query does so by itself", output: indexResult{},
		example: "skl index\nskl index status\nskl index drop 'vendor/**'",
		flags: []cli.Flag{&cli.StringFlag{Name: "glob", Usage: "only files whose path matches `GLOB`"},
			&cli.BoolFlag{Name: "anew", Usage: "also what seems unchanged"}},
		sub: []command{
			{name: "status", usage: "what is indexed", output: query.Status{}, flags: []cli.Flag{path}, run: runIndexStatus},
			{name: "drop", args: "[GLOB]", usage: "forget indexed files; without GLOB the whole index", output: dropResult{}, flags: []cli.Flag{path, dryRunFlag()}, run: runIndexDrop},
			indexFeedbackCommand(), indexServeCommand(),
		},
		run: runIndex}
}

func (w *world) openIndex(ctx context.Context, dir string) (*index.Index, error) {
	return index.Open(ctx, dir, index.Options{CacheDir: w.indexDir(), Progress: w.ui.Progress})
}

func runIndex(ctx context.Context, w *world, c *cli.Context) error {
	if c.NArg() > 1 {
		return diag.New(diag.Misuse, "usage", "index takes one directory").Hint("skl index DIR --glob '**/*.go'")
	}
	glob, err := query.ParseGlob(c.String("glob"))
	if err != nil && c.String("glob") != "" {
		return err
	}
	x, err := w.openIndex(ctx, w.searchedDir(c.Args().First()))
	if err != nil {
		return err
	}
	defer x.Close()
	r, err := x.Update(ctx, glob, c.Bool("anew"))
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(indexResult{x.Root(), r})
	}
	w.ui.Print("%s %s: %d new, %d changed, %d removed, %d unchanged, in %s", w.ui.Done(), w.short(x.Root()), r.Added, r.Changed, r.Removed, r.Unchanged, r.Elapsed.Round(time.Millisecond))
	if r.TooLarge > 0 {
		w.ui.Note("%s too large to be read: only their paths are known", ui.Count(r.TooLarge, "file"))
	}
	return nil
}

func runIndexStatus(ctx context.Context, w *world, c *cli.Context) error {
	x, err := w.openIndex(ctx, w.searchedDir(c.String("path")))
	if err != nil {
		return err
	}
	defer x.Close()
	s, err := x.Status(ctx)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(s)
	}
	last := s.LastIndexed
	if last == "" {
		last = "never"
	}
	w.ui.Rows([][]string{{"ROOT", w.short(s.RepoRoot)}, {"FILES", strconv.Itoa(s.FilesIndexed) + " of " + strconv.Itoa(s.FilesTotal)}, {"TOKENS", strconv.Itoa(s.TotalTokens)},
		{"SIZE", ui.Size(s.IndexSizeBytes)}, {"INDEXED", last}, {"GENERATION", strconv.FormatUint(s.Generation, 10)}})
	if s.FilesIndexed < s.FilesTotal {
		w.ui.Hint("skl index")
	}
	return nil
}

type dropResult struct {
	Root  string `json:"root"`
	Files int    `json:"files"`
	Whole bool   `json:"whole"`
}

func runIndexDrop(ctx context.Context, w *world, c *cli.Context) error {
	if c.NArg() > 1 {
		return diag.New(diag.Misuse, "usage", "drop takes one glob").Hint("skl index drop 'vendor/**'")
	}
	dir := w.searchedDir(c.String("path"))
	r := dropResult{Root: dir, Whole: c.NArg() == 0}
	var glob query.Glob
	var err error
	if !r.Whole {
		if glob, err = query.ParseGlob(c.Args().First()); err != nil {
			return err
		}
	}
	x, err := w.openIndex(ctx, dir)
	if err != nil {
		return err
	}
	r.Root = x.Root()
	switch {
	case c.Bool("dry-run") || r.Whole:
		r.Files, err = x.Covered(ctx, glob)
	default:
		r.Files, err = x.Invalidate(ctx, glob)
	}
	if err := errors.Join(err, x.Close()); err != nil {
		return err
	}
	if r.Whole && !c.Bool("dry-run") {
		if err := index.Drop(ctx, w.indexDir(), dir); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(r)
	}
	verb := "dropped"
	if c.Bool("dry-run") {
		verb = "would drop"
	}
	w.ui.Print("%s %s of %s from the index", verb, ui.Count(r.Files, "file"), w.short(r.Root))
	return nil
}

// searchedSkills opens the indexes of all roots of skills that are there.
func (w *world) searchedSkills(ctx context.Context) (searched, error) {
	listing, err := w.discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	set := &index.Set{}
	for _, r := range listing.Roots {
		if r.State != roots.RootOK {
			continue
		}
		if _, err := os.Stat(r.Path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// What git leaves out, such as the roots of agents, is searched all the same.
		x, err := index.Open(ctx, r.Path, index.Options{CacheDir: w.indexDir(), Extra: []string{"!*"}, Progress: w.ui.Progress})
		if err != nil {
			set.Close()
			return nil, err
		}
		set.Add(filepath.ToSlash(w.short(r.Path)), x)
	}
	return set, nil
}
