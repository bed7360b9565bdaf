package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// problem is an error of the protocol itself.
func problem(code, format string, args ...any) *diag.Error {
	return diag.New(diag.Misuse, code, format, args...)
}

// printable keeps a message short, whatever was sent.
func printable(s string) string {
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return diag.Printable(s)
}

// Status is the HTTP status of an error: that of the core, and of the codes that belong to HTTP.
func Status(err error) int {
	if e, ok := errors.AsType[*diag.Error](err); ok {
		switch e.Code {
		case "method_not_allowed":
			return http.StatusMethodNotAllowed
		case "unsupported_media":
			return http.StatusUnsupportedMediaType
		}
	}
	return registry.Status(err)
}

// fail writes err as a problem.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := Problem(err)
	if p.Status >= 500 && h.Logger != nil {
		h.Logger.ErrorContext(r.Context(), "request failed", "error", err, "code", p.Code, "request", w.Header().Get("X-Request-Id"))
	}
	if p.Status == http.StatusUnauthorized && h.Challenge != nil {
		w.Header().Set("WWW-Authenticate", h.Challenge(r))
	}
	WriteProblem(w, p)
}

// Problem is err as a caller is told. An error without a code, or one of the registry's inside, is
// told as "internal" or by its code alone.
func Problem(err error) wire.Problem {
	status := Status(err)
	p := wire.Problem{Title: http.StatusText(status), Status: status, Code: "internal", Detail: "the registry failed; its log says why"}
	if e, ok := errors.AsType[*diag.Error](err); ok && (status < 500 || registry.Told(e.Code)) {
		p.Code, p.Detail, p.Hints = e.Code, e.Message, e.Hints
	}
	p.Type = "urn:skl:problem:" + p.Code
	return p
}

// WriteProblem writes p.
func WriteProblem(w http.ResponseWriter, p wire.Problem) {
	text, err := json.Marshal(p)
	if err != nil {
		text = []byte("{}") // strings and numbers always marshal
	}
	head := w.Header()
	head.Set("Content-Type", wire.MediaProblem)
	head.Set("Content-Length", strconv.Itoa(len(text)))
	head.Set("Cache-Control", "no-store")
	head.Del("ETag")
	w.WriteHeader(p.Status)
	w.Write(text)
}
