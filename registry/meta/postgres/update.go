package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/skl-project/skl/registry/meta"
)

// maxDelay is how long an update waits for others to share its commit with.
const maxDelay = 40 * time.Millisecond

// Update implements [meta.Store]. An Update within an Update waits for itself forever.
func (s *store) Update(ctx context.Context, fn func(*meta.Tx) error) error {
	return s.diagnose(s.updates.Update(ctx, fn))
}

// A writer is the connection that writes. It implements [batch.Database].
type writer struct {
	db     *sql.DB
	mover  bool      // it updates also what is frozen
	turned func()    // is called when the server behind a pooler is another one; nil without a pooler
	c      *sql.Conn // nil outside of a transaction
	start  string    // of the server behind a pooler: see startQuery
}

// startQuery reads when a server was started. Another one that takes its place has another time, as has one that was restored.
const startQuery = `SELECT extract(epoch FROM pg_postmaster_start_time())::text`

// Begin begins a transaction, which waits for those of other replicas. READ COMMITTED is right under the lock, and only that: a
// transaction with one snapshot would have taken it before it waited.
func (w *writer) Begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	if w.c, err = w.db.Conn(ctx); err != nil {
		return err
	}
	statements := fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
		SET LOCAL idle_in_transaction_session_timeout = %d; SET LOCAL lock_timeout = %d; SET LOCAL statement_timeout = %d;
		SELECT pg_advisory_xact_lock(hashtextextended('skl ' || current_schema(), 0))`, idleTime.Milliseconds(), lockTime.Milliseconds(), statementTime.Milliseconds())
	if w.turned != nil {
		statements += ";" + startQuery
	}
	if !w.mover {
		statements += ";" + meta.FenceQuery
	}
	var found [][][]byte
	if found, err = w.ask(statements); err == nil && !w.mover {
		err = meta.Fence(found[len(found)-1])
		found = found[:len(found)-1]
	}
	if err == nil && w.turned != nil {
		if start := string(found[len(found)-1][0]); start != w.start {
			w.start = start
			w.turned()
		}
	}
	if err != nil {
		w.Rollback()
	}
	return err
}

func (w *writer) Commit() error {
	err := w.run("COMMIT")
	if err == nil {
		w.give()
	}
	return err
}

func (w *writer) Rollback() error {
	if w.c == nil {
		return nil
	}
	defer w.give()
	return w.run("ROLLBACK")
}

// give gives the connection back; what does not work any more is closed.
func (w *writer) give() {
	w.c.Close()
	w.c = nil
}

func (w *writer) Savepoint() (*meta.Tx, func(), error) {
	session := &session{c: w.c}
	return meta.NewTx(session, dialect{}), func() { session.c = nil }, w.run("SAVEPOINT job")
}

func (w *writer) Release(keep bool) error {
	if keep {
		return w.run("RELEASE job")
	}
	return w.run("ROLLBACK TO job; RELEASE job")
}

func (*writer) Err(err error) error { return dialect{}.Err(err) }

// run sends statements without parameters, in one go.
func (w *writer) run(statements string) error {
	_, err := w.ask(statements)
	return err
}

// ask is run, and returns the first column of each result.
func (w *writer) ask(statements string) (columns [][][]byte, err error) {
	err = w.c.Raw(func(c any) error {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		conn := c.(*stdlib.Conn).Conn().PgConn()
		results, err := conn.Exec(ctx, statements).ReadAll()
		if err == nil {
			for _, result := range results {
				var column [][]byte
				for _, row := range result.Rows {
					column = append(column, row[0])
				}
				columns = append(columns, column)
			}
		}
		if conn.IsClosed() {
			return errors.Join(driver.ErrBadConn, err)
		}
		return err
	})
	return columns, err
}
