package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

var errEnded = errors.New("the transaction has ended")

// A conn is one connection with the statements that it has prepared. There are about a hundred
// different ones, as values are always parameters.
type conn struct {
	sql      *sql.Conn
	prepared map[string]*sql.Stmt
}

func (c *conn) prepare(query string) (*sql.Stmt, error) {
	s, ok := c.prepared[query]
	if ok {
		return s, nil
	}
	s, err := c.sql.PrepareContext(context.Background(), query)
	if err == nil {
		c.prepared[query] = s
	}
	return s, err
}

// run executes a statement without parameters.
func (c *conn) run(ctx context.Context, query string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := c.prepare(query)
	if err == nil {
		_, err = s.ExecContext(context.Background())
	}
	return err
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.sql.Close())...)
}

// A session is a conn for the time of one transaction; then c is nil.
//
// A context is asked before each statement and not during one: to be able to interrupt costs more than
// most of our statements take, and an interrupted write would undo the updates of others in the same commit.
type session struct{ c *conn }

func (s *session) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if s.c == nil {
		return nil, errEnded
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.c.prepare(query)
}

// ExecContext implements [meta.Querier].
func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	p, err := s.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return p.ExecContext(context.Background(), args...)
}

// QueryContext implements [meta.Querier].
func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	p, err := s.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return p.QueryContext(context.Background(), args...)
}

// code is SQLite's primary result code behind err, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// Err implements [meta.Dialect].
func (dialect) Err(err error) error {
	if err != nil && code(err) == sqlite3.SQLITE_FULL {
		return fmt.Errorf("%w: %w", meta.ErrFull, err)
	}
	return err
}

// diagnose says what a damaged or foreign file at path is.
func diagnose(path string, err error) error {
	if errors.Is(err, diag.Code("corrupt")) {
		return err
	}
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT:
		return damaged(path, "%s is damaged: %w", path, err)
	case sqlite3.SQLITE_NOTADB:
		return damaged(path, "%s is not a database: %w", path, err)
	}
	return dialect{}.Err(err)
}

// damaged is an error of code corrupt about the file at path, and says how to replace it.
func damaged(path, format string, args ...any) error {
	return diag.New(diag.Failed, "corrupt", format, args...).
		Hint("restore the registry from a backup: skl registry restore BACKUP --data %s", filepath.Dir(path)+"-restored")
}
