// Package store keeps what an index knows of files: their stamps, outlines, terms and trigrams, in SQLite.
//
//   - No text is kept: the files are the text. Terms are those of index/rank, in a contentless FTS5 table whose rowid
//     names a piece (see [Row]); an outline and the references of a file are one blob each.
//   - What a file holds never changes under its number: a file that is indexed again gets a new one. So what was read
//     under a number can be kept.
//   - A View is one state of the index. Readers never wait for the writer, and several processes may use one store.
//   - A store that is damaged, or of another format, is emptied and built anew; it is a cache.
//   - Writes are lost by a power failure at worst, never half done.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/skl-project/skl/install/durable"
)

// Format is the number of the format, of which the terms of index/rank and the nodes of index/chunk are a part. A store of another
// format is built anew.
const Format = 1

// applicationID marks our databases for file(1): "skli".
const applicationID = 0x736b6c69

const fileName = "index.db"

const schema = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, facts BLOB NOT NULL);
CREATE TABLE outlines (id INTEGER PRIMARY KEY, outline BLOB NOT NULL, refs BLOB NOT NULL);
CREATE TABLE grams (id INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE VIRTUAL TABLE terms USING fts5(t, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(terms, row);
`

// A Store is the index of one root. It may be used concurrently.
type Store struct {
	dir     string
	readers *sql.DB
	writer  *sql.DB // one connection

	write chan struct{} // of one place, taken by who writes

	mu    sync.Mutex
	state *state // of the newest generation that was seen

	outlines outlines
}

// Open opens the store in dir, which is made if it does not exist.
func Open(ctx context.Context, dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s, err := open(ctx, dir)
	if err == nil || !rebuildable(err) {
		return s, err
	}
	unlock, err := durable.Lock(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s, err := open(ctx, dir); err == nil || !rebuildable(err) { // another process was faster
		return s, err
	}
	if err := remove(dir); err != nil {
		return nil, err
	}
	return open(ctx, dir)
}

// Drop removes the store in dir. Another process that has it open goes on with what it has.
func Drop(ctx context.Context, dir string) error {
	unlock, err := durable.Lock(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer unlock()
	return remove(dir)
}

func remove(dir string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(filepath.Join(dir, fileName+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

var errFormat = errors.New("the index has another format")

// rebuildable says whether an error means that the file is of no use.
func rebuildable(err error) bool {
	if errors.Is(err, errFormat) {
		return true
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// IsDamaged says whether an error of a method means that the store must be dropped and opened anew.
func IsDamaged(err error) bool { return rebuildable(err) }

func open(ctx context.Context, dir string) (*Store, error) {
	s := &Store{dir: dir, write: make(chan struct{}, 1)}
	var err error
	if s.writer, err = s.connect(1, "immediate", "cache_size(-16384)"); err != nil {
		return nil, err
	}
	if err = s.prepare(ctx); err == nil {
		s.readers, err = s.connect(max(4, runtime.GOMAXPROCS(0)), "deferred", "query_only(1)", "cache_size(-8192)")
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("opening the index in %s: %w", dir, err)
	}
	return s, nil
}

// connect opens the database with at most n connections, whose transactions begin with the given lock. What is locked by another process is
// waited for 100 ms.
func (s *Store) connect(n int, lock string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_txlock": {lock}, "_pragma": append([]string{"busy_timeout(100)", "page_size(8192)", "journal_mode(WAL)", "synchronous(NORMAL)",
		"journal_size_limit(67108864)", "temp_store(MEMORY)"}, pragmas...)}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(filepath.Join(s.dir, fileName))}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// prepare makes the tables in a new database, and refuses one of another format.
func (s *Store) prepare(ctx context.Context) error {
	var format, tables int
	if err := s.writer.QueryRowContext(ctx, "PRAGMA user_version").Scan(&format); err != nil {
		return err
	}
	if format == Format {
		return nil
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := tx.QueryRow("SELECT (SELECT user_version FROM pragma_user_version), count(*) FROM sqlite_schema").Scan(&format, &tables); err != nil {
		return err
	}
	switch {
	case format == Format: // another process made it meanwhile
		return nil
	case format != 0 || tables != 0:
		return errFormat
	}
	var epoch [4]byte
	if _, err := rand.Read(epoch[:]); err != nil {
		return err
	}
	generation := uint64(binary.LittleEndian.Uint32(epoch[:])>>11) << 32 // below 2^53, so that every reader of JSON keeps it
	for _, statement := range []string{schema,
		"INSERT INTO meta VALUES ('generation', " + strconv.FormatUint(generation, 10) + "), ('next', 1)",
		"PRAGMA application_id = " + strconv.Itoa(applicationID), "PRAGMA user_version = " + strconv.Itoa(Format)} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// begin starts a transaction that writes. It waits for that of another process until ctx ends.
func (s *Store) begin(ctx context.Context) (*sql.Tx, error) {
	for {
		tx, err := s.writer.BeginTx(context.WithoutCancel(ctx), nil) // BEGIN IMMEDIATE
		if err == nil || !isBusy(err) {
			return tx, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// Close closes the store. Views must be closed before.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Dir returns the directory that the store is in.
func (s *Store) Dir() string { return s.dir }

// Size returns the bytes on disk.
func (s *Store) Size() int64 {
	var n int64
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(filepath.Join(s.dir, fileName+suffix)); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Lock keeps other processes from building the same index at the same time. They may read and write it all the same.
func (s *Store) Lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	return durable.Lock(ctx, s.dir, waiting)
}
