package keyless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

const (
	maxAnswer = 1 << 20
	timeout   = 30 * time.Second // of one request
	attempts  = 3
)

// Names of the services in messages.
const (
	whatAuthority = "certificate authority"
	whatStamps    = "timestamp authority"
	whatLog       = "transparency log"
)

// A call is one request to a service.
type call struct {
	what, base, path string // of the service, for people; where it is
	method           string // "" is POST
	kind             string // content type; "" is JSON
	body             []byte
	token            string // bearer
}

// An answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	text   []byte
}

// send sends c, and again if that may help.
func (s *Signer) send(ctx context.Context, c call) (answer, error) {
	address, err := secure(c.what, c.base)
	if err != nil {
		return answer{}, err
	}
	target := address.String()
	if c.path != "" {
		target = strings.TrimSuffix(target, "/") + c.path
	}
	pause := s.Pause
	if pause == 0 {
		pause = 500 * time.Millisecond
	}
	for attempt := 1; ; attempt++ {
		got, retry, err := s.once(ctx, c, target)
		if err == nil || !retry || attempt == attempts {
			return got, err
		}
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
}

func (s *Signer) once(ctx context.Context, c call, target string) (got answer, retry bool, err error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	method, kind := c.method, c.kind
	if method == "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(c.body))
	if err != nil {
		return answer{}, false, serviceError(c.what, c.base, "has an address that cannot be used")
	}
	if kind == "" {
		kind = "application/json"
		request.Header.Set("Accept", "application/json")
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("User-Agent", "skl")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := withoutRedirects(s.Client).Do(request)
	if err != nil {
		e := serviceError(c.what, c.base, "cannot be reached")
		e.Err, e.Retryable = err, true
		return answer{}, caller.Err() == nil, e
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		e := serviceError(c.what, c.base, "broke off its answer")
		e.Err, e.Retryable = err, true
		return answer{}, caller.Err() == nil, e
	}
	if len(text) > maxAnswer {
		return answer{}, false, serviceError(c.what, c.base, "answered with more than %d bytes", maxAnswer)
	}
	code := response.StatusCode
	if code == http.StatusOK || code == http.StatusCreated || code == http.StatusConflict && c.what == whatLog && response.Header.Get("Location") != "" {
		return answer{code, response.Header, text}, false, nil
	}
	e := serviceError(c.what, c.base, "answered with status %d: %s", code, diag.Brief(strings.TrimSpace(string(text)), 200))
	e.Retryable = code == http.StatusTooManyRequests || code >= 500
	return answer{}, e.Retryable, e
}

func serviceError(what, address, format string, args ...any) *diag.Error {
	return diag.New(diag.Failed, "keyless_service", "the %s %s %s", what, diag.Printable(address), fmt.Sprintf(format, args...))
}

// asService is err as an error of ours: the one that the transport made, the end
// of ctx, or else that the service did not give what it should.
func asService(ctx context.Context, err error, what, address, did string) error {
	if err == nil {
		return nil
	}
	var ours *diag.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ours):
		return ours
	}
	e := serviceError(what, address, "%s", did)
	e.Err = err
	return e
}

// withoutRedirects is client refusing to be sent elsewhere, token and all.
func withoutRedirects(client *http.Client) *http.Client {
	own := &http.Client{}
	if client != nil {
		*own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return own
}

// secure parses the address of a service: https, or http on this machine.
func secure(what, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, diag.New(diag.Misuse, "keyless_config", "%q is not an address of a %s", diag.Printable(address), what)
	}
	if u.Scheme == "https" || u.Scheme == "http" && origin.Loopback(u.Hostname()) {
		return u, nil
	}
	return nil, diag.New(diag.Refused, "keyless_insecure", "the %s %s is not reached over https", what, diag.Printable(address))
}
