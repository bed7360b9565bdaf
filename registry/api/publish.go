package api

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"slices"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

func (h *Handler) publishVersion(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return answer{}, problem("unsupported_media", "the body has no Content-Type")
	}
	var p registry.Published
	switch {
	case media == wire.MediaJSON:
		var body wire.PublishRequest
		if err := readJSON(w, r, &body); err != nil {
			return answer{}, err
		}
		if body.DryRun {
			waits, err := h.Registry.WouldPublish(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"), r.PathValue("version"), body.Manifest)
			return answer{body: map[string]string{"reason": waits}}, err
		}
		// Where a release comes from is kept if it was copied from another registry; else the annotations of its manifest say it.
		p, err = h.Registry.PublishMirrored(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"), r.PathValue("version"), body.Manifest, body.Mirrored)
	case slices.Contains([]string{wire.MediaGzip, wire.MediaZip, "application/octet-stream"}, media):
		p, err = h.publishArchive(w, r, who)
	default:
		err = problem("unsupported_media", "a release is published from JSON that names a manifest, or from a tar.gz or zip archive")
	}
	if err != nil {
		return answer{}, err
	}
	a, err := h.version(r, who, p.Release)
	if err != nil {
		return answer{}, err
	}
	a.status, a.location = http.StatusCreated, r.URL.EscapedPath()
	return a, nil
}

// publishArchive keeps the archive in a file while it arrives, so that many publishers
// do not need memory. Who may not publish here is told before a byte is read.
func (h *Handler) publishArchive(w http.ResponseWriter, r *http.Request, who registry.Caller) (p registry.Published, err error) {
	if ns := r.PathValue("namespace"); !h.Open && !who.May(auth.Publish, ns) {
		if who.Anonymous {
			return p, diag.New(diag.Failed, "unauthorized", "this needs a token").Hint("skl login URL")
		}
		return p, registry.Denied(who, auth.Publish, ns)
	}
	if r.ContentLength > MaxArchive {
		return p, diag.New(diag.Misuse, "too_large", "the archive is larger than %d bytes", MaxArchive)
	}
	f, err := os.CreateTemp(h.TempDir, "publish-")
	if err != nil {
		return p, registry.Explain(err)
	}
	defer func() {
		f.Close()
		os.Remove(f.Name())
	}()
	size, err := io.Copy(f, http.MaxBytesReader(w, r.Body, MaxArchive))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return p, diag.New(diag.Misuse, "too_large", "the archive is larger than %d bytes", tooLarge.Limit)
	}
	if _, own := errors.AsType[*fs.PathError](err); own {
		return p, registry.Explain(err) // of the file, not of the body
	}
	if err != nil {
		return p, diag.New(diag.Misuse, "invalid_request", "the archive did not arrive whole")
	}
	return h.Registry.PublishArchive(r.Context(), who, r.PathValue("namespace"), r.PathValue("name"), r.PathValue("version"), f, size)
}
