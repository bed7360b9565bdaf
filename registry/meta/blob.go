package meta

import (
	"context"
	"time"
)

// LinkBlob notes that repo holds a blob, which is durable in the blob store, since the time at.
// It also refreshes the time of an existing link.
func (tx *Tx) LinkBlob(ctx context.Context, repo, digest string, size int64, at time.Time) error {
	if _, err := tx.exec(ctx, `INSERT INTO blobs (digest, size, loose) VALUES ($1, $2, 0) ON CONFLICT (digest) DO UPDATE SET loose = 0 WHERE blobs.loose <> 0`, digest, size); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `INSERT INTO links (repo, digest, linked, used)
		VALUES ($1, $2, $3, (SELECT count(*) FROM (SELECT 1 FROM edges WHERE repo = $1 AND target = $2 AND kind = 'blob' LIMIT 1) AS e))
		ON CONFLICT (repo, digest) DO UPDATE SET linked = excluded.linked`, repo, digest, micros(at))
	return err
}

// Blob returns the size in bytes of a blob that repo holds, and when it was linked last.
func (tx *Tx) Blob(ctx context.Context, repo, digest string) (size int64, linked time.Time, err error) {
	type blob struct {
		size   int64
		linked time.Time
	}
	b, err := one(ctx, tx, func(r row) (b blob, err error) {
		err = r.Scan(&b.size, stamp{&b.linked})
		return b, err
	}, `SELECT b.size, l.linked FROM links l JOIN blobs b ON b.digest = l.digest WHERE l.repo = $1 AND l.digest = $2`, repo, digest)
	return b.size, b.linked, err
}

// BlobLinks lists the repositories that hold a blob.
func (tx *Tx) BlobLinks(ctx context.Context, digest string, limit int) (repos []string, err error) {
	return list(ctx, tx, column[string], `SELECT repo FROM links WHERE digest = $1 ORDER BY repo LIMIT $2`, digest, bound(limit))
}

// BlobServed returns the size of a blob that repo holds and the best state among the manifests of repo that
// name it: approved, deprecated, yanked, draft, quarantined, blocked. ErrNotFound if none does.
func (tx *Tx) BlobServed(ctx context.Context, repo, digest string) (size int64, state State, err error) {
	type served struct {
		size  int64
		state State
	}
	s, err := one(ctx, tx, func(r row) (s served, err error) {
		err = r.Scan(&s.size, &s.state)
		return s, err
	}, `SELECT b.size, m.state FROM links l
		JOIN blobs b ON b.digest = l.digest
		JOIN edges e ON e.repo = l.repo AND e.target = l.digest AND e.kind = 'blob'
		JOIN manifests m ON m.repo = e.repo AND m.digest = e.manifest
		WHERE l.repo = $1 AND l.digest = $2
		ORDER BY CASE m.state WHEN 'approved' THEN 0 WHEN 'deprecated' THEN 1 WHEN 'yanked' THEN 2 WHEN 'draft' THEN 3 WHEN 'quarantined' THEN 4 ELSE 5 END
		LIMIT 1`, repo, digest)
	return s.size, s.state, err
}

// UnlinkBlob removes a blob from repo. ErrNotFound if repo does not hold it.
func (tx *Tx) UnlinkBlob(ctx context.Context, repo, digest string) error {
	if err := tx.change(ctx, `DELETE FROM links WHERE repo = $1 AND digest = $2`, repo, digest); err != nil {
		return err
	}
	return tx.loosen(ctx, digest)
}

// loosen proposes a blob for removal if no repository holds it any more.
func (tx *Tx) loosen(ctx context.Context, digest string) error {
	_, err := tx.exec(ctx, `UPDATE blobs SET loose = 1 WHERE digest = $1 AND NOT EXISTS (SELECT 1 FROM links l WHERE l.digest = $1)`, digest)
	return err
}

func scanUpload(r row) (u Upload, err error) {
	err = r.Scan(&u.ID, &u.Repo, &u.Offset, &u.State, stamp{&u.Updated})
	u.State = orNil(u.State)
	return u, err
}

// Upload returns an open upload session.
//
//go:noinline
func (tx *Tx) Upload(ctx context.Context, id string) (Upload, error) {
	return one(ctx, tx, scanUpload, `SELECT id, repo, length, state, updated FROM uploads WHERE id = $1`, id)
}

// PutUpload adds an upload session, or replaces the one of that id.
func (tx *Tx) PutUpload(ctx context.Context, u Upload) error {
	_, err := tx.exec(ctx, `INSERT INTO uploads (id, repo, length, state, updated) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET repo = excluded.repo, length = excluded.length, state = excluded.state, updated = excluded.updated`,
		u.ID, u.Repo, u.Offset, notNil(u.State), micros(u.Updated))
	return err
}

// DeleteUpload ends an upload session. It is no error if there is none.
//
//go:noinline
func (tx *Tx) DeleteUpload(ctx context.Context, id string) error {
	_, err := tx.exec(ctx, `DELETE FROM uploads WHERE id = $1`, id)
	return err
}

// DropStaleUploads ends sessions last updated before that time, oldest first, and returns how many.
func (tx *Tx) DropStaleUploads(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.exec(ctx, `DELETE FROM uploads WHERE id IN (SELECT id FROM uploads WHERE updated < $1 ORDER BY updated, id LIMIT $2)`, micros(before), bound(limit))
}
