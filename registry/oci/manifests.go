package oci

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/spec/diag"
)

const (
	// maxTags is how many tags one request may give a manifest.
	maxTags = 64
	// page is the longest list of tags in one answer.
	page      = 5000
	indexType = "application/vnd.oci.image.index.v1+json"
)

func (q *request) manifest() error {
	ctx, repo, reference := q.r.Context(), q.target.repo, q.target.arg
	byDigest := strings.Contains(reference, ":")
	if byDigest {
		if _, err := q.digest(); err != nil {
			return err
		}
	}
	switch q.r.Method {
	case http.MethodGet, http.MethodHead:
		return q.getManifest()
	case http.MethodPut:
		return q.putManifest()
	case http.MethodDelete:
		var err error
		if byDigest {
			err = q.h.Registry.DeleteManifest(ctx, q.who, repo, reference)
		} else {
			err = q.h.Registry.DeleteTag(ctx, q.who, repo, reference)
		}
		if err == nil {
			q.status(http.StatusAccepted)
		}
		return err
	}
	return q.notAllowed("GET, HEAD, PUT, DELETE")
}

// getManifest serves the bytes that were pushed, whatever the client says it accepts: a
// digest names one form only, and who knows the tag wants what it names.
func (q *request) getManifest() error {
	find := q.h.Registry.Manifest
	if q.r.Method == http.MethodHead {
		find = q.h.Registry.StatManifest
	}
	m, err := find(q.r.Context(), q.who, q.target.repo, q.target.arg)
	if err != nil {
		return err
	}
	head := q.w.Header()
	head["Docker-Content-Digest"] = []string{m.Digest}
	head["Etag"] = []string{`"` + m.Digest + `"`}
	head["Cache-Control"] = []string{"no-cache"}
	if !q.who.Anonymous {
		head["Cache-Control"] = []string{"private, no-cache"}
	}
	q.warn(m.Warning)
	if q.unchanged(m.Digest) {
		return nil
	}
	if q.r.Method == http.MethodGet {
		q.h.Registry.CountPull(m)
	}
	q.json(http.StatusOK, m.MediaType, m.Bytes)
	return nil
}

// warn tells people something beside the answer, in the form of RFC 9111's code for anything.
func (q *request) warn(text string) {
	if text == "" {
		return
	}
	quoted := make([]byte, 0, len(text)+8)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < ' ' || c >= 0x7f:
			quoted = append(quoted, '?')
		default:
			quoted = append(quoted, c)
		}
	}
	q.w.Header().Set("Warning", `299 - "`+string(quoted)+`"`)
}

func (q *request) putManifest() error {
	repo, reference := q.target.repo, q.target.arg
	query, err := q.query()
	if err != nil {
		return err
	}
	tags := query["tag"]
	switch {
	case q.who.Anonymous && !q.who.Open:
		return diag.New(diag.Failed, "unauthorized", "this needs a token") // before up to 4 MiB are read
	case len(tags) > maxTags:
		return diag.New(diag.Misuse, "too_many_tags", "one request gives at most %d tags", maxTags)
	case len(tags) > 0 && !strings.Contains(reference, ":"):
		return diag.New(diag.Misuse, "invalid_request", "tags are given to a manifest that is pushed by digest")
	}
	content, err := q.small()
	if err != nil {
		return err
	}
	mediaType := q.r.Header.Get("Content-Type")
	ctx := q.r.Context()
	done, err := q.h.Registry.PutManifest(ctx, q.who, repo, reference, mediaType, content)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		d, err := blob.ParseDigest(done.Digest)
		if err != nil {
			return err
		}
		if tag == "" || strings.Contains(tag, ":") {
			return diag.New(diag.Misuse, "invalid_name", "%q is not a tag", diag.Brief(tag, 100))
		}
		if done, err = q.h.Registry.PutManifestAs(ctx, q.who, repo, tag, mediaType, d, content); err != nil {
			return err
		}
		q.w.Header().Add("OCI-Tag", tag)
	}
	head := q.w.Header()
	head.Set("Location", "/v2/"+repo+"/manifests/"+done.Digest)
	head.Set("Docker-Content-Digest", done.Digest)
	if done.Subject != "" {
		head.Set("OCI-Subject", done.Subject)
	}
	if done.Reason != "" {
		q.warn(string(done.State) + ": " + done.Reason)
	}
	head.Set("Content-Length", "0")
	q.status(http.StatusCreated)
	return nil
}

// small reads a manifest. What the client announces decides nothing about memory: that grows with what came.
func (q *request) small() ([]byte, error) {
	b := q.content()
	tooLarge := diag.New(diag.Misuse, "too_large", "a manifest has at most %d bytes", registry.MaxManifest)
	if b.want > registry.MaxManifest {
		return nil, tooLarge
	}
	var content bytes.Buffer
	content.Grow(int(min(max(b.want, 512), 64<<10)) + bytes.MinRead)
	switch _, err := content.ReadFrom(io.LimitReader(b, registry.MaxManifest+1)); {
	case err != nil:
		return nil, err
	case content.Len() > registry.MaxManifest:
		return nil, tooLarge
	}
	return content.Bytes(), nil
}

// pageSize is how many entries of a list are asked for, at most page.
func pageSize(query url.Values) (int64, error) {
	text := query.Get("n")
	if text == "" {
		return page, nil
	}
	n, ok := number(text)
	if !ok {
		return 0, diag.New(diag.Misuse, "invalid_page", "n is a number of entries, not %q", diag.Brief(text, 100))
	}
	return min(page, n), nil
}

func (q *request) tags() error {
	query, err := q.query()
	if err != nil {
		return err
	}
	limit, err := pageSize(query)
	if err != nil {
		return err
	}
	// One more than fits says whether there is a next page; with n=0 it says that the repository is there.
	list, err := q.h.Registry.Tags(q.r.Context(), q.who, q.target.repo, query.Get("last"), int(limit)+1)
	if err != nil {
		return err
	}
	if int64(len(list)) > limit {
		list = list[:limit]
		if limit > 0 {
			next := url.Values{"n": {itoa(limit)}, "last": {list[limit-1]}}
			q.w.Header().Set("Link", "</v2/"+q.target.repo+"/tags/list?"+next.Encode()+`>; rel="next"`)
		}
	}
	if list == nil {
		list = []string{}
	}
	content, err := json.Marshal(struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}{q.target.repo, list})
	if err != nil {
		return err
	}
	q.w.Header().Set("Cache-Control", "no-cache")
	q.json(http.StatusOK, "application/json", content)
	return nil
}

// A referrer is an entry of the list of what refers to a manifest.
type referrer struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

func (q *request) referrers() error {
	d, err := q.digest()
	if err != nil {
		return err
	}
	query, err := q.query()
	if err != nil {
		return err
	}
	artifactType := query.Get("artifactType")
	list, err := q.h.Registry.Referrers(q.r.Context(), q.who, q.target.repo, d.String(), artifactType)
	if err != nil {
		return err
	}
	entries := make([]referrer, len(list))
	for i, m := range list {
		entries[i] = referrer{m.MediaType, m.Digest, m.Size, m.ArtifactType, m.Annotations}
	}
	content, err := json.Marshal(struct {
		SchemaVersion int        `json:"schemaVersion"`
		MediaType     string     `json:"mediaType"`
		Manifests     []referrer `json:"manifests"`
	}{2, indexType, entries})
	if err != nil {
		return err
	}
	head := q.w.Header()
	if artifactType != "" {
		head.Set("OCI-Filters-Applied", "artifactType")
	}
	head.Set("Cache-Control", "no-cache")
	q.json(http.StatusOK, indexType, content)
	return nil
}

// query parses the part behind the question mark, strictly.
func (q *request) query() (url.Values, error) {
	if q.r.URL.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(q.r.URL.RawQuery)
	if err != nil {
		return nil, diag.New(diag.Misuse, "invalid_request", "the address has no valid query")
	}
	return values, nil
}

func isCode(err error, code string) bool { return errors.Is(err, diag.Code(code)) }
