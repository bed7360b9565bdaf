package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/skl-project/skl/spec/diag"
)

// A silence is why no answer came, in words for people. The cause is kept for errors.Is, and for who asks for details.
type silence struct {
	words  string
	detail string
	cause  error
}

func (r *silence) Error() string { return r.words }
func (r *silence) Unwrap() error { return r.cause }

// Detail is what the system said, with the request that it was about where that is known.
func (r *silence) Detail() string { return r.detail }

// Reason says in words for people why a connection failed: err is what net/http ended with. Unwrap leads to err, and a
// method Detail() string has its sentence. An error that it has no words for is returned without the method and
// the address that net/http puts before it.
func Reason(err error) error { return reasonOf(err, "") }

// reasonOf is Reason where the detail begins with the request.
func reasonOf(err error, request string) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	words := ""
	lookup, isLookup := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case isLookup && lookup.IsNotFound:
		words = "no such host"
	case isLookup && lookup.IsTimeout:
		words = "the name server does not answer"
	case isLookup:
		words = "its address cannot be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		words = "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == closedIdle:
		words = "the server closed the connection"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		words = "no way leads there from this network"
	case errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		words = "no answer in time"
	}
	if words == "" {
		return err
	}
	if request != "" {
		request += ": "
	}
	return &silence{words, request + err.Error(), err}
}

// closedIdle is the error of net/http, which has no name there, for a connection that was closed before the request was sent.
const closedIdle = "http: server closed idle connection"

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

type askedKey struct{}

// For returns a context whose requests are for what, such as a repository: errors name that and not the address of one request.
func For(ctx context.Context, what string) context.Context {
	return context.WithValue(ctx, askedKey{}, what)
}

// unanswered is the error of a request that brought no response. through is the proxy that it was sent to, nil for none.
func unanswered(req *http.Request, through *url.URL, err error) error {
	if ctx := req.Context().Err(); ctx != nil {
		err = ctx
	}
	host := Host(req.URL)
	why := reasonOf(err, req.Method+" "+shown(req.URL))
	asked, _ := req.Context().Value(askedKey{}).(string)
	if asked == "" {
		asked = shown(req.URL)
	}
	where := host
	if through != nil {
		where += " through the proxy " + through.Host
	}
	e := diag.New(diag.Failed, "network", "cannot reach %s for %s: %w", where, asked, why)
	e.Retryable = req.Context().Err() == nil && !isCertificate(err)
	switch told, _ := errors.AsType[*silence](why); {
	case through != nil:
		e.Hint("HTTPS_PROXY and NO_PROXY say which proxy is used for which host")
	case isCertificate(err):
		e.Hint("if the server has a certificate of your own authority, set ca = \"FILE\" for [origin.%q] in config.toml", host)
	case told == nil:
	case told.words == "connection refused" && Loopback(req.URL.Hostname()):
		e.Hint("nothing listens there now: start the server, or check the port")
	case told.words == "no such host":
		e.Hint("check the spelling, and whether this machine is connected; add --offline to use the cache")
	default:
		e.Hint("try again; if this network needs a proxy, set HTTPS_PROXY; add --offline to use the cache")
	}
	return e
}

func isCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}
