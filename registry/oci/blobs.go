package oci

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/spec/diag"
)

func (q *request) blob() error {
	d, err := q.digest()
	if err != nil {
		return err
	}
	switch q.r.Method {
	case http.MethodHead:
		return q.headBlob(d)
	case http.MethodGet:
		return q.getBlob(d)
	case http.MethodDelete:
		if err := q.h.Registry.DeleteBlob(q.r.Context(), q.who, q.target.repo, d); err != nil {
			return err
		}
		q.status(http.StatusAccepted)
		return nil
	}
	return q.notAllowed("GET, HEAD, DELETE")
}

// headBlob answers from the metadata alone; the content is not touched.
func (q *request) headBlob(d blob.Digest) error {
	size, err := q.h.Registry.StatBlob(q.r.Context(), q.who, q.target.repo, d)
	if err != nil {
		return err
	}
	q.describeBlob(d)
	if q.unchanged(d.String()) {
		return nil
	}
	q.w.Header()["Content-Length"] = []string{itoa(size)}
	q.status(http.StatusOK)
	return nil
}

func (q *request) getBlob(d blob.Digest) error {
	elsewhere, err := q.h.Registry.BlobURL(q.r.Context(), q.who, q.target.repo, d)
	if err != nil {
		return err
	}
	if elsewhere != "" {
		q.describeBlob(d)
		if q.unchanged(d.String()) {
			return nil
		}
		q.w.Header().Set("Cache-Control", "no-store")
		q.w.Header().Set("Location", elsewhere)
		q.status(http.StatusTemporaryRedirect)
		return nil
	}
	c, err := q.h.Registry.OpenBlob(q.r.Context(), q.who, q.target.repo, d)
	if err != nil {
		return err
	}
	defer c.Close()
	q.describeBlob(d)
	if q.unchanged(d.String()) {
		return nil
	}
	size := c.Size()
	head := q.w.Header()
	asked := q.r.Header.Get("Range")
	if condition := q.r.Header.Get("If-Range"); condition != "" && condition != `"`+d.String()+`"` {
		asked = ""
	}
	from, length, partial, ok := byteRange(asked, size)
	switch {
	case !ok:
		head.Set("Content-Range", "bytes */"+itoa(size))
		return diag.New(diag.Misuse, "wrong_range", "range %q is not within the %d bytes of the blob", diag.Brief(asked, 100), size)
	case !partial:
		head["Content-Length"] = []string{itoa(size)}
		q.status(http.StatusOK)
		q.stream(c, size)
		return nil
	}
	if _, err := c.Seek(from, io.SeekStart); err != nil {
		return err
	}
	head["Content-Length"] = []string{itoa(length)}
	head.Set("Content-Range", "bytes "+itoa(from)+"-"+itoa(from+length-1)+"/"+itoa(size))
	q.status(http.StatusPartialContent)
	q.stream(c, length)
	return nil
}

// describeBlob sets the headers that depend on the digest alone.
func (q *request) describeBlob(d blob.Digest) {
	head := q.w.Header()
	head["Content-Type"] = octets
	head["Accept-Ranges"] = byteRanges
	head["Docker-Content-Digest"] = []string{d.String()}
	head["Etag"] = []string{`"` + d.String() + `"`}
	scope := "private"
	if q.who.Anonymous {
		scope = "public" // what anybody may read
	}
	head["Cache-Control"] = []string{scope + ", max-age=31536000, immutable"}
}

// unchanged answers 304 to who has the content already.
func (q *request) unchanged(digest string) bool {
	for _, field := range q.r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(field, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || tag == `"`+digest+`"` {
				q.w.Header().Del("Content-Type")
				q.status(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// byteRange reads a Range header for content of size bytes. Ok is false for a range that
// cannot be served. What is no byte range, and a list of several, asks for the whole.
func byteRange(header string, size int64) (from, length int64, partial, ok bool) {
	spec, found := strings.CutPrefix(header, "bytes=")
	if !found || strings.Contains(spec, ",") {
		return 0, size, false, true
	}
	first, last, found := strings.Cut(strings.TrimSpace(spec), "-")
	if !found {
		return 0, 0, false, false
	}
	if first == "" {
		n, ok := number(last)
		if !ok || n == 0 || size == 0 {
			return 0, 0, false, false
		}
		n = min(n, size)
		return size - n, n, true, true
	}
	from, ok = number(first)
	if !ok || from >= size {
		return 0, 0, false, false
	}
	end := size - 1
	if last != "" {
		if end, ok = number(last); !ok || end < from {
			return 0, 0, false, false
		}
		end = min(end, size-1)
	}
	return from, end - from + 1, true, true
}

// number reads decimal digits and nothing else.
func number(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
