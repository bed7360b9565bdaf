// Package wire is what the models behind an HTTP service share: which
// addresses they talk to, how much and how long they listen, and how a failure
// becomes an error that a person can act on.
//
//   - Plain http is refused, except to loopback addresses.
//   - Redirects are not followed: they would carry the key elsewhere.
//   - A body of an error is read to 1 MiB, a stream to 256 MiB, an event of it
//     to 32 MiB; a service that is silent for Idle (5 minutes) is given up.
//   - A request that finds no connection or a service without capacity is sent
//     again, after the time that the service names or 0.5, 1, 2, 4 s. A service
//     that asks to wait longer than MaxWait (60 s) is not waited for.
//   - Errors never hold the key, nor the request that had it.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

const (
	Idle    = 5 * time.Minute  // silence, before and within an answer
	MaxWait = 60 * time.Second // longest Retry-After that is waited for

	// MaxTurn is how much one turn may hold, texts and inputs of tools together.
	MaxTurn = 4 << 20 // bytes

	maxErrorBody = 1 << 20   // bytes
	maxStream    = 256 << 20 // bytes; a stream has a hundred bytes around each word
	maxMessage   = 300       // bytes of the service's own words
)

// A Service is the other side.
type Service struct {
	Name    string // of the model as --model takes it, for messages
	Key     string // kept out of messages
	KeyName string // variable that holds Key
	Base    *url.URL
	Header  map[string]string // sent with every request
	HTTP    *http.Client      // of Client
	Retries int               // how often a request is sent again; 0 means DefaultRetries, below 0 never
}

// BaseURL checks the address of a service. It names none with a user, a query
// or a fragment, and plain http only for loopback unless insecure is set.
func BaseURL(raw string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, diag.New(diag.Misuse, "invalid_url", "the address of the model is not an http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, diag.New(diag.Misuse, "invalid_url", "the address of the model at %s must have no user, query or fragment", u.Host)
	case u.Scheme == "http" && !insecure && !origin.Loopback(u.Hostname()):
		return nil, diag.New(diag.Refused, "insecure_http", "the model at %s would be sent the key and the prompts unencrypted", u.Host).
			Hint("use https, or an address of this machine")
	}
	return u, nil
}

// Client is base (nil: a plain one) with the limits of the package. The zero
// idle means Idle.
func Client(base *http.Client, idle time.Duration) *http.Client {
	c := http.Client{}
	if base != nil {
		c = *base
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	if idle <= 0 {
		idle = Idle
	}
	c.Transport = limited{c.Transport, idle}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// errIdle is the cause when a service was silent too long.
var errIdle = errors.New("it was silent for too long")

type limited struct {
	next http.RoundTripper
	idle time.Duration
}

func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(l.idle, func() { cancel(errIdle) })
	res, err := l.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		timer.Stop()
		if context.Cause(ctx) == errIdle {
			err = errIdle
		}
		cancel(nil)
		return nil, err
	}
	limit := int64(maxStream)
	if res.StatusCode != http.StatusOK {
		limit = maxErrorBody
	}
	res.Body = &body{rc: res.Body, cause: func() error { return context.Cause(ctx) }, cancel: cancel, timer: timer, idle: l.idle, left: limit}
	return res, nil
}

// body ends the request when nothing came for idle, or more than left bytes.
type body struct {
	rc     io.ReadCloser
	cause  func() error // why the request ended; nil while it has not
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	left   int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("it sent too much")
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.rc.Read(p)
	b.left -= int64(n)
	if err != nil && err != io.EOF && b.cause() == errIdle {
		return n, errIdle
	}
	b.timer.Reset(b.idle)
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	err := b.rc.Close()
	b.cancel(nil)
	return err
}

// A Broken is an answer that began and did not end as it should: the
// connection or the service failed in between. Trying once more may help.
type Broken struct {
	Why     string
	Unready bool // the service says that it is overloaded, rather than falling silent
}

func (b *Broken) Error() string { return b.Why }

// Breaks is a Broken from what a stream ended with.
func Breaks(err error) error {
	if err == nil {
		return &Broken{Why: "it ended early"}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &Broken{Why: "the connection ended early"}
	}
	return &Broken{Why: err.Error()}
}

// Twice calls try and, if what it gave broke, calls it once more. Of the
// errors it gives back none is a Broken.
func (s Service) Twice(ctx context.Context, try func() error) error {
	var broken *Broken
	err := try()
	if !errors.As(err, &broken) || ctx.Err() != nil {
		return s.ended(ctx, err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(250 * time.Millisecond):
	}
	err = try()
	if !errors.As(err, &broken) {
		return s.ended(ctx, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if broken.Unready {
		return model.Unavailable("%s: %s", s.Name, s.Say(broken.Why))
	}
	e := diag.New(diag.Failed, model.CodeTruncated, "the answer of %s broke off twice: %s", s.Name, s.Say(broken.Why))
	e.Retryable = true
	return e
}

func (s Service) ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// refused says what is wrong with the response before a stream is read; err is
// what the request ended with. It is nil when res is an event stream.
func (s Service) refused(ctx context.Context, res *http.Response, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return model.Unavailable("%s cannot be reached: %s", s.Name, s.Say(origin.Reason(err).Error()))
	case res.StatusCode >= 300:
		return s.status(res)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		return diag.New(diag.Failed, model.CodeUnavailable, "%s does not answer as the service it should be: it sent %q instead of a stream of events", s.Name, Brief(kind)).
			Hint("check the base URL")
	}
	return nil
}

// status is the error for a response of 300 and above. Its body is read.
func (s Service) status(res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_ = res.Body.Close()
	return s.Failure(res.StatusCode, res.Header, text)
}

// Failure is the error for a status and what the service says besides.
func (s Service) Failure(status int, h http.Header, text []byte) error {
	said := s.Message(text)
	if said != "" {
		said = ": " + said
	}
	switch {
	case status < 400:
		return diag.New(diag.Failed, model.CodeUnavailable, "%s redirects to another address (status %d), which is not followed", s.Name, status).
			Hint("check the base URL")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e := diag.New(diag.Failed, model.CodeCredentials, "%s refused the key (status %d)%s", s.Name, status, said)
		if s.Key == "" {
			e = diag.New(diag.NeedsInput, model.CodeCredentials, "%s wants a key (status %d)%s", s.Name, status, said)
		}
		return e.Hint("export %s=…, or --model with another one", s.KeyName)
	case status == http.StatusNotFound:
		return diag.New(diag.Misuse, model.CodeUnknown, "%s is not there (status 404)%s", s.Name, said).Hint("check the name of the model and the base URL")
	case busy(status):
		if wait, ok := retryAfter(h); ok && wait > MaxWait {
			said += fmt.Sprintf("; it asks to wait %s", wait.Round(time.Second))
		}
		return model.Unavailable("%s has no capacity or is broken (status %d)%s", s.Name, status, said)
	}
	return diag.New(diag.Failed, model.CodeRejected, "%s calls the request wrong (status %d)%s", s.Name, status, said).
		Hint("check the name of the model and its limits, or --model with another one")
}

// Message finds the sentence in the body of an error: the forms of the
// services that are known, else nothing: a page of HTML helps nobody.
func (s Service) Message(text []byte) string {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(text, &outer) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var plain string
	switch {
	case json.Unmarshal(outer.Error, &inner) == nil && inner.Message != "":
		return s.Say(inner.Message)
	case json.Unmarshal(outer.Error, &plain) == nil && plain != "":
		return s.Say(plain)
	case json.Unmarshal(outer.Detail, &plain) == nil && plain != "":
		return s.Say(plain)
	}
	return s.Say(outer.Message)
}

// Say makes words of the service fit for a message: the key is taken out, also
// when the service repeats it, before anything is cut off.
func (s Service) Say(text string) string {
	if s.Key != "" {
		text = strings.ReplaceAll(text, s.Key, "[key]")
	}
	return Brief(text)
}

// Brief makes foreign words one printable line of bounded length.
func Brief(s string) string {
	line := strings.Join(strings.Fields(diag.Head(s, 4*maxMessage)), " ")
	return strings.TrimSuffix(diag.Brief(line, maxMessage), ".")
}
