package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

// An indexResult is the report on one directory. With --skills it is the sum, and the roots have reports of their own.
type indexResult struct {
	rootReport
	Roots []rootReport `json:"roots,omitempty"`
}

type rootReport struct {
	Root string `json:"root"`
	index.Report
}

func indexPathFlags() []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: "path", Usage: "the index of `DIR` (default: the repository of the working directory)"},
		&cli.BoolFlag{Name: "skills", Usage: "search installed skills instead"}, leftOutFlag()}
}

func indexCommand() command {
	return command{name: "index", args: "[DIR]", group: "Code", usage: "index a directory for search; query does so by itself", output: indexResult{},
		example: "skl index\nskl index status\nskl index drop 'vendor/**'",
		flags: append([]cli.Flag{&cli.StringFlag{Name: "glob", Usage: "only files whose path matches `GLOB`"},
			&cli.BoolFlag{Name: "anew", Usage: "read unchanged files again, too"}}, indexPathFlags()...),
		sub: []command{
			{name: "status", usage: "show what the index holds", output: indexStatus{}, flags: indexPathFlags(), run: runIndexStatus,
				example: "skl index status\nskl index status --skills --json"},
			{name: "drop", args: "[GLOB]", usage: "forget indexed files; without GLOB the whole index", output: dropResult{}, flags: append(indexPathFlags(), dryRunFlag()), run: runIndexDrop,
				example: "skl index drop\nskl index drop 'vendor/**' --dry-run"},
			indexFeedbackCommand(), indexServeCommand(),
		},
		run: runIndex}
}

// An indexed is a directory that has an index, or may have one.
type indexed struct {
	name  string   // of the directory, in answers
	dir   string   // absolute
	extra []string // see index.Options
	also  []string
}

func (w *world) indexOptions(d indexed) index.Options {
	return index.Options{CacheDir: w.indexDir(), Extra: d.extra, Also: d.also, Progress: w.indexing}
}

// leftOutFlag asks for what is left out otherwise.
func leftOutFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "left-out", Usage: "cover files that match `PATTERN`, as in .gitignore, although git ignores them, they hold keys or passwords by their name (.env, *.pem, …), or are linked from outside; may be repeated"}
}

func (w *world) open(ctx context.Context, d indexed) (*index.Index, error) {
	return index.Open(ctx, d.dir, w.indexOptions(d))
}

// indexing shows how far an index is. Which of thousands of files it is at says nothing, and its path may not fit on a line.
func (w *world) indexing(e diag.Event) {
	if e.Total > 0 {
		e.Name = "files"
	}
	w.ui.Progress(e)
}

// indexedDirs are the directories that the flags, or an argument, name.
func (w *world) indexedDirs(ctx context.Context, c *cli.Context, arg string) ([]indexed, error) {
	path := c.String("path")
	switch {
	case c.Bool("skills") && path+arg != "":
		return nil, diag.New(diag.Misuse, "usage", "--skills and a directory exclude each other").Hint("leave out one of them")
	case c.Bool("skills"):
		list, err := w.skillRoots(ctx)
		for i := range list {
			list[i].also = c.StringSlice("left-out")
		}
		return list, err
	case path != "" && arg != "":
		return nil, diag.New(diag.Misuse, "usage", "two directories are given: %s and %s", arg, path).Hint("leave out --path")
	}
	dir := w.searchedDir(path + arg)
	return []indexed{{name: w.Short(dir), dir: dir, also: c.StringSlice("left-out")}}, nil
}

// skillRoots are the roots of skills that are there and trusted. What git leaves out, such as the directories of
// agents, is indexed all the same.
func (w *world) skillRoots(ctx context.Context) (list []indexed, err error) {
	listing, err := w.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range listing.Roots {
		if r.State == roots.RootUntrusted {
			w.ui.Note("%s is left out: it is not trusted", w.Short(r.Path))
			w.ui.Hint("skl trust allow")
		}
		if r.State != roots.RootOK {
			continue
		}
		dir, err := w.rootDir(r)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		list = append(list, indexed{name: filepath.ToSlash(w.Short(r.Path)), dir: dir, extra: []string{"!*"}})
	}
	return list, nil
}

// searchedSkills opens the indexes of all roots of skills.
func (w *world) searchedSkills(ctx context.Context, also []string) (searched, error) {
	list, err := w.skillRoots(ctx)
	if err != nil {
		return nil, err
	}
	set := &index.Set{}
	for _, d := range list {
		d.also = also
		x, err := w.open(ctx, d)
		if err != nil {
			set.Close()
			return nil, err
		}
		set.Add(d.name, x)
	}
	return set, nil
}

func runIndex(ctx context.Context, w *world, c *cli.Context) error {
	if c.NArg() > 1 {
		return diag.New(diag.Misuse, "usage", "index takes one directory").Hint("skl index DIR --glob '**/*.go'")
	}
	glob, err := query.ParseGlob(c.String("glob"))
	if err != nil {
		return err
	}
	dirs, err := w.indexedDirs(ctx, c, c.Args().First())
	if err != nil {
		return err
	}
	var all []rootReport
	for _, d := range dirs {
		r, left, err := w.update(ctx, d, glob, c.Bool("anew"))
		if err != nil {
			return err
		}
		all = append(all, r)
		if !w.ui.JSON {
			w.ui.Print("%s %s: %d new, %d changed, %d removed, %d unchanged, in %s", ui.Painted(w.ui.Done()), strings.TrimSuffix(d.name, ":"), r.Added, r.Changed, r.Removed, r.Unchanged, r.Elapsed.Round(time.Millisecond))
		}
		if r.TooLarge > 0 {
			w.ui.Note("%s too large to be divided: literals and regular expressions are found there, words and symbols are not", areCounted(r.TooLarge, "file"))
		}
		w.tellLeftOut(left)
	}
	switch {
	case !w.ui.JSON:
		return nil
	case c.Bool("skills"):
		return w.ui.Result(sumOf(all))
	}
	return w.ui.Result(indexResult{rootReport: all[0]})
}

func (w *world) update(ctx context.Context, d indexed, glob query.Glob, anew bool) (rootReport, query.LeftOut, error) {
	x, err := w.open(ctx, d)
	if err != nil {
		return rootReport{}, query.LeftOut{}, err
	}
	defer x.Close()
	debug.SetGCPercent(400) // this process does nothing else, and ends soon
	debug.SetMemoryLimit(128 << 20)
	r, err := x.Update(ctx, glob, anew)
	return rootReport{x.Root(), r}, x.LeftOut(), err
}

// tellLeftOut says what was left out for its name or its links.
func (w *world) tellLeftOut(l query.LeftOut) {
	if note := l.Note(); note != "" {
		w.ui.Note("%s", note)
		w.ui.Hint("skl index status --json lists them; --left-out PATTERN covers them")
	}
}

func sumOf(all []rootReport) indexResult {
	sum := indexResult{Roots: all}
	for _, r := range all {
		sum.Added += r.Added
		sum.Changed += r.Changed
		sum.Removed += r.Removed
		sum.Unchanged += r.Unchanged
		sum.TooLarge += r.TooLarge
		sum.Binary += r.Binary
		sum.Bytes += r.Bytes
		sum.Elapsed += r.Elapsed
	}
	return sum
}

// An indexStatus is the status of one index. With --skills its numbers are sums, and the roots have their own.
type indexStatus struct {
	query.Status
	Roots []query.Status `json:"roots,omitempty"`
}

func runIndexStatus(ctx context.Context, w *world, c *cli.Context) error {
	if c.NArg() > 0 {
		return diag.New(diag.Misuse, "usage", "index status takes no arguments").Hint("skl index status --path %s", quoteShell(c.Args().First()))
	}
	dirs, err := w.indexedDirs(ctx, c, "")
	if err != nil {
		return err
	}
	out := indexStatus{Status: query.Status{Languages: map[string]int{}, LeftOut: query.LeftOut{Paths: []string{}}}}
	rows := [][]string{{"ROOT", "FILES", "TOKENS", "SIZE", "INDEXED"}}
	for _, d := range dirs {
		s, err := w.statusOf(ctx, d)
		if err != nil {
			return err
		}
		out.Roots = append(out.Roots, s)
		out.FilesIndexed += s.FilesIndexed
		out.FilesTotal += s.FilesTotal
		out.TotalTokens += s.TotalTokens
		out.IndexSizeBytes += s.IndexSizeBytes
		out.SchemaVersion, out.FileDiscovery = s.SchemaVersion, s.FileDiscovery
		for l, n := range s.Languages {
			out.Languages[l] += n
		}
		out.LeftOut.Add(s.LeftOut, func(p string) string { return filepath.Join(s.RepoRoot, filepath.FromSlash(p)) })
		rows = append(rows, []string{d.name, fmt.Sprintf("%d of %d", s.FilesIndexed, s.FilesTotal), strconv.Itoa(s.TotalTokens), ui.Size(s.IndexSizeBytes), cmp.Or(s.LastIndexed, "never")})
	}
	if !c.Bool("skills") {
		out = indexStatus{Status: out.Roots[0]}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	w.ui.Rows(rows)
	var languages []string
	for _, l := range slices.SortedFunc(maps.Keys(out.Languages), func(a, b string) int {
		return cmp.Or(cmp.Compare(out.Languages[b], out.Languages[a]), cmp.Compare(a, b))
	}) {
		languages = append(languages, fmt.Sprintf("%s %d", l, out.Languages[l]))
	}
	if len(languages) > 0 {
		w.ui.Print("languages: %s", languages)
	}
	if out.LeftOut.Ignored > 0 {
		w.ui.Print("ignored by git: %s", diag.Count(out.LeftOut.Ignored, "path"))
	}
	w.tellLeftOut(out.LeftOut)
	if out.FilesIndexed < out.FilesTotal {
		w.ui.Hint("skl index%s", samePlace(c))
	}
	return nil
}

func (w *world) statusOf(ctx context.Context, d indexed) (query.Status, error) {
	x, err := w.open(ctx, d)
	if err != nil {
		return query.Status{}, err
	}
	defer x.Close()
	return x.Status(ctx)
}

// A dropResult says what was forgotten, or with --dry-run would be.
type dropResult struct {
	Root  string   `json:"root"`            // "" with --skills
	Roots []string `json:"roots,omitempty"` // with --skills
	Files int      `json:"files"`
	Whole bool     `json:"whole"` // the index itself, not only files of it
}

func runIndexDrop(ctx context.Context, w *world, c *cli.Context) error {
	if c.NArg() > 1 {
		return diag.New(diag.Misuse, "usage", "index drop takes one glob").Hint("skl index drop 'vendor/**'")
	}
	glob, err := query.ParseGlob(c.Args().First())
	if err != nil {
		return err
	}
	dirs, err := w.indexedDirs(ctx, c, "")
	if err != nil {
		return err
	}
	r := dropResult{Whole: c.NArg() == 0}
	for _, d := range dirs {
		root, n, err := w.drop(ctx, d, glob, r.Whole, c.Bool("dry-run"))
		if err != nil {
			return err
		}
		r.Files += n
		r.Roots = append(r.Roots, root)
	}
	if !c.Bool("skills") {
		r.Root, r.Roots = r.Roots[0], nil
	}
	if w.ui.JSON {
		return w.ui.Result(r)
	}
	verb, what := "dropped", "all roots of skills"
	if c.Bool("dry-run") {
		verb = "would drop"
	}
	if !c.Bool("skills") {
		what = dirs[0].name
	}
	w.ui.Print("%s %s from the index of %s", verb, diag.Count(r.Files, "file"), what)
	return nil
}

// drop returns the number of files that were, or would be, forgotten. A directory that is gone may have left an index.
func (w *world) drop(ctx context.Context, d indexed, glob query.Glob, whole, dry bool) (root string, n int, err error) {
	root = d.dir
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if !scope.Exists(index.Dir(w.indexDir(), root, w.indexOptions(d).Patterns()...)) {
		if !scope.Exists(root) {
			return "", 0, diag.New(diag.Misuse, "not_found", "there is no directory %s, and no index of it", d.name)
		}
		return root, 0, nil
	}
	if scope.Exists(root) {
		x, err := w.open(ctx, d)
		if err != nil {
			return "", 0, err
		}
		if dry || whole {
			n, err = x.Covered(ctx, glob)
		} else {
			n, err = x.Invalidate(ctx, glob)
		}
		if err := errors.Join(err, x.Close()); err != nil {
			return "", 0, err
		}
	}
	if whole && !dry {
		err = index.Drop(ctx, w.indexDir(), root, w.indexOptions(d).Patterns()...)
	}
	return root, n, err
}
