package api

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

func (h *Handler) listFiles(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	v, err := h.content(r, who, "version")
	if err != nil {
		return answer{}, err
	}
	return everything(v.Files, wireFile), nil
}

func (h *Handler) getFile(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	v, err := h.content(r, who, "version")
	if err != nil {
		return answer{}, err
	}
	content, f, err := ReadFile(r.Context(), h.Registry, v, r.PathValue("path"))
	if err != nil {
		return answer{}, err
	}
	Sandbox(w.Header())
	return answer{raw: bytes.NewReader(content), media: FileMedia(content), etag: `"` + f.SHA256 + `"`}, nil
}

// Sandbox keeps a browser from running or guessing what comes from a skill.
func Sandbox(head http.Header) {
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// FileMedia is text/plain for text, whatever the name says.
func FileMedia(content []byte) string {
	if isText(content) {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// isText reports whether content is UTF-8 without control characters that text does not have.
func isText(content []byte) bool {
	return utf8.Valid(content) && !bytes.ContainsFunc(content, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r)
	})
}

// An Opener opens the archives of releases.
type Opener interface {
	OpenZip(ctx context.Context, r meta.Release) (blob.Content, error)
}

// ReadFile reads one file of a release from its archive. Its error has the code
// unknown_file if there is none.
func ReadFile(ctx context.Context, o Opener, v meta.Release, path string) ([]byte, meta.File, error) {
	for _, f := range v.Files {
		if f.Path != path {
			continue
		}
		files, err := readFiles(ctx, o, v, map[string]int64{f.Path: f.Size})
		if err != nil {
			return nil, meta.File{}, err
		}
		return files[f.Path], f, nil
	}
	return nil, meta.File{}, diag.New(diag.Misuse, "unknown_file", "there is no file %q in %s@%s", printable(path), v.Repo(), v.Version)
}

// readFiles reads the files of a release whose paths are given with their sizes.
func readFiles(ctx context.Context, o Opener, v meta.Release, sizes map[string]int64) (map[string][]byte, error) {
	if len(sizes) == 0 {
		return nil, nil
	}
	content, err := o.OpenZip(ctx, v)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	archive, err := zip.NewReader(content, content.Size())
	if err != nil {
		return nil, fmt.Errorf("archive of %s@%s: %w", v.Repo(), v.Version, err)
	}
	out := make(map[string][]byte, len(sizes))
	for _, f := range archive.File {
		size, wanted := sizes[f.Name]
		if !wanted {
			continue
		}
		if out[f.Name], err = readEntry(f, size); err != nil {
			return nil, fmt.Errorf("%s in the archive of %s@%s: %w", f.Name, v.Repo(), v.Version, err)
		}
	}
	if len(out) != len(sizes) {
		return nil, fmt.Errorf("the archive of %s@%s does not hold all its files", v.Repo(), v.Version)
	}
	return out, nil
}

// readEntry reads an entry that has size bytes.
func readEntry(f *zip.File, size int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, size+1))
	if err == nil && int64(len(content)) != size {
		err = errors.New("it has another size than the record says")
	}
	return content, err
}

func (h *Handler) downloadVersion(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	v, err := h.content(r, who, "version")
	if err != nil {
		return answer{}, err
	}
	content, err := h.Registry.OpenZip(r.Context(), v)
	if err != nil {
		return answer{}, err
	}
	if from := r.Header.Get("Range"); r.Method == http.MethodGet && (from == "" || strings.HasPrefix(from, "bytes=0-")) {
		h.Registry.CountDownload(v.Namespace, v.Name, v.Version)
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+v.Name+"-"+v.Version+`.zip"`)
	return answer{raw: content, media: wire.MediaZip, etag: `"` + v.Zip + `"`}, nil
}

func (h *Handler) diffVersions(w http.ResponseWriter, r *http.Request, who registry.Caller) (answer, error) {
	from, err := h.content(r, who, "version")
	if err != nil {
		return answer{}, err
	}
	to, err := h.content(r, who, "other")
	if err != nil {
		return answer{}, err
	}
	d := compare(from, to)
	if err := h.fillDiff(r.Context(), &d, from, to); err != nil {
		return answer{}, err
	}
	if err := h.fillPermissions(r.Context(), &d, from, to); err != nil {
		return answer{}, err
	}
	return answer{body: d}, nil
}

// compare finds what differs, without texts.
func compare(from, to meta.Release) wire.Diff {
	d := wire.Diff{From: from.Version, To: to.Version, Files: []wire.FileDiff{}}
	a, b := from.Files, to.Files // both sorted by path
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			d.Files = append(d.Files, wire.FileDiff{Path: a[0].Path, Status: "removed", From: ptr(wireFile(a[0]))})
			a = a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			d.Files = append(d.Files, wire.FileDiff{Path: b[0].Path, Status: "added", To: ptr(wireFile(b[0]))})
			b = b[1:]
		default:
			if a[0] != b[0] {
				d.Files = append(d.Files, wire.FileDiff{Path: a[0].Path, Status: "changed", From: ptr(wireFile(a[0])), To: ptr(wireFile(b[0]))})
			}
			a, b = a[1:], b[1:]
		}
	}
	return d
}

func ptr[T any](v T) *T { return &v }
