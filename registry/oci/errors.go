package oci

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/spec/diag"
)

// codeOf maps the codes of the core to those of the specification, and to a status where
// the protocol's differs from [registry.Status]; 0 keeps that.
func codeOf(code string) (oci string, status int) {
	switch code {
	case "unauthorized":
		return "UNAUTHORIZED", 0
	case "denied", "name_reserved", "signature_required", "E_SIGNATURE", "scan_refused", "second_person", "blocked":
		return "DENIED", 0
	case "version_exists", "near_name", "namespace_exists", "wrong_state", "in_use":
		return "DENIED", http.StatusForbidden // the protocol has no conflicts
	case "not_found", "unknown_namespace", "unknown_skill":
		return "NAME_UNKNOWN", 0
	case "unknown_manifest", "unknown_tag", "unknown_version":
		return "MANIFEST_UNKNOWN", 0
	case "unknown_blob":
		return "BLOB_UNKNOWN", 0
	case "unknown_upload":
		return "BLOB_UPLOAD_UNKNOWN", 0
	case "wrong_range", "incomplete_upload", "timeout":
		return "BLOB_UPLOAD_INVALID", 0
	case "invalid_size":
		return "SIZE_INVALID", http.StatusBadRequest
	case "too_large":
		return "SIZE_INVALID", 0
	case "wrong_digest", "invalid_digest":
		return "DIGEST_INVALID", http.StatusBadRequest
	case "invalid_name":
		return "NAME_INVALID", 0
	case "blob_missing":
		return "MANIFEST_BLOB_UNKNOWN", 0
	case "invalid_manifest", "invalid_bundle", "invalid_version", "not_a_skill":
		return "MANIFEST_INVALID", 0
	case "invalid_request":
		return "UNSUPPORTED", 0
	case "too_many_tags":
		return "UNSUPPORTED", http.StatusRequestURITooLong
	case "invalid_page":
		return "PAGINATION_NUMBER_INVALID", http.StatusBadRequest
	case "method_not_allowed":
		return "UNSUPPORTED", http.StatusMethodNotAllowed
	case "rate_limited":
		return "TOOMANYREQUESTS", 0
	}
	switch registry.StatusOf(code) {
	case http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		return "UNAVAILABLE", 0
	}
	return "UNKNOWN", 0
}

// A problem is one entry of the specification's list of errors.
type problem struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Detail  *detail `json:"detail,omitempty"`
}

// A detail is what skl adds: its own code, which says more, and what to do.
type detail struct {
	Code  string   `json:"code"`
	Hints []string `json:"hints,omitempty"`
}

// fail answers with err, or ends the connection if an answer has begun.
func (q *request) fail(err error) {
	code, message, hints := "", "the registry failed; its log says why", []string(nil)
	err = q.narrow(q.blame(err))
	status := registry.Status(err)
	if e, ok := errors.AsType[*diag.Error](err); ok {
		code, hints = e.Code, e.Hints
		if registry.Told(code) {
			message = e.Message
		}
	}
	word, own := codeOf(code)
	if own != 0 {
		status = own
	}
	if status < 500 {
		message = err.Error()
	}
	if status >= 500 && q.h.Failed != nil && q.r.Context().Err() == nil {
		q.h.Failed(q.r, err)
	}
	if q.begun {
		panic(http.ErrAbortHandler)
	}
	head := q.w.Header()
	for _, name := range []string{"Docker-Content-Digest", "Etag", "Cache-Control", "Content-Length", "Accept-Ranges"} {
		head.Del(name)
	}
	head.Set("Cache-Control", "no-store")
	switch status {
	case http.StatusUnauthorized:
		if q.h.Challenge != nil {
			head.Set("WWW-Authenticate", q.h.Challenge(q.r, q.scope()))
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if limit, ok := errors.AsType[*auth.LimitError](err); ok {
			limit.Verdict.WriteTo(head)
		}
		if head.Get("Retry-After") == "" {
			head.Set("Retry-After", "1")
		}
	}
	p := problem{Code: word, Message: message}
	if code != "" {
		p.Detail = &detail{Code: code, Hints: hints}
	}
	content, merr := json.Marshal(map[string][]problem{"errors": {p}})
	if merr != nil {
		content = []byte(`{"errors":[{"code":"UNKNOWN"}]}`)
	}
	if q.body != nil && !q.body.done {
		head.Set("Connection", "close") // what is still to come is not read
	}
	q.json(status, "application/json", content)
}

// blame finds out whether an error is that of a body that did not arrive.
func (q *request) blame(err error) error {
	if q.body == nil || q.body.failed == nil {
		return err
	}
	return q.body.failed
}

// narrow turns a refusal that is due to a bearer for other repositories into the question for
// another one: that is how clients find out which they need.
func (q *request) narrow(err error) error {
	status := registry.Status(err)
	if q.who.Scopes == nil || status != http.StatusForbidden && status != http.StatusNotFound {
		return err
	}
	action := auth.Read
	switch {
	case q.r.Method == http.MethodDelete && q.target.kind != upload:
		action = auth.Delete
	case !q.reads() || q.target.kind == upload:
		action = auth.Push
	}
	if repo := q.target.repo; q.who.Granted(action, repo) && !q.who.May(action, repo) {
		return diag.New(diag.Failed, "unauthorized", "this token was not asked for %s", q.scope())
	}
	return err
}

// scope is what a token has to allow for this request.
func (q *request) scope() string {
	if q.target.kind == catalog {
		return auth.CatalogScope
	}
	if q.target.repo == "" {
		return ""
	}
	actions := "pull"
	switch q.r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		actions = "pull,push"
	case http.MethodDelete:
		actions = "delete"
		if q.target.kind == upload {
			actions = "pull,push"
		}
	}
	return "repository:" + q.target.repo + ":" + actions
}

//go:noinline
func itoa(n int64) string { return strconv.FormatInt(n, 10) }
