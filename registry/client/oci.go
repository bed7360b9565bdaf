package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

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
	Warn     func(string)  // what a registry says about an artifact, cleaned, and that one is waited for. May be nil

	http     *ocihttp.Client
	download *origin.Client
	patience sync.Once // it was said that a registry is waited for
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
// again.
func (o *OCI) Push(ctx context.Context, t Target, image Image, referrers ...Image) (Pushed, error) {
	repo, err := o.repository(t)
	if err != nil {
		return Pushed{}, err
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
		return Pushed{}, o.problem(t, err)
	}
	// A referrer follows its subject, and one referrer the other: without the referrers API
	// they are listed in an index that each of them rewrites.
	for _, i := range all {
		for _, m := range append(i.Manifests[:len(i.Manifests):len(i.Manifests)], i.Root) {
			err := o.send(ctx, t, func() error {
				return o.problem(t, repo.Manifests().Push(ctx, m.Descriptor, bytes.NewReader(m.Data)))
			})
			if err != nil {
				return Pushed{}, err
			}
		}
	}
	out := Pushed{Manifest: image.Root.Digest.String()}
	for _, b := range image.Blobs {
		if _, ok := p.sent.Load(b.Digest); ok {
			out.Sent++
		}
	}
	return out, nil
}

// A Pushed is an image that a registry has.
type Pushed struct {
	Manifest string // its digest
	Sent     int    // blobs of the image that were not there before
}

// Tag gives the manifest of an image that was pushed a tag, which publishes it: on a registry of
// skills when the tag is a version, on any other at once.
func (o *OCI) Tag(ctx context.Context, t Target, root oci.Blob, tag string) error {
	repo, err := o.repository(t)
	if err != nil {
		return err
	}
	return o.send(ctx, t, func() error {
		return o.problem(t, repo.Manifests().PushReference(ctx, root.Descriptor, bytes.NewReader(root.Data), tag))
	})
}

// A pushing is a Push under way.
type pushing struct {
	*OCI
	repo   *remote.Repository
	target Target
	total  int64
	done   counter
	sent   sync.Map // by digest.Digest: blobs that were not there
}

func (p *pushing) blob(ctx context.Context, b oci.Blob) error {
	err := p.send(ctx, p.target, func() error { // from the start: what arrived of it may be lost
		there, err := p.repo.Blobs().Exists(ctx, b.Descriptor)
		if err == nil && !there {
			p.sent.Store(b.Digest, true)
			err = p.repo.Blobs().Push(ctx, b.Descriptor, bytes.NewReader(b.Data))
		}
		return p.problem(p.target, err)
	})
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
	class, code, sentence := diag.Misuse, "oci", http.StatusText(r.StatusCode)
	switch r.StatusCode {
	case http.StatusUnauthorized:
		class, code, sentence = diag.Failed, "unauthorized", "the registry wants to know who is asking"
	case http.StatusForbidden:
		class, code, sentence = diag.Failed, "denied", "the registry does not allow it"
	case http.StatusNotFound:
		code, sentence = "not_found", "the registry does not have it"
	case http.StatusGone:
		class, code, sentence = diag.Refused, "blocked", "the registry blocks this content"
	case http.StatusRequestEntityTooLarge:
		class, code, sentence = diag.Failed, "too_large", "the registry does not accept content of this size"
	case http.StatusTooManyRequests:
		class, code, sentence = diag.Failed, "rate_limited", "there were too many requests"
	default:
		if r.StatusCode >= 500 {
			class, code, sentence = diag.Failed, "http_status", "the registry cannot do this now: "+sentence
		}
	}
	var hints []string
	for _, e := range r.Errors[:min(len(r.Errors), 1)] {
		if said := clean(e.Message); said != "" {
			sentence = said
		}
		var its string
		if its, hints = own(e.Detail); its != "" {
			class, code = classOf(r.StatusCode, its), its
		}
	}
	e := diag.New(class, code, "%s: %s", t, sentence)
	e.Retryable = r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500 && origin.Busy(r.StatusCode)
	switch {
	case r.StatusCode == http.StatusUnauthorized, code == "denied" && r.StatusCode == http.StatusForbidden && len(hints) == 0:
		e.Hint("skl login %s", o.http.Base(t.Host))
	default:
		e.Hints = hints
	}
	return e
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
