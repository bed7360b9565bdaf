// Package index answers questions about the files of a directory: where is this symbol, who uses it, what speaks of
// this. It answers with handles, which cost few tokens, and gives the text of those that are wanted.
//
//   - The index is a cache below Options.CacheDir, one per root; it may be deleted at any time, and several
//     processes may use it at once. Nothing is written to the root.
//   - No answer has a stale span: every handle is checked against the bytes of its file when it is given, and files that
//     changed are read anew first.
//   - Literal and regular expressions are complete: they are searched in the files, the index only says which files cannot have them.
//   - A repository that was never indexed is read before the first answer if it has no more than 1,000 files and that takes no more than four
//     times Options.FirstAnswer. Else, and whenever files change, a query waits for about Options.FirstAnswer, reads what promises most
//     first, and is answered from what there is. How many files it does not cover is said.
package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// Options of an Index. The zero value works but for CacheDir.
type Options struct {
	CacheDir    string        // where indexes are kept; they have a directory each
	Extra       []string      // more patterns of files to leave out, as in .gitignore
	Keys        []string      // directories that are left out, wherever the root is
	Also        []string      // patterns of files that are covered although they are ignored, or hold secrets, or are linked from outside
	FirstAnswer time.Duration // how long a query has the index follow the files, four times that where there is none yet; 0 means 800 ms
	Watch       bool          // be told of changes instead of looking before every query; for long-lived processes
	Background  bool          // index what is missing after the first answer, until Close
	Progress    diag.Progress // of Update

	// Getenv says where the user's git configuration is; nil means os.Getenv. See files.Walker.
	Getenv func(string) string

	// Prior says what is known of handles of a type in a file besides their text, between -1 and 1; nil for nothing.
	Prior func(nodeType, path string) float64
}

// Patterns tell the index apart from others of its root; see [Dir].
func (o Options) Patterns() []string {
	list := slices.Clone(o.Extra)
	for _, p := range o.Also {
		list = append(list, "also "+p)
	}
	return list
}

// A Report says what Update did.
type Report struct {
	Added      int           `json:"added"`
	Changed    int           `json:"changed"`
	Removed    int           `json:"removed"`
	Unchanged  int           `json:"unchanged"`
	TooLarge   int           `json:"too_large"`
	Binary     int           `json:"binary"`
	Bytes      int64         `json:"bytes"` // that were read
	Generation uint64        `json:"generation"`
	Elapsed    time.Duration `json:"elapsed_ns"`
}

// An Index of one root. It may be used concurrently.
type Index struct {
	root    string
	o       Options
	walker  *files.Walker
	texts   texts
	divided divided
	lately  lately
	sweeps  *sweeps

	opening sync.Mutex // held while a damaged store is opened anew
	current atomic.Pointer[store.Store]

	watching chan struct{} // holds one value while watcher, known or version are used
	watcher  *files.Watcher
	known    files.List // what the watcher keeps up to date
	version  uint64     // of known
	agreed   agreed
	closing  chan struct{} // is closed by Close

	left atomic.Pointer[query.LeftOut] // of the last list

	working    sync.Mutex         // guards stopWork and closed
	stopWork   context.CancelFunc // of the goroutine of background; nil while there is none
	closed     bool
	background sync.WaitGroup
}

// Open opens the index of a directory. root is absolute; links in it are resolved.
func Open(ctx context.Context, root string, o Options) (*Index, error) {
	if o.FirstAnswer <= 0 {
		o.FirstAnswer = 800 * time.Millisecond
	}
	real, err := filepath.EvalSymlinks(root)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = diag.New(diag.Misuse, "not_a_directory", "%s is not a directory", root)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, diag.New(diag.Misuse, "not_found", "there is no directory %s", root)
	}
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, Dir(o.CacheDir, real, o.Patterns()...))
	if err != nil {
		return nil, err
	}
	if err := writeRoot(s.Dir(), real); err != nil {
		s.Close()
		return nil, err
	}
	out := slices.Concat(o.Extra, without(real, o.CacheDir))
	for _, dir := range o.Keys {
		out = append(out, without(real, dir)...)
	}
	x := &Index{root: real, o: o, texts: newTexts(), divided: newDivided(), sweeps: newSweeps(), walker: &files.Walker{Root: real, Extra: out, Also: o.Also, Getenv: o.Getenv}}
	x.current.Store(s)
	x.watching = make(chan struct{}, 1)
	x.closing = make(chan struct{})
	if o.Watch {
		if x.walker.Marks, err = marksDir(s.Dir()); err != nil {
			x.Close()
			return nil, err
		}
		// Without a watcher, every query looks at all files.
		if w, err := x.walker.Watch(context.WithoutCancel(ctx)); err == nil {
			x.watcher = w
		} else if !errors.Is(err, files.ErrWatch) {
			x.Close()
			return nil, err
		}
	}
	return x, nil
}

// marksDir returns the directory in which a watcher makes sure that it was told everything.
func marksDir(dir string) (string, error) {
	dir = filepath.Join(dir, "marks")
	if err := durable.MkdirPrivate(dir); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// without returns the patterns that leave out what lies in a cache below root. An index of its own database would never end; and a
// process that only closes such a file loses its locks on it.
func without(root, cache string) []string {
	real, err := filepath.EvalSymlinks(cache)
	if err != nil {
		return nil
	}
	path, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(path) {
		return nil
	}
	if path == "." {
		path = filepath.Base(Dir(cache, root)) // of the cache; somebody who names skl's own directory means it
	}
	return []string{files.Directory(filepath.ToSlash(path))}
}

// Close ends background work and frees what the index holds.
func (x *Index) Close() error {
	x.working.Lock()
	if !x.closed {
		close(x.closing)
	}
	x.closed = true
	if x.stopWork != nil {
		x.stopWork()
	}
	x.working.Unlock()
	x.background.Wait()
	var errs []error
	if x.watcher != nil {
		errs = append(errs, x.watcher.Close())
	}
	return errors.Join(append(errs, x.store().Close())...)
}

// Root returns the directory, without links.
func (x *Index) Root() string { return x.root }

func (x *Index) store() *store.Store { return x.current.Load() }

// view opens a view of the store. A damaged one is dropped first, and the index is built anew.
func (x *Index) view(ctx context.Context) (v *store.View, err error) {
	err = x.mend(ctx, func() (err error) {
		v, err = x.store().View(ctx)
		return err
	})
	return v, err
}

// mend does f, and does it again with a new store if the one before turns out to be damaged, here or in another goroutine.
func (x *Index) mend(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		s := x.store()
		err := f()
		if err == nil || attempt == attempts || ctx.Err() != nil {
			return err
		}
		if x.store() != s {
			continue
		}
		if !store.IsDamaged(err) {
			return err
		}
		if err := x.renew(ctx, s); err != nil {
			return err
		}
	}
}

// renew drops a damaged store.
func (x *Index) renew(ctx context.Context, damaged *store.Store) error {
	x.opening.Lock()
	defer x.opening.Unlock()
	if x.store() != damaged {
		return nil // done meanwhile
	}
	damaged.Close()
	if err := damaged.Drop(ctx); err != nil {
		return err
	}
	s, err := store.Open(ctx, damaged.Dir())
	if err == nil {
		x.current.Store(s)
	}
	return err
}

// Generation returns the number of the state that the index has: it grows with every change, and starts anew, far away,
// when an index is built from nothing.
func (x *Index) Generation(ctx context.Context) (uint64, error) {
	v, err := x.view(ctx)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	return v.Generation(), nil
}

// Update makes the index agree with the files that glob matches. With anew it reads also what seems unchanged.
func (x *Index) Update(ctx context.Context, glob glob.Glob, anew bool) (r Report, err error) {
	err = x.mend(ctx, func() (err error) {
		r, err = x.update(ctx, glob, anew)
		return err
	})
	return r, err
}

func (x *Index) update(ctx context.Context, glob glob.Glob, anew bool) (Report, error) {
	start := time.Now()
	unlock, err := x.store().Lock(ctx, func() { x.o.Progress.Send(diag.Event{Stage: "wait", Name: "for another skl that indexes " + x.root}) })
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	d, err := x.look(ctx, nil)
	if err != nil {
		return Report{}, err
	}
	if anew {
		d.new, d.unsure = append(append([]files.File(nil), d.list.Files...), d.list.TooLarge...), nil
	}
	all := len(d.list.Files) + len(d.list.TooLarge)
	if glob.String() != "" {
		all = 0
		for _, l := range [][]files.File{d.list.Files, d.list.TooLarge} {
			for _, f := range l {
				if glob.Match(f.Path) {
					all++
				}
			}
		}
		d.new = keep(d.new, func(f files.File) bool { return glob.Match(f.Path) })
		d.removed = keep(d.removed, glob.Match)
		d.unsure = keep(d.unsure, func(f *store.File) bool { return glob.Match(f.Path) })
	}
	if d.many() {
		if err := x.store().Bulk(ctx, true); err != nil {
			return Report{}, err
		}
		defer x.store().Bulk(context.WithoutCancel(ctx), false)
	}
	r, err := x.apply(ctx, d, anew, x.o.Progress)
	if err != nil {
		return r, err
	}
	if d.many() {
		if err := x.store().Checkpoint(ctx); err != nil {
			return r, err
		}
	}
	seen := r.Added + r.Changed + r.Unchanged
	r.Unchanged += max(0, all-seen)
	r.Generation, err = x.Generation(ctx)
	r.Elapsed = time.Since(start)
	return r, err
}

func keep[T any](list []T, f func(T) bool) []T {
	var out []T
	for _, v := range list {
		if f(v) {
			out = append(out, v)
		}
	}
	return out
}

// Invalidate forgets the files that glob matches and returns their number. They are indexed again by the next query.
func (x *Index) Invalidate(ctx context.Context, glob glob.Glob) (int, error) {
	v, err := x.view(ctx)
	if err != nil {
		return 0, err
	}
	var c store.Change
	for _, f := range v.Files() {
		if glob.Match(f.Path) {
			c.Remove = append(c.Remove, f.Path)
		}
	}
	v.Close()
	if len(c.Remove) == 0 {
		return 0, nil
	}
	err = x.mend(ctx, func() error {
		_, err := x.store().Apply(ctx, c)
		return err
	})
	return len(c.Remove), err
}

// Covered returns the number of indexed files that glob matches.
func (x *Index) Covered(ctx context.Context, glob glob.Glob) (n int, err error) {
	v, err := x.view(ctx)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	for _, f := range v.Files() {
		if glob.Match(f.Path) {
			n++
		}
	}
	return n, nil
}

// Status describes the index. It changes nothing.
func (x *Index) Status(ctx context.Context) (query.Status, error) {
	v, err := x.view(ctx)
	if err != nil {
		return query.Status{}, err
	}
	defer v.Close()
	list, _, err := x.list(ctx)
	if err != nil {
		return query.Status{}, err
	}
	s := query.Status{FilesTotal: len(list.Files) + len(list.TooLarge), SchemaVersion: store.Format, RepoRoot: x.root, FileDiscovery: "walk", Generation: v.Generation(),
		IndexSizeBytes: x.store().Size(), Languages: map[string]int{}}
	s.LeftOut = leftOut(list)
	if x.watcher != nil {
		s.FileDiscovery = "watch"
	}
	var last int64
	for _, f := range v.Files() {
		s.FilesIndexed++
		s.TotalTokens += f.Tokens
		if f.Language != "" {
			s.Languages[f.Language]++
		}
		last = max(last, f.Read)
	}
	if last > 0 {
		s.LastIndexed = time.Unix(0, last).UTC().Format(time.RFC3339)
	}
	return s, nil
}
