package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// An answer is what a handler gives back instead of writing it.
type answer struct {
	status   int           // 0 means 200, or 204 without a body
	body     any           // JSON, if not nil
	same     any           // what the ETag is made of, if not body
	raw      io.ReadSeeker // instead of body; closed if it is a Closer
	media    string        // of raw
	etag     string        // of raw, quoted
	location string        // of what was created
	next     string        // cursor of the next page
	cursor   string        // name of the query's cursor; "" means "cursor"
	cache    string        // Cache-Control; "" decides by who asks
}

// send writes a, or 304.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, who registry.Caller, a answer) {
	head := w.Header()
	if a.cache == "" {
		a.cache = "private, no-cache"
		if who.Anonymous {
			a.cache = "public, no-cache"
		}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		a.cache = "no-store"
	}
	head.Set("Cache-Control", a.cache)
	head.Add("Vary", "Authorization")
	if a.location != "" {
		head.Set("Location", a.location)
	}
	if a.raw != nil {
		if c, ok := a.raw.(io.Closer); ok {
			defer c.Close()
		}
		head.Set("Content-Type", a.media)
		if a.etag != "" {
			head.Set("ETag", a.etag)
		}
		http.ServeContent(w, r, "", time.Time{}, a.raw)
		return
	}
	if a.body == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, err := json.Marshal(a.body)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if a.next != "" {
		head.Set("Link", "<"+nextLink(r.URL, a.cursor, a.next)+`>; rel="next"`)
	}
	head.Set("Content-Type", wire.MediaJSON)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		tag := etag(text)
		if a.same != nil {
			if same, err := json.Marshal(a.same); err == nil {
				tag = "W/" + etag(same)
			}
		}
		head.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		return
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	head.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(a.status)
	w.Write(text)
}

// etag is a strong entity tag of content.
func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// nextLink is the URL of the same request at another cursor.
func nextLink(u *url.URL, name, cursor string) string {
	if name == "" {
		name = "cursor"
	}
	q := u.Query()
	q.Set(name, cursor)
	return u.EscapedPath() + "?" + q.Encode()
}

// readJSON reads the body of r into v: one value, at most MaxJSON bytes, no fields that v does not have.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != wire.MediaJSON {
		return problem("unsupported_media", "the body must be of type %s", wire.MediaJSON)
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxJSON))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		err = errors.New("there is more behind the value")
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return diag.New(diag.Misuse, "too_large", "the body is larger than %d bytes", tooLarge.Limit)
	}
	return diag.New(diag.Misuse, "invalid_request", "the body is not what this path takes: %s", printable(strings.TrimPrefix(err.Error(), "json: ")))
}

// Bounds of a page.
const (
	defaultLimit = 50
	maxLimit     = 100
	maxOffset    = 10000
)

// paging reads cursor and limit of a list.
func paging(r *http.Request) (after string, limit int, err error) {
	q := r.URL.Query()
	if limit, err = number(q, "limit", defaultLimit, 1, maxLimit); err != nil {
		return "", 0, err
	}
	key, err := base64.RawURLEncoding.DecodeString(q.Get("cursor"))
	if err != nil || len(key) > 512 {
		return "", 0, diag.New(diag.Misuse, "invalid_request", "the cursor is not one of this registry")
	}
	return string(key), limit, nil
}

// number reads an integer of a query.
func number(q url.Values, name string, otherwise, least, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, diag.New(diag.Misuse, "invalid_request", "%s is a number from %d to %d", name, least, most)
	}
	return n, nil
}

// pageOf makes a page of what was asked for with limit+1: one more says that there is a next one.
func pageOf[T, W any](all []T, limit int, key func(T) string, convert func(T) W) answer {
	page := wire.Page[W]{Items: []W{}}
	if len(all) > limit {
		all = all[:limit]
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(key(all[limit-1])))
	}
	for _, one := range all {
		page.Items = append(page.Items, convert(one))
	}
	return answer{body: page, next: page.Next}
}

// everything is a list without further pages.
func everything[T, W any](all []T, convert func(T) W) answer {
	return pageOf(all, max(len(all), 1), nil, convert)
}
