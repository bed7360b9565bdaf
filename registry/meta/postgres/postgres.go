// Package postgres keeps a registry's metadata in PostgreSQL, for registries that run as several replicas.
//
//   - An acknowledged Update is durable as the server's synchronous_commit makes it.
//   - Updates of all replicas are one after the other, under an advisory lock of the schema. Those of a replica that wait share one
//     commit, so no more replicas wait for the lock than there are.
//   - A View is a transaction in REPEATABLE READ, which does not write.
//   - A replica that stops within an update loses it after idleTime, so that the others go on.
//   - A server that cannot be reached, that refuses, or that does not answer in time is [meta.ErrUnavailable].
//
// Text compares by bytes, as it does in SQLite.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/batch"
	"github.com/skl-project/skl/registry/meta/search"
	"github.com/skl-project/skl/spec/diag"
)

// Times after which something is given up.
const (
	idleTime      = 3 * time.Second  // between two statements of an update
	lockTime      = 10 * time.Second // waiting for other replicas
	statementTime = 20 * time.Second // one statement, on the server
	answerTime    = 25 * time.Second // one statement, here: when the server is out of reach
	connectTime   = 5 * time.Second
	schemaTime    = 2 * time.Second // a change of the schema, waiting for what reads a table
)

// schemaTries is how often a change of the schema waits, with as much time for others in between.
const schemaTries = 5

// Options of a store. The zero value is right for a server.
type Options struct {
	Readers   int                     // connections for View at one time; 0 means twice the processors, 4 to 16
	Pooler    bool                    // the address is that of a pooler, which gives each transaction any connection: nothing is kept in one
	Upgrading func(meta.Schema) error // told of an older schema as [meta.Migrate] says; nil for nobody
	Mover     bool                    // updates go on while the database is frozen, for the program that moves its data
}

type store struct {
	address string // without password
	readers *sql.DB
	writers *sql.DB // one connection
	updates *batch.Writer
	closing chan struct{} // closed by Close
	// connections counts those that updates went through, one after the other, and the servers behind those to a pooler.
	connections atomic.Int64
	once        sync.Once
	cache       search.Cache
	closed      error
}

// Open opens the store in the schema that address names, the first of its search path, and brings that up to date. The address is
// one that libpq reads, "postgres://user:password@host/database?…"; environment variables such as PGPASSWORD and
// PGSSLROOTCERT are heeded. A newer schema is refused with code newer_database.
func Open(ctx context.Context, address string, o Options) (*store, error) {
	config, err := parse(address)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTime)
	config.DialFunc = (&net.Dialer{Timeout: connectTime, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}).DialContext
	if config.ValidateConnect == nil { // of many servers the one that takes updates: what it says is never taken back
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	config.RuntimeParams["application_name"] = cmp.Or(config.RuntimeParams["application_name"], "skl")
	if o.Pooler {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if o.Readers <= 0 {
		o.Readers = min(max(2*runtime.GOMAXPROCS(0), 4), 16)
	}
	s := &store{address: fmt.Sprintf("%s/%s", net.JoinHostPort(config.Host, fmt.Sprint(config.Port)), config.Database),
		readers: stdlib.OpenDB(*config), closing: make(chan struct{})}
	s.writers = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(context.Context, *pgx.Conn) error {
		s.connections.Add(1)
		return nil
	}))
	s.readers.SetMaxOpenConns(o.Readers)
	s.readers.SetMaxIdleConns(o.Readers)
	s.writers.SetMaxOpenConns(1)
	if err := s.migrate(ctx, o.Upgrading); err != nil {
		return nil, errors.Join(s.unopened(err), s.disconnect())
	}
	w := &writer{db: s.writers, mover: o.Mover}
	if o.Pooler {
		w.turned = func() { s.connections.Add(1) }
	}
	s.updates = batch.New(w, maxDelay)
	return s, nil
}

// CheckAddress refuses what Open would, without a connection: an address that cannot be read, or of another machine without TLS.
func CheckAddress(address string) error {
	_, err := parse(address)
	return err
}

func parse(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, diag.New(diag.Misuse, "config_invalid", "the address of the database cannot be read: %w", err).
			Hint("it looks like postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full")
	}
	if host := plainHost(config); host != "" {
		return nil, diag.New(diag.Refused, "tls_needed", "the database on %s may be spoken to without TLS: its password and all metadata would cross the network in the clear", host).
			Hint("add sslmode=verify-full to its address, and sslrootcert=FILE if its certificate is not one of the system's authorities")
	}
	return config, nil
}

// plainHost is a host, other than this machine, that may be spoken to in the clear; "" if there is none.
func plainHost(config *pgx.ConnConfig) string {
	hosts := []*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}
	for _, f := range append(hosts, config.Fallbacks...) {
		if f.TLSConfig == nil && !strings.HasPrefix(f.Host, "/") && !origin.Loopback(f.Host) { // a path is that of a socket
			return f.Host
		}
	}
	return ""
}

func (s *store) migrate(ctx context.Context, upgrading func(meta.Schema) error) error {
	w := &writer{db: s.writers, mover: true} // there may be no settings yet
	tell, told := upgrading, false
	if upgrading != nil {
		tell = func(have meta.Schema) error {
			if told { // by an earlier try, and it was not refused
				return nil
			}
			err := upgrading(have)
			told = err == nil
			return err
		}
	}
	for try := 1; ; try++ {
		if err := w.Begin(); err != nil {
			return err
		}
		// A long read, as that of a backup, keeps a table from a change, and that keeps all others from it.
		err := w.run(fmt.Sprintf("SET LOCAL lock_timeout = %d", schemaTime.Milliseconds()))
		if err == nil {
			err = meta.Migrate(ctx, &session{c: w.c}, dialect{}, 0, tell)
		}
		if err == nil {
			return w.Commit()
		}
		err = errors.Join(err, w.Rollback())
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != lockTimeout || try == schemaTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(schemaTime):
		}
	}
}

// View implements [meta.Store]. A View within a View takes one more of the readers.
func (s *store) View(ctx context.Context, fn func(*meta.Tx) error) (err error) {
	c, err := s.reader(ctx)
	if err != nil {
		return err
	}
	defer c.Close() // gives it back, or closes what does not work any more
	t, err := c.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return s.diagnose(err)
	}
	session := &session{c: t}
	defer func() {
		// Also when fn panics. There is nothing to commit.
		session.c = nil
		if e := t.Commit(); err == nil && e != nil {
			err = s.diagnose(e)
		}
	}()
	return s.diagnose(fn(meta.NewTx(session, dialect{&s.cache})))
}

// Read implements [meta.Store].
func (s *store) Read(ctx context.Context, fn func(*meta.Tx) error) error {
	c, err := s.reader(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	session := &session{c: c}
	defer func() { session.c = nil }() // also when fn panics
	return s.diagnose(fn(meta.NewTx(session, dialect{&s.cache})))
}

// reader is a connection for reading. The caller closes it.
func (s *store) reader(ctx context.Context) (*sql.Conn, error) {
	select {
	case <-s.closing:
		return nil, batch.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := s.readers.Conn(ctx)
	return c, s.diagnose(err)
}

// Close waits for updates and views that run, and closes the connections. Later calls do nothing.
func (s *store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		s.updates.Close()
		s.closed = s.disconnect()
	})
	return s.closed
}

// Connections counts the connections that updates went through, one after the other, and the servers that a pooler had behind them. Behind a new one
// may be another server, with less.
func (s *store) Connections() int64 { return s.connections.Load() }

func (s *store) disconnect() error { return errors.Join(s.readers.Close(), s.writers.Close()) }
