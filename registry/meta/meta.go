// Package meta is the registry's memory of everything that is not a blob: who owns
// which namespace, what was pushed and published, who may do what, and the log.
//
// A [Store] offers two kinds of transaction and nothing else; what can be asked in one
// is [Tx], whose SQL is the same for every database. Manifests lie inline, so that one
// transaction accepts a manifest with its tags, referrers, release, audit event and log entry:
// a crash leaves all of it or nothing.
//
// Names and digests were checked by the caller; times are stored in UTC with microseconds.
// Lists are sorted and bounded by a limit and a cursor, "after", which is the last
// key of the page before. A missing row is [ErrNotFound].
package meta

import (
	"context"
	"errors"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already") // an insert met a row with the same key
	ErrFull     = errors.New("no space left for the database")
	// ErrUnavailable is the error of a database out of reach, or one that refuses for now. An update that ended so may have happened.
	ErrUnavailable = errors.New("the database is not available")
)

// A Store runs transactions. Its methods may be called concurrently.
type Store interface {
	// View runs fn on one consistent state of the database. fn must not write.
	View(ctx context.Context, fn func(*Tx) error) error
	// Read is View of a single statement, which costs less where the database is elsewhere: of several each may see another state.
	Read(ctx context.Context, fn func(*Tx) error) error
	// Update runs fn as one serialisable transaction: what fn did is durable when Update
	// returns nil, and did not happen when it returns an error. fn may run more than once
	// and must have no effect elsewhere. Concurrent updates may share one commit.
	Update(ctx context.Context, fn func(*Tx) error) error
	// Backup writes a consistent copy to the file dst, which must not exist, while others read and write.
	Backup(ctx context.Context, dst string) error
	// Size is how many bytes the database takes, with its indexes and logs of its own.
	Size(ctx context.Context) (int64, error)
	// Check examines the database's own structure, page by page.
	Check(ctx context.Context) error
	Close() error
}

// State is how far a release has come. It is also the state of its manifests.
type State string

const (
	Draft       State = "draft"       // pushed by digest; seen by those who may publish there
	Quarantined State = "quarantined" // held back for a decision
	Approved    State = "approved"    // visible
	Deprecated  State = "deprecated"  // visible, with a message
	Yanked      State = "yanked"      // not listed any more, still served
	Blocked     State = "blocked"     // refused with its reason
)

// Served reports whether readers get the bytes of something in this state.
func (s State) Served() bool { return s == Approved || s == Deprecated || s == Yanked }

// Listed reports whether readers find it in lists and search.
func (s State) Listed() bool { return s == Approved || s == Deprecated }

// A Namespace groups repositories under one owner.
type Namespace struct {
	Name    string
	Public  bool // anybody may read
	Policy  Policy
	Created time.Time
}

// A Policy says what a namespace accepts. It is stored as JSON; the zero Policy
// accepts valid skills and publishes them at once.
type Policy struct {
	AcceptAny        bool     `json:"accept_any,omitempty"`        // any OCI artifact, with tags that move
	ManualApproval   bool     `json:"manual_approval,omitempty"`   // releases wait in quarantine
	RequireSignature bool     `json:"require_signature,omitempty"` // by one of Signers
	Signers          []Signer `json:"signers,omitempty"`
	KeepDrafts       int      `json:"keep_drafts,omitempty"`   // days until an unpublished draft is removed; 0 means 7
	SecondPerson     bool     `json:"second_person,omitempty"` // releases wait, and who published one cannot approve it
	NearNames        []string `json:"near_names,omitempty"`    // of skills that look like those of other owners, and may
	Managed          bool     `json:"managed,omitempty"`       // of an organisation: a second person approves unless it says otherwise

	Publishers []Publisher `json:"publishers,omitempty"` // who publish with identity tokens
}

// A Publisher is stored as it is served.
type Publisher = wire.Publisher

// A Signer is an identity that may sign releases of a namespace: a key, or an issuer and a pattern.
type Signer struct {
	Key      string `json:"key,omitempty"` // PEM of the public key
	Issuer   string `json:"issuer,omitempty"`
	Identity string `json:"identity,omitempty"` // pattern of the whole subject name
}

// A Grant gives an account a role in a namespace, "*" for the whole registry.
type Grant struct {
	Account   string
	Namespace string
	Role      string
	Created   time.Time
}

// A Token authenticates an account. Only a digest of its text is stored.
type Token struct {
	ID        string // public; finds the row
	Hash      []byte // SHA-256 of the text
	Account   string
	Namespace string // scope: the namespace Role is for, "*" for all
	Role      string
	Created   time.Time
	Expires   time.Time // zero: never
	Revoked   time.Time // zero: not
	LastUsed  time.Time // to the hour
}

// An Upload is an open upload session.
type Upload struct {
	ID      string
	Repo    string
	Offset  int64
	State   []byte // of the running digests
	Updated time.Time
}

// A Manifest is a pushed manifest or index with its bytes.
type Manifest struct {
	Repo         string
	Digest       string
	MediaType    string
	ArtifactType string // of the manifest, else its config's media type
	Subject      string // digest that it refers to, "" if none
	Root         string // the release's manifest that it stands and falls with: itself, its subject, or what it is the image of
	State        State
	Annotations  map[string]string // only those of a referrer: lists show them
	Bytes        []byte
	Size         int64
	Created      time.Time

	Blobs     []string // digests of config and layers; written by PutManifest, not read back
	Manifests []string // digests of an index's entries; likewise
}

// A Release is one published version of a skill.
type Release struct {
	Namespace, Name, Version string

	Manifest string // digest
	Artifact string // digest of the content layer
	Tree     string // tree digest
	Zip      string // digest of the archive for other clients, with files at its root
	ZipSize  int64
	SkillMD  string // sha256 digest of SKILL.md
	Files    []File // sorted by path
	Bytes    int64  // content

	Description string
	License     string
	Keywords    []string
	Frontmatter []byte // JSON of the whole frontmatter
	Text        string // body of SKILL.md, for search; not read back

	State       State
	Reason      string // why it is in this state
	Was         State  // before it was blocked; "" if it is not, or if that is not known
	WasReason   string // Reason then
	Publisher   string // account
	Signer      []byte // JSON of who signed; nil if unsigned
	Signed      bool
	Published   time.Time
	Updated     time.Time
	LogIndex    int64 // of the publish entry; -1 before
	Downloads   int64
	SourceURL   string // where the publisher says it comes from
	MirroredURL string // registry it was copied from, "" if published here
	Report      string // digest of what the audit found, JSON; "" of releases from before there was one
}

// Repo is the OCI repository of the release.
func (r Release) Repo() string { return r.Namespace + "/" + r.Name }

// A File is one file of a release.
type File struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"` // hex
	Executable bool   `json:"executable,omitempty"`
}

// A Skill is the newest listed release of a name, as lists show it.
type Skill struct {
	Namespace, Name string
	Latest          string // highest stable listed version, else the highest
	Description     string
	License         string
	Keywords        []string
	Signed          bool
	State           State // of Latest
	Versions        int   // listed ones
	Downloads       int64
	Updated         time.Time
}

// A Search asks for skills. All conditions hold together.
type Search struct {
	Text       string   // words; each must match as a prefix, if a skill has them all: see Matches.Relaxed. "" lists all
	Namespaces []string // nil means no restriction
	Namespace  string   // facet; "" is any
	License    string   // facet
	Signed     *bool    // facet
	Sort       string   // "relevance" (default with text), "updated", "downloads", "name" (default without)
	Offset     int
	Limit      int // 0 means 20, at most 100
}

// Matches answers a Search.
type Matches struct {
	Skills  []Skill
	Scores  []float64                 // beside Skills; higher is better, 0 without text
	Total   int                       // of all pages
	Facets  map[string]map[string]int // "namespace", "license", "signed" → value → count, the 20 most frequent
	Relaxed bool                      // no skill, or for a sentence hardly one, has all words: these have those that tell most
}

// An Event is one line of the audit trail.
type Event struct {
	ID      int64
	At      time.Time
	Account string
	Token   string // id
	Remote  string // address
	Action  string
	Target  string // namespace, repository or release
	Detail  string // JSON
}

// An AuditQuery selects events, newest first.
type AuditQuery struct {
	Namespace string // of the target; "" is any
	Account   string
	Action    string
	Before    int64 // cursor: events with smaller ids; 0 is from the newest
	Limit     int
}
