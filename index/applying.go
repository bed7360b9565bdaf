package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/diag"
)

// A cutShort is the error of an apply whose time ended. What it did until then is kept.
type cutShort struct {
	left []files.File // that it did not come to
}

func (c *cutShort) Error() string { return fmt.Sprintf("%d files are left to read", len(c.left)) }

func (c *cutShort) Unwrap() error { return context.DeadlineExceeded }

// An applying stores records, batch by batch.
type applying struct {
	x        *Index
	had      map[string]*store.File // what is stored of the files, by path
	anew     bool
	progress diag.Progress
	total    int

	batch  *store.Batch
	done   int
	bytes  int64 // of files in batch
	begun  time.Time
	report Report
}

// apply reads what is different and stores it. With anew it also stores what has the same content.
func (x *Index) apply(ctx context.Context, d difference, anew bool, progress diag.Progress) (Report, error) {
	start := time.Now()
	list := d.files()
	a := &applying{x: x, had: make(map[string]*store.File, len(list)), anew: anew, progress: progress, total: len(list)}
	v, err := x.view(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return a.report, &cutShort{list}
	}
	if err != nil {
		return a.report, err
	}
	for _, f := range list {
		if old := v.ByPath(f.Path); old != nil {
			a.had[f.Path] = old
		}
	}
	v.Close()
	a.report.Removed = len(d.removed)
	a.batch, err = x.store().Begin(ctx)
	if errors.Is(err, context.DeadlineExceeded) { // another process writes
		return a.report, &cutShort{list}
	}
	if err != nil {
		return a.report, err
	}
	a.begun = time.Now()
	defer func() { a.batch.Rollback() }()
	for _, p := range d.removed {
		if err := a.batch.Remove(p); err != nil {
			return a.report, err
		}
	}
	n := min(runtime.GOMAXPROCS(0), max(1, len(list)/4))
	err = making{x.root, list}.run(ctx, n, func(path string, r *store.Record, err error) error { return a.take(ctx, path, r, err) })
	short := errors.Is(err, context.DeadlineExceeded)
	if err != nil && !short {
		return a.report, err
	}
	if a.batch != nil { // else it waited for another process after a Commit
		if a.report.Generation, err = a.batch.Commit(); err != nil {
			return a.report, err
		}
	}
	if short {
		return a.report, &cutShort{list[a.done:]}
	}
	a.report.Elapsed = time.Since(start)
	return a.report, nil
}

// take stores the record of a file, or forgets the file if it cannot be read.
func (a *applying) take(ctx context.Context, path string, rec *store.Record, err error) error {
	a.done++
	r, old := &a.report, a.had[path]
	// A file too large to index has no hash: any edit may have changed it, and whoever keeps answers by generation must
	// see that.
	same := old != nil && rec != nil && old.Hash == rec.Hash && old.Stamp.Size == rec.Stamp.Size && rec.Flags&store.Large == 0
	switch {
	case err != nil && unreadable(err):
		if old == nil {
			return nil
		}
		r.Removed++
		return a.batch.Remove(path)
	case err != nil:
		return err
	case same && !a.anew:
		f := *old
		f.Stamp, f.Read = rec.Stamp, rec.Read
		err = a.batch.Touch(f)
		r.Unchanged++
	case same:
		err = a.batch.Put(rec)
		r.Unchanged++
	case old != nil:
		err = a.batch.Put(rec)
		r.Changed++
	default:
		err = a.batch.Put(rec)
		r.Added++
	}
	if err != nil {
		return err
	}
	if rec.Flags&store.Large != 0 {
		r.TooLarge++
	} else {
		r.Bytes += rec.Stamp.Size
		a.bytes += rec.Stamp.Size
	}
	if rec.Flags&store.Binary != 0 {
		r.Binary++
	}
	if a.progress != nil { // not Send: names are not made for nobody
		a.progress(diag.Event{Stage: "index", Name: path, Done: int64(a.done), Total: int64(a.total)})
	}
	if a.bytes > bytesPerBatch || time.Since(a.begun) > timePerBatch {
		a.bytes = 0
		if r.Generation, err = a.batch.Commit(); err == nil {
			a.batch, err = a.x.store().Begin(ctx)
			a.begun = time.Now()
		}
	}
	return err
}
