package meta

import (
	"context"
	"time"
)

// UnlinkGarbage removes the links made or refreshed before that time whose blob no manifest of their
// repository names, oldest first, and returns how many it removed. The caller has excluded pushes.
func (tx *Tx) UnlinkGarbage(ctx context.Context, before time.Time, limit int) (int, error) {
	digests, err := list(ctx, tx, column[string], `DELETE FROM links WHERE (repo, digest) IN (SELECT l.repo, l.digest FROM links l WHERE l.used = 0 AND l.linked < $1
		AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.repo = l.repo AND e.target = l.digest AND e.kind = 'blob') ORDER BY l.linked LIMIT $2)
		RETURNING digest`, micros(before), bound(limit))
	if err != nil || len(digests) == 0 {
		return 0, err
	}
	_, err = tx.exec(ctx, `UPDATE blobs SET loose = 1 WHERE digest IN (SELECT j.value FROM `+tx.d.Texts("$1")+`)
		AND NOT EXISTS (SELECT 1 FROM links l WHERE l.digest = blobs.digest)`, encode(digests, false))
	return len(digests), err
}

// ForgetGarbage removes the rows of blobs that have no link, and that no manifest names and no release as its zip, and returns their
// digests. The caller, who has excluded pushes, deletes the bytes afterwards.
func (tx *Tx) ForgetGarbage(ctx context.Context, limit int) ([]string, error) {
	return list(ctx, tx, column[string], `DELETE FROM blobs WHERE digest IN (SELECT b.digest FROM blobs b WHERE b.loose = 1
		AND NOT EXISTS (SELECT 1 FROM links l WHERE l.digest = b.digest)
		AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.target = b.digest AND e.kind = 'blob')
		AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.zip = b.digest AND r.zip <> '')
		ORDER BY b.digest LIMIT $1) RETURNING digest`, bound(limit))
}

// KeepBlob notes a blob that no repository holds: a zip archive, which a release names.
//
//go:noinline
func (tx *Tx) KeepBlob(ctx context.Context, digest string, size int64) error {
	_, err := tx.exec(ctx, `INSERT INTO blobs (digest, size, loose) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING`, digest, size)
	return err
}

// KnownBlob reports whether a blob has a row.
//
//go:noinline
func (tx *Tx) KnownBlob(ctx context.Context, digest string) (bool, error) {
	return tx.has(ctx, `SELECT 1 FROM blobs WHERE digest = $1`, digest)
}

// A StoredBlob is what is known of the content of a digest.
type StoredBlob struct {
	Digest string
	Size   int64 // bytes
}

// StoredBlobs lists all blobs that have a row, by digest, behind after.
func (tx *Tx) StoredBlobs(ctx context.Context, after string, limit int) ([]StoredBlob, error) {
	return list(ctx, tx, func(r row) (b StoredBlob, err error) {
		err = r.Scan(&b.Digest, &b.Size)
		return b, err
	}, `SELECT digest, size FROM blobs WHERE digest > $1 ORDER BY digest LIMIT $2`, after, bound(limit))
}

// StaleDrafts lists the drafts of a namespace that may go, oldest first, without their bytes: manifests that
// stand by themselves, where neither they nor what stands and falls with them was touched since that time,
// that no index names, and that are of no release but one that is a draft itself. What belongs to a manifest that
// is not there any more is listed too.
func (tx *Tx) StaleDrafts(ctx context.Context, namespace string, before time.Time, limit int) ([]Manifest, error) {
	return list(ctx, tx, scanManifestHead, `SELECT `+manifestHead+` FROM manifests m
		WHERE m.state = 'draft' AND m.touched < $1 AND m.repo > $2 || '/' AND m.repo < $2 || '0'
		AND (m.root = m.digest OR NOT EXISTS (SELECT 1 FROM manifests o WHERE o.repo = m.repo AND o.digest = m.root))
		AND NOT EXISTS (SELECT 1 FROM manifests x WHERE x.repo = m.repo AND x.root = m.root AND x.touched >= $1)
		AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.repo = m.repo AND e.target = m.digest AND e.kind = 'manifest')
		AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.manifest IN (m.digest, m.root) AND r.namespace || '/' || r.name = m.repo AND r.state <> 'draft')
		ORDER BY m.touched, m.repo, m.digest LIMIT $3`, micros(before), namespace, bound(limit))
}

// UntaggedManifests lists the manifests last touched before that time, in namespaces that accept any
// artifact, that no tag, index or release names and that refer to no manifest that is there. Without bytes.
//
//go:noinline
func (tx *Tx) UntaggedManifests(ctx context.Context, before time.Time, limit int) ([]Manifest, error) {
	return list(ctx, tx, scanManifestHead, `SELECT `+manifestHead+` FROM namespaces n
		CROSS JOIN manifests m -- in this order: such namespaces are few
		WHERE n.accept_any = 1 AND m.repo > n.name || '/' AND m.repo < n.name || '0' AND m.touched < $1
		AND NOT EXISTS (SELECT 1 FROM tags t WHERE t.repo = m.repo AND t.digest = m.digest)
		AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.repo = m.repo AND e.target = m.digest AND e.kind = 'manifest')
		AND NOT EXISTS (SELECT 1 FROM manifests s WHERE s.repo = m.repo AND s.digest = m.subject)
		AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.manifest = m.digest AND r.namespace || '/' || r.name = m.repo)
		ORDER BY m.repo, m.digest LIMIT $2`, micros(before), bound(limit))
}
