package meta

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// maxText is how much of a release's text is kept for search, in bytes.
const maxText = 8 << 10

const (
	releaseHead = `namespace, name, version, manifest, artifact, tree, zip, zip_size, skill_md, bytes, description, license, keywords,
		state, reason, publisher, signer, signed, published, updated, log_index, downloads, source_url, mirrored_url, was, was_reason, report`
	releaseColumns = releaseHead + `, files, frontmatter`
)

func scanRelease(full bool) func(row) (Release, error) {
	return func(row row) (r Release, err error) {
		var signed int64
		dest := []any{&r.Namespace, &r.Name, &r.Version, &r.Manifest, &r.Artifact, &r.Tree, &r.Zip, &r.ZipSize, &r.SkillMD, &r.Bytes,
			&r.Description, &r.License, decoder{&r.Keywords}, &r.State, &r.Reason, &r.Publisher, &r.Signer, &signed,
			stamp{&r.Published}, stamp{&r.Updated}, &r.LogIndex, &r.Downloads, &r.SourceURL, &r.MirroredURL, &r.Was, &r.WasReason, &r.Report}
		if full {
			dest = append(dest, decoder{&r.Files}, &r.Frontmatter)
		}
		err = row.Scan(dest...)
		r.Signed, r.Signer, r.Frontmatter = signed != 0, orNil(r.Signer), orNil(r.Frontmatter)
		return r, err
	}
}

// CreateRelease adds r, and makes it findable if it is listed. Its error is ErrExists if there is
// a release of that version, in whatever state.
func (tx *Tx) CreateRelease(ctx context.Context, r Release) error {
	key, pre := versionKey(r.Version)
	err := tx.insert(ctx, `INSERT INTO releases (namespace, name, version, manifest, artifact, tree, zip, zip_size, skill_md, bytes, description, license, keywords,
			state, reason, publisher, signer, signed, published, updated, log_index, downloads, source_url, mirrored_url, files, frontmatter,
			version_key, prerelease, body, report)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30)
		ON CONFLICT DO NOTHING`,
		r.Namespace, r.Name, r.Version, r.Manifest, r.Artifact, r.Tree, r.Zip, r.ZipSize, r.SkillMD, r.Bytes, r.Description, r.License, encode(r.Keywords, len(r.Keywords) == 0),
		string(r.State), r.Reason, r.Publisher, notNil(r.Signer), flag(r.Signed), micros(r.Published), micros(r.Updated), r.LogIndex, r.Downloads, r.SourceURL, r.MirroredURL,
		encode(r.Files, len(r.Files) == 0), notNil(r.Frontmatter), key, flag(pre), diag.Head(r.Text, maxText), r.Report)
	if err != nil {
		return err
	}
	if r.Zip != "" {
		if _, err := tx.exec(ctx, `UPDATE blobs SET loose = 0 WHERE digest = $1 AND loose = 1`, r.Zip); err != nil {
			return err
		}
	}
	if !r.State.Listed() {
		return nil
	}
	return tx.refreshSkill(ctx, r.Namespace, r.Name)
}

// UpdateRelease changes state, the state before a block, reason, signer, whether it is signed, log index and the time of the change of a release, and
// keeps skills and search in step.
func (tx *Tx) UpdateRelease(ctx context.Context, r Release) error {
	err := tx.change(ctx, `UPDATE releases SET state = $4, reason = $5, signer = $6, signed = $7, log_index = $8, updated = $9, was = $10, was_reason = $11 WHERE namespace = $1 AND name = $2 AND version = $3`,
		r.Namespace, r.Name, r.Version, string(r.State), r.Reason, notNil(r.Signer), flag(r.Signed), r.LogIndex, micros(r.Updated), string(r.Was), r.WasReason)
	if err != nil {
		return err
	}
	return tx.refreshSkill(ctx, r.Namespace, r.Name)
}

// Release returns a release, in whatever state.
func (tx *Tx) Release(ctx context.Context, namespace, name, version string) (Release, error) {
	return one(ctx, tx, scanRelease(true), `SELECT `+releaseColumns+` FROM releases WHERE namespace = $1 AND name = $2 AND version = $3`, namespace, name, version)
}

// ReleaseByManifest returns the release of repo that has this manifest; of several the highest.
func (tx *Tx) ReleaseByManifest(ctx context.Context, repo, digest string) (Release, error) {
	namespace, name := cutRepo(repo)
	return one(ctx, tx, scanRelease(true), `SELECT `+releaseColumns+` FROM releases WHERE namespace = $1 AND name = $2 AND manifest = $3 ORDER BY version_key DESC, version DESC LIMIT 1`, namespace, name, digest)
}

// Releases lists the releases of a name in all states, highest version first, without Files and Frontmatter.
func (tx *Tx) Releases(ctx context.Context, namespace, name string) ([]Release, error) {
	return list(ctx, tx, scanRelease(false), `SELECT `+releaseHead+` FROM releases WHERE namespace = $1 AND name = $2 ORDER BY version_key DESC, version DESC`, namespace, name)
}

// DeleteRelease removes a release, as if it had never been: only what nobody saw may be removed.
func (tx *Tx) DeleteRelease(ctx context.Context, namespace, name, version string) error {
	zip, err := one(ctx, tx, column[string], `SELECT zip FROM releases WHERE namespace = $1 AND name = $2 AND version = $3`, namespace, name, version)
	if err != nil {
		return err
	}
	if err := tx.change(ctx, `DELETE FROM releases WHERE namespace = $1 AND name = $2 AND version = $3`, namespace, name, version); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM downloads WHERE namespace = $1 AND name = $2 AND version = $3`, namespace, name, version); err != nil {
		return err
	}
	if zip != "" {
		if err := tx.loosen(ctx, zip); err != nil {
			return err
		}
	}
	return tx.refreshSkill(ctx, namespace, name)
}

// HasName reports whether there is a release of that name, whatever its state.
//
//go:noinline
func (tx *Tx) HasName(ctx context.Context, namespace, name string) (bool, error) {
	return tx.has(ctx, `SELECT 1 FROM releases WHERE namespace = $1 AND name = $2 LIMIT 1`, namespace, name)
}

// ListedNames calls visit for each listed skill, by name and namespace. It reads one index and no row.
func (tx *Tx) ListedNames(ctx context.Context, visit func(namespace, name string)) error {
	var namespace, name string
	return tx.each(ctx, func(r row) error {
		if err := r.Scan(&name, &namespace); err != nil {
			return err
		}
		visit(namespace, name)
		return nil
	}, `SELECT name, namespace FROM skills ORDER BY name, namespace`)
}

// Waiting lists the releases that are drafts or in quarantine, the one that came into its state first, first, without Files and
// Frontmatter; namespace "" is all. Since and after are Updated and "namespace/name@version" of the last one of the page before.
func (tx *Tx) Waiting(ctx context.Context, namespace string, since time.Time, after string, limit int) ([]Release, error) {
	// The states are found in an index; so only rows that wait are read.
	return list(ctx, tx, scanRelease(false), `SELECT `+releaseHead+` FROM releases
		WHERE (namespace, name, version) IN (SELECT o.namespace, o.name, o.version FROM releases o WHERE o.state IN ('draft', 'quarantined') AND ($1 = '' OR o.namespace = $1))
			AND (updated > $2 OR updated = $2 AND namespace || '/' || name || '@' || version > $3)
		ORDER BY updated, namespace || '/' || name || '@' || version LIMIT $4`, namespace, micros(since), after, bound(limit))
}

// CountDownloads adds downloads of a day: "namespace/name@version" → how many. Unknown releases are ignored.
func (tx *Tx) CountDownloads(ctx context.Context, counts map[string]int64, day time.Time) error {
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		repo, version, _ := strings.Cut(k, "@")
		namespace, name := cutRepo(repo)
		n := counts[k]
		err := tx.change(ctx, `UPDATE releases SET downloads = downloads + $4 WHERE namespace = $1 AND name = $2 AND version = $3`, namespace, name, version, n)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE skills SET downloads = downloads + $3 WHERE namespace = $1 AND name = $2`, namespace, name, n); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `INSERT INTO downloads (namespace, name, day, version, count) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (namespace, name, day, version) DO UPDATE SET count = downloads.count + excluded.count`, namespace, name, day.UTC().Format(time.DateOnly), version, n)
		if err != nil {
			return err
		}
	}
	return nil
}

// Downloads returns how often the releases of a name were fetched on each day since that time:
// "2006-01-02" → count. Days without downloads are missing.
func (tx *Tx) Downloads(ctx context.Context, namespace, name string, since time.Time) (map[string]int64, error) {
	days := map[string]int64{}
	err := tx.each(ctx, func(r row) error {
		var day string
		var n int64
		err := r.Scan(&day, &n)
		days[day] += n
		return err
	}, `SELECT day, count FROM downloads WHERE namespace = $1 AND name = $2 AND day >= $3`, namespace, name, since.UTC().Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	return days, nil
}

// A Withdrawn is a release that was served once and was taken back since.
type Withdrawn struct {
	Namespace, Name, Version, Manifest, Reason string
	State                                      State
	Updated                                    time.Time
	Public                                     bool // its namespace is
}

// Withdrawn lists the releases that are in the log and that are blocked, yanked or in quarantine, by name.
func (tx *Tx) Withdrawn(ctx context.Context) ([]Withdrawn, error) {
	return list(ctx, tx, func(r row) (w Withdrawn, err error) {
		var public int64
		err = r.Scan(&w.Namespace, &w.Name, &w.Version, &w.Manifest, &w.Reason, &w.State, stamp{&w.Updated}, &public)
		w.Public = public != 0
		return w, err
	}, `SELECT r.namespace, r.name, r.version, r.manifest, r.reason, r.state, r.updated, coalesce(n.public, 0)
		FROM releases r LEFT JOIN namespaces n ON n.name = r.namespace
		WHERE r.state IN ('blocked', 'yanked', 'quarantined') AND r.log_index >= 0 ORDER BY r.namespace, r.name, r.version`)
}
