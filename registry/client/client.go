// Package client is how skl talks to a registry: its REST interface, pushes and pulls of
// OCI artifacts, the transparency log, and copies from one registry to another.
//
//   - Everything goes through an [origin.Client], which decides about plain http, proxies and
//     credentials. A registry's address is an origin: it has no path.
//   - Answers are bounded: records [MaxRecord], files as bundles are. What
//     came under a digest is handed on only if it has that digest.
//   - A refusal of the registry keeps its code; its class follows from the status: see [Client].
//   - A request that was not answered is sent again if it reads, if it did not reach the server, or if it does no more the
//     second time: see restart.go. "429 Too Many Requests" and
//     "503" are waited for once, at most 30 seconds.
//   - Records are kept in a cache directory and asked for with their ETag; they are
//     used only when the registry says that they still hold.
//
// Documents: the registry's own OpenAPI document, RFC 9457, the OCI distribution
// specification 1.1, C2SP tlog-tiles.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// Bounds.
const (
	MaxRecord  = 16 << 20 // bytes of a JSON answer
	MaxList    = 100_000  // items of a list that is read page by page
	maxProblem = 64 << 10
	maxWait    = 30 * time.Second // for a registry that says when to come back
)

// A Client talks to one registry. Its fields are set before first use; its methods may be
// called concurrently.
//
// Errors are *diag.Error with the registry's code. Their class is Failed for 401, 403 of a token that
// may not, 429 and 5xx (the last two Retryable), Misuse for 404 and other mistakes of the caller, Refused for
// 410 (blocked), for a version that exists with other content, and for what a policy does not let
// through. An answer that does not come from a registry of skills has code not_a_registry.
type Client struct {
	HTTP  *origin.Client
	Base  *url.URL // as [New] checks it
	Cache string   // directory of cached records, which need not exist; "" keeps none

	// wait sleeps before a request is sent again; nil means to really do so.
	wait func(ctx context.Context, d time.Duration) error

	mu         sync.Mutex // guards what follows
	looked     bool       // the credential was looked up
	credential origin.Credential
}

// New returns a Client for the registry at base, "https://skills.example" or "http://127.0.0.1:5080".
func New(c *origin.Client, base string) (*Client, error) {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return nil, diag.New(diag.Misuse, "invalid_url", "%q is not the address of a registry", diag.Printable(base)).Hint("it is https://host[:port]")
	}
	if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return nil, diag.New(diag.Misuse, "invalid_url", "the address of a registry is https://host[:port] and nothing more")
	}
	return &Client{HTTP: c, Base: u}, nil
}

// URL is the registry's address without a final slash, as locks record it.
//
//go:noinline
func (c *Client) URL() string { return origin.Of(c.Base) }

// Host is the registry's host, with the port if the address has one, as OCI references name it.
//
//go:noinline
func (c *Client) Host() string { return origin.Host(c.Base) }

// A call is one request of the REST interface.
type call struct {
	method string
	path   []string // elements behind /api/v1
	query  url.Values
	body   any // a value for JSON, or a []byte of mediaType
	media  string
	cached bool // keep the answer, and ask with its ETag
	again  bool // the second time it does no more than the first
	named  bool // say who is asking without being asked: the answer to nobody is another one, not a 401
	limit  int64
}

// address is the URL of a call. An element that a server could take for another path is refused.
func (c *Client) address(q call) (string, error) {
	var b strings.Builder
	b.WriteString(c.URL() + "/api/v1")
	for _, e := range q.path {
		if e == "" || e == "." || e == ".." || len(e) > 1024 {
			return "", diag.New(diag.Misuse, "invalid_name", "%q cannot be a name on a registry", diag.Printable(e))
		}
		b.WriteString("/" + url.PathEscape(e))
	}
	if len(q.query) > 0 {
		b.WriteString("?" + q.query.Encode())
	}
	return b.String(), nil
}

// get reads a record into out.
func (c *Client) get(ctx context.Context, out any, path ...string) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: path, cached: true}, out)
	return err
}

// do makes a call and decodes the answer into out, unless out is nil. It returns the status.
func (c *Client) do(ctx context.Context, q call, out any) (int, error) {
	status, body, err := c.raw(ctx, q)
	if err != nil || out == nil {
		return status, err
	}
	if err := json.Unmarshal(body, out); err != nil {
		return status, diag.New(diag.Failed, "not_a_registry", "%s answers with something that is not the record that was asked for: %w", c.URL(), err)
	}
	return status, nil
}

// raw makes a call and returns the body of a success.
func (c *Client) raw(ctx context.Context, q call) (status int, body []byte, err error) {
	address, err := c.address(q)
	if err != nil {
		return 0, nil, err
	}
	var payload []byte
	switch b := q.body.(type) {
	case nil:
	case []byte:
		payload = b
	default:
		if payload, err = json.Marshal(b); err != nil {
			return 0, nil, err
		}
		q.media = wire.MediaJSON
	}
	var kept record
	if q.cached {
		kept = c.recall(address)
	}
	reads := q.method == http.MethodGet || q.method == http.MethodHead
	for tries, waited := 0, false; ; tries++ {
		status, header, body, err := c.once(ctx, q, address, payload, kept)
		switch {
		case err != nil && ctx.Err() == nil && c.tryAgain(err, reads, q.again, tries):
			if err := c.pause(ctx, backoff(tries)); err != nil {
				return 0, nil, err
			}
			continue
		case err != nil:
			return 0, nil, err
		case status == http.StatusNotModified && kept.ETag != "":
			return http.StatusOK, kept.body, nil
		case status/100 == 2:
			if q.cached {
				c.remember(address, header.Get("ETag"), body)
			}
			return status, body, nil
		}
		later, ok := comeBack(status, header)
		if ok && !waited && (reads || status == http.StatusTooManyRequests) {
			waited = true
			if err := c.pause(ctx, later); err != nil {
				return 0, nil, err
			}
			continue
		}
		return status, nil, c.problem(status, header, body, address)
	}
}

// once sends one request and reads the answer.
func (c *Client) once(ctx context.Context, q call, address string, payload []byte, kept record) (int, http.Header, []byte, error) {
	var content io.Reader
	if payload != nil {
		content = bytes.NewReader(payload)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, address, content)
	if err != nil {
		return 0, nil, nil, diag.New(diag.Misuse, "invalid_url", "%q is not an address", diag.Printable(address))
	}
	req.Header.Set("Accept", wire.MediaJSON+", "+wire.MediaProblem+", */*;q=0.1")
	if q.media != "" {
		req.Header.Set("Content-Type", q.media)
	}
	if kept.ETag != "" {
		req.Header.Set("If-None-Match", kept.ETag)
	}
	if q.named {
		if err := c.identify(ctx, req); err != nil {
			return 0, nil, nil, err
		}
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	limit := q.limit
	if limit == 0 {
		limit = MaxRecord
	}
	if resp.StatusCode/100 != 2 {
		limit = maxProblem
	}
	body, err := origin.ReadAll(resp, limit)
	if err != nil && resp.StatusCode/100 != 2 {
		err, body = nil, nil // the status says enough
	}
	return resp.StatusCode, resp.Header, body, err
}

// identify adds the credential for the registry, if there is one.
func (c *Client) identify(ctx context.Context, req *http.Request) error {
	if c.HTTP.Credential == nil || c.HTTP.Offline {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.looked {
		credential, err := c.HTTP.Credential(ctx, c.URL())
		if err != nil {
			return err
		}
		c.credential, c.looked = credential, true
	}
	switch {
	case c.credential.User != "":
		req.SetBasicAuth(c.credential.User, c.credential.Secret)
	case c.credential.Secret != "":
		req.Header.Set("Authorization", "Bearer "+c.credential.Secret)
	}
	return nil
}

// tryAgain reports whether a request that brought err is sent once more.
func (c *Client) tryAgain(err error, reads, again bool, tries int) bool {
	if reads && tries < fewTries {
		return retryable(err)
	}
	return tries < restarts && away(err) && (reads || again || unsent(err)) && c.HTTP.Met(c.URL())
}

func retryable(err error) bool {
	e, ok := err.(*diag.Error)
	return ok && e.Retryable
}

// comeBack says how long a busy registry asks to wait, if it is worth it.
func comeBack(status int, header http.Header) (time.Duration, bool) {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0, false
	}
	text := header.Get("Retry-After")
	if text == "" {
		return time.Second, true
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		d := time.Duration(n) * time.Second
		return d, n <= int(maxWait/time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		d := max(time.Until(at), 0)
		return d, d <= maxWait
	}
	return 0, false
}

func (c *Client) pause(ctx context.Context, d time.Duration) error {
	if c.wait != nil {
		return c.wait(ctx, d)
	}
	return sleep(ctx, d)
}
