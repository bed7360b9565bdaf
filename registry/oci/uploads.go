package oci

import (
	"net/http"
	"strings"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/spec/diag"
)

// startUpload is POST: a mount, a whole blob in one request, or a session for one to come.
func (q *request) startUpload() error {
	query, err := q.query()
	if err != nil {
		return err
	}
	if a := query.Get("digest-algorithm"); a != "" && a != blob.SHA256 && a != blob.SHA512 {
		return diag.New(diag.Misuse, "wrong_digest", "digests are sha256 or sha512 here, not %q", diag.Brief(a, 100))
	}
	ctx, repo := q.r.Context(), q.target.repo
	if text := query.Get("mount"); text != "" {
		d, err := blob.ParseDigest(text)
		if err != nil {
			return err
		}
		mounted, err := q.h.Registry.MountBlob(ctx, q.who, repo, query.Get("from"), d)
		if err != nil {
			return err
		}
		if mounted {
			q.stored(d)
			return nil
		}
	} else if text := query.Get("digest"); text != "" {
		d, err := blob.ParseDigest(text)
		if err != nil {
			return err
		}
		b := q.content()
		if err := q.h.Registry.PutBlob(ctx, q.who, repo, d, b.want, b); err != nil {
			return err
		}
		q.stored(d)
		return nil
	}
	id, err := q.h.Registry.StartUpload(ctx, q.who, repo)
	if err != nil {
		return err
	}
	q.progress(id, 0)
	q.status(http.StatusAccepted)
	return nil
}

func (q *request) upload() error {
	ctx, repo, id := q.r.Context(), q.target.repo, q.target.arg
	switch q.r.Method {
	case http.MethodGet, http.MethodHead:
		n, err := q.h.Registry.UploadOffset(ctx, q.who, repo, id)
		if err != nil {
			return err
		}
		q.progress(id, n)
		q.status(http.StatusNoContent)
		return nil
	case http.MethodPatch:
		return q.patch()
	case http.MethodPut:
		return q.closeUpload()
	case http.MethodDelete:
		if err := q.h.Registry.CancelUpload(ctx, q.who, repo, id); err != nil {
			return err
		}
		q.status(http.StatusNoContent)
		return nil
	}
	return q.notAllowed("GET, HEAD, PATCH, PUT, DELETE")
}

// patch adds a piece.
func (q *request) patch() error {
	offset, err := q.offset()
	if err != nil {
		return q.resumable(err)
	}
	n, err := q.h.Registry.AppendUpload(q.r.Context(), q.who, q.target.repo, q.target.arg, offset, q.content())
	if err != nil {
		return q.resumable(err)
	}
	q.progress(q.target.arg, n)
	q.status(http.StatusAccepted)
	return nil
}

// closeUpload adds what the body holds and makes the session a blob.
func (q *request) closeUpload() error {
	query, err := q.query()
	if err != nil {
		return err
	}
	d, err := blob.ParseDigest(query.Get("digest"))
	if err != nil {
		return err
	}
	offset, err := q.offset()
	if err != nil {
		return q.resumable(err)
	}
	b := q.content()
	if err := q.h.Registry.FinishUpload(q.r.Context(), q.who, q.target.repo, q.target.arg, offset, b.want, b, d); err != nil {
		return q.resumable(err)
	}
	q.stored(d)
	return nil
}

// resumable adds to a refusal for the wrong offset where the session goes on.
func (q *request) resumable(err error) error {
	if !isCode(err, "wrong_range") || q.body != nil && q.body.failed != nil {
		return err
	}
	if n, oerr := q.h.Registry.UploadOffset(q.r.Context(), q.who, q.target.repo, q.target.arg); oerr == nil {
		q.progress(q.target.arg, n)
	}
	return err
}

// offset is where the body of the request belongs, -1 for the end.
func (q *request) offset() (int64, error) {
	header := q.r.Header.Get("Content-Range")
	if header == "" {
		return -1, nil
	}
	spec := strings.TrimPrefix(header, "bytes ") // some clients write it as RFC 9110 does
	spec, _, _ = strings.Cut(spec, "/")
	first, last, found := strings.Cut(spec, "-")
	from, ok := number(first)
	end, ok2 := number(last)
	switch {
	case !found || !ok || !ok2 || end < from-1:
		return 0, diag.New(diag.Misuse, "wrong_range", "content range %q is not FIRST-LAST", diag.Brief(header, 100))
	case q.r.ContentLength >= 0 && end-from+1 != q.r.ContentLength:
		return 0, diag.New(diag.Misuse, "invalid_size", "content range %q is not that of a body of %d bytes", diag.Brief(header, 100), q.r.ContentLength)
	}
	if q.r.ContentLength < 0 {
		q.content().want = end - from + 1 // what the client announced, if not by a length
	}
	return from, nil
}

// progress says where the session is and how far it got. Range has no form for nothing;
// clients know "0-0" as that from other registries.
func (q *request) progress(id string, n int64) {
	head := q.w.Header()
	head.Set("Location", "/v2/"+q.target.repo+"/blobs/uploads/"+id)
	head.Set("Docker-Upload-Uuid", id)
	head.Set("Range", "0-"+itoa(max(n-1, 0)))
}

// stored answers that the repository holds the blob.
func (q *request) stored(d blob.Digest) {
	head := q.w.Header()
	head.Set("Location", "/v2/"+q.target.repo+"/blobs/"+d.String())
	head.Set("Docker-Content-Digest", d.String())
	head.Set("Content-Length", "0")
	q.status(http.StatusCreated)
}
