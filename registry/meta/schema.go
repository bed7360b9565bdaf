package meta

// A step leads from one version of the schema to the next. One that was released is never changed again.
//
// Programs of one version after the other serve one database together, so that replicas are replaced one by one. A version that wants
// something else adds it, in a step that the version before it goes on with. It removes what nobody needs any more in a late step of a
// version after that.
type step struct {
	sql  string
	from int  // version of the oldest program that goes on with the schema; 0 if only those do that know the step
	late bool // it only removes what no program that knows it uses, so those work without it too
}

func steps() []step {
	return append([]step{{sql: schema1}, {sql: schema2}, {sql: schema3}, {sql: schema4}, {sql: schema5}, {sql: schema6}, {sql: schema7}, {sql: schema8}, {sql: schema9},
		{sql: schema10, from: 9}}, next...)
}

// Times are microseconds since 1970, 0 for none. What is optional is empty, not NULL.
//
// Two columns save garbage collection from reading everything: links.used is 1 when a
// manifest of the repository names the blob, blobs.loose is 1 when
// the last link was removed, or there never was one. They only propose; what is
// removed is decided by the edges, links and releases themselves.
const schema1 = `
CREATE TABLE namespaces (
	name TEXT PRIMARY KEY, public INTEGER NOT NULL, accept_any INTEGER NOT NULL, policy TEXT NOT NULL, created BIGINT NOT NULL
);
CREATE INDEX namespaces_any ON namespaces (name) WHERE accept_any = 1;
CREATE TABLE grants (
	account TEXT NOT NULL, namespace TEXT NOT NULL, role TEXT NOT NULL, created BIGINT NOT NULL,
	PRIMARY KEY (account, namespace)
) {clustered};
CREATE INDEX grants_namespace ON grants (namespace);
CREATE TABLE tokens (
	id TEXT PRIMARY KEY, hash {blob} NOT NULL, account TEXT NOT NULL, namespace TEXT NOT NULL, role TEXT NOT NULL,
	created BIGINT NOT NULL, expires BIGINT NOT NULL, revoked BIGINT NOT NULL, last_used BIGINT NOT NULL
);
CREATE INDEX tokens_namespace ON tokens (namespace, id);

CREATE TABLE blobs (
	digest TEXT PRIMARY KEY, size BIGINT NOT NULL, loose INTEGER NOT NULL
) {clustered};
CREATE INDEX blobs_loose ON blobs (digest) WHERE loose = 1;
CREATE TABLE links (
	repo TEXT NOT NULL, digest TEXT NOT NULL, linked BIGINT NOT NULL, used INTEGER NOT NULL,
	PRIMARY KEY (repo, digest)
) {clustered};
CREATE INDEX links_digest ON links (digest);
CREATE INDEX links_unused ON links (linked) WHERE used = 0;
CREATE TABLE uploads (
	id TEXT PRIMARY KEY, repo TEXT NOT NULL, length BIGINT NOT NULL, state {blob} NOT NULL, updated BIGINT NOT NULL
);
CREATE INDEX uploads_updated ON uploads (updated);

CREATE TABLE manifests (
	repo TEXT NOT NULL, digest TEXT NOT NULL, media_type TEXT NOT NULL, artifact_type TEXT NOT NULL,
	subject TEXT NOT NULL, root TEXT NOT NULL, state TEXT NOT NULL, created BIGINT NOT NULL, touched BIGINT NOT NULL,
	annotations TEXT NOT NULL, size BIGINT NOT NULL, bytes {blob} NOT NULL,
	PRIMARY KEY (repo, digest)
);
CREATE INDEX manifests_subject ON manifests (repo, subject, digest) WHERE subject <> '';
CREATE INDEX manifests_root ON manifests (repo, root);
CREATE INDEX manifests_draft ON manifests (repo, touched, digest, root) WHERE state = 'draft';
CREATE TABLE edges (
	repo TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, manifest TEXT NOT NULL,
	PRIMARY KEY (repo, target, kind, manifest)
) {clustered};
CREATE INDEX edges_manifest ON edges (repo, manifest);
CREATE INDEX edges_target ON edges (target);
CREATE TABLE tags (
	repo TEXT NOT NULL, tag TEXT NOT NULL, digest TEXT NOT NULL, updated BIGINT NOT NULL,
	PRIMARY KEY (repo, tag)
) {clustered};
CREATE INDEX tags_digest ON tags (repo, digest);

CREATE TABLE releases (
	namespace TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
	version_key TEXT NOT NULL, prerelease INTEGER NOT NULL, state TEXT NOT NULL, downloads BIGINT NOT NULL,
	manifest TEXT NOT NULL, artifact TEXT NOT NULL, tree TEXT NOT NULL, zip TEXT NOT NULL, zip_size BIGINT NOT NULL,
	skill_md TEXT NOT NULL, bytes BIGINT NOT NULL, description TEXT NOT NULL, license TEXT NOT NULL, keywords TEXT NOT NULL,
	reason TEXT NOT NULL, publisher TEXT NOT NULL, signer {blob} NOT NULL, signed INTEGER NOT NULL,
	published BIGINT NOT NULL, updated BIGINT NOT NULL, log_index BIGINT NOT NULL,
	source_url TEXT NOT NULL, mirrored_url TEXT NOT NULL,
	files TEXT NOT NULL, frontmatter {blob} NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (namespace, name, version)
);
CREATE INDEX releases_manifest ON releases (manifest, namespace, name);
CREATE INDEX releases_order ON releases (namespace, name, prerelease, version_key DESC, version DESC, state, downloads);
CREATE INDEX releases_zip ON releases (zip) WHERE zip <> '';
CREATE TABLE skills (
	id BIGINT PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, latest TEXT NOT NULL,
	description TEXT NOT NULL, license TEXT NOT NULL, keywords TEXT NOT NULL, signed INTEGER NOT NULL, state TEXT NOT NULL,
	versions BIGINT NOT NULL, downloads BIGINT NOT NULL, updated BIGINT NOT NULL
);
CREATE UNIQUE INDEX skills_name ON skills (namespace, name);
CREATE INDEX skills_own_name ON skills (name, namespace);
CREATE INDEX skills_updated ON skills (updated, id);
CREATE INDEX skills_downloads ON skills (downloads, id);
CREATE TABLE downloads (
	namespace TEXT NOT NULL, name TEXT NOT NULL, day TEXT NOT NULL, version TEXT NOT NULL, count BIGINT NOT NULL,
	PRIMARY KEY (namespace, name, day, version)
) {clustered};

CREATE TABLE events (
	id {serial}, at BIGINT NOT NULL, account TEXT NOT NULL, token TEXT NOT NULL, remote TEXT NOT NULL,
	action TEXT NOT NULL, namespace TEXT NOT NULL, target TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE INDEX events_namespace ON events (namespace, id);
CREATE INDEX events_account ON events (account, id);
CREATE INDEX events_action ON events (action, id);
CREATE TABLE log_records (id BIGINT PRIMARY KEY, record {blob} NOT NULL);
CREATE TABLE log_hashes (id BIGINT PRIMARY KEY, hash {blob} NOT NULL)
`

// Accounts that were made by a token request, and by whom; the others belong to themselves. Was is the state
// that a blocked release had before, was_reason its reason then, for an undo.
const schema2 = `
CREATE TABLE accounts (
	name TEXT PRIMARY KEY, owner TEXT NOT NULL, created BIGINT NOT NULL
) {clustered};
CREATE INDEX tokens_account ON tokens (account, id);
ALTER TABLE releases ADD COLUMN was TEXT NOT NULL DEFAULT '';
ALTER TABLE releases ADD COLUMN was_reason TEXT NOT NULL DEFAULT ''
`

// Releases that were taken back are few among many: a feed lists them.
const schema3 = `
CREATE INDEX releases_withdrawn ON releases (namespace, name, version) WHERE state IN ('blocked', 'yanked', 'quarantined')
`

// The report of an audit is a blob of the release's repository. Identity tokens are good for one exchange: they are
// kept until they expire. Advisories are never removed: one that was withdrawn says so.
const schema4 = `
ALTER TABLE releases ADD COLUMN report TEXT NOT NULL DEFAULT '';
CREATE TABLE used (
	id TEXT PRIMARY KEY, until BIGINT NOT NULL
) {clustered};
CREATE INDEX used_until ON used (until);
CREATE TABLE advisories (
	id TEXT PRIMARY KEY, namespace TEXT NOT NULL, data TEXT NOT NULL
)
`

// Only searches changed.
const schema5 = ``

// Where a store of objects keeps the blobs, and uploads under way there. A backup holds the blobs themselves, and not these rows.
const schema6 = `
CREATE TABLE objects (
	digest TEXT PRIMARY KEY, object TEXT NOT NULL, size BIGINT NOT NULL, modified BIGINT NOT NULL, state TEXT NOT NULL
) {clustered};
CREATE UNIQUE INDEX objects_object ON objects (object);
CREATE TABLE staged (
	id TEXT PRIMARY KEY, object TEXT NOT NULL, upload TEXT NOT NULL, length BIGINT NOT NULL, parts TEXT NOT NULL, tail TEXT NOT NULL,
	whole INTEGER NOT NULL, version BIGINT NOT NULL, updated BIGINT NOT NULL
);
CREATE INDEX staged_object ON staged (object);
CREATE INDEX staged_tail ON staged (tail)
`

// Work that one of many processes does, for as long as it says that it does.
const schema7 = `
CREATE TABLE leases (
	name TEXT PRIMARY KEY, holder TEXT NOT NULL, epoch BIGINT NOT NULL, until BIGINT NOT NULL
) {clustered}
`

// Only searches changed.
const schema8, schema9 = ``, ``

// The version of the program that holds a lease. Those before this one do not say it.
const schema10 = `
ALTER TABLE leases ADD COLUMN version BIGINT NOT NULL DEFAULT 9
`
