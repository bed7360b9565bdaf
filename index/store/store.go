// Package store keeps what an index knows of files: their stamps, outlines, terms and trigrams, in SQLite.
//
//   - No text is kept: the files are the text. Terms are those of index/rank, in a contentless FTS5 table whose rowid
//     names a piece (see [Row]); an outline and the references of a file are one blob each.
//   - The content under a file's number never changes: a file that is indexed again gets a new one. So content that was
//     read under a number can be kept.
//   - A View is one state of the index. Readers never wait for the writer, and several processes may use one store.
//   - A store that is damaged, or of another format, is emptied and built anew; it is a cache. Damage is noticed by the checks
//     of SQLite, by checksums of blobs, and by rows that name no piece.
//   - Each database has a name of its own (index-<number>.db, the highest counts): SQLite deletes the log of a database by its name when it
//     is closed, which must not be that of one that took its place.
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/internal/bounded"
	"github.com/skl-project/skl/install/durable"
)

// Format is the number of the format, of which the terms of index/rank and the nodes of index/chunk are a part. A store of another
// format is built anew.
const Format = 6 // 6: with definitions of R

// applicationID marks our databases for file(1): "skli".
const applicationID = 0x736b6c69

// Names in the directory of a store.
const (
	namePrefix = "index-"
	nameSuffix = ".db"
	lockName   = "lock" // a directory whose lock is held while databases are made and dropped
)

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
	name    string // of the database, in dir
	readers *sql.DB
	writer  *sql.DB // one connection

	write chan struct{} // of one place, taken by who writes
	bulk  atomic.Bool   // between Bulk on and Bulk off

	mu    sync.Mutex
	state *state // of the newest generation that was seen

	// Of files that were read lately, by their numbers; they are the same in every generation.
	outlines *bounded.Map[int64, *chunk.Outline]
	refs     *bounded.Map[int64, []byte] // as they are stored
}

// Open opens the store in dir, which is made if it does not exist.
func Open(ctx context.Context, dir string) (*Store, error) {
	if err := durable.Narrow(dir); err != nil {
		return nil, err
	}
	if err := durable.MkdirPrivate(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		name, err := newest(dir)
		if name == "" && err == nil {
			name, err = create(ctx, dir)
		}
		if err != nil {
			return nil, err
		}
		s, err := open(ctx, dir, name)
		if err == nil || !IsDamaged(err) || attempt == 5 {
			return s, err
		}
		if err := drop(ctx, dir, name); err != nil {
			return nil, err
		}
	}
}

// newest returns the name of the database that counts, "" if there is none.
func newest(dir string) (string, error) {
	list, err := databases(dir)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[len(list)-1], nil
}

// databases returns the names of all databases in dir, the oldest first. Their numbers have 16 digits, so names sort as they do.
func databases(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), namePrefix)
		if number, ok2 := strings.CutSuffix(number, nameSuffix); ok && ok2 && len(number) == 16 {
			list = append(list, e.Name())
		}
	}
	return list, nil
}

// create makes an empty database if there is none, and returns the name of the one that counts.
func create(ctx context.Context, dir string) (string, error) {
	unlock, err := durable.Lock(ctx, filepath.Join(dir, lockName), nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	name, err := newest(dir)
	if err != nil || name != "" { // another process was faster
		return name, err
	}
	name = fmt.Sprintf("%s%016x%s", namePrefix, time.Now().UnixNano(), nameSuffix)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	return name, f.Close()
}

// drop removes the database of this name and older ones, all if name is "".
func drop(ctx context.Context, dir, name string) error {
	unlock, err := durable.Lock(ctx, filepath.Join(dir, lockName), nil)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := databases(dir)
	if err != nil {
		return err
	}
	for _, n := range list {
		if name != "" && n > name {
			continue
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(filepath.Join(dir, n+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Drop removes the store in dir. Another process that has it open goes on with what it has.
func Drop(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, lockName)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return drop(ctx, dir, "")
}

// Drop removes what s has on disk, and nothing that took its place meanwhile. s must be closed.
func (s *Store) Drop(ctx context.Context) error { return drop(ctx, s.dir, s.name) }

var (
	errFormat = errors.New("the index has another format")
	errGone   = errors.New("the index was removed")
)

// IsDamaged says whether an error of a method means that the store must be dropped and opened anew.
func IsDamaged(err error) bool {
	if errors.Is(err, errFormat) || errors.Is(err, errGone) {
		return true
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT,
		// The statements here are always the same, so what is wrong is the schema or an index.
		sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH:
		return true
	}
	return false
}

func open(ctx context.Context, dir, name string) (*Store, error) {
	s := &Store{dir: dir, name: name, write: make(chan struct{}, 1),
		outlines: bounded.New[int64, *chunk.Outline](maxKeptOutlines), refs: bounded.New[int64, []byte](maxKeptRefs)}
	var err error
	if s.writer, err = s.connect(1, "immediate", "cache_size(-8192)"); err != nil {
		return nil, err
	}
	if err = s.prepare(ctx); err == nil {
		s.readers, err = s.connect(max(4, runtime.GOMAXPROCS(0)), "deferred", "query_only(1)", "cache_size(-8192)")
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("opening the index in %s: %w", dir, s.explain(err))
	}
	return s, nil
}

// path returns where the database is.
func (s *Store) path() string { return filepath.Join(s.dir, s.name) }

// explain says of an error whether it is because the file is not there any more.
func (s *Store) explain(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_CANTOPEN {
		if _, statErr := os.Lstat(s.path()); errors.Is(statErr, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", errGone, err)
		}
	}
	return err
}

// connect opens the database with at most n connections, whose transactions begin with the given lock. What is locked by another process is
// waited for 100 ms.
func (s *Store) connect(n int, lock string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"mode": {"rw"}, "_txlock": {lock}, "_pragma": append([]string{"busy_timeout(100)", "journal_mode(WAL)", "synchronous(NORMAL)",
		"journal_size_limit(67108864)", "temp_store(MEMORY)"}, pragmas...)}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(s.path())}).EscapedPath(), RawQuery: q.Encode()}
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
	for {
		// With a process that is just closing it, or was killed, the database may be locked for a moment.
		err := s.writer.QueryRowContext(ctx, "PRAGMA user_version").Scan(&format)
		if err == nil {
			break
		}
		if !isBusy(err) || ctx.Err() != nil {
			return err
		}
	}
	if format == Format {
		return s.endBulk(ctx)
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
		"INSERT INTO terms(terms, rank) VALUES ('crisismerge', 500)", // which would stop one change for the seconds that merging all takes
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
		if info, err := os.Stat(s.path() + suffix); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Lock keeps other processes from building the same index at the same time. They may read and write it all the same.
func (s *Store) Lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	return durable.Lock(ctx, s.dir, waiting)
}
