// Package sqlite keeps a registry's metadata in one SQLite file, with no cgo.
//
//   - An acknowledged Update is durable, also over a power loss: the log is synced at every
//     commit. Updates that wait for each other share one commit, so that many clients
//     do not wait for as many syncs.
//   - There is one writer, and a few connections for readers, which see the state of the last commit
//     and wait for nobody.
//   - Several processes may use one file; not over a network file system.
//   - The file is readable by its owner alone. It holds no secrets but digests of tokens.
//   - Memory is bounded: the page caches hold 8 MiB for the writer and 2 MiB for each reader; searches keep
//     8 bytes for each skill, what changed lately, and 32 MiB.
//
// A full disk is [meta.ErrFull]: nothing of the update happened, reading goes on, and
// updates work again when there is space.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"modernc.org/sqlite"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/batch"
	"github.com/skl-project/skl/registry/meta/search"
	"github.com/skl-project/skl/spec/diag"
)

// Options of a store. The zero value is right for a server.
type Options struct {
	Readers   int                     // connections for View at one time; 0 means twice the processors, 2 to 8
	MaxBytes  int64                   // how large the file may become; beyond it updates are meta.ErrFull. 0 means no limit
	Upgrading func(meta.Schema) error // told of an older schema as [meta.Migrate] says; nil for nobody
	Schema    int                     // version of that of a new file; 0 is the newest
	Mover     bool                    // updates go on while the database is frozen, for the program that moves its data
}

type store struct {
	path    string
	options Options
	db      *sql.DB
	free    chan *conn // readers that are not in use
	updates *batch.Writer
	closing chan struct{} // closed by Close
	once    sync.Once
	writer  *conn        // belongs to updates
	cache   search.Cache // of searches
	closed  error
}

// Open opens the store in the file path, creates it if there is none, and brings its schema
// up to date. A file of a newer schema is refused with code newer_database.
func Open(ctx context.Context, path string, o Options) (_ *store, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	// The database's other files get the mode of this one. One that is there is not opened: when a process
	// closes a file, it loses the locks of all its connections to it.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	if o.Readers <= 0 {
		o.Readers = min(max(2*runtime.GOMAXPROCS(0), 2), 8)
	}
	db, err := connect(path, false)
	if err != nil {
		return nil, err
	}
	s := &store{path: path, options: o, db: db, free: make(chan *conn, o.Readers), closing: make(chan struct{})}
	defer func() {
		if err != nil {
			s.disconnect()
			err = diagnose(path, err)
		}
	}()
	if s.writer, err = s.dial(ctx, "PRAGMA cache_size = -8192"); err != nil {
		return nil, err
	}
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	if o.MaxBytes > 0 {
		if err := s.limit(ctx, o.MaxBytes); err != nil {
			return nil, err
		}
	}
	for range o.Readers {
		c, err := s.dial(ctx, "PRAGMA cache_size = -2048", "PRAGMA query_only = 1")
		if err != nil {
			return nil, err
		}
		s.free <- c
	}
	s.updates = batch.New(writer{s.writer, o.Mover}, maxDelay)
	return s, nil
}

// connect prepares connections to the file path. Nothing is opened yet.
func connect(path string, readOnly bool) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	q := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)", "mmap_size(0)",
		"temp_store(MEMORY)", "journal_size_limit(16777216)", "trusted_schema(0)", "cell_size_check(1)"}}
	if readOnly {
		q = url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "temp_store(MEMORY)"}}
	}
	u := url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}
	c, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// dial opens a connection of our own, and prepares it with statements.
func (s *store) dial(ctx context.Context, statements ...string) (*conn, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range statements {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return &conn{sql: c, prepared: map[string]*sql.Stmt{}}, nil
}

func (s *store) migrate(ctx context.Context) error {
	if err := s.writer.run(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	// Statements of the schema are used once; they are not kept.
	if err := meta.Migrate(ctx, s.writer.sql, dialect{}, s.options.Schema, s.options.Upgrading); err != nil {
		return errors.Join(err, s.writer.run(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return s.writer.run(ctx, "COMMIT")
}

// limit bounds the size of the file.
func (s *store) limit(ctx context.Context, size int64) error {
	var page int64
	if err := s.writer.sql.QueryRowContext(ctx, "PRAGMA page_size").Scan(&page); err != nil {
		return err
	}
	_, err := s.writer.sql.ExecContext(ctx, "PRAGMA max_page_count = "+strconv.FormatInt(max(size/page, 1), 10))
	return err
}

// Read implements [meta.Store].
func (s *store) Read(ctx context.Context, fn func(*meta.Tx) error) error { return s.View(ctx, fn) }

// View implements [meta.Store]. A View within a View takes one more of the readers.
func (s *store) View(ctx context.Context, fn func(*meta.Tx) error) (err error) {
	var c *conn
	select {
	case <-s.closing:
		return batch.ErrClosed
	default:
	}
	select {
	case c = <-s.free:
	default:
		select {
		case c = <-s.free:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return batch.ErrClosed
		}
	}
	defer func() { s.free <- c }()
	if err := c.run(ctx, "BEGIN"); err != nil {
		return diagnose(s.path, err)
	}
	session := &session{c: c}
	defer func() {
		// Also when fn panics. There is nothing to commit.
		session.c = nil
		if e := c.run(context.WithoutCancel(ctx), "COMMIT"); err == nil && e != nil {
			err = diagnose(s.path, e)
		}
	}()
	return diagnose(s.path, fn(meta.NewTx(session, dialect{&s.cache})))
}

// Backup implements [meta.Store]. The copy appears under its name when it is whole and durable.
func (s *store) Backup(ctx context.Context, dst string) (err error) {
	if _, err := os.Lstat(dst); err == nil {
		return fmt.Errorf("backup to %s: %w", dst, fs.ErrExist)
	}
	db, err := connect(s.path, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	// The directory that a crash leaves behind has a name that says what it is.
	dir, err := os.MkdirTemp(filepath.Dir(dst), ".backup-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	copied := filepath.Join(dir, "meta.db")
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", copied); err != nil {
		return diagnose(s.path, fmt.Errorf("backup to %s: %w", dst, err))
	}
	if err := os.Chmod(copied, 0o600); err != nil {
		return err
	}
	if err := syncFile(copied); err != nil {
		return err
	}
	// A link does not replace what appeared meanwhile.
	if err := os.Link(copied, dst); errors.Is(err, fs.ErrExist) {
		return err
	} else if err != nil {
		if err := os.Rename(copied, dst); err != nil {
			return err
		}
	}
	return durable.SyncDir(filepath.Dir(dst))
}

// syncFile makes the content of a file durable.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Size implements [meta.Store].
func (s *store) Size(context.Context) (int64, error) {
	total := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(s.path + suffix)
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// Check implements [meta.Store]. Its error is of code corrupt and names the first findings.
func (s *store) Check(ctx context.Context) (err error) {
	// Pages that others have in memory would hide what is on the disk, so it uses a connection of its own.
	db, err := connect(s.path, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "PRAGMA integrity_check(10)")
	if err != nil {
		return diagnose(s.path, err)
	}
	defer rows.Close()
	var findings []string
	for rows.Next() {
		var finding string
		if err := rows.Scan(&finding); err != nil {
			return diagnose(s.path, err)
		}
		if finding != "ok" {
			findings = append(findings, diag.Printable(finding))
		}
	}
	if err := rows.Err(); err != nil {
		return diagnose(s.path, err)
	}
	if len(findings) > 0 {
		return damaged(s.path, "%s is damaged: %s", s.path, strings.Join(findings, "; "))
	}
	return nil
}

// Close waits for updates and views that run, and closes the file. Later calls do nothing.
func (s *store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		s.updates.Close()
		s.closed = s.disconnect()
	})
	return s.closed
}

func (s *store) disconnect() error {
	var errs []error
	select {
	case <-s.closing:
		// View gives back each connection that it took.
		for range s.options.Readers {
			c := <-s.free
			errs = append(errs, c.close())
		}
	default: // Open did not succeed
		for range len(s.free) {
			errs = append(errs, (<-s.free).close())
		}
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}
