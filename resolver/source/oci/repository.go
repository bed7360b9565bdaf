package oci

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
)

// A repository is one repository of a registry. What it says of a digest is asked once.
type repository struct {
	source *Source
	remote *remote.Repository
	url    string // oci://host/ns/name
	host   string
	base   string // https://host/v2/ns/name

	mu        sync.Mutex // guards what follows
	manifests map[digest.Digest]*manifest
	listed    []string // tags, nil until they were asked for
}

// A manifest is the bytes of a manifest or index that was checked against its digest.
type manifest struct {
	mediaType string
	digest    digest.Digest
	bytes     []byte
}

// tags lists the tags.
func (r *repository) tags(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	listed := r.listed
	r.mu.Unlock()
	if listed != nil {
		return listed, nil
	}
	tags := []string{}
	enough := errors.New("enough tags")
	err := r.remote.Tags(ctx, "", func(page []string) error {
		if tags = append(tags, page...); len(tags) > maxTags {
			return enough
		}
		return nil
	})
	if err == enough {
		return nil, diag.New(diag.Failed, source.CodeTooLarge, "%s has more than %d tags", r.url, maxTags).
			Hint("name one: %s:TAG", r.url)
	}
	if err != nil {
		return nil, r.failed(err)
	}
	r.mu.Lock()
	r.listed = tags
	r.mu.Unlock()
	return tags, nil
}

// accept lists what a manifest may be; without it some registries answer 404.
func accept() string {
	return strings.Join([]string{v1.MediaTypeImageManifest, v1.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json", "*/*;q=0.1"}, ", ")
}

// manifest reads the manifest that a tag or digest names.
func (r *repository) manifest(ctx context.Context, reference string) (*manifest, error) {
	want := digest.Digest("")
	if _, ok := ref.ParseDigest(reference); ok {
		want = digest.Digest(reference)
		r.mu.Lock()
		m := r.manifests[want]
		r.mu.Unlock()
		if m != nil {
			return m, nil
		}
		if r.source.Client.Offline {
			if b, ok := r.source.cachedBytes(want); ok {
				return &manifest{digest: want, bytes: b}, nil
			}
		}
	} else if !ref.IsTag(reference) {
		return nil, diag.New(diag.Misuse, "invalid_ref", "%q is neither a tag nor a digest", diag.Printable(reference))
	}
	m, err := r.getManifest(ctx, reference, want)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	if r.manifests == nil {
		r.manifests = make(map[digest.Digest]*manifest)
	}
	r.manifests[m.digest] = m
	r.mu.Unlock()
	r.source.keep(m.digest, m.bytes)
	return m, nil
}

func (r *repository) getManifest(ctx context.Context, reference string, want digest.Digest) (*manifest, error) {
	resp, err := r.get(ctx, r.base+"/manifests/"+url.PathEscape(reference), accept())
	if err != nil {
		return nil, err
	}
	r.warnings(resp, reference)
	m := &manifest{mediaType: resp.Header.Get("Content-Type"), digest: want}
	if m.bytes, err = origin.ReadAll(resp, oci.MaxManifest); err != nil {
		return nil, r.failed(err)
	}
	if want == "" {
		// A registry keeps the algorithm that a manifest was pushed with. What it says is checked below.
		if m.digest = digest.Digest(resp.Header.Get("Docker-Content-Digest")); m.digest == "" {
			m.digest = oci.DigestOf(m.bytes)
		}
		if err := oci.CheckDigest(m.digest); err != nil {
			return nil, r.explain(err)
		}
	}
	if m.digest.Algorithm().FromBytes(m.bytes) != m.digest {
		return nil, diag.New(diag.Refused, oci.CodeDigest, "%s: the manifest it sends for %s is not %s", r.url, diag.Printable(reference), m.digest)
	}
	return m, nil
}

// codeAuth is that of a registry that wants other credentials, or none that skl has.
const codeAuth = "oci_auth"

// attempts is how often a request is sent before an error of the network or a busy registry is believed.
const attempts = 3

// get sends a request whose answer is 200, whose body the caller closes.
func (r *repository) get(ctx context.Context, address, accept string) (*http.Response, error) {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull)
	for i := 1; ; i++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, diag.New(diag.Failed, "invalid_url", "%s is not an address", diag.Printable(address))
		}
		req.Header.Set("Accept", accept)
		resp, err := r.do(req)
		if err == nil && resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		if err == nil {
			err = r.check(resp)
			resp.Body.Close()
		}
		if e, ok := err.(*diag.Error); !ok || !e.Retryable || i == attempts {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(r.source.pause(i)):
		}
	}
}

// pause is how long to wait behind attempt number i.
func (s *Source) pause(i int) time.Duration {
	if s.Retry != nil {
		return time.Duration(s.Retry(i)) * time.Millisecond
	}
	return 300 * time.Millisecond << (i - 1)
}

// do sends a request with what the registry wants as credentials.
func (r *repository) do(req *http.Request) (*http.Response, error) {
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return nil, r.failed(err)
	}
	return resp, nil
}

// check makes the error of a status.
func (r *repository) check(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return r.status(resp.StatusCode, said(body))
}

// said is what the body of an error says: the message of an OCI error or of a problem document (RFC 9457).
func said(body []byte) string {
	var e struct {
		Errors []struct{ Code, Message string }
		Title  string
		Detail string
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	text := e.Detail
	if text == "" && len(e.Errors) > 0 {
		text = e.Errors[0].Message
	}
	if text == "" {
		text = e.Title
	}
	return shown(text)
}

// shown is what a registry says, cut to a length and without what a terminal would act on.
func shown(text string) string {
	text = diag.Printable(strings.Join(strings.Fields(text), " "))
	if r := []rune(text); len(r) > 300 {
		text = string(r[:300]) + "…"
	}
	return text
}

func (r *repository) status(status int, said string) *diag.Error {
	because := ""
	if said != "" {
		because = ": " + said
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return diag.New(diag.Failed, codeAuth, "%s asks for credentials that may read it%s", r.url, because).
			Hint("skl login %s", r.host)
	case http.StatusNotFound:
		return diag.New(diag.Failed, "oci_not_found", "%s does not have it%s", r.url, because).
			Hint("a private repository may look missing: check the spelling, then your credentials")
	case http.StatusGone:
		return diag.New(diag.Refused, source.CodeBlocked, "%s has blocked this release%s", r.url, because)
	}
	e := diag.New(diag.Failed, "oci_status", "%s answers with status %d%s", r.url, status, because)
	e.Retryable = origin.Busy(status)
	return e
}

// failed makes the error of a request that brought no answer, or of one that oras-go made.
func (r *repository) failed(err error) error {
	if e, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		text := ""
		if len(e.Errors) > 0 {
			text = shown(e.Errors[0].Message)
		}
		return r.status(e.StatusCode, text)
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return r.status(http.StatusUnauthorized, "")
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return diag.New(diag.Failed, codeAuth, "%s cannot be asked: %w", r.url, errors.New(shown(err.Error())))
}

// explain names the repository in errors about its content.
func (r *repository) explain(err error) error {
	if e, ok := err.(*diag.Error); ok && !strings.Contains(e.Message, r.url) {
		return diag.Prefixed(err, r.url)
	}
	return err
}

// warnings passes on what the registry warns of.
func (r *repository) warnings(resp *http.Response, reference string) {
	if r.source.Warn == nil {
		return
	}
	place := r.url + ":" + reference
	if _, ok := ref.ParseDigest(reference); ok {
		place = r.url + "@" + reference
	}
	for i, value := range resp.Header.Values("Warning") {
		text := warnText(value)
		if text == "" || i >= 8 {
			continue
		}
		r.source.mu.Lock()
		key := [2]string{place, text}
		again := r.source.warned[key]
		r.source.warned[key] = true
		r.source.mu.Unlock()
		if !again {
			r.source.Warn(place, text)
		}
	}
}

// warnText is the text of a Warning header, which is: 299 - "text" (OCI distribution spec, "Warnings").
func warnText(value string) string {
	start, end := strings.IndexByte(value, '"'), strings.LastIndexByte(value, '"')
	if !strings.HasPrefix(value, "299 ") || start < 0 || end <= start {
		return ""
	}
	return shown(strings.ReplaceAll(strings.ReplaceAll(value[start+1:end], `\"`, `"`), `\\`, `\`))
}
