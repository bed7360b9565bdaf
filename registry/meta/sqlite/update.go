package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// Limits of the updates that share one commit. They bound how long the first of
// them waits for the others; the last may take longer.
const (
	maxBatch = 64
	maxDelay = 5 * time.Millisecond
)

// A job is one call of Update. Its func runs in the caller's goroutine while the writer
// waits, so that a panic is the caller's own.
type job struct {
	claimed atomic.Bool // by the writer, or by a caller that went away
	turn    chan *meta.Tx
	ran     chan error // of the func; errPanicked
	done    chan error // of the commit
}

var errPanicked = errors.New("the update's func did not return")

// Update implements [meta.Store]. An Update within an Update waits for itself forever.
func (s *store) Update(ctx context.Context, fn func(*meta.Tx) error) error {
	return diagnose(s.path, s.update(ctx, fn))
}

func (s *store) update(ctx context.Context, fn func(*meta.Tx) error) error {
	j := &job{turn: make(chan *meta.Tx, 1), ran: make(chan error, 1), done: make(chan error, 1)}
	select {
	case <-s.closing:
		return errClosed
	default:
	}
	select {
	case s.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return errClosed
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

// write is the writer. It ends when the store is closed.
func (s *store) write() {
	for {
		select {
		case j := <-s.jobs:
			s.batch(j)
		case <-s.closing:
			return
		}
	}
}

// batch runs first and what waits behind it in one transaction.
func (s *store) batch(first *job) {
	if !first.claimed.CompareAndSwap(false, true) {
		return
	}
	if err := s.writer.run(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		first.done <- dialect{}.Err(err)
		return
	}
	// Everybody waits for the commit, also those that failed: what they saw may never have happened.
	jobs := []*job{first}
	err := s.runJob(first)
	for deadline := time.Now().Add(maxDelay); err == nil && len(jobs) < maxBatch && time.Now().Before(deadline); {
		var j *job
		select {
		case j = <-s.jobs:
		default:
		}
		if j == nil {
			break
		}
		if j.claimed.CompareAndSwap(false, true) {
			jobs = append(jobs, j)
			err = s.runJob(j)
		}
	}
	if err == nil {
		err = s.writer.run(context.Background(), "COMMIT")
	}
	if err != nil {
		// The error is what counts; there may be no transaction left to roll back.
		s.writer.run(context.Background(), "ROLLBACK")
		err = dialect{}.Err(fmt.Errorf("commit: %w", err))
	}
	for _, j := range jobs {
		j.done <- err
	}
}

// runJob gives j its turn, and undoes what it did if it fails. Its error is that the whole transaction is lost.
func (s *store) runJob(j *job) error {
	if err := s.writer.run(context.Background(), "SAVEPOINT job"); err != nil {
		return err
	}
	session := &session{c: s.writer}
	j.turn <- meta.NewTx(session, dialect{})
	failed := <-j.ran
	session.c = nil
	if failed != nil {
		if err := s.writer.run(context.Background(), "ROLLBACK TO job"); err != nil {
			// SQLite itself rolled back, as it does when the disk is full: then that is the cause.
			return errors.Join(failed, err)
		}
	}
	return s.writer.run(context.Background(), "RELEASE job")
}
