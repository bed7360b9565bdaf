package wellknown

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/skill"
)

// bundleFile is the name of the signature of a version.
const bundleFile = "bundle.json"

// released is how long caches may keep the bytes of a version, in seconds: they never change,
// but the release may be blocked.
const released = "max-age=3600, immutable"

// artifact serves what the entries of an index point to.
func (h *Handler) artifact(w http.ResponseWriter, r *http.Request, q request) error {
	name, tail, _ := strings.Cut(q.tail, "/")
	if q.kind == legacy || tail == skill.FileName {
		return h.latest(w, r, q, name, tail)
	}
	version, file, ok := strings.Cut(tail, "/")
	if !ok || q.namespace == "" {
		return notFound()
	}
	v, err := h.Registry.Release(r.Context(), q.who, q.namespace, name, version)
	if err != nil {
		return err
	}
	if v.State == meta.Blocked {
		return api.Blocked(v)
	}
	q.cache(w.Header(), released)
	switch file {
	case name + ".zip":
		return h.zip(w, r, v)
	case skill.FileName:
		return h.file(w, r, v, file)
	case bundleFile:
		return h.bundle(w, r, q, v)
	}
	return notFound()
}

// latest serves a file of the listed version of a skill, under a URL without version.
func (h *Handler) latest(w http.ResponseWriter, r *http.Request, q request, name, path string) error {
	b, err := h.index(r.Context(), q.who, q.namespace)
	if err != nil {
		return err
	}
	e, ok := b.entries[name]
	if !ok || path == "" {
		return notFound()
	}
	v, err := h.Registry.Release(r.Context(), q.who, e.namespace, name, e.version)
	if err != nil {
		return err
	}
	if v.State == meta.Blocked {
		return api.Blocked(v)
	}
	q.cache(w.Header(), "no-cache")
	return h.file(w, r, v, path)
}

func (h *Handler) zip(w http.ResponseWriter, r *http.Request, v meta.Release) error {
	content, err := h.Registry.OpenZip(r.Context(), v)
	if err != nil {
		return err
	}
	defer content.Close()
	h.count(r, v)
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("ETag", `"`+v.Zip+`"`)
	http.ServeContent(w, r, "", time.Time{}, content)
	return nil
}

// file serves one file. Fetching SKILL.md counts as fetching the skill.
func (h *Handler) file(w http.ResponseWriter, r *http.Request, v meta.Release, path string) error {
	content, f, err := api.ReadFile(r.Context(), h.Registry, v, path)
	if err != nil {
		return err
	}
	if path == skill.FileName {
		h.count(r, v)
	}
	api.Sandbox(w.Header())
	w.Header().Set("Content-Type", api.FileMedia(content))
	if path == skill.FileName {
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	}
	w.Header().Set("ETag", `"`+f.SHA256+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	return nil
}

// bundle serves the first signature of a release.
func (h *Handler) bundle(w http.ResponseWriter, r *http.Request, q request, v meta.Release) error {
	all, err := h.Registry.Signatures(r.Context(), q.who, v)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return notFound()
	}
	q.cache(w.Header(), "no-cache") // a release may be signed once more
	w.Header().Set("Content-Type", "application/vnd.dev.sigstore.bundle.v0.3+json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(all[0].Bundle))
	return nil
}

// count notes a download once, however it is cut into ranges.
func (h *Handler) count(r *http.Request, v meta.Release) {
	from := r.Header.Get("Range")
	if r.Method == http.MethodGet && (from == "" || strings.HasPrefix(from, "bytes=0-")) {
		h.Registry.CountDownload(v.Namespace, v.Name, v.Version)
	}
}

// isMissing reports whether err says that something is not there, or not any more.
func isMissing(err error) bool {
	status := api.Status(err)
	return status == http.StatusNotFound || status == http.StatusGone || status == http.StatusUnauthorized
}
