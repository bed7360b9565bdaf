package meta

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	manifestHead    = `m.repo, m.digest, m.media_type, m.artifact_type, m.subject, m.root, m.state, m.created, m.annotations, m.size`
	manifestColumns = manifestHead + `, m.bytes`
)

func (m *Manifest) head() []any {
	return []any{&m.Repo, &m.Digest, &m.MediaType, &m.ArtifactType, &m.Subject, &m.Root, &m.State, stamp{&m.Created}, decoder{&m.Annotations}, &m.Size}
}

func scanManifestHead(r row) (m Manifest, err error) {
	err = r.Scan(m.head()...)
	return m, err
}

func scanManifest(r row) (m Manifest, err error) {
	err = r.Scan(append(m.head(), &m.Bytes)...)
	return m, err
}

// PutManifest adds m and what it names. Of a manifest that is there already it replaces state and
// root, and notes that it was touched at m.Created.
func (tx *Tx) PutManifest(ctx context.Context, m Manifest) error {
	at := micros(m.Created)
	_, err := tx.exec(ctx, `INSERT INTO manifests (repo, digest, media_type, artifact_type, subject, root, state, created, touched, annotations, size, bytes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11)
		ON CONFLICT (repo, digest) DO UPDATE SET root = excluded.root, state = excluded.state, touched = excluded.touched`,
		m.Repo, m.Digest, m.MediaType, m.ArtifactType, m.Subject, m.Root, string(m.State), at,
		encode(m.Annotations, len(m.Annotations) == 0), int64(len(m.Bytes)), notNil(m.Bytes))
	if err != nil {
		return err
	}
	for _, d := range m.Blobs {
		if err := tx.putEdge(ctx, m, d, "blob"); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE links SET used = 1 WHERE repo = $1 AND digest = $2 AND used = 0`, m.Repo, d); err != nil {
			return err
		}
	}
	for _, d := range m.Manifests {
		if err := tx.putEdge(ctx, m, d, "manifest"); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) putEdge(ctx context.Context, m Manifest, target, kind string) error {
	_, err := tx.exec(ctx, `INSERT INTO edges (repo, target, kind, manifest) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, m.Repo, target, kind, m.Digest)
	return err
}

// Manifest returns the manifest of that digest, in whatever state.
func (tx *Tx) Manifest(ctx context.Context, repo, digest string) (Manifest, error) {
	return one(ctx, tx, scanManifest, `SELECT `+manifestColumns+` FROM manifests m WHERE m.repo = $1 AND m.digest = $2`, repo, digest)
}

// ManifestByTag returns the manifest that tag names, in whatever state.
func (tx *Tx) ManifestByTag(ctx context.Context, repo, tag string) (Manifest, error) {
	return one(ctx, tx, scanManifest, `SELECT `+manifestColumns+` FROM tags t JOIN manifests m ON m.repo = t.repo AND m.digest = t.digest WHERE t.repo = $1 AND t.tag = $2`, repo, tag)
}

// DeleteManifest removes a manifest with its tags and what it names. ErrNotFound if there is none.
func (tx *Tx) DeleteManifest(ctx context.Context, repo, digest string) error {
	if err := tx.change(ctx, `DELETE FROM manifests WHERE repo = $1 AND digest = $2`, repo, digest); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM tags WHERE repo = $1 AND digest = $2`, repo, digest); err != nil {
		return err
	}
	blobs, err := list(ctx, tx, column[string], `SELECT target FROM edges WHERE repo = $1 AND manifest = $2 AND kind = 'blob'`, repo, digest)
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM edges WHERE repo = $1 AND manifest = $2`, repo, digest); err != nil {
		return err
	}
	for _, b := range blobs {
		_, err := tx.exec(ctx, `UPDATE links SET used = 0 WHERE repo = $1 AND digest = $2
			AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.repo = $1 AND e.target = $2 AND e.kind = 'blob')`, repo, b)
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteTree removes a manifest with all that stands and falls with it, and their tags; the manifest
// itself may be gone already. What an index from elsewhere names stands and falls with that from now on.
// It returns how many it removed.
func (tx *Tx) DeleteTree(ctx context.Context, repo, root string) (int, error) {
	members, err := list(ctx, tx, column[string], `SELECT digest FROM manifests WHERE repo = $1 AND root = $2 ORDER BY digest`, repo, root)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, d := range members {
		index, err := one(ctx, tx, scanManifestHead, `SELECT `+manifestHead+` FROM edges e JOIN manifests m ON m.repo = e.repo AND m.digest = e.manifest
			WHERE e.repo = $1 AND e.target = $2 AND e.kind = 'manifest' AND m.root <> $3 ORDER BY m.digest LIMIT 1`, repo, d, root)
		switch {
		case err == nil && d != root:
			err = tx.SetManifestRoot(ctx, repo, d, index.Root, index.State)
		case err == nil || errors.Is(err, ErrNotFound):
			err = tx.DeleteManifest(ctx, repo, d)
			n++
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// SetManifestState sets the state of all manifests of repo that stand and fall with root. It is no
// error if there are none.
//
//go:noinline
func (tx *Tx) SetManifestState(ctx context.Context, repo, root string, state State) error {
	_, err := tx.exec(ctx, `UPDATE manifests SET state = $3 WHERE repo = $1 AND root = $2`, repo, root, string(state))
	return err
}

// SetManifestRoot sets root and state of one manifest and of those that refer to it.
// ErrNotFound if there is neither.
func (tx *Tx) SetManifestRoot(ctx context.Context, repo, digest, root string, state State) error {
	n, err := tx.exec(ctx, `UPDATE manifests SET root = $3, state = $4 WHERE repo = $1 AND digest = $2`, repo, digest, root, string(state))
	if err != nil {
		return err
	}
	more, err := tx.exec(ctx, `UPDATE manifests SET root = $3, state = $4 WHERE repo = $1 AND subject = $2 AND subject <> ''`, repo, digest, root, string(state))
	if err == nil && n+more == 0 {
		return ErrNotFound
	}
	return err
}

// Referrers lists the manifests that refer to subject, by digest, with their bytes. ArtifactType "" is any.
func (tx *Tx) Referrers(ctx context.Context, repo, subject, artifactType string, limit int) ([]Manifest, error) {
	return list(ctx, tx, scanManifest, `SELECT `+manifestColumns+` FROM manifests m
		WHERE m.repo = $1 AND m.subject = $2 AND m.subject <> '' AND ($3 = '' OR m.artifact_type = $3) ORDER BY m.digest LIMIT $4`,
		repo, subject, artifactType, bound(limit))
}

// PutTag makes tag name a manifest of repo, since the time at; a tag that is there moves. ErrNotFound
// if there is no such manifest.
func (tx *Tx) PutTag(ctx context.Context, repo, tag, digest string, at time.Time) error {
	n, err := tx.exec(ctx, `INSERT INTO tags (repo, tag, digest, updated) SELECT m.repo, CAST($2 AS TEXT), m.digest, CAST($4 AS BIGINT) FROM manifests m WHERE m.repo = $1 AND m.digest = $3
		ON CONFLICT (repo, tag) DO UPDATE SET digest = excluded.digest, updated = excluded.updated`, repo, tag, digest, micros(at))
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// DeleteTag removes a tag. ErrNotFound if there is none.
//
//go:noinline
func (tx *Tx) DeleteTag(ctx context.Context, repo, tag string) error {
	return tx.change(ctx, `DELETE FROM tags WHERE repo = $1 AND tag = $2`, repo, tag)
}

// Tags lists the tags of listed manifests, or all tags, sorted by bytes.
func (tx *Tx) Tags(ctx context.Context, repo, after string, limit int, all bool) ([]string, error) {
	if all {
		return list(ctx, tx, column[string], `SELECT tag FROM tags WHERE repo = $1 AND tag > $2 ORDER BY tag LIMIT $3`, repo, after, bound(limit))
	}
	return list(ctx, tx, column[string], `SELECT t.tag FROM tags t JOIN manifests m ON m.repo = t.repo AND m.digest = t.digest
		WHERE t.repo = $1 AND t.tag > $2 AND m.state IN ('approved', 'deprecated') ORDER BY t.tag LIMIT $3`, repo, after, bound(limit))
}

// TagsOf lists the tags that name a manifest.
//
//go:noinline
func (tx *Tx) TagsOf(ctx context.Context, repo, digest string) ([]string, error) {
	tags, err := list(ctx, tx, column[string], `SELECT tag FROM tags WHERE repo = $1 AND digest = $2`, repo, digest)
	slices.Sort(tags)
	return tags, err
}

// RepoExists reports whether repo holds a blob, a manifest or a tag.
//
//go:noinline
func (tx *Tx) RepoExists(ctx context.Context, repo string) (bool, error) {
	return tx.has(ctx, `SELECT 1 WHERE EXISTS (SELECT 1 FROM links WHERE repo = $1) OR EXISTS (SELECT 1 FROM manifests WHERE repo = $1) OR EXISTS (SELECT 1 FROM tags WHERE repo = $1)`, repo)
}

// Repos lists the repositories that hold a blob or a manifest.
func (tx *Tx) Repos(ctx context.Context, after string, limit int) ([]string, error) {
	// Each step asks two indexes for the next name, however many rows a repository has.
	return list(ctx, tx, column[string], `WITH RECURSIVE r (repo) AS (
			SELECT min(x.repo) FROM (SELECT min(repo) AS repo FROM links WHERE repo > $1 UNION ALL SELECT min(repo) FROM manifests WHERE repo > $1) AS x
			UNION ALL
			SELECT (SELECT min(x.repo) FROM (SELECT (SELECT min(l.repo) FROM links l WHERE l.repo > r.repo) AS repo UNION ALL SELECT (SELECT min(m.repo) FROM manifests m WHERE m.repo > r.repo)) AS x)
			FROM r WHERE r.repo IS NOT NULL
		) SELECT repo FROM r WHERE repo IS NOT NULL LIMIT $2`, after, bound(limit))
}

// ManifestReferenced reports whether a tag, an index or a release names the manifest.
//
//go:noinline
func (tx *Tx) ManifestReferenced(ctx context.Context, repo, digest string) (bool, error) {
	namespace, name := cutRepo(repo)
	return tx.has(ctx, `SELECT 1 WHERE EXISTS (SELECT 1 FROM tags WHERE repo = $1 AND digest = $2)
		OR EXISTS (SELECT 1 FROM edges WHERE repo = $1 AND target = $2 AND kind = 'manifest')
		OR EXISTS (SELECT 1 FROM releases WHERE namespace = $3 AND name = $4 AND manifest = $2)`, repo, digest, namespace, name)
}
