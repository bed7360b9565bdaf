// Package ocitest is an OCI registry in memory for tests: pull, push in one piece, tags,
// referrers, ranges, basic and token authentication, and the misbehaviour that clients have to survive.
// It speaks HTTP on a loopback address. It is not an example of how to write a registry.
package ocitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/oci"
)

// Auth is how a Registry asks who is there.
type Auth string

const (
	Open   Auth = ""       // it does not
	Basic  Auth = "basic"  // Basic with User and Password
	Bearer Auth = "bearer" // Bearer with Password itself, and no token endpoint
	Token  Auth = "token"  // Bearer with a token from Realm
)

// A Registry keeps what is pushed to it. Set its fields before requests come.
type Registry struct {
	Auth           Auth
	User, Password string
	Realm          string // token endpoint; "" is /token of the registry itself
	NoReferrers    bool   // 404 for the referrers interface
	NoRanges       bool   // ranges are ignored
	PageSize       int    // tags of one answer; 0 means all
	Redirect       string // base address that GETs of blobs are sent to; "" means none

	// By tag or digest, in any repository:
	Gone     map[string]string // 410 with this reason
	Warnings map[string]string // header of the manifest's answer
	Replaced map[string][]byte // served in place of the content

	mu     sync.Mutex
	repos  map[string]*repo
	cuts   []int64
	busy   int
	asked  []Request
	tokens int
}

type repo struct {
	blobs     map[digest.Digest][]byte
	manifests map[digest.Digest]stored
	tags      map[string]digest.Digest
}

type stored struct {
	mediaType string
	data      []byte
}

// A Request is what a Registry was asked.
type Request struct {
	Method, Path, Range, Authorization string
}

// Start serves a new Registry until the test ends and returns its host, "127.0.0.1:port".
func Start(t testing.TB, r *Registry) string {
	t.Helper()
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// Cut breaks off the next answers with a blob after that many bytes each.
func (r *Registry) Cut(after ...int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cuts = append(r.cuts, after...)
}

// Busy answers the next n requests with 503.
func (r *Registry) Busy(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = n
}

// Asked returns the requests so far whose path holds part, and forgets all of them.
func (r *Registry) Asked(part string) []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.asked
	r.asked = nil
	return slices.DeleteFunc(all, func(q Request) bool { return !strings.Contains(q.Path, part) })
}

func (r *Registry) repo(name string) *repo {
	if r.repos == nil {
		r.repos = map[string]*repo{}
	}
	if r.repos[name] == nil {
		r.repos[name] = &repo{map[digest.Digest][]byte{}, map[digest.Digest]stored{}, map[string]digest.Digest{}}
	}
	return r.repos[name]
}

// Blob stores content and returns its descriptor.
func (r *Registry) Blob(repo, mediaType string, data []byte) v1.Descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := v1.Descriptor{MediaType: mediaType, Digest: oci.DigestOf(data), Size: int64(len(data))}
	r.repo(repo).blobs[d.Digest] = data
	return d
}

// Manifest stores a manifest, which is encoded unless it is bytes, below its digest and the tags.
func (r *Registry) Manifest(repo, mediaType string, manifest any, tags ...string) v1.Descriptor {
	data, ok := manifest.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(manifest); err != nil {
			panic(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.put(repo, mediaType, data, tags...)
}

func (r *Registry) put(repo, mediaType string, data []byte, tags ...string) v1.Descriptor {
	d := v1.Descriptor{MediaType: mediaType, Digest: oci.DigestOf(data), Size: int64(len(data))}
	at := r.repo(repo)
	at.manifests[d.Digest] = stored{mediaType, data}
	for _, tag := range tags {
		at.tags[tag] = d.Digest
	}
	return d
}

// Push stores an artifact as [oci.Build] and its like make it.
func (r *Registry) Push(repo string, b *oci.Built, tags ...string) v1.Descriptor {
	for _, blob := range b.Blobs {
		r.Blob(repo, blob.MediaType, blob.Data)
	}
	for _, m := range b.Manifests {
		r.Manifest(repo, m.MediaType, m.Data)
	}
	return r.Manifest(repo, b.Root.MediaType, b.Root.Data, tags...)
}

// ServeHTTP implements [http.Handler].
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, Request{q.Method, q.URL.Path, q.Header.Get("Range"), q.Header.Get("Authorization")})
	busy := r.busy > 0
	if busy {
		r.busy--
	}
	r.mu.Unlock()
	switch {
	case busy:
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	case q.URL.Path == "/token":
		r.token(w, q)
		return
	case !r.allowed(q):
		r.challenge(w, q)
		return
	case q.URL.Path == "/v2/":
		return
	}
	rest := strings.TrimPrefix(q.URL.Path, "/v2/")
	for _, kind := range []string{"/manifests/", "/blobs/uploads/", "/blobs/", "/referrers/", "/tags/list"} {
		name, last, ok := strings.Cut(rest, kind)
		if !ok {
			continue
		}
		switch kind {
		case "/manifests/":
			r.manifest(w, q, name, last)
		case "/blobs/uploads/":
			r.upload(w, q, name)
		case "/blobs/":
			r.blob(w, q, name, last)
		case "/referrers/":
			r.referrers(w, q, name, last)
		default:
			r.tagList(w, q, name)
		}
		return
	}
	refuse(w, http.StatusNotFound, "NAME_UNKNOWN", "no such repository")
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}})
}

// theToken is what the token endpoint gives, for one scope at a time.
func theToken(scope string) string { return "token-for-" + strings.ReplaceAll(scope, ":", ".") }

func (r *Registry) allowed(q *http.Request) bool {
	user, password, basic := q.BasicAuth()
	bearer, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	switch r.Auth {
	case Basic:
		return basic && user == r.User && password == r.Password
	case Bearer:
		return bearer == r.Password
	case Token:
		return bearer == theToken(scopeOf(q))
	}
	return true
}

func scopeOf(q *http.Request) string {
	name := strings.TrimPrefix(q.URL.Path, "/v2/")
	for _, end := range []string{"/manifests/", "/blobs/", "/referrers/", "/tags/"} {
		name, _, _ = strings.Cut(name, end)
	}
	actions := "pull"
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		actions = "pull,push"
	}
	return "repository:" + name + ":" + actions
}

func (r *Registry) challenge(w http.ResponseWriter, q *http.Request) {
	switch r.Auth {
	case Basic:
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
	case Bearer:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case Token:
		realm := r.Realm
		if realm == "" {
			realm = "http://" + q.Host + "/token"
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%q,service="test",scope=%q`, realm, scopeOf(q)))
	}
	refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "who are you")
}

func (r *Registry) token(w http.ResponseWriter, q *http.Request) {
	user, password, _ := q.BasicAuth()
	if user != r.User || password != r.Password {
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "wrong password")
		return
	}
	r.mu.Lock()
	r.tokens++
	r.mu.Unlock()
	json.NewEncoder(w).Encode(map[string]string{"token": theToken(q.URL.Query().Get("scope"))})
}

func (r *Registry) manifest(w http.ResponseWriter, q *http.Request, name, reference string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason, gone := r.Gone[reference]; gone {
		refuse(w, http.StatusGone, "DENIED", reason)
		return
	}
	if q.Method == http.MethodPut {
		data, _ := io.ReadAll(q.Body)
		d := r.put(name, q.Header.Get("Content-Type"), data)
		if !strings.Contains(reference, ":") {
			r.repo(name).tags[reference] = d.Digest
		}
		w.Header().Set("Docker-Content-Digest", string(d.Digest))
		w.WriteHeader(http.StatusCreated)
		return
	}
	d := digest.Digest(reference)
	if tagged, ok := r.repo(name).tags[reference]; ok {
		d = tagged
	}
	m, ok := r.repo(name).manifests[d]
	if !ok {
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "no such manifest")
		return
	}
	if warning := r.Warnings[reference]; warning != "" {
		w.Header().Set("Warning", warning)
	}
	data := m.data
	if other, ok := r.Replaced[string(d)]; ok {
		data = other
	}
	w.Header().Set("Content-Type", m.mediaType)
	w.Header().Set("Docker-Content-Digest", string(d))
	http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(data))
}

func (r *Registry) blob(w http.ResponseWriter, q *http.Request, name, reference string) {
	r.mu.Lock()
	data, ok := r.repo(name).blobs[digest.Digest(reference)]
	if other, replaced := r.Replaced[reference]; replaced {
		data = other
	}
	cut := int64(-1)
	if q.Method == http.MethodGet && r.Redirect == "" && len(r.cuts) > 0 {
		cut, r.cuts = r.cuts[0], r.cuts[1:]
	}
	r.mu.Unlock()
	if !ok {
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", "no such blob")
		return
	}
	if r.Redirect != "" {
		http.Redirect(w, q, r.Redirect+q.URL.Path, http.StatusTemporaryRedirect)
		return
	}
	if r.NoRanges {
		q.Header.Del("Range")
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", reference)
	w.Header().Set("ETag", `"`+reference+`"`)
	if cut >= 0 {
		w = &cutter{w, cut}
	}
	http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(data))
}

// A cutter breaks the connection after some bytes of the body.
type cutter struct {
	http.ResponseWriter
	left int64
}

func (c *cutter) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		c.left -= int64(len(p))
		return c.ResponseWriter.Write(p)
	}
	c.ResponseWriter.Write(p[:c.left])
	http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// upload takes a blob by POST and PUT, or by one POST.
func (r *Registry) upload(w http.ResponseWriter, q *http.Request, name string) {
	d := digest.Digest(q.URL.Query().Get("digest"))
	if d == "" {
		w.Header().Set("Location", "/v2/"+name+"/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	data, _ := io.ReadAll(q.Body)
	if oci.DigestOf(data) != d {
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", "another digest")
		return
	}
	r.Blob(name, "", data)
	w.Header().Set("Location", "/v2/"+name+"/blobs/"+string(d))
	w.WriteHeader(http.StatusCreated)
}

func (r *Registry) referrers(w http.ResponseWriter, _ *http.Request, name, subject string) {
	if r.NoReferrers {
		http.NotFound(w, nil)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	index := v1.Index{MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{}}
	index.SchemaVersion = 2
	for d, m := range r.repo(name).manifests {
		var manifest v1.Manifest
		if json.Unmarshal(m.data, &manifest) == nil && manifest.Subject != nil && string(manifest.Subject.Digest) == subject {
			index.Manifests = append(index.Manifests, v1.Descriptor{MediaType: m.mediaType, Digest: d, Size: int64(len(m.data)), ArtifactType: manifest.ArtifactType, Annotations: manifest.Annotations})
		}
	}
	slices.SortFunc(index.Manifests, func(a, b v1.Descriptor) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	w.Header().Set("Content-Type", v1.MediaTypeImageIndex)
	json.NewEncoder(w).Encode(index)
}

func (r *Registry) tagList(w http.ResponseWriter, q *http.Request, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.repos[name] == nil {
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN", "no such repository")
		return
	}
	tags := []string{}
	for tag := range r.repos[name].tags {
		if tag > q.URL.Query().Get("last") {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	if r.PageSize > 0 && len(tags) > r.PageSize {
		tags = tags[:r.PageSize]
		w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?last=%s>; rel="next"`, name, tags[len(tags)-1]))
	}
	json.NewEncoder(w).Encode(map[string]any{"name": name, "tags": tags})
}

// Tokens is how many tokens were given out.
func (r *Registry) Tokens() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens
}
