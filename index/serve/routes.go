package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/packed"
)

// openapi describes the service. The test writes it from the routes: go test ./index/serve -update
//
//go:embed openapi.json.gz
var openapi []byte

// Document is the OpenAPI 3.1 description of the service, as JSON.
var Document = packed.Text(openapi)

// A QueryRequest is the body of POST /query.
type QueryRequest struct {
	Repo string `json:"repo"`
	query.Params
	MaxTokens int `json:"max_tokens,omitempty" jsonschema:"of the answer; default 20000"`
}

// An EvidenceRequest is the body of POST /evidence_pack.
type EvidenceRequest struct {
	Repo string `json:"repo"`
	query.Params
	PackConfig
	Config    *PackConfig `json:"config,omitempty" jsonschema:"the same fields, as older clients send them"`
	MaxTokens int         `json:"max_tokens,omitempty" jsonschema:"of the answer; default 20000"`
}

// PackConfig bounds a pack.
type PackConfig struct {
	MaxHandles int   `json:"max_handles,omitempty" jsonschema:"1 to 64, default 8"`
	MaxPerFile int   `json:"max_per_file,omitempty" jsonschema:"1 to 8, default 2"`
	Plan       *bool `json:"plan,omitempty" jsonschema:"let the service add the definitions of names that it found; default false"`
}

// A route is one operation: what the handler and openapi.json are both made from.
type route struct {
	Method, Path string
	Name         string // operationId
	Summary      string
	Free         bool  // needs no key
	Body         any   // zero value of the JSON body, nil for none
	Answer       any   // zero value of the JSON answer, nil for none
	Errors       []int // besides those that every route may have
	handle       func(s *Service, c call) (any, error)
}

// A call is a request on its way through a route.
type call struct {
	*http.Request
	body  []byte
	known bool // it has the key, or none is needed
}

// operations lists all operations, in the order of the document.
func operations() []route {
	post := func(f func(*Service, context.Context, []byte) (any, error)) func(*Service, call) (any, error) {
		return func(s *Service, c call) (any, error) { return f(s, c.Context(), c.body) }
	}
	return []route{
		{Method: "POST", Path: "/repos/add", Name: "addRepo", Summary: "Register a git repository; the same answer if it is registered.", Body: AddRequest{}, Answer: Added{}, handle: post((*Service).add)},
		{Method: "GET", Path: "/repos", Name: "listRepos", Summary: "Registered repositories.", Answer: []Repo{}, handle: func(s *Service, c call) (any, error) { return s.list(c.known), nil }},
		{Method: "GET", Path: "/repos/{id}", Name: "getRepo", Summary: "One repository.", Answer: Repo{}, Errors: []int{404}, handle: func(s *Service, c call) (any, error) { return s.repos.get(c.PathValue("id")) }},
		{Method: "GET", Path: "/repos/{id}/index", Name: "getIndex", Summary: "The contents of a repository's index.", Answer: query.Status{}, Errors: []int{404, 503}, handle: func(s *Service, c call) (any, error) {
			return s.holds(c.Context(), c.PathValue("id"))
		}},
		{Method: "DELETE", Path: "/repos/{id}", Name: "removeRepo", Summary: "Forget a repository; its files are not touched.", Errors: []int{404}, handle: func(s *Service, c call) (any, error) { return nil, s.remove(c.Context(), c.PathValue("id")) }},
		{Method: "POST", Path: "/reindex", Name: "reindex", Summary: "Make an index agree with its files, in the background. Poll GET /repos/{id} until status is ready.", Body: ReindexRequest{}, Answer: Reindexing{}, Errors: []int{404, 503}, handle: post((*Service).reindex)},
		{Method: "POST", Path: "/query", Name: "query", Summary: "Handles that match, best first.", Body: QueryRequest{}, Answer: query.Result{}, Errors: []int{404, 503}, handle: post((*Service).query)},
		{Method: "POST", Path: "/evidence_pack", Name: "evidencePack", Summary: "Compact evidence and how to go on.", Body: EvidenceRequest{}, Answer: Planned{}, Errors: []int{404, 503}, handle: post((*Service).evidence)},
		{Method: "POST", Path: "/expand", Name: "expand", Summary: "Text of handles, as it is in the files now.", Body: ExpandRequest{}, Answer: query.Expansion{}, Errors: []int{404, 409, 503}, handle: post((*Service).expand)},
		{Method: "POST", Path: "/feedback", Name: "feedback", Summary: "Say which handles were of use; ranking learns from it.", Body: FeedbackRequest{}, Answer: FeedbackAnswer{}, Errors: []int{404}, handle: post((*Service).report)},
		{Method: "GET", Path: "/status", Name: "status", Summary: "State of the service. Paths are shown to those who have the key.", Free: true, Answer: Health{}, handle: func(s *Service, c call) (any, error) {
			return Health{"canopy-service", s.o.Version, s.list(c.known)}, nil
		}},
		{Method: "GET", Path: "/metrics", Name: "metrics", Summary: "Counters as JSON; for Prometheus with Accept: text/plain or ?format=prometheus. Search words are shown to callers who have the key.", Free: true, Answer: Metrics{}, handle: (*Service).showMetrics},
		{Method: "GET", Path: "/healthz", Name: "health", Summary: "Whether the service answers.", Free: true, Answer: Alive{}, handle: func(*Service, call) (any, error) { return Alive{"ok"}, nil }},
		{Method: "GET", Path: "/openapi.json", Name: "openapi", Summary: "This document.", Free: true, handle: func(*Service, call) (any, error) { return raw(Document()), nil }},
	}
}

// Alive is what GET /healthz says.
type Alive struct {
	Status string `json:"status"`
}

// routes makes the handler.
func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	all := operations()
	for _, r := range all {
		mux.Handle(r.Method+" "+r.Path, s.route(r))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		var methods []string
		for _, rt := range all {
			if ok, err := path.Match(strings.Replace(rt.Path, "{id}", "*", 1), r.URL.Path); ok && err == nil {
				methods = append(methods, rt.Method)
			}
		}
		if methods == nil {
			s.refuse(w, r, diag.New(diag.Misuse, codeNoRoute, "no endpoint %s", diag.Printable(r.URL.Path)))
			return
		}
		list := strings.Join(methods, ", ")
		w.Header().Set("Allow", list)
		s.refuse(w, r, diag.New(diag.Misuse, codeMethod, "%s takes %s", diag.Printable(r.URL.Path), list))
	})
	return s.guard(mux)
}

// guard stands before all routes.
func (s *Service) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(plain)
		body := gate.NewBody(control, r, bodyTime, false)
		r.Body = body
		w := &settled{ResponseWriter: plain, control: control, body: body}
		head := w.Header()
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Cache-Control", "no-store")
		head.Set("Referrer-Policy", "no-referrer")
		defer func() {
			caught := recover()
			if caught == nil {
				return
			}
			if err, ok := caught.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(caught)
			}
			s.o.Logger.Error("panic", "path", gate.Redact(r.URL.Path), "panic", fmt.Sprint(caught), "stack", string(debug.Stack()))
			s.refuse(w, r, diag.New(diag.Failed, codeInternal, "the service failed"))
		}()
		if err := origin.Accept(r, s.o.Hosts...); err != nil {
			s.refuse(w, r, diag.New(diag.Refused, codeHost, "%w", err))
			return
		}
		if c := gate.ConnOf(r); c != nil {
			defer c.Wait(true) // what is left of a body that nobody read
		}
		if r.URL.Path != "/healthz" {
			t, leave, err := s.gate.Enter(r, "")
			if err != nil {
				s.busy(w, r, err)
				return
			}
			defer leave()
			body.Of(t)
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// busy refuses a request for which there is no room now.
func (s *Service) busy(w http.ResponseWriter, r *http.Request, why error) {
	w.Header().Set("Retry-After", "1")
	s.refuse(w, r, diag.New(diag.Failed, codeBusy, "%w", why))
}

// A settled is an answer that waits for nothing that the client still has to send.
type settled struct {
	http.ResponseWriter
	control *http.ResponseController
	body    *gate.Body
	begun   bool
}

// Unwrap is for http.ResponseController.
func (w *settled) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *settled) WriteHeader(status int) {
	if !w.begun && status >= 200 {
		w.begun = true
		w.control.SetWriteDeadline(time.Now().Add(answerTime)) // the body may have taken more than the server's own bound
		w.body.Settle()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *settled) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// hasKey says whether a request has the key, in a time that does not depend on how much of it is right.
func (s *Service) hasKey(r *http.Request) bool {
	if s.o.Key == "" {
		return true
	}
	given := r.Header.Get("X-Api-Key")
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); given == "" && ok && strings.EqualFold(scheme, "Bearer") {
		given = strings.TrimSpace(token)
	}
	// Of digests, so that the length is not told either.
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.o.Key))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// route makes the handler of one.
func (s *Service) route(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := call{Request: r, known: s.hasKey(r)}
		if !c.known && !rt.Free {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.refuse(w, r, diag.New(diag.Refused, codeKey, "the key is missing or wrong"))
			return
		}
		if rt.Body != nil {
			var err error
			if c.body, err = readBody(w, r); err != nil {
				s.refuse(w, r, err)
				return
			}
		}
		if rt.Path != "/healthz" {
			select { // once all of it is here: nobody takes a place by being slow
			case s.slots <- struct{}{}:
				defer func() { <-s.slots }()
			default:
				s.busy(w, r, diag.New(diag.Failed, codeBusy, "%d requests are answered at this moment", maxRequests))
				return
			}
		}
		answer, err := rt.handle(s, c)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		switch a := answer.(type) {
		case nil:
			w.WriteHeader(http.StatusNoContent)
		case page:
			w.Header().Set("Content-Type", a.media)
			io.WriteString(w, a.text)
		default:
			send(w, http.StatusOK, answer)
		}
	})
}

// A page is an answer that is no JSON.
type page struct{ media, text string }

// readBody reads a JSON body of at most MaxBody bytes.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, diag.New(diag.Misuse, codeMedia, "the body has to be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, diag.New(diag.Misuse, codeLarge, "the body has more than %d bytes", MaxBody)
	}
	if err != nil {
		return nil, diag.New(diag.Misuse, codeInvalid, "the body could not be read: %w", err)
	}
	if len(strings.TrimSpace(string(body))) == 0 {
		return nil, diag.New(diag.Misuse, codeInvalid, "the body is empty")
	}
	return body, nil
}

// refuse answers with an error.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, status := overHTTP(err)
	s.metrics.failure(status)
	if status >= 500 {
		s.o.Logger.Warn("request", "path", gate.Redact(r.URL.Path), "status", status, "error", err)
	}
	send(w, status, p)
}

func send(w http.ResponseWriter, status int, v any) {
	body := append(encode(v), '\n') // before the status, which is no lie then
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone
}
