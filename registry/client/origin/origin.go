// Package origin is the one HTTP client of skl. It decides what may be talked to,
// and to whom a secret is shown; everybody who speaks HTTP does it through here.
//
//   - Plain http is refused, except to loopback addresses and to hosts listed as insecure.
//   - A credential belongs to one origin: scheme, host and port. It is asked for after a
//     401 of the origin that the caller named, sent there, and nowhere else.
//   - A redirect to another origin carries none of the caller's headers but the harmless
//     ones of [keepAcross], and no body. From https to http it is refused.
//   - An address that the caller named may be anywhere. A redirect, or an address that a server named (see [Via]), leads no
//     further in than where it comes from: from the internet to no private, loopback, link-local, shared or reserved
//     address, in whatever form; from a private network to itself; from loopback to loopback. It is the
//     address of the connection that decides, after names were looked up. Hosts that are Known are exempt.
//     Behind a proxy it is the proxy that looks names up: then only addresses that are written as such are refused.
//   - Errors name the URL without user, query and fragment: tokens and signed
//     addresses stay out of messages.
//
// The package reads no environment; what it needs from there is given to it.
// Errors are *diag.Error of class Failed with the codes offline, insecure_http,
// redirect_refused, network, too_large, credential, invalid_url and, of a download, http_status
// and size_mismatch.
package origin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/skl-project/skl/spec/diag"
)

// A Client sends requests. Its fields are set before first use; the zero Client
// has no credentials and no proxy. Its methods may be called concurrently.
type Client struct {
	Offline      bool
	Insecure     map[string]bool   // "host" or "host:port" that may be spoken to over plain http
	Known        map[string]bool   // "host" or "host:port" that servers may lead to, wherever it is: the user configured it
	CAs          map[string][]byte // "host" or "host:port" → PEM certificates to trust besides the system's
	UserAgent    string
	MaxRedirects int                 // 0 means 10
	Stall        time.Duration       // without a byte from the server, after which a request ends; 0 means 60 s
	Getenv       func(string) string // for HTTPS_PROXY, HTTP_PROXY and NO_PROXY; nil means no proxy
	// Credential is asked for an origin, "https://host[:port]", that answered 401.
	// The zero Credential means that there is none. Nil means the same.
	Credential func(ctx context.Context, origin string) (Credential, error)

	choose   sync.Once // sets through
	through  func(*http.Request) (*url.URL, error)
	resolver any // a *net.Resolver of tests; nil is the system's. Said as its type, the program would keep all that it can look up

	mu         sync.Mutex // guards what follows
	transports map[pool]*http.Transport
	at         map[string]reach  // by origin: where it was met
	led        map[string]string // by origin: the one that named it
	known      map[string]string // by origin: the Authorization header that it accepted
}

// A pool is of connections that may be used for the same requests.
type pool struct {
	host  string // with certificates of its own; "" for all others
	limit reach
	proxy bool
}

// A Credential proves who is asking. Its secret is never printed.
type Credential struct {
	User   string // empty for a token
	Secret string // password or token
}

// String hides the secret, also from %v.
func (c Credential) String() string {
	if c == (Credential{}) {
		return "none"
	}
	return "***"
}

// GoString hides the secret from %#v.
func (c Credential) GoString() string { return c.String() }

// tokenUser is the user that goes with a token where a server wants a name; forges ignore it.
const tokenUser = "x-access-token"

// header is the Authorization header for a server that answered with challenges.
func (c Credential) header(challenges []string) string {
	basic := slices.ContainsFunc(challenges, func(s string) bool { return hasFoldPrefix(s, "basic") })
	bearer := slices.ContainsFunc(challenges, func(s string) bool { return hasFoldPrefix(s, "bearer") })
	var r http.Request
	r.Header = http.Header{}
	switch {
	case c.User != "":
		r.SetBasicAuth(c.User, c.Secret)
	case basic && !bearer:
		r.SetBasicAuth(tokenUser, c.Secret)
	default:
		return "Bearer " + c.Secret
	}
	return r.Header.Get("Authorization")
}

func hasFoldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Of is the origin of u: "https://host", with the port unless it is the scheme's own.
//
//go:noinline
func Of(u *url.URL) string { return u.Scheme + "://" + Host(u) }

// Host is the host of u in lower case, with the port unless it is the scheme's own.
func Host(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// shown is u as messages name it.
func shown(u *url.URL) string { return Of(u) + u.EscapedPath() }

// Do sends req and follows redirects. The caller closes the body of the response,
// whatever its status. A body is sent again, after a redirect or a 401, only if
// req.GetBody is set; otherwise the response is the first one. req is not changed.
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.do(req, true) }

func (c *Client) do(req *http.Request, home bool) (*http.Response, error) {
	if c.Offline {
		return nil, diag.New(diag.Failed, "offline", "%s %s: not asked, because skl is offline", req.Method, shown(req.URL))
	}
	if req.URL.User != nil {
		return nil, diag.New(diag.Failed, "invalid_url", "%s holds a user or password", shown(req.URL)).
			Hint("use a token variable, netrc or a credential helper")
	}
	limit := c.MaxRedirects
	if limit == 0 {
		limit = 10
	}
	hop := req.Clone(req.Context())
	if c.UserAgent != "" && hop.Header.Get("User-Agent") == "" {
		hop.Header.Set("User-Agent", c.UserAgent)
	}
	from, chain := c.from(hop)
	verb := "names"
	// home is true until a redirect has led to another origin.
	for range limit + 1 {
		l := &leg{limit: chain}
		if c.Known[Host(hop.URL)] || c.Known[strings.ToLower(hop.URL.Hostname())] {
			l.limit = named
		}
		resp, err := c.ask(hop, home, l)
		if err != nil {
			if refused := inward(err, from, hop.URL, verb); refused != nil {
				return nil, refused
			}
			return nil, err
		}
		c.arrived(Of(hop.URL), l.at)
		chain = chain.then(l.at)
		next, err := redirect(hop, resp)
		if next == nil || err != nil {
			return resp, err
		}
		from, verb = shown(hop.URL), "redirects to"
		if Of(next.URL) != Of(hop.URL) {
			home = false
		}
		hop = next
	}
	return nil, diag.New(diag.Failed, "redirect_refused", "%s: more than %d redirects", shown(req.URL), limit)
}

// HTTP is c for packages that take an *http.Client.
func (c *Client) HTTP() *http.Client { return &http.Client{Transport: &roundTripper{client: c}} }

// Anonymous is c as a transport that adds no credential of its own: a 401 is the answer. It
// is for protocols that find out from the challenge what they have to send. All other rules hold.
func (c *Client) Anonymous() http.RoundTripper { return &roundTripper{client: c, anonymous: true} }

type roundTripper struct {
	client    *Client
	anonymous bool
}

// RoundTrip implements [http.RoundTripper].
func (r *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	return r.client.do(req, !r.anonymous)
}

// ask sends one request, and a second time with a credential after a 401.
func (c *Client) ask(req *http.Request, home bool, l *leg) (*http.Response, error) {
	if err := l.check(req.URL); err != nil {
		return nil, err
	}
	if err := c.allowed(req.URL); err != nil {
		return nil, err
	}
	if !home || req.Header.Get("Authorization") != "" || c.Credential == nil {
		return c.send(req, l)
	}
	origin := Of(req.URL)
	c.mu.Lock()
	known := c.known[origin]
	c.mu.Unlock()
	first := req
	if known != "" {
		first = req.Clone(req.Context())
		first.Header.Set("Authorization", known)
	}
	resp, err := c.send(first, l)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	again, err := replay(req)
	if again == nil || err != nil {
		return resp, err
	}
	cred, err := c.Credential(req.Context(), origin)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if cred == (Credential{}) {
		return resp, nil
	}
	drain(resp)
	header := cred.header(resp.Header.Values("WWW-Authenticate"))
	again.Header.Set("Authorization", header)
	resp, err = c.send(again, l)
	if err == nil {
		c.remember(origin, header, resp.StatusCode != http.StatusUnauthorized)
	}
	return resp, err
}

func (c *Client) remember(origin, header string, accepted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !accepted {
		delete(c.known, origin)
		return
	}
	if c.known == nil {
		c.known = map[string]string{}
	}
	c.known[origin] = header
}

// replay is req with its body from the start, nil if that cannot be had.
func replay(req *http.Request) (*http.Request, error) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, nil
	}
	if req.GetBody == nil {
		return nil, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again.Body = body
	return again, nil
}

// drain reads what little is left, so that the connection can be used again.
func drain(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// send makes one exchange, without any rule about credentials or redirects.
func (c *Client) send(req *http.Request, l *leg) (*http.Response, error) {
	var proxy *url.URL
	c.choose.Do(func() { c.through = c.proxy() })
	if choose := c.through; choose != nil {
		var err error
		if proxy, err = choose(req); err != nil {
			return nil, diag.New(diag.Failed, "network", "%s %s: %w", req.Method, shown(req.URL), err)
		}
	}
	t, err := c.transport(pool{Host(req.URL), l.limit, proxy != nil})
	if err != nil {
		return nil, err
	}
	under, watch := c.stalled(req)
	resp, err := t.RoundTrip(c.traced(under, l, proxy != nil))
	watch.timer.Stop()
	if inside, ok := errors.AsType[*inwardError](err); ok {
		watch.cancel(nil)
		return nil, inside
	}
	if err != nil {
		late := watch.err(err)
		watch.cancel(nil)
		if late != err && req.Context().Err() == nil {
			return nil, late
		}
		return nil, unanswered(req, proxy, err)
	}
	resp.Body = watch.body(resp.Body)
	return resp, nil
}

// allowed refuses what may not be talked to.
func (c *Client) allowed(u *url.URL) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return diag.New(diag.Failed, "invalid_url", "%s is not an http address", shown(u))
	case u.Scheme == "http" && !Loopback(u.Hostname()) && !c.Insecure[Host(u)]:
		return diag.New(diag.Failed, "insecure_http", "%s: plain http is accepted for loopback addresses only", shown(u)).
			Hint("use https, or set insecure = true for [origin.%q] in config.toml", Host(u))
	}
	return nil
}

// Loopback reports whether host, "host" or "host:port" as an address has it, is written as one of this machine's own: localhost,
// or an address of the loopback interface. It looks nothing up. It is the rule for where plain http, no key or no token will do.
func Loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// transport is the connection pool p. Connections that went further in than others may are not shared with those;
// to a proxy, which the user named, all may go.
func (c *Client) transport(p pool) (*http.Transport, error) {
	pem, host := c.CAs[p.host], p.host
	if pem == nil {
		p.host = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[p]; t != nil {
		return t, nil
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	dialer.Resolver, _ = c.resolver.(*net.Resolver)
	if !p.proxy {
		dialer.Control = control(p.limit)
	}
	t := &http.Transport{
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   8,
		ForceAttemptHTTP2:     true,
		Proxy:                 c.through,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if pem != nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, diag.New(diag.Failed, "credential", "the ca file for %s holds no certificate", host)
		}
		t.TLSClientConfig.RootCAs = pool
	}
	if c.transports == nil {
		c.transports = map[pool]*http.Transport{}
	}
	c.transports[p] = t
	return t, nil
}

func (c *Client) proxy() func(*http.Request) (*url.URL, error) {
	if c.Getenv == nil {
		return nil
	}
	either := func(name string) string {
		if v := c.Getenv(name); v != "" {
			return v
		}
		return c.Getenv(strings.ToLower(name))
	}
	config := httpproxy.Config{HTTPSProxy: either("HTTPS_PROXY"), HTTPProxy: either("HTTP_PROXY"), NoProxy: either("NO_PROXY"),
		CGI: c.Getenv("REQUEST_METHOD") != ""}
	choose := config.ProxyFunc()
	return func(req *http.Request) (*url.URL, error) { return choose(req.URL) }
}

// ReadAll reads the body of resp and closes it. A body of more than limit bytes is an error.
func ReadAll(resp *http.Response, limit int64) ([]byte, error) {
	defer resp.Body.Close()
	where := "the response"
	if resp.Request != nil {
		where = shown(resp.Request.URL)
	}
	tooLarge := diag.New(diag.Failed, "too_large", "%s is larger than %d bytes", where, limit)
	if resp.ContentLength > limit {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		e := diag.New(diag.Failed, "network", "reading %s: %w", where, err)
		e.Retryable = true
		return nil, e
	}
	if int64(len(body)) > limit {
		return nil, tooLarge
	}
	return body, nil
}
