// Package oci speaks the OCI distribution protocol, version 1.1 with the optional parts of the
// coming one, over the registry's core: what docker, containerd, oras, crane and cosign push and pull with.
//
// It promises:
//   - Bytes are served as they were pushed, with the digest they were pushed under, sha256 or sha512.
//   - An answer that cannot be completed ends the connection: no client takes a part for the whole.
//   - A body that is cut short, mislabelled, out of order or abandoned leaves no blob behind.
//   - Large transfers may take as long as they need while bytes flow: 30 seconds without
//     a byte, or less than 4 KiB a second on average, end a request.
//   - The core alone decides about permissions; this package decides nothing but the words.
//
// It refuses manifests of more than 4 MiB and more than 64 tags in one request. _catalog, which is not in the
// specification, lists the repositories that the caller may read.
//
// A request whose Range header asks for several ranges gets the whole blob. Blobs may be cached
// for ever; manifests must be asked for anew, so that a block or a yank is seen.
package oci

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// A Registry is what the protocol needs of the core; [registry.Registry] is one. Its errors
// are *diag.Error with the codes of that package.
type Registry interface {
	StatBlob(ctx context.Context, who registry.Caller, repo string, d blob.Digest) (int64, error)
	BlobURL(ctx context.Context, who registry.Caller, repo string, d blob.Digest) (string, error)
	OpenBlob(ctx context.Context, who registry.Caller, repo string, d blob.Digest) (blob.Content, error)
	PutBlob(ctx context.Context, who registry.Caller, repo string, d blob.Digest, size int64, r io.Reader) error
	MountBlob(ctx context.Context, who registry.Caller, repo, from string, d blob.Digest) (bool, error)
	DeleteBlob(ctx context.Context, who registry.Caller, repo string, d blob.Digest) error

	StartUpload(ctx context.Context, who registry.Caller, repo string) (id string, err error)
	UploadOffset(ctx context.Context, who registry.Caller, repo, id string) (int64, error)
	AppendUpload(ctx context.Context, who registry.Caller, repo, id string, offset int64, r io.Reader) (int64, error)
	FinishUpload(ctx context.Context, who registry.Caller, repo, id string, offset, size int64, r io.Reader, d blob.Digest) error
	CancelUpload(ctx context.Context, who registry.Caller, repo, id string) error

	Manifest(ctx context.Context, who registry.Caller, repo, reference string) (registry.Pulled, error)
	StatManifest(ctx context.Context, who registry.Caller, repo, reference string) (registry.Pulled, error)
	CountPull(p registry.Pulled)
	PutManifest(ctx context.Context, who registry.Caller, repo, reference, mediaType string, body []byte) (registry.Pushed, error)
	PutManifestAs(ctx context.Context, who registry.Caller, repo, tag, mediaType string, digest blob.Digest, body []byte) (registry.Pushed, error)
	DeleteManifest(ctx context.Context, who registry.Caller, repo, digest string) error
	DeleteTag(ctx context.Context, who registry.Caller, repo, tag string) error
	Tags(ctx context.Context, who registry.Caller, repo, after string, limit int) ([]string, error)
	Referrers(ctx context.Context, who registry.Caller, repo, digest, artifactType string) ([]meta.Manifest, error)
	Repositories(ctx context.Context, who registry.Caller, after string, limit int) ([]string, error)
}

// A Handler serves the paths below /v2/. Its fields are set before the first request. It may be
// called concurrently.
type Handler struct {
	Registry Registry
	// Caller says who asks. Its error is the answer: code unauthorized for credentials that are wrong.
	Caller func(*http.Request) (registry.Caller, error)
	// Challenge is the value of WWW-Authenticate that asks for a token of scope, such as
	// "repository:acme/pdf:pull,push", "" for none.
	Challenge func(r *http.Request, scope string) string
	// Patience is how long a client may keep an answer or a body waiting for a byte; 0 means 30 seconds.
	Patience time.Duration
	// Failed, if set, is told of errors that are the server's own fault. Their text does not go to the client.
	Failed func(r *http.Request, err error)
}

// maxPath bounds the path of a request, in bytes; a repository's name has at most 255.
const maxPath = 1024

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head["Docker-Distribution-Api-Version"] = apiVersion
	head["X-Content-Type-Options"] = nosniff
	head["Content-Security-Policy"] = sandbox // media types are the publisher's words
	q := &request{h: h, w: w, r: r}
	t, ok := parse(r.URL.Path)
	q.target = t
	if !ok {
		q.fail(diag.New(diag.Misuse, "not_found", "there is nothing at this address of the distribution protocol"))
		return
	}
	who, err := h.Caller(r)
	if err != nil {
		q.fail(err)
		return
	}
	q.who = who
	if err := q.serve(); err != nil {
		q.fail(err)
	}
}

// Values of headers that each answer has: shared, so that they cost no allocation.
var (
	apiVersion = []string{"registry/2.0"}
	nosniff    = []string{"nosniff"}
	sandbox    = []string{"default-src 'none'; sandbox"}
	octets     = []string{"application/octet-stream"}
	byteRanges = []string{"bytes"}
)

// A kind is what a path of the protocol names.
type kind int

const (
	ping kind = iota
	blobKind
	start  // of an upload
	upload // one that runs
	manifest
	tags
	referrers
	catalog
)

// A target is a parsed path.
type target struct {
	kind kind
	repo string
	arg  string // digest, reference or upload id
}

// parse reads the path from its end, as names of repositories may hold any of the
// protocol's words: /v2/tags/list/tags/list lists the tags of the repository tags/list.
func parse(path string) (target, bool) {
	if path == "/v2" || path == "/v2/" {
		return target{kind: ping}, true
	}
	if path == "/v2/_catalog" {
		return target{kind: catalog}, true
	}
	rest, ok := strings.CutPrefix(path, "/v2/")
	if !ok || len(path) > maxPath {
		return target{}, false
	}
	before, last := cutLast(rest)
	repo, verb := cutLast(before)
	switch verb {
	case "manifests":
		return target{manifest, repo, last}, repo != "" && last != ""
	case "referrers":
		return target{referrers, repo, last}, repo != "" && last != ""
	case "tags":
		return target{tags, repo, ""}, repo != "" && last == "list"
	case "uploads":
		if name, blobs := cutLast(repo); blobs == "blobs" && name != "" {
			if last == "" {
				return target{start, name, ""}, true
			}
			return target{upload, name, last}, true
		}
	case "blobs":
		if last == "uploads" {
			return target{start, repo, ""}, repo != ""
		}
		return target{blobKind, repo, last}, repo != "" && last != ""
	}
	return target{}, false
}

func cutLast(s string) (before, last string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

// A request is one that is being answered.
type request struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	who    registry.Caller
	target target
	body   *body // nil until it was asked for
	begun  bool  // the status is sent
}

func (q *request) serve() error {
	switch q.target.kind {
	case ping:
		return q.ping()
	case blobKind:
		return q.blob()
	case start:
		if q.r.Method != http.MethodPost {
			return q.notAllowed(http.MethodPost)
		}
		return q.startUpload()
	case upload:
		return q.upload()
	case manifest:
		return q.manifest()
	case tags:
		if !q.reads() {
			return q.notAllowed("GET, HEAD")
		}
		return q.tags()
	case catalog:
		if !q.reads() {
			return q.notAllowed("GET, HEAD")
		}
		return q.catalog()
	}
	if !q.reads() {
		return q.notAllowed("GET, HEAD")
	}
	return q.referrers()
}

// ping says 401 to whoever shows no token, also where anybody may read: several clients
// decide by this answer whether they send credentials at all.
func (q *request) ping() error {
	switch {
	case !q.reads():
		return q.notAllowed("GET, HEAD")
	case q.who.Anonymous && !q.who.Open:
		return diag.New(diag.Failed, "unauthorized", "this registry knows its callers by tokens")
	}
	q.json(http.StatusOK, "application/json", []byte("{}"))
	return nil
}

func (q *request) reads() bool { return q.r.Method == http.MethodGet || q.r.Method == http.MethodHead }

func (q *request) notAllowed(allow string) error {
	q.w.Header().Set("Allow", allow)
	return diag.New(diag.Misuse, "method_not_allowed", "%s is not done here, only %s", diag.Printable(q.r.Method), allow)
}

// digest parses the part of the path that has to be a digest.
func (q *request) digest() (blob.Digest, error) { return blob.ParseDigest(q.target.arg) }

// json sends a whole small body.
func (q *request) json(status int, mediaType string, content []byte) {
	q.w.Header().Set("Content-Type", mediaType)
	q.whole(status, content)
}

// whole sends content with its length, or only its length to who asked for the head.
func (q *request) whole(status int, content []byte) {
	q.w.Header().Set("Content-Length", itoa(int64(len(content))))
	q.status(status)
	if q.r.Method != http.MethodHead {
		q.write(content)
	}
}

//go:noinline
func (q *request) status(status int) {
	q.begun = true
	q.w.WriteHeader(status)
}
