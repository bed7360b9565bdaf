package sqlite

import (
	"context"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// maxDelay is how long an update waits for others to share its commit with.
const maxDelay = 5 * time.Millisecond

// Update implements [meta.Store]. An Update within an Update waits for itself forever.
func (s *store) Update(ctx context.Context, fn func(*meta.Tx) error) error {
	return diagnose(s.path, s.updates.Update(ctx, fn))
}

// A writer is the connection that writes. It implements [batch.Database].
type writer struct {
	*conn
	mover bool // it updates also what is frozen
}

func (w writer) Begin() error {
	if err := w.run(context.Background(), "BEGIN IMMEDIATE"); err != nil || w.mover {
		return err
	}
	err := meta.MayUpdate(context.Background(), &session{c: w.conn}, dialect{})
	if err != nil {
		w.Rollback()
	}
	return err
}

func (w writer) Commit() error   { return w.run(context.Background(), "COMMIT") }
func (w writer) Rollback() error { return w.run(context.Background(), "ROLLBACK") }

func (w writer) Savepoint() (*meta.Tx, func(), error) {
	session := &session{c: w.conn}
	return meta.NewTx(session, dialect{}), func() { session.c = nil }, w.run(context.Background(), "SAVEPOINT job")
}

func (w writer) Release(keep bool) error {
	if !keep {
		if err := w.run(context.Background(), "ROLLBACK TO job"); err != nil {
			return err
		}
	}
	return w.run(context.Background(), "RELEASE job")
}

func (writer) Err(err error) error { return dialect{}.Err(err) }
