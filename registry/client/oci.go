package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/skl-project/skl/registry/client/ocihttp"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// parallel is how many blobs are sent or fetched at once.
const parallel = 4

// A Target is a repository of a registry, of any kind.
type Target struct {
	Host string // "host" or "host:port"
	Repo string // "acme/pdf"
}

// String is the target as OCI references write it.
func (t Target) String() string { return t.Host + "/" + t.Repo }

// An OCI pushes to and pulls from OCI registries. [NewOCI] makes one; its fields are set before first
// use, its methods may be called concurrently.
type OCI struct {
	Cache    string        // directory of large blobs, "oci/blobs" below the cache directory; "" keeps none
	Progress diag.Progress // bytes that were sent or fetched, stages "push" and "fetch". May be nil
	Warn     func(string)  // what a registry says about an artifact, cleaned. May be nil

	http     *ocihttp.Client
	download *origin.Client
}

// NewOCI returns an OCI that sends its requests through c.
func NewOCI(c *origin.Client) *OCI { return &OCI{http: ocihttp.New(c), download: c} }

// An Image is an artifact as bytes. All blobs and manifests are named by their sha256.
type Image struct {
	Blobs     []oci.Blob // configs and layers
	Manifests []oci.Blob // that Root, an index, lists
	Root      oci.Blob   // manifest or index
}

// ImageOf is what spec/oci built.
func ImageOf(b *oci.Built) Image {
	return Image{Blobs: b.Blobs, Manifests: b.Manifests, Root: b.Root}
}

// ManifestImage is an Image of one image manifest with its blobs, whose media types do not matter to a registry.
func ManifestImage(manifest []byte, blobs ...[]byte) Image {
	image := Image{Root: blob(v1.MediaTypeImageManifest, manifest)}
	for _, b := range blobs {
		image.Blobs = append(image.Blobs, blob("application/octet-stream", b))
	}
	return image
}

func blob(media string, data []byte) oci.Blob {
	return oci.Blob{Descriptor: v1.Descriptor{MediaType: media, Digest: oci.DigestOf(data), Size: int64(len(data))}, Data: data}
}

// Push uploads image and then what refers to it, all by digest, so that a registry of skills shows it to
// nobody else yet: [Client.Publish] or [OCI.Tag] does. What is there already is not sent
// again. It returns the digest of the image's root.
func (o *OCI) Push(ctx context.Context, t Target, image Image, referrers ...Image) (manifest string, err error) {
	repo, err := o.repository(t)
	if err != nil {
		return "", err
	}
	all := append([]Image{image}, referrers...)
	p := pushing{OCI: o, repo: repo, target: t}
	seen := map[digest.Digest]bool{}
	var blobs []oci.Blob
	for _, i := range all {
		for _, b := range i.Blobs {
			if !seen[b.Digest] {
				blobs = append(blobs, b)
				p.total += b.Size
			}
			seen[b.Digest] = true
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, b := range blobs {
		g.Go(func() error { return p.blob(gctx, b) })
	}
	if err := g.Wait(); err != nil {
		return "", o.problem(t, err)
	}
	// A referrer follows its subject, and one referrer the other: without the referrers API
	// they are listed in an index that each of them rewrites.
	for _, i := range all {
		for _, m := range append(i.Manifests[:len(i.Manifests):len(i.Manifests)], i.Root) {
			if err := repo.Manifests().Push(ctx, m.Descriptor, bytes.NewReader(m.Data)); err != nil {
				return "", o.problem(t, err)
			}
		}
	}
	return image.Root.Digest.String(), nil
}

// Tag gives the manifest of an image that was pushed a tag, which publishes it: on a registry of
// skills when the tag is a version, on any other at once.
func (o *OCI) Tag(ctx context.Context, t Target, root oci.Blob, tag string) error {
	repo, err := o.repository(t)
	if err != nil {
		return err
	}
	return o.problem(t, repo.Manifests().PushReference(ctx, root.Descriptor, bytes.NewReader(root.Data), tag))
}

// A pushing is a Push under way.
type pushing struct {
	*OCI
	repo   *remote.Repository
	target Target
	total  int64
	done   counter
}

func (p *pushing) blob(ctx context.Context, b oci.Blob) error {
	there, err := p.repo.Blobs().Exists(ctx, b.Descriptor)
	if err == nil && !there {
		err = p.repo.Blobs().Push(ctx, b.Descriptor, bytes.NewReader(b.Data))
	}
	if err != nil {
		return err
	}
	p.Progress.Send(diag.Event{Stage: "push", Name: p.target.String(), Done: p.done.add(b.Size), Total: p.total})
	return nil
}

// repository is a connection to one repository; what it learns about the registry (tokens) is shared.
func (o *OCI) repository(t Target) (*remote.Repository, error) {
	repo, err := o.http.Repository(t.Host, t.Repo)
	if err != nil {
		return nil, err
	}
	repo.HandleWarning = func(w remote.Warning) {
		if text := clean(w.Text); text != "" && o.Warn != nil {
			o.Warn(t.String() + ": " + text)
		}
	}
	return repo, nil
}

// problem gives an error of oras-go a class and a code. It is nil for nil.
func (o *OCI) problem(t Target, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e, ok := errors.AsType[*errcode.ErrorResponse](err)
	switch {
	case !ok && errors.Is(err, content.ErrMismatchedDigest):
		return diag.New(diag.Refused, oci.CodeDigest, "%s sends content of another digest than was asked for", t)
	case !ok && errors.Is(err, errdef.ErrNotFound):
		return o.answered(t, &errcode.ErrorResponse{StatusCode: http.StatusNotFound})
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return o.answered(t, &errcode.ErrorResponse{StatusCode: http.StatusUnauthorized})
	case !ok:
		return diag.New(diag.Failed, "oci", "%s: %w", t, err)
	}
	return o.answered(t, e)
}

// answered is the error of a status, with what the registry says about it.
func (o *OCI) answered(t Target, r *errcode.ErrorResponse) error {
	var said, code string
	var hints []string
	for _, e := range r.Errors[:min(len(r.Errors), 1)] {
		said = clean(e.Message)
		code, hints = own(e.Detail)
	}
	describe := func(class diag.Class, fallback, sentence string) *diag.Error {
		if said != "" {
			sentence = said
		}
		if code != "" {
			class = classOf(r.StatusCode, code)
			fallback = code
		}
		e := diag.New(class, fallback, "%s: %s", t, sentence)
		if r.StatusCode != http.StatusUnauthorized {
			e.Hints = hints
		}
		return e
	}
	switch r.StatusCode {
	case http.StatusUnauthorized:
		return describe(diag.Failed, "unauthorized", "the registry wants to know who is asking").Hint("skl login %s", o.http.Base(t.Host))
	case http.StatusForbidden:
		e := describe(diag.Failed, "denied", "the registry does not allow it")
		if e.Code == "denied" {
			e.Hint("skl login %s", o.http.Base(t.Host))
		}
		return e
	case http.StatusNotFound:
		return describe(diag.Misuse, "not_found", "the registry does not have it")
	case http.StatusGone:
		return describe(diag.Refused, "blocked", "it is blocked")
	case http.StatusRequestEntityTooLarge:
		return describe(diag.Failed, "too_large", "the registry does not accept content of this size")
	case http.StatusTooManyRequests:
		e := describe(diag.Failed, "rate_limited", "there were too many requests")
		e.Retryable = true
		return e
	}
	if r.StatusCode >= 500 {
		e := describe(diag.Failed, "http_status", http.StatusText(r.StatusCode))
		e.Retryable = origin.Busy(r.StatusCode)
		return e
	}
	return describe(diag.Misuse, "oci", http.StatusText(r.StatusCode))
}

// own is the code and the hints that a registry of skills gives in the detail of an OCI error.
func own(detail any) (code string, hints []string) {
	m, _ := detail.(map[string]any)
	if s, ok := m["code"].(string); ok && isCode(s) {
		code = s
	}
	list, _ := m["hints"].([]any)
	for _, h := range list[:min(len(list), maxHints)] {
		if s, ok := h.(string); ok && clean(s) != "" {
			hints = append(hints, clean(s))
		}
	}
	return code, hints
}

// parseRefusal reads the error of a response as oras-go does; the body may be anything.
func parseRefusal(resp *http.Response) error {
	e := &errcode.ErrorResponse{StatusCode: resp.StatusCode}
	if resp.Request != nil {
		e.Method, e.URL = resp.Request.Method, resp.Request.URL
	}
	var body struct {
		Errors errcode.Errors `json:"errors"`
	}
	if text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem)); err == nil && json.Unmarshal(text, &body) == nil {
		e.Errors = body.Errors
	}
	return e
}
