package meta

import (
	"context"
	"time"
)

// An Object is where a store of objects keeps a blob. Whether a blob is there is decided by its row, and no key is used twice: so
// a deletion that comes late hits nothing that is alive.
type Object struct {
	Digest   string
	Key      string
	Size     int64       // bytes
	Modified time.Time   // when the blob was stored last
	State    ObjectState // as far as somebody looked
}

// An ObjectState says what is wrong with an object.
type ObjectState string

// The states of objects.
const (
	ObjectRight   ObjectState = ""        // or nobody saw otherwise
	ObjectDamaged ObjectState = "damaged" // its content has another digest
	ObjectLost    ObjectState = "lost"    // there is none of that key
)

func scanObject(r row) (o Object, err error) {
	err = r.Scan(&o.Digest, &o.Key, &o.Size, stamp{&o.Modified}, &o.State)
	return o, err
}

const objectColumns = `digest, object, size, modified, state`

// Object returns where a blob is.
func (tx *Tx) Object(ctx context.Context, digest string) (Object, error) {
	return one(ctx, tx, scanObject, `SELECT `+objectColumns+` FROM objects WHERE digest = $1`, digest)
}

// Objects lists the objects behind a digest, by digest.
func (tx *Tx) Objects(ctx context.Context, after string, limit int) ([]Object, error) {
	return list(ctx, tx, scanObject, `SELECT `+objectColumns+` FROM objects WHERE digest > $1 ORDER BY digest LIMIT $2`, after, bound(limit))
}

// ObjectsOf lists the objects with keys behind one, up to and with another, by key.
func (tx *Tx) ObjectsOf(ctx context.Context, after, last string, limit int) ([]Object, error) {
	return list(ctx, tx, scanObject, `SELECT `+objectColumns+` FROM objects WHERE object > $1 AND object <= $2 ORDER BY object LIMIT $3`, after, last, bound(limit))
}

// PutObject notes where a blob is, in the place of what was noted before.
func (tx *Tx) PutObject(ctx context.Context, o Object) error {
	_, err := tx.exec(ctx, `INSERT INTO objects (digest, object, size, modified, state) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (digest) DO UPDATE SET object = excluded.object, size = excluded.size, modified = excluded.modified, state = excluded.state`,
		o.Digest, o.Key, o.Size, micros(o.Modified), string(o.State))
	return err
}

// RenewObject notes that a blob was stored again, and is there under that key.
func (tx *Tx) RenewObject(ctx context.Context, digest, key string, at time.Time) error {
	return tx.change(ctx, `UPDATE objects SET modified = $3 WHERE digest = $1 AND object = $2`, digest, key, micros(at))
}

// MarkObject notes the state of an object, if its blob is still there.
func (tx *Tx) MarkObject(ctx context.Context, digest, key string, state ObjectState) error {
	return tx.change(ctx, `UPDATE objects SET state = $3 WHERE digest = $1 AND object = $2`, digest, key, string(state))
}

// DropObject forgets where a blob is.
func (tx *Tx) DropObject(ctx context.Context, digest string) error {
	return tx.change(ctx, `DELETE FROM objects WHERE digest = $1`, digest)
}

// HasObject reports whether anything is kept under a key: a blob, or a part of an upload.
func (tx *Tx) HasObject(ctx context.Context, key string) (bool, error) {
	return tx.has(ctx, `SELECT 1 FROM objects WHERE object = $1 UNION ALL SELECT 1 FROM staged WHERE object = $1 OR tail = $1`, key)
}

// A Staged is an upload to a store of objects: whole parts of a multipart upload, and what is behind them as an object.
type Staged struct {
	ID      string
	Key     string // of the object that the multipart upload makes
	Upload  string // of that, "" before the first part
	Length  int64  // bytes
	Parts   []Part
	Tail    string // key of the object with the rest, "" if there is none
	Whole   bool   // the multipart upload was completed
	Version int64  // grows with every change
	Updated time.Time
}

// A Part is of a multipart upload.
type Part struct {
	ETag string `json:"etag"`
	Size int64  `json:"size"` // bytes
}

func scanStaged(r row) (s Staged, err error) {
	var whole int64
	err = r.Scan(&s.ID, &s.Key, &s.Upload, &s.Length, decoder{&s.Parts}, &s.Tail, &whole, &s.Version, stamp{&s.Updated})
	s.Whole = whole != 0
	return s, err
}

const stagedColumns = `id, object, upload, length, parts, tail, whole, version, updated`

// Staged returns an upload.
func (tx *Tx) Staged(ctx context.Context, id string) (Staged, error) {
	return one(ctx, tx, scanStaged, `SELECT `+stagedColumns+` FROM staged WHERE id = $1`, id)
}

// AllStaged lists the uploads behind an id, by id.
func (tx *Tx) AllStaged(ctx context.Context, after string, limit int) ([]Staged, error) {
	return list(ctx, tx, scanStaged, `SELECT `+stagedColumns+` FROM staged WHERE id > $1 ORDER BY id LIMIT $2`, after, bound(limit))
}

// PutStaged adds an upload of version 1, or changes one whose version is one less. Errors: ErrExists, ErrNotFound: somebody
// else changed it.
func (tx *Tx) PutStaged(ctx context.Context, s Staged) error {
	if s.Version == 1 {
		return tx.insert(ctx, `INSERT INTO staged (id, object, upload, length, parts, tail, whole, version, updated) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8) ON CONFLICT DO NOTHING`,
			s.ID, s.Key, s.Upload, s.Length, encode(s.Parts, len(s.Parts) == 0), s.Tail, flag(s.Whole), micros(s.Updated))
	}
	return tx.change(ctx, `UPDATE staged SET object = $2, upload = $3, length = $4, parts = $5, tail = $6, whole = $7, version = $8, updated = $9 WHERE id = $1 AND version = $8 - 1`,
		s.ID, s.Key, s.Upload, s.Length, encode(s.Parts, len(s.Parts) == 0), s.Tail, flag(s.Whole), s.Version, micros(s.Updated))
}

// DropStaged forgets an upload at a version. ErrNotFound: somebody else changed it.
func (tx *Tx) DropStaged(ctx context.Context, id string, version int64) error {
	return tx.change(ctx, `DELETE FROM staged WHERE id = $1 AND version = $2`, id, version)
}
