package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
)

// Codes of errors that this package makes. Those of the packages below pass through.
const (
	codeInvalid     = "invalid_request"
	codeInvalidRepo = "invalid_repo"
	codeRepo        = "repo_not_found"
	codeHandle      = "handle_not_found"
	codeStale       = "stale_generation"
	codeNotReady    = "repo_not_ready"
	codeKey         = "unauthorized"
	codeHost        = "forbidden"
	codeMedia       = "unsupported_media_type"
	codeLarge       = "request_too_large"
	codeNoRoute     = "no_such_endpoint"
	codeMethod      = "method_not_allowed"
	codeBusy        = "busy"
	codePath        = "path_refused"
	codeCancelled   = "cancelled"
	codeClosed      = "stopping"
	codeInternal    = "internal_error"
	codeAddress     = "address_needs_key"
	codeRunning     = "service_running"
	codeState       = "state_unreadable"
)

// A Problem is an error as clients see it. Tools have the precise code in Code. Over HTTP, Code is one of the few that the
// protocol documents, such as not_found, and Detail is the precise one, such as handle_not_found.
type Problem struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Hint    string          `json:"hint,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Handles []query.Failure `json:"handles,omitempty"` // which handles are meant, if the problem is theirs
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// Is compares codes, the precise ones if there are any.
func (p *Problem) Is(target error) bool {
	if t, ok := target.(*diag.Error); ok {
		return t.Code == p.Detail || t.Code == p.Code
	}
	return false
}

// A row says how a code goes over HTTP.
type row struct {
	code   string
	status int
	wire   string
	hint   string // when the error has none
}

// table maps codes to statuses and to the codes that the protocol documents. What is not listed is invalid_request if the caller
// made a mistake (diag.Misuse), and else internal_error.
func table() []row {
	return []row{
		{codeInvalid, http.StatusBadRequest, codeInvalid, ""},
		{codeInvalidRepo, http.StatusBadRequest, codeInvalidRepo, "give the absolute path of a git repository on the machine of the service"},
		{codeKey, http.StatusUnauthorized, codeKey, "send the key in X-Api-Key"},
		{codeHost, http.StatusForbidden, codeHost, ""},
		{codeRepo, http.StatusNotFound, "not_found", "check the id with GET /repos"},
		{codeHandle, http.StatusNotFound, "not_found", "query again for handles that exist"},
		{codeNoRoute, http.StatusNotFound, "not_found", "GET /openapi.json lists the endpoints"},
		{codeMethod, http.StatusMethodNotAllowed, codeMethod, "GET /openapi.json lists the endpoints"},
		{codeStale, http.StatusConflict, codeStale, "POST /reindex, wait until the repository is ready, and query again"},
		{"stale_index", http.StatusConflict, codeStale, "POST /reindex, wait until the repository is ready, and query again"},
		{codeLarge, http.StatusRequestEntityTooLarge, codeLarge, ""},
		{codeMedia, http.StatusUnsupportedMediaType, codeMedia, "send Content-Type: application/json"},
		{codeNotReady, http.StatusServiceUnavailable, codeNotReady, "look at GET /status"},
		{codeBusy, http.StatusServiceUnavailable, codeBusy, "try again in a second"},
		{codeClosed, http.StatusServiceUnavailable, codeBusy, "try again when the service is up"},
		{codeCancelled, http.StatusServiceUnavailable, codeCancelled, "ask for less, or try again"},
	}
}

// problem is err for a client, with the precise code.
func problem(err error) (p Problem, class diag.Class) {
	if said, ok := errors.AsType[*Problem](err); ok {
		p = *said
		if p.Detail != "" {
			p.Code, p.Detail = p.Detail, ""
		}
		return p, 0
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		hints := slices.Clone(e.Hints)
		if len(e.Candidates) > 0 && !strings.Contains(strings.Join(hints, " "), e.Candidates[0]) {
			hints = append(hints, "did you mean "+strings.Join(e.Candidates, ", ")+"?")
		}
		return Problem{Code: e.Code, Message: err.Error(), Hint: strings.Join(hints, "; ")}, e.Class
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Problem{Code: codeCancelled, Message: "the request was ended before it was answered"}, 0
	}
	return Problem{Code: codeInternal, Message: err.Error()}, 0
}

// overHTTP is err as the service sends it.
func overHTTP(err error) (Problem, int) {
	p, class := problem(err)
	for _, r := range table() {
		if r.code == p.Code {
			if r.wire != p.Code {
				p.Detail = p.Code
			}
			p.Code = r.wire
			if p.Hint == "" {
				p.Hint = r.hint
			}
			return p, r.status
		}
	}
	if p.Code != codeInternal {
		p.Detail = p.Code
	}
	if class == diag.Misuse {
		p.Code = codeInvalid
		return p, http.StatusBadRequest
	}
	p.Code = codeInternal
	if p.Hint == "" {
		p.Hint = "look at the log of the service"
	}
	return p, http.StatusInternalServerError
}

// handleProblem is the error of handles that have no content. The most telling code stands for all.
func handleProblem(failed []query.Failure) *Problem {
	p := &Problem{Code: codeHandle, Message: "no such handle", Handles: failed, Hint: "query again for handles that exist"}
	for _, f := range failed {
		if f.Code != codeHandle {
			p.Code = f.Code
			p.Hint = "query again for fresh handles"
		}
	}
	ids := make([]string, 0, 3)
	for _, f := range failed {
		if f.Code == p.Code && len(ids) < 3 {
			ids = append(ids, f.HandleID)
		}
	}
	list := strings.Join(ids, ", ")
	if len(failed) > len(ids) {
		list += " and others"
	}
	if p.Code == codeHandle {
		p.Message = "no handle " + list
	} else {
		p.Message = "the text of the handle has changed: " + list
	}
	return p
}
