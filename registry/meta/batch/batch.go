// Package batch lets the updates of many callers share one commit, so that they do not wait for as many syncs of a disk.
package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// A Database runs transactions one after the other, each with savepoints. Its methods are called by one goroutine at a time.
type Database interface {
	Begin() error
	// Savepoint marks where the next update begins, and returns what that may use until end is called.
	Savepoint() (tx *meta.Tx, end func(), err error)
	// Release keeps what was done since Savepoint, or undoes it.
	Release(keep bool) error
	Commit() error
	Rollback() error
	// Err gives an error of the database its identity.
	Err(error) error
}

// ErrClosed is the error of an update after Close.
var ErrClosed = errors.New("the database is closed")

// maxBatch is how many updates share one commit.
const maxBatch = 64

// A Writer runs updates. Its methods may be called concurrently.
type Writer struct {
	db      Database
	delay   time.Duration
	jobs    chan *job
	closing chan struct{} // closed by Close
	once    sync.Once
	done    sync.WaitGroup // the goroutine that writes
}

// New starts a writer to db. A batch takes no more updates after delay, which bounds how long the first of them waits for
// the others; the last may take longer.
func New(db Database, delay time.Duration) *Writer {
	w := &Writer{db: db, delay: delay, jobs: make(chan *job), closing: make(chan struct{})}
	w.done.Go(w.write)
	return w
}

// Close waits for the updates that run. Later calls do nothing.
func (w *Writer) Close() {
	w.once.Do(func() {
		close(w.closing)
		w.done.Wait()
	})
}

// A job is one call of Update. Its func runs in the caller's goroutine while the writer
// waits, so that a panic is the caller's own.
type job struct {
	claimed atomic.Bool // by the writer, or by a caller that went away
	turn    chan *meta.Tx
	ran     chan error // of the func; errPanicked
	done    chan error // of the commit
}

var errPanicked = errors.New("the update's func did not return")

// Update runs fn as [meta.Store] says of its Update. An Update within an Update waits for itself forever.
func (w *Writer) Update(ctx context.Context, fn func(*meta.Tx) error) error {
	j := &job{turn: make(chan *meta.Tx, 1), ran: make(chan error, 1), done: make(chan error, 1)}
	select {
	case <-w.closing:
		return ErrClosed
	default:
	}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return ErrClosed
	}
	select {
	case tx := <-j.turn:
		return j.run(ctx, tx, fn)
	case err := <-j.done: // it did not come to its turn
		return err
	case <-ctx.Done():
		if j.claimed.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		select {
		case tx := <-j.turn:
			return j.run(ctx, tx, fn)
		case err := <-j.done:
			return err
		}
	}
}

func (j *job) run(ctx context.Context, tx *meta.Tx, fn func(*meta.Tx) error) error {
	err := errPanicked
	defer func() {
		if err == errPanicked {
			j.ran <- err
			<-j.done // the transaction is over when the panic goes on
		}
	}()
	err = fn(tx)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	j.ran <- err
	if e := <-j.done; e != nil {
		return e
	}
	return err
}

// write runs batches until the writer is closed.
func (w *Writer) write() {
	for {
		select {
		case j := <-w.jobs:
			w.batch(j)
		case <-w.closing:
			return
		}
	}
}

// batch runs first and what waits behind it in one transaction.
func (w *Writer) batch(first *job) {
	if !first.claimed.CompareAndSwap(false, true) {
		return
	}
	if err := w.db.Begin(); err != nil {
		first.done <- w.db.Err(err)
		return
	}
	// Everybody waits for the commit, also those that failed: what they saw may never have happened.
	jobs := []*job{first}
	err := w.run(first)
	for deadline := time.Now().Add(w.delay); err == nil && len(jobs) < maxBatch && time.Now().Before(deadline); {
		var j *job
		select {
		case j = <-w.jobs:
		default:
		}
		if j == nil {
			break
		}
		if j.claimed.CompareAndSwap(false, true) {
			jobs = append(jobs, j)
			err = w.run(j)
		}
	}
	if err == nil {
		err = w.db.Commit()
	}
	if err != nil {
		// The error is what counts; there may be no transaction left to roll back.
		w.db.Rollback()
		err = w.db.Err(fmt.Errorf("commit: %w", err))
	}
	for _, j := range jobs {
		j.done <- err
	}
}

// run gives j its turn, and undoes what it did if it fails. Its error is that the whole transaction is lost.
func (w *Writer) run(j *job) error {
	tx, end, err := w.db.Savepoint()
	if err != nil {
		return err
	}
	j.turn <- tx
	failed := <-j.ran
	end()
	if err := w.db.Release(failed == nil); err != nil {
		// The database itself rolled back, as SQLite does when the disk is full: then that is the cause.
		return errors.Join(failed, err)
	}
	return nil
}
