// Package api serves a registry's own protocol: JSON over HTTP below /api/v1.
//
//   - The bodies are the structs of registry/client/wire; openapi.json describes every
//     route and is served at /api/v1/openapi.json (OpenAPI 3.1).
//   - Errors are application/problem+json (RFC 9457): type "urn:skl:problem:<code>", with the
//     code and the hints of the error. Faults inside the registry go to its log, not to the caller.
//   - A request's JSON body has at most 1 MiB, no unknown fields and nothing behind the value; an
//     archive has at most [MaxArchive] bytes.
//   - A query has no parameters that its route does not have, and none twice. Routes whose clients are others' too take
//     any: those of bytes, for browsers, and those of the log outside of /api/v1, for monitors.
//   - Lists come in pages of at most 100 with an opaque cursor, which is also in a Link header.
//   - Every GET has an ETag and honours If-None-Match. The ETag of a version does not
//     change with its download count or with the growth of the log: a proof stays a proof.
//   - The content of a path is served as it is, never rendered: text as text/plain, the rest
//     as bytes, sandboxed, not sniffed.
//   - Entries of the log are shown to those who may see the audit trail, for they name
//     private skills, unless PublicLog is set; checkpoint and hash tiles are for everybody.
//
// The core decides about permissions; see registry. Only the log's entries, and the text shown of blocked
// releases, are guarded here.
package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
)

// Bounds of requests, in bytes.
const (
	MaxJSON    = 1 << 20
	MaxArchive = 20 << 20 // the 16 MiB a published skill may have, and room for headers
)

// Core is what the handlers ask of a registry. *registry.Registry implements it.
type Core interface {
	WouldPublish(ctx context.Context, who registry.Caller, namespace, name, version, manifest string) (waits string, err error)
	PublishMirrored(ctx context.Context, who registry.Caller, namespace, name, version, manifest, from string) (registry.Published, error)
	PublishArchive(ctx context.Context, who registry.Caller, namespace, name, version string, r io.ReaderAt, size int64) (registry.Published, error)
	Act(ctx context.Context, who registry.Caller, namespace, name, version string, a registry.Action, reason string) (meta.Release, error)
	Release(ctx context.Context, who registry.Caller, namespace, name, version string) (meta.Release, error)
	Releases(ctx context.Context, who registry.Caller, namespace, name string) ([]meta.Release, error)
	Skill(ctx context.Context, who registry.Caller, namespace, name string) (meta.Skill, error)
	Skills(ctx context.Context, who registry.Caller, namespace, after string, limit int) ([]meta.Skill, error)
	Search(ctx context.Context, who registry.Caller, s meta.Search) (meta.Matches, error)
	Report(ctx context.Context, r meta.Release) (wire.Report, error)
	OpenZip(ctx context.Context, r meta.Release) (blob.Content, error)
	Signatures(ctx context.Context, who registry.Caller, r meta.Release) ([]registry.Signature, error)
	LogProof(ctx context.Context, r meta.Release) (*tlog.Proof, error)
	Checkpoint(ctx context.Context) ([]byte, error)
	States(ctx context.Context) ([]byte, error)
	LogTile(ctx context.Context, path string) ([]byte, error)
	CountDownload(namespace, name, version string)
	Downloads(ctx context.Context, who registry.Caller, namespace, name string, days int) (map[string]int64, error)

	Namespaces(ctx context.Context, who registry.Caller, after string, limit int) ([]meta.Namespace, error)
	Namespace(ctx context.Context, who registry.Caller, name string) (meta.Namespace, error)
	CreateNamespace(ctx context.Context, who registry.Caller, n meta.Namespace) error
	UpdateNamespace(ctx context.Context, who registry.Caller, name string, change func(*meta.Namespace) error) (meta.Namespace, error)
	TryNamespace(ctx context.Context, who registry.Caller, name string, change func(*meta.Namespace) error) (meta.Namespace, error)
	Grants(ctx context.Context, who registry.Caller, namespace string) ([]meta.Grant, error)
	Grant(ctx context.Context, who registry.Caller, gr meta.Grant) error
	Ungrant(ctx context.Context, who registry.Caller, account, namespace string) error
	Publishers(ctx context.Context, who registry.Caller, namespace string) ([]meta.Publisher, error)
	AddPublisher(ctx context.Context, who registry.Caller, namespace string, p meta.Publisher) (meta.Publisher, error)
	RemovePublisher(ctx context.Context, who registry.Caller, namespace, id string) error
	Exchange(ctx context.Context, remote, namespace, identity, audience string) (string, meta.Token, error)
	Advisories(ctx context.Context, who registry.Caller, namespace string) ([]wire.Advisory, error)
	AddAdvisory(ctx context.Context, who registry.Caller, a meta.Advisory) (meta.Advisory, error)
	WithdrawAdvisory(ctx context.Context, who registry.Caller, namespace, id, reason string) (meta.Advisory, error)
	CreateToken(ctx context.Context, who registry.Caller, account, namespace, role string, expires time.Time) (string, meta.Token, error)
	Tokens(ctx context.Context, who registry.Caller, after string, limit int) ([]meta.Token, error)
	RevokeToken(ctx context.Context, who registry.Caller, id string) error
	Queue(ctx context.Context, who registry.Caller, namespace string, since time.Time, after string, limit int) ([]registry.Waiting, error)
	SignedIn(ctx context.Context, who registry.Caller) error
	Events(ctx context.Context, who registry.Caller, q meta.AuditQuery) ([]meta.Event, error)
}

// A Handler serves /api/v1 and /log. Its fields are set before first use; Registry and
// Caller are needed.
type Handler struct {
	Registry  Core
	Caller    func(*http.Request) (registry.Caller, error)
	Challenge func(*http.Request) string // of WWW-Authenticate, with a 401
	About     wire.About
	URL       string // base of the URLs in answers, without a final slash; "" takes the request's
	// Audience is the address of the registry, which identity tokens are for, as no client can make it; "" takes none. Nil is the same.
	Audience  func(*http.Request) string
	Open      bool   // the registry lets anybody do anything
	PublicLog bool   // everybody sees the entries of the log
	TempDir   string // for archives while they arrive; "" is the system's
	Logger    *slog.Logger

	mux http.Handler
}

// New makes h ready to serve and returns it.
func New(h Handler) *Handler {
	h.mux = h.routes()
	return &h
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// routes is the mux: one entry for each path, so that a wrong method is told the right ones.
func (h *Handler) routes() http.Handler {
	mux := http.NewServeMux()
	paths := make(map[string]map[string]route)
	for _, rt := range operations() {
		if paths[rt.Path] == nil {
			paths[rt.Path] = make(map[string]route)
		}
		paths[rt.Path][rt.Method] = rt
	}
	for path, methods := range paths {
		mux.Handle(pattern(path), methodsHandler{h, methods})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, problem("not_found", "there is nothing at this path").Hint("GET /api/v1/openapi.json lists what there is"))
	})
	return mux
}

// methodsHandler serves one path.
type methodsHandler struct {
	h       *Handler
	methods map[string]route
}

func (m methodsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	rt, ok := m.methods[method]
	if !ok {
		w.Header().Set("Allow", allow(m.methods))
		m.h.fail(w, r, problem("method_not_allowed", "this path does not accept %s", printable(r.Method)))
		return
	}
	who, err := m.h.Caller(r)
	if err != nil && (!rt.open || r.Header.Get("Authorization") != "") {
		m.h.fail(w, r, err)
		return
	}
	if err := rt.checkQuery(r.URL.RawQuery); err != nil {
		m.h.fail(w, r, err)
		return
	}
	a, err := rt.handle(m.h, w, r, who)
	if err != nil {
		m.h.fail(w, r, err)
		return
	}
	m.h.send(w, r, who, a)
}
