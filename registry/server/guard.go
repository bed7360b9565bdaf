package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/spec/diag"
)

// A visit is one request on its way through the server.
type visit struct {
	route  string
	ip     netip.Addr
	remote string      // ip as text, for people
	head   http.Header // of the answer
	known  bool        // who and err are set
	who    registry.Caller
	err    error // of authentication
}

type visitKey struct{}

// visitOf is the visit of a request that came through guard.
func visitOf(r *http.Request) *visit {
	v, _ := r.Context().Value(visitKey{}).(*visit)
	return v
}

// guard stands before all handlers: web pages elsewhere, addresses, request ids, security headers, limits,
// deadlines, panics, the access log and metrics.
func (s *Server) guard(choose func(path string) (route string, h http.Handler)) http.Handler {
	return http.HandlerFunc(func(plainWriter http.ResponseWriter, r *http.Request) {
		route, h := choose(r.URL.Path)
		direct := r.RemoteAddr
		remote := direct
		if s.cfg.TLS.Proxy {
			remote = proxied(r)
		}
		v := &visit{route: route, head: plainWriter.Header()}

		began, id := time.Now(), rand.Text()[:16]
		if c := gate.ConnOf(r); c != nil && r.ProtoMajor == 1 {
			defer c.Wait(true) // net/http reads what is left of the body, or waits for the client to hang up
		}
		control := http.NewResponseController(plainWriter)
		body := gate.NewBody(control, r, s.stall, route == "oci")
		w := &watched{ResponseWriter: plainWriter, control: control, moves: route != "oci", stall: s.stall, body: body}
		r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
		r.RemoteAddr = remote
		v.ip = auth.ClientIP(r, nil)
		v.remote = v.ip.String()
		r.Body = body
		control.SetWriteDeadline(time.Time{}) // of the request before on this connection

		head := w.Header()
		head.Set("X-Request-Id", id)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		if r.TLS != nil || s.cfg.TLS.Proxy {
			head.Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer func() {
			caught := recover()
			aborted := false
			if err, ok := caught.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				aborted = true
			} else if caught != nil {
				s.logger.Error("panic", "request", id, "panic", fmt.Sprint(caught), "stack", string(debug.Stack()))
				if aborted = w.status != 0; !aborted {
					refuse(w, route, api.Problem(errors.New("panic")))
				}
			}
			w.settle()
			s.account(r, v, w, body, began, id)
			if aborted {
				panic(http.ErrAbortHandler) // the connection ends, so nobody takes a part for the whole
			}
		}()
		if path := r.URL.Path; path != "/healthz" && path != "/readyz" { // they say "ok" to everybody
			if err := origin.Accept(r, s.names...); err != nil {
				refuse(w, route, api.Problem(err))
				return
			}
		}
		if p := s.outdated.Load(); p != nil && !ofOperation(r.URL.Path) { // what it reads may mean something else by now
			head.Set("Retry-After", "10")
			refuse(w, route, *p)
			return
		}
		if p, ok := s.admit(r, v); !ok {
			refuse(w, route, p)
			return
		}
		if route != "other" {
			addr := ""
			if s.cfg.TLS.Proxy && remote != direct { // what says nothing of its client cannot be told apart
				addr = gate.Network(v.ip)
			}
			t, leave, err := s.gate.Enter(r, addr)
			if err != nil {
				head.Set("Retry-After", "1")
				refuse(w, route, api.Problem(err))
				return
			}
			defer leave()
			w.transfer = t
			body.Of(t)
		}
		h.ServeHTTP(w, r)
	})
}

// ofOperation reports whether a path is for who runs the server.
func ofOperation(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/metrics"
}

// account writes the access log and the metrics.
func (s *Server) account(r *http.Request, v *visit, w *watched, body *gate.Body, began time.Time, id string) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	took := time.Since(began)
	s.metrics.request(v.route, r.Method, w.status, took, body.Bytes(), w.n)
	level := slog.LevelInfo
	if ofOperation(r.URL.Path) {
		level = slog.LevelDebug
	}
	s.logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request",
		slog.String("request", id), slog.String("method", r.Method), slog.String("path", gate.Redact(r.URL.Path)), slog.Int("status", w.status),
		slog.Int64("in", body.Bytes()), slog.Int64("out", w.n), slog.Duration("took", took), slog.String("remote", v.remote),
		slog.String("account", v.who.Account), slog.String("token", v.who.TokenID), slog.String("agent", diag.Head(r.UserAgent(), 100)))
}

// watched counts what is written, and gives every part of it its own time.
type watched struct {
	http.ResponseWriter
	control  *http.ResponseController
	body     *gate.Body
	stall    time.Duration // without a byte that the client takes
	moves    bool          // deadlines; the OCI protocol moves its own
	transfer *gate.Transfer
	began    time.Time // the first Write
	status   int
	n        int64 // bytes of the body
}

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extend moves the deadline for what is written next.
func (w *watched) extend() {
	if !w.moves {
		return
	}
	now := time.Now()
	if w.began.IsZero() {
		w.began = now
	}
	w.control.SetWriteDeadline(w.body.Due(now, w.began, w.n))
}

// settle bounds what comes after the handler decided on its answer: that the client takes it, and what net/http still
// reads of a body that nobody wanted.
func (w *watched) settle() {
	w.control.SetWriteDeadline(time.Now().Add(w.stall))
	w.body.Settle()
}

func (w *watched) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
		w.settle()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.extend()
	defer w.transfer.Waiting()()
	n, err := w.ResponseWriter.Write(p)
	w.moved(int64(n))
	return n, err
}

func (w *watched) moved(n int64) {
	w.n += n
	w.transfer.Moved(n)
}

// part is how much has to be written before the deadline is moved.
const part = 256 << 10

// ReadFrom lets the connection take files by itself.
func (w *watched) ReadFrom(r io.Reader) (total int64, err error) {
	from, ok := w.ResponseWriter.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	defer w.transfer.Waiting()()
	for {
		w.extend()
		limited := &io.LimitedReader{R: r, N: part}
		n, err := from.ReadFrom(limited)
		w.moved(n)
		total += n
		if err != nil || limited.N > 0 {
			return total, err
		}
	}
}
