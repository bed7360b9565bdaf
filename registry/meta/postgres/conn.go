package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// lockTimeout is PostgreSQL's code of a statement that waited too long for another transaction.
const lockTimeout = "55P03"

var errEnded = errors.New("the transaction has ended")

// A session is a transaction for the time in which it may be used; then c is nil.
//
// A caller's context is asked before each statement and not during one: the driver ends an interrupted statement with its
// connection, and with that the updates of others in the same commit.
type session struct{ c meta.Querier }

// ExecContext implements [meta.Querier].
func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	return s.c.ExecContext(ctx, query, args...)
}

// QueryContext implements [meta.Querier].
func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	// Rows are read after this returns, so their time is the server's.
	return s.c.QueryContext(context.Background(), query, args...)
}

func (s *session) usable(ctx context.Context) error {
	if s.c == nil {
		return errEnded
	}
	return ctx.Err()
}

// Err implements [meta.Dialect].
func (dialect) Err(err error) error {
	if err == nil || errors.Is(err, meta.ErrFull) || errors.Is(err, meta.ErrUnavailable) {
		return err
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case e.Code == "53100": // disk_full
			return fmt.Errorf("%w: %w", meta.ErrFull, err)
		case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "57"), // connections, resources, shutdown, timeouts
			e.Code == lockTimeout, e.Code == "25P03", e.Code == "25006", e.Code == "40001": // lock_timeout, idle, a standby, a snapshot that a standby lost
			return fmt.Errorf("%w: %w", meta.ErrUnavailable, err)
		}
		return err
	}
	var network net.Error
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || errors.As(err, &network) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) || // it was not sent
		slices.ContainsFunc([]error{driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF}, func(e error) bool { return errors.Is(err, e) }) {
		return fmt.Errorf("%w: %w", meta.ErrUnavailable, err)
	}
	return err
}

// diagnose says which database an error is about.
func (s *store) diagnose(err error) error {
	if err = (dialect{}).Err(err); errors.Is(err, meta.ErrUnavailable) {
		return fmt.Errorf("%s: %w", s.address, err)
	}
	return err
}

// refused is what a server says that answers, to whoever names its address.
func (s *store) refused(err error) error {
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	if said.Code == "42P07" { // duplicate_table: tables are made where none is of a registry
		e := diag.New(diag.Misuse, "other_database", "the database %s holds tables of something else: %s", s.address, said.Message).Hint("name a database without tables")
		e.Err = err
		return e
	}
	hint := map[string]string{
		"3D000": "create it, or name one that is there",                      // invalid_catalog_name
		"28P01": "is that the user and the password that its address names?", // invalid_password
		"28000": "is that the user and the password that its address names?", // invalid_authorization_specification
		"42501": "the user of its address has to be its owner",               // insufficient_privilege
	}[said.Code]
	if hint == "" {
		return fmt.Errorf("the database %s: %w", s.address, err)
	}
	e := diag.New(diag.Failed, "unavailable", "the database %s is not available: %s", s.address, said.Message).Hint("%s", hint)
	e.Err = err
	return e
}

// unopened is an error of opening the database, to whoever names its address.
func (s *store) unopened(err error) error {
	if err = (dialect{}).Err(err); !errors.Is(err, meta.ErrUnavailable) {
		return s.refused(err)
	}
	why := err.Error()
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok { // a line for each way that was tried, often the same
		lines := strings.Split(connect.Error(), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		why = strings.Join(slices.Compact(lines[min(1, len(lines)-1):]), "; ")
	}
	e := diag.New(diag.Failed, "unavailable", "the database %s is not available: %s", s.address, why)
	if waited, ok := errors.AsType[*pgconn.PgError](err); ok && waited.Code == lockTimeout {
		e.Hint("something reads or changes it for long, as a backup does; try again when that has ended")
	} else {
		e.Hint("does it run, and is it at the address that --db, SKL_DB or [db] names?")
	}
	e.Err, e.Retryable = err, true
	return e
}
