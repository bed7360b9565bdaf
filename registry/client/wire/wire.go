// Package wire is what a registry and its clients say to each other: the JSON of /api/v1.
//
// Both sides use these structs, so that a field has one name. Times are RFC 3339 in UTC,
// sizes are bytes, digests are "sha256:<hex>", names of fields are snake_case. Fields may be
// added; a client ignores those it does not know, a server refuses unknown fields of requests.
// Lists are never null, and come in pages: see [Page].
//
// Errors are [Problem], of media type application/problem+json (RFC 9457).
package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
)

// Media types and header fields beyond the usual ones.
const (
	MediaProblem = "application/problem+json"
	MediaJSON    = "application/json"
	MediaGzip    = "application/gzip" // tar.gz of a skill, as a body of a publish
	MediaZip     = "application/zip"
)

// About describes a registry: GET /api/v1.
type About struct {
	Name     string   `json:"name"`               // what people call it; "" is its host
	Software string   `json:"software"`           // "skl"
	Version  string   `json:"version"`            // of the software
	URL      string   `json:"url"`                // the base URL, as the registry is configured
	Log      string   `json:"log,omitempty"`      // verifier key of the transparency log
	Features []string `json:"features"`           // "publish", "search", "log", "wellknown", "token", …
	Reserved []string `json:"reserved,omitempty"` // names that nobody can publish
}

// A Page is a bounded part of a list. Next is the cursor of the next one, "" at the end;
// the answer also has a Link header with rel="next".
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// A Namespace groups skills: /namespaces/{ns}.
type Namespace struct {
	Name    string    `json:"name"`
	Public  bool      `json:"public"` // anybody may read
	Policy  Policy    `json:"policy"`
	Created time.Time `json:"created"`
	Role    string    `json:"role,omitempty"` // the caller's
}

// A Policy says what a namespace accepts.
type Policy struct {
	AcceptAny        bool     `json:"accept_any,omitempty"`
	ManualApproval   bool     `json:"manual_approval,omitempty"`
	RequireSignature bool     `json:"require_signature,omitempty"`
	Signers          []Signer `json:"signers,omitempty"`
	KeepDrafts       int      `json:"keep_drafts,omitempty"`   // days; 0 means 7
	SecondPerson     bool     `json:"second_person,omitempty"` // releases wait, and who published one cannot approve it
	NearNames        []string `json:"near_names,omitempty"`    // of skills that look like those of other owners; only an admin of the registry adds one
	Managed          bool     `json:"managed,omitempty"`       // of an organisation: a second person approves unless it says otherwise
}

// A Signer is an identity that may sign releases, or that did.
type Signer struct {
	Key        string `json:"key,omitempty"`    // PEM of a public key in a policy, its fingerprint in a version
	Issuer     string `json:"issuer,omitempty"` // of the identity token
	Identity   string `json:"identity,omitempty"`
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Runner     string `json:"runner,omitempty"`
}

// A NewNamespace is the body of POST /namespaces.
type NewNamespace struct {
	Name   string `json:"name"`
	Public bool   `json:"public,omitempty"`
	Policy Policy `json:"policy,omitzero"`
}

// A NamespaceChange is the body of PATCH /namespaces/{ns}: what is nil stays.
type NamespaceChange struct {
	Public *bool   `json:"public,omitempty"`
	Policy *Policy `json:"policy,omitempty"`
	DryRun bool    `json:"dry_run,omitempty"` // change nothing: the answer is what it would be, or what refuses it
}

// A Publisher publishes without a stored secret: a job of a CI whose identity token says all that Claims want. GET and POST
// /namespaces/{ns}/publishers, DELETE …/publishers/{id}.
type Publisher struct {
	ID      string            `json:"id,omitempty"`
	Issuer  string            `json:"issuer"`            // URL
	Claims  map[string]string `json:"claims"`            // by name; "*" in a value is any text
	Account string            `json:"account,omitempty"` // that it acts as
	Pinned  map[string]string `json:"pinned,omitempty"`  // numbers of the repository and its owner at the first use
	Created time.Time         `json:"created,omitzero"`
}

// An Exchange asks for a short-lived token of a publisher: POST /namespaces/{ns}/exchange. The answer is a [Token] with its text.
type Exchange struct {
	Token string `json:"token"` // of the CI, for the address of the registry
}

// A Grant gives an account a role: GET and PUT /namespaces/{ns}/grants, DELETE …/grants/{account}.
type Grant struct {
	Account   string    `json:"account"`
	Namespace string    `json:"namespace,omitempty"` // "*" is the whole registry
	Role      string    `json:"role"`                // reader, publisher, maintainer, admin, auditor
	Created   time.Time `json:"created,omitzero"`
}

// A Token without its text: GET /tokens, DELETE /tokens/{id}.
type Token struct {
	ID        string    `json:"id"`
	Account   string    `json:"account"`
	Namespace string    `json:"namespace"`
	Role      string    `json:"role"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires,omitzero"`   // absent: never
	Revoked   time.Time `json:"revoked,omitzero"`   // absent: not
	LastUsed  time.Time `json:"last_used,omitzero"` // to the hour
	Text      string    `json:"text,omitempty"`     // only in the answer that creates it
}

// A NewToken is the body of POST /tokens.
type NewToken struct {
	Account   string    `json:"account,omitempty"` // "" is the caller's
	Namespace string    `json:"namespace"`         // "*" is the whole registry
	Role      string    `json:"role"`
	Expires   time.Time `json:"expires,omitzero"`
}

// WhoAmI says who the registry takes the caller for: GET /whoami.
type WhoAmI struct {
	Account   string  `json:"account,omitempty"`
	TokenID   string  `json:"token_id,omitempty"`
	Anonymous bool    `json:"anonymous,omitempty"`
	Open      bool    `json:"open,omitempty"` // the registry lets anybody do anything
	Grants    []Grant `json:"grants"`
}

// A Skill is the newest listed release of a name: GET /skills, /skills/{ns}/{name}.
type Skill struct {
	Namespace   string    `json:"namespace"`
	Name        string    `json:"name"`
	Latest      string    `json:"latest,omitempty"` // highest stable listed version, else the highest
	Description string    `json:"description"`
	License     string    `json:"license,omitempty"`
	Keywords    []string  `json:"keywords,omitempty"`
	Signed      bool      `json:"signed,omitempty"`
	State       string    `json:"state,omitempty"` // of Latest
	Versions    int       `json:"versions"`        // listed ones
	Downloads   int64     `json:"downloads"`
	Updated     time.Time `json:"updated"`
	Score       float64   `json:"score,omitempty"` // in search results; higher is better
}

// States of a release.
const (
	Draft       = "draft"
	Quarantined = "quarantined"
	Approved    = "approved"
	Deprecated  = "deprecated"
	Yanked      = "yanked"
	Blocked     = "blocked"
)

// A VersionSummary is one line of GET /skills/{ns}/{name}/versions, highest version first.
// Yanked releases are among them.
type VersionSummary struct {
	Version   string    `json:"version"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Manifest  string    `json:"manifest"`
	Signed    bool      `json:"signed,omitempty"`
	Published time.Time `json:"published"`
	Downloads int64     `json:"downloads"`
}

// A Version is the whole record of a release: GET /skills/{ns}/{name}/versions/{v}, and
// the answer of a publish. All that an install checks is inline.
type Version struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"`

	Manifest string `json:"manifest"` // digest of the OCI manifest
	Artifact string `json:"artifact"` // digest of its content layer
	Tree     string `json:"tree"`     // "tree-sha256:…"
	Zip      string `json:"zip,omitempty"`
	ZipSize  int64  `json:"zip_size,omitempty"`
	Files    []File `json:"files"` // sorted by path
	Bytes    int64  `json:"bytes"` // of all files

	Description string          `json:"description"`
	License     string          `json:"license,omitempty"`
	Keywords    []string        `json:"keywords,omitempty"`
	Frontmatter json.RawMessage `json:"frontmatter,omitempty"` // an object

	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Publisher string    `json:"publisher,omitempty"`
	Published time.Time `json:"published"`
	Updated   time.Time `json:"updated"`
	Downloads int64     `json:"downloads"`
	Source    string    `json:"source,omitempty"`   // where the publisher says it comes from
	Mirrored  string    `json:"mirrored,omitempty"` // the registry it was copied from

	Signed     bool        `json:"signed"`
	Signer     *Signer     `json:"signer,omitempty"`
	Signatures []Signature `json:"signatures"` // never null
	Log        *LogProof   `json:"log,omitempty"`
	URLs       URLs        `json:"urls"`
}

// A File is one file of a release.
type File struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"` // hex
	Executable bool   `json:"executable,omitempty"`
}

// A Signature is a sigstore bundle that is attached to a release.
type Signature struct {
	PredicateType string          `json:"predicate_type,omitempty"`
	Bundle        json.RawMessage `json:"bundle"` // an object
}

// A LogProof shows that a record is in the transparency log of the origin whose
// verifier key is Origin.
type LogProof struct {
	Origin     string   `json:"origin"`     // verifier key
	Index      int64    `json:"index"`      // of the record
	Record     string   `json:"record"`     // the leaf, one line of JSON
	Hashes     []string `json:"hashes"`     // audit path, base64
	Checkpoint string   `json:"checkpoint"` // signed note
}

// URLs of a version. They are absolute.
type URLs struct {
	OCI      string `json:"oci"`      // oci://host/ns/name:tag
	Download string `json:"download"` // zip
	Files    string `json:"files"`
	Report   string `json:"report,omitempty"` // what the audit found; absent if there was none
}

// A PublishRequest is the JSON body of PUT /skills/{ns}/{name}/versions/{v}: the manifest was
// pushed by digest before. Its answer is a [Version], 201 if it is new.
type PublishRequest struct {
	Manifest string `json:"manifest"`
	Source   string `json:"source,omitempty"`   // where it comes from, for people
	Mirrored string `json:"mirrored,omitempty"` // registry it was copied from; needs the right to administer the namespace
	DryRun   bool   `json:"dry_run,omitempty"`  // publish nothing: answer 200 with the reason alone why it would wait, or with what refuses it
}

// An Action changes the state of a release: POST …/versions/{v}/actions. Its answer is a [Version].
type Action struct {
	Action string `json:"action"` // approve, reject, quarantine, deprecate, undeprecate, yank, unyank, block, unblock
	Reason string `json:"reason,omitempty"`
}

// A Waiting is a release that nobody sees yet: GET /queue?namespace=, the oldest first.
type Waiting struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Version   string    `json:"version"`
	State     string    `json:"state"` // draft or quarantined
	For       string    `json:"for"`   // signature, decision, second-person or mirror
	Reason    string    `json:"reason,omitempty"`
	Publisher string    `json:"publisher,omitempty"`
	Since     time.Time `json:"since"`
	Mirrored  string    `json:"mirrored,omitempty"` // the registry it was copied from
	Yours     bool      `json:"yours"`              // the caller may do what it waits for
	Command   string    `json:"command"`            // that does it

	Findings []content.Finding `json:"findings,omitempty"` // that it waits for, at most 20 of them; the report has all
}

// A Report is what the audit of a registry found in a release: GET …/versions/{v}/report, and the first layer of the artifact of type
// application/vnd.skl.report.v1+json that refers to its manifest.
type Report struct {
	V           int               `json:"v"` // 1
	Findings    []content.Finding `json:"findings"`
	Allows      []content.Allow   `json:"allows"` // remarks of its publisher
	Coverage    content.Coverage  `json:"coverage"`
	Permissions []Permission      `json:"permissions"`
}

// A Permission is what a release asks for, and where that shows.
type Permission struct {
	Permission string        `json:"permission"`
	Places     []audit.Place `json:"places"`
}

// SearchResult answers GET /search?q=&namespace=&license=&signed=&sort=&offset=&limit=.
type SearchResult struct {
	Items   []Skill                   `json:"items"`
	Total   int                       `json:"total"`
	Offset  int                       `json:"offset"`
	Facets  map[string]map[string]int `json:"facets"`            // "namespace", "license", "signed"
	Relaxed bool                      `json:"relaxed,omitempty"` // no skill, or for a sentence hardly one, has all words: items have those that tell most
}

// A Diff compares two versions: GET …/versions/{v}/diff/{other}.
type Diff struct {
	From        string     `json:"from"`
	To          string     `json:"to"`
	Files       []FileDiff `json:"files"`                // sorted by path; unchanged ones are left out
	Permissions []string   `json:"permissions,omitzero"` // "+ net:a.example  scripts/a.py:2" of what To newly asks for, "- net:a.example" of what it no longer does; nil if nobody audited one of them
}

// A FileDiff is how one file differs.
type FileDiff struct {
	Path      string `json:"path"`
	Status    string `json:"status"` // added, removed, changed
	From      *File  `json:"from,omitempty"`
	To        *File  `json:"to,omitempty"`
	Text      string `json:"text,omitempty"` // unified diff of text files
	Truncated bool   `json:"truncated,omitempty"`
}

// Downloads of a skill: GET …/downloads.
type Downloads struct {
	Total    int64            `json:"total"`
	Versions map[string]int64 `json:"versions"`
	Days     map[string]int64 `json:"days"` // of the last 30 days, "2026-11-21"; those without any are left out
}

// An Event is one line of the audit trail: GET /audit?namespace=&account=&action=&before=, newest first.
type Event struct {
	ID      int64           `json:"id"`
	At      time.Time       `json:"at"`
	Account string          `json:"account,omitempty"`
	Token   string          `json:"token,omitempty"` // id
	Remote  string          `json:"remote,omitempty"`
	Action  string          `json:"action"`
	Target  string          `json:"target"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// A Problem is an error (RFC 9457). Code is stable; Detail is one sentence for people.
type Problem struct {
	Type   string   `json:"type"` // "urn:skl:problem:<code>"
	Title  string   `json:"title"`
	Status int      `json:"status"`
	Detail string   `json:"detail"`
	Code   string   `json:"code"`
	Hints  []string `json:"hints,omitempty"` // commands to try
}

// States is GET /log/states: the releases that were taken back after they had been served. It is the same for everybody, and the
// checkpoint of the log has its digest in the line "states sha256:…". Readers ignore keys that they do not know.
type States struct {
	V        int            `json:"v"` // 1
	Releases []ReleaseState `json:"releases"`

	Advisories []Advisory `json:"advisories,omitempty"` // by id; one that was withdrawn stays
}

// An Advisory is a warning about releases, in the form of OSV: GET /namespaces/{ns}/advisories, and in [States]. Of one about a private
// namespace the feed has the id, the severity, and Own.Of alone.
type Advisory struct {
	Schema    string     `json:"schema_version"`
	ID        string     `json:"id"`
	Published time.Time  `json:"published"`
	Modified  time.Time  `json:"modified"`
	Withdrawn time.Time  `json:"withdrawn,omitzero"`
	Summary   string     `json:"summary,omitempty"`
	Affected  []Affected `json:"affected,omitempty"`
	Own       Advised    `json:"database_specific"`
}

// Affected is a skill that an advisory is about, and its versions.
type Affected struct {
	Package  Package  `json:"package"`
	Versions []string `json:"versions"`
}

// A Package is a skill as OSV names it.
type Package struct {
	Ecosystem string `json:"ecosystem"` // "skl"
	Name      string `json:"name"`      // namespace/name
}

// Advised is what OSV has no place for.
type Advised struct {
	Severity string   `json:"severity"`           // low, medium, high, critical
	Fixed    string   `json:"fixed,omitempty"`    // version
	Versions string   `json:"versions,omitempty"` // as whoever wrote it says them, "<1.4.3"
	Digests  []string `json:"digests,omitempty"`  // of manifests, layers or trees
	Reason   string   `json:"reason,omitempty"`   // why it was withdrawn
	Of       []string `json:"of"`                 // the releases, see StateOf
}

// A NewAdvisory is the body of POST /namespaces/{ns}/advisories.
type NewAdvisory struct {
	ID       string   `json:"id,omitempty"` // "" takes the next
	Name     string   `json:"name"`         // of the skill
	Versions string   `json:"versions,omitempty"`
	Digests  []string `json:"digests,omitempty"`
	Severity string   `json:"severity"`
	Summary  string   `json:"summary"`
	Fixed    string   `json:"fixed,omitempty"`
}

// An AdvisoryChange is the body of POST /namespaces/{ns}/advisories/{id}/withdraw.
type AdvisoryChange struct {
	Reason string `json:"reason"`
}

// A ReleaseState is the state of a release. Who it is and why stands in it where its namespace is public; Of says it to whoever knows.
// The state is that of one namespace's release: another namespace may have one with the same manifest.
type ReleaseState struct {
	Of       string    `json:"of"`       // see StateOf
	Manifest string    `json:"manifest"` // digest
	State    string    `json:"state"`    // blocked, yanked, quarantined
	Since    time.Time `json:"since"`
	Name     string    `json:"name,omitempty"` // namespace/name
	Version  string    `json:"version,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// StateOf is how a ReleaseState names the release of namespace/name with a manifest: only who knows the name finds it.
func StateOf(name, manifest string) string {
	sum := sha256.Sum256([]byte(name + "\n" + manifest))
	return "sha256:" + hex.EncodeToString(sum[:])
}
