package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"modernc.org/sqlite"

	"github.com/skl-project/skl/index/files"
)

// A Change is what becomes of the store at once.
type Change struct {
	Put    []Record // files that are new or have new content; ID is ignored
	Remove []string // paths
	Touch  []File   // files whose content is the same: Stamp and Read are kept
}

// Apply carries out c in one transaction and returns the new generation. A change that only touches files keeps
// the generation.
func (s *Store) Apply(ctx context.Context, c Change) (generation uint64, err error) {
	b, err := s.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer b.Rollback()
	for _, p := range c.Remove {
		if err := b.Remove(p); err != nil {
			return 0, err
		}
	}
	for i := range c.Put {
		if err := b.Put(&c.Put[i]); err != nil {
			return 0, err
		}
	}
	for i := range c.Touch {
		if err := b.Touch(c.Touch[i]); err != nil {
			return 0, err
		}
	}
	return b.Commit()
}

// A Batch is a change that is made step by step. Others that write wait until its Commit or Rollback. It is for one goroutine.
type Batch struct {
	s          *Store
	tx         *sql.Tx
	prepared   map[string]*sql.Stmt
	generation uint64
	next       int64
	fresh      bool // the store has no file, so that none need be removed
	gone       []string
	put        []File
	touched    []File
	ended      bool
	err        error // the first
}

// Begin starts a Batch. It waits for others, of other processes too, until ctx ends.
func (s *Store) Begin(ctx context.Context) (*Batch, error) {
	select {
	case s.write <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b := &Batch{s: s, prepared: make(map[string]*sql.Stmt)}
	err := b.begin(ctx)
	if err != nil {
		b.Rollback()
		return nil, err
	}
	return b, nil
}

func (b *Batch) begin(ctx context.Context) (err error) {
	if b.tx, err = b.s.begin(ctx); err != nil {
		return err
	}
	if b.generation, err = metaNumber(b.tx, "generation"); err != nil {
		return err
	}
	next, err := metaNumber(b.tx, "next")
	if err != nil {
		return err
	}
	b.next = int64(next)
	var some bool
	err = b.tx.QueryRow("SELECT EXISTS (SELECT 1 FROM files)").Scan(&some)
	b.fresh = !some
	return err
}

// Rollback gives up the batch, if it has not ended.
func (b *Batch) Rollback() {
	if b == nil || b.ended {
		return
	}
	b.ended = true
	if b.tx != nil {
		b.tx.Rollback()
	}
	<-b.s.write
}

// With one of mergeEvery changes, mergePages of what earlier ones left behind are merged, until all is: more at once, more seldom, would be
// felt. FTS5 does the like by itself, but by the size of changes: many small ones would leave a part each.
const (
	mergeEvery = 4
	mergePages = 64
)

// Commit makes the batch visible.
func (b *Batch) Commit() (generation uint64, err error) {
	before := b.generation
	if len(b.gone)+len(b.put) > 0 {
		b.generation++
	}
	b.exec("UPDATE meta SET value = ? WHERE key = 'generation'", int64(b.generation))
	b.exec("UPDATE meta SET value = ? WHERE key = 'next'", b.next)
	if len(b.put) > 0 && b.generation%mergeEvery == 0 && !b.s.bulk.Load() {
		b.exec("INSERT INTO terms(terms, rank) VALUES ('merge', ?)", mergePages)
	}
	if b.err != nil {
		return 0, b.err
	}
	if err := b.tx.Commit(); err != nil {
		return 0, err
	}
	b.s.advance(before, b.generation, b.gone, b.put, b.touched)
	b.ended = true
	<-b.s.write
	return b.generation, nil
}

// Bulk makes the store ready for many files (on), or for the few of a change. A process that is killed in between leaves it to
// the next one that opens the store to do that.
func (s *Store) Bulk(ctx context.Context, on bool) error {
	settings := []string{"('hashsize', 1048576)", "('automerge', 4)"}
	// Parts of 4 MiB are made from tables that a cache of the processor still helps with; twenty of them are searched about as fast as one,
	// and merging them costs a tenth of the whole: changes do that bit by bit.
	if on {
		settings = []string{"('hashsize', 4194304)", "('automerge', 0)"}
	}
	err := s.command(ctx, "(terms, rank) VALUES "+settings[0], "(terms, rank) VALUES "+settings[1])
	if err == nil {
		s.bulk.Store(on)
	}
	return err
}

// endBulk ends what a process that was killed has begun. Another that is at it becomes slower, no more.
func (s *Store) endBulk(ctx context.Context) error {
	var automerge int
	err := s.writer.QueryRowContext(ctx, "SELECT v FROM terms_config WHERE k = 'automerge'").Scan(&automerge)
	if err == nil && automerge == 0 {
		err = s.Bulk(ctx, false)
	}
	if errors.Is(err, sql.ErrNoRows) || isBusy(err) {
		return nil
	}
	return err
}

// Merge joins what many changes left behind, so that questions are answered faster. It may take seconds.
func (s *Store) Merge(ctx context.Context) error {
	return s.command(ctx, "(terms) VALUES ('optimize')")
}

// command tells the full text index to do something.
func (s *Store) command(ctx context.Context, commands ...string) error {
	select {
	case s.write <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.write }()
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, c := range commands {
		if _, err := tx.Exec("INSERT INTO terms" + c); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Checkpoint moves what was written into the database file.
func (s *Store) Checkpoint(ctx context.Context) error {
	_, err := s.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func (b *Batch) exec(query string, args ...any) {
	if b.err != nil {
		return
	}
	p, ok := b.prepared[query]
	if !ok {
		if p, b.err = b.tx.Prepare(query); b.err != nil {
			return
		}
		b.prepared[query] = p
	}
	_, b.err = p.Exec(args...)
}

// Remove forgets a file, if there is one.
func (b *Batch) Remove(path string) error {
	if b.err != nil || b.fresh {
		return b.err
	}
	f := File{Path: path}
	var facts []byte
	switch err := b.tx.QueryRow("SELECT id, facts FROM files WHERE path = ?", path).Scan(&f.ID, &facts); {
	case err == sql.ErrNoRows:
		return nil
	case err != nil:
		return err
	}
	if err := decodeFacts(facts, &f); err != nil {
		return err
	}
	b.gone = append(b.gone, path)
	for i := range f.Pieces {
		b.exec("DELETE FROM terms WHERE rowid = ?", int64(RowOf(f.ID, i)))
	}
	for _, table := range []string{"files", "outlines", "grams"} {
		b.exec("DELETE FROM "+table+" WHERE id = ?", f.ID)
	}
	return b.err
}

// Put stores a file in the place of the one of this path, and gives it its number.
func (b *Batch) Put(r *Record) error {
	if err := b.Remove(r.Path); err != nil {
		return err
	}
	r.ID = b.next
	b.next++
	r.Pieces = len(r.Terms)
	b.put = append(b.put, r.File)
	b.exec("INSERT INTO files VALUES (?, ?, ?)", r.ID, r.Path, appendFacts(nil, &r.File))
	if r.Flags&(Binary|Large) == 0 {
		b.exec("INSERT INTO outlines VALUES (?, ?, ?)", r.ID, seal(appendOutline(nil, &r.Outline), r.Path), seal(appendReferences(nil, r.Outline.References), r.Path))
		b.exec("INSERT INTO grams VALUES (?, ?)", r.ID, seal(slices.Clone(r.Grams), r.Path))
	}
	for i, terms := range r.Terms {
		// One row per statement: at a statement of several, FTS5 writes out what it has gathered.
		b.exec("INSERT INTO terms(rowid, t) VALUES (?, ?)", int64(RowOf(r.ID, i)), terms)
	}
	return b.err
}

// Touch keeps the stamp of a file whose content is the same.
func (b *Batch) Touch(f File) error {
	b.touched = append(b.touched, f)
	b.exec("UPDATE files SET facts = ? WHERE id = ?", appendFacts(nil, &f), f.ID)
	return b.err
}

func metaNumber(tx *sql.Tx, key string) (uint64, error) {
	var n int64
	if err := tx.QueryRow("SELECT value FROM meta WHERE key = ?", key).Scan(&n); err != nil {
		return 0, fmt.Errorf("reading %s of the index: %w", key, scanned(err))
	}
	return uint64(n), nil
}

// scanned makes errBlob of an error that is none of SQLite: a value that is missing or of another type.
func scanned(err error) error {
	if _, ok := errors.AsType[*sqlite.Error](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%w: %w", errBlob, err)
}

func appendFacts(b []byte, f *File) []byte {
	for _, v := range []int64{f.Stamp.Size, f.Stamp.MTime, f.Stamp.CTime, int64(f.Stamp.Inode), int64(f.Tokens), int64(f.Pieces), int64(f.Flags), f.Read} {
		b = binary.AppendVarint(b, v)
	}
	b = append(b, f.Hash[:]...)
	b = append(b, f.Language...)
	return seal(b, f.Path)
}

func decodeFacts(b []byte, f *File) error {
	b, err := unseal(b, f.Path)
	if err != nil {
		return err
	}
	var v [8]int64
	for i := range v {
		x, n := binary.Varint(b)
		if n <= 0 {
			return errBlob
		}
		v[i], b = x, b[n:]
	}
	if len(b) < len(f.Hash) {
		return errBlob
	}
	for _, x := range v[4:7] {
		if x < 0 || x > math.MaxInt32 {
			return errBlob
		}
	}
	f.Stamp = files.Stamp{Size: v[0], MTime: v[1], CTime: v[2], Inode: uint64(v[3])}
	f.Tokens, f.Pieces, f.Flags, f.Read = int(v[4]), int(v[5]), int(v[6]), v[7]
	copy(f.Hash[:], b)
	f.Language = string(b[len(f.Hash):])
	if f.Pieces > 1<<16 {
		return errBlob
	}
	return nil
}

// seal appends a checksum of a blob and of the path that it is about: SQLite has none.
func seal(b []byte, path string) []byte {
	return binary.LittleEndian.AppendUint32(b, sum(b, path))
}

// unseal is the inverse of seal.
func unseal(b []byte, path string) ([]byte, error) {
	n := len(b) - 4
	if n < 0 || binary.LittleEndian.Uint32(b[n:]) != sum(b[:n], path) {
		return nil, errBlob
	}
	return b[:n:n], nil
}

func sum(b []byte, path string) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(b, table), table, []byte(path))
}
