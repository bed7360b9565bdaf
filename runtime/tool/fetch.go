package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

const (
	maxFetch     = 1 << 20
	fetchTime    = 30 * time.Second
	maxRedirects = 5
	maxURL       = 4096
)

func prepareFetch(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct{ URL string }
	if err := decode("fetch", input, "url", &in); err != nil {
		return nil, err
	}
	if len(in.URL) > maxURL {
		return nil, badInput("fetch", "an address has at most %d bytes", maxURL)
	}
	u, err := url.Parse(in.URL)
	if err != nil {
		return nil, badInput("fetch", "%q is not an address", diag.Brief(in.URL, 200))
	}
	if err := d.mayReach(u); err != nil {
		return nil, err
	}
	out := addressUse(u)
	out.do = func(ctx context.Context) (string, error) { return d.fetch(ctx, u) }
	return out, nil
}

func addressUse(u *url.URL) *use {
	address := origin.Of(u) + u.RequestURI()
	return &use{detail: address, parts: []string{address}, matches: matchAddress}
}

// matchAddress is the pattern of fetch: "example.org", "domain:example.org", "*.example.org", or an address with *,
// with or without its scheme.
func matchAddress(pattern, part string, strict bool) bool {
	switch {
	case strings.Contains(pattern, "://"):
		return matchStar(pattern, part)
	case strings.Contains(pattern, "/"):
		_, rest, _ := strings.Cut(part, "://")
		return matchStar(pattern, rest)
	}
	u, err := url.Parse(part)
	return err == nil && matchHost(strings.TrimPrefix(pattern, "domain:"), u) || err != nil && strict
}

// matchHost reports whether an entry, "host", "host:port" or "*.host", means the host of u.
func matchHost(entry string, u *url.URL) bool {
	entry = strings.ToLower(entry)
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if name, port, err := net.SplitHostPort(entry); err == nil {
		if portOf(u) != port {
			return false
		}
		entry = name
	} else if portOf(u) != "443" && portOf(u) != "80" {
		return false // a host alone is its usual ports
	}
	if below, ok := strings.CutPrefix(entry, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return strings.Trim(entry, "[]") == host
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// mayReach refuses an address that fetch does not ask.
func (d *Dispatcher) mayReach(u *url.URL) error {
	refuse := func(why string, args ...any) error {
		return diag.New(diag.Refused, CodeDenied, "fetch does not ask %s: %s", diag.Brief(origin.Of(u), 300), fmt.Sprintf(why, args...))
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return refuse("it is not an http address")
	case u.User != nil:
		return refuse("the address holds a user or password")
	}
	for _, entry := range d.config.Hosts {
		if !matchHost(entry, u) {
			continue
		}
		if u.Scheme == "http" && !origin.Loopback(u.Hostname()) {
			return refuse("plain http is for loopback addresses only")
		}
		return nil
	}
	return refuse("it is not among the hosts that are allowed")
}

// inward reports whether an address is of this machine, its link or its network. A name may lead there
// only if the person wrote that address, or localhost.
func inward(ip netip.Addr) bool {
	return !ip.Unmap().IsGlobalUnicast() || ref.InwardAddr(ip)
}

// fetch follows redirects itself, because each of them has to lead to a host that is allowed.
func (d *Dispatcher) fetch(ctx context.Context, u *url.URL) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	for range maxRedirects + 1 {
		resp, err := d.get(ctx, u)
		if err != nil {
			return "", err
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			return answer(u, resp)
		}
		resp.Body.Close()
		next, err := u.Parse(location)
		if err != nil || len(location) > maxURL {
			return "", failed("%s redirects to something that is not an address", origin.Of(u))
		}
		if err := d.mayReach(next); err != nil {
			return "", err
		}
		if u.Scheme == "https" && next.Scheme == "http" {
			return "", diag.New(diag.Refused, CodeDenied, "fetch does not leave https of %s for http", origin.Of(u))
		}
		h, hop := d.table.must("fetch"), addressUse(next)
		if err := d.permit(h, hop); err != nil {
			return "", err
		}
		// An agreement to some addresses is none to where they lead.
		if err := d.consent(ctx, h.effect, h, hop); err != nil {
			return "", err
		}
		u = next
	}
	return "", failed("%s: more than %d redirects", origin.Of(u), maxRedirects)
}

func answer(u *url.URL, resp *http.Response) (string, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetch+1))
	if err != nil {
		return "", failed("reading %s: %w", origin.Of(u), err)
	}
	cut := len(body) > maxFetch
	if cut {
		body = body[:maxFetch]
	}
	if isBinary(body) {
		return "", failed("%s answered with a file that is not text (%s)", origin.Of(u), diag.Printable(resp.Header.Get("Content-Type")))
	}
	text := string(body)
	if cut {
		text += "\n[cut: only the first 1 MiB is taken]"
	}
	if resp.StatusCode != http.StatusOK {
		return bounded(text, 4<<10) + "\n", failed("%s answered %d", origin.Of(u), resp.StatusCode)
	}
	return text, nil
}

// get sends one request, with nothing in it but the address.
func (d *Dispatcher) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, failed("%q is not an address", diag.Printable(u.String()))
	}
	req.Header.Set("User-Agent", "skl")
	req.Header.Set("Accept", "text/*, application/json;q=0.9, */*;q=0.5")
	proxy := d.proxyFor(u)
	var once sync.Once
	var refused error
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		if proxy != nil || isWritten(u.Hostname()) {
			return nil
		}
		ap, err := netip.ParseAddrPort(address)
		if err != nil || inward(ap.Addr()) {
			once.Do(func() {
				refused = diag.New(diag.Refused, CodeDenied, "fetch does not ask %s: its name leads to the address %s of this machine or network", origin.Of(u), address)
			})
			return errInward
		}
		return nil
	}}
	transport := &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: fetchTime, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		Proxy: func(*http.Request) (*url.URL, error) { return proxy, nil },
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		if errors.Is(err, errInward) && refused != nil {
			return nil, refused
		}
		e := failed("fetching %s: %w", origin.Of(u), err)
		e.Retryable = true
		return nil, e
	}
	return resp, nil
}

var errInward = errors.New("an address of this machine or network")

// isWritten reports whether a host is written as an address, or as localhost: then the allow-list names that
// address itself, and no name server decides.
func isWritten(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

func (d *Dispatcher) proxyFor(u *url.URL) *url.URL {
	if d.config.Proxy == nil {
		return nil
	}
	first := func(names ...string) string {
		for _, n := range names {
			if v := d.config.Proxy(n); v != "" {
				return v
			}
		}
		return ""
	}
	c := httpproxy.Config{
		HTTPProxy: first("HTTP_PROXY", "http_proxy"), HTTPSProxy: first("HTTPS_PROXY", "https_proxy"), NoProxy: first("NO_PROXY", "no_proxy"),
	}
	proxy, err := c.ProxyFunc()(u)
	if err != nil {
		return nil
	}
	return proxy
}
