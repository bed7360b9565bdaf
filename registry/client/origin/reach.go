package origin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/skl-project/skl/spec/diag"
)

// A reach is how far in a place is, as seen from the internet. The zero reach is that of an address that
// the caller named: it may be anywhere.
type reach int

const (
	named    reach = iota
	public         // anybody's
	private        // of a network: RFC 1918, ULA, CGNAT and their like
	loopback       // of this machine
	special        // of a link, or of nobody: 169.254.0.0/16, multicast, reserved
)

// lets reports whether something that is at r may lead to an address that is at to. Outward always; inward never; to
// its own kind where that is one network or one machine.
func (r reach) lets(to reach) bool {
	return r == named || to == public || to == r && to != special
}

// then is how far in a chain is that came from r and has got to at: as far out as it ever was.
func (r reach) then(at reach) reach {
	if r == named {
		return at
	}
	return min(r, at)
}

// inwardRanges are the addresses that netip has no word for.
var inwardRanges = map[string]reach{
	"0.0.0.0/8": special, "100.64.0.0/10": private, "192.0.0.0/24": special, "192.0.2.0/24": special, "192.88.99.0/24": special, "198.18.0.0/15": private,
	"198.51.100.0/24": special, "203.0.113.0/24": special, "240.0.0.0/4": special,
	"64:ff9b:1::/48": private, "100::/64": special, "2001::/23": special, "2001:db8::/32": special, "3fff::/20": special, "5f00::/16": special, "fec0::/10": private,
}

// reachOf is how far in ip is. An address that carries another one is as far in as that.
func reachOf(ip netip.Addr) reach {
	ip = ip.Unmap().WithZone("")
	b := ip.As16()
	switch {
	case !ip.IsValid():
		return special
	case ip.IsLoopback():
		return loopback
	case ip.IsUnspecified(), ip.IsMulticast(), ip.IsLinkLocalUnicast():
		return special
	case ip.IsPrivate():
		return private
	}
	if ip.Is6() {
		carried := -1 // the first byte of an IPv4 address
		switch {
		case netip.MustParsePrefix("64:ff9b::/96").Contains(ip), netip.MustParsePrefix("::/96").Contains(ip): // NAT64, IPv4-compatible
			carried = 12
		case netip.MustParsePrefix("::ffff:0:0:0/96").Contains(ip): // translated
			carried = 12
		case netip.MustParsePrefix("2002::/16").Contains(ip): // 6to4
			carried = 2
		}
		if carried >= 0 {
			return reachOf(netip.AddrFrom4([4]byte(b[carried : carried+4])))
		}
	}
	for text, r := range inwardRanges {
		if netip.MustParsePrefix(text).Contains(ip) {
			return r
		}
	}
	return public
}

// written is how far in host is as it is written; a name that says nothing about it is taken for public.
func written(host string) reach {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return loopback
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return reachOf(ip)
	}
	return public
}

type viaKey struct{}

// Via marks requests with ctx as made because somebody at origin, "https://host[:port]", named their address: a token
// endpoint in a challenge, a download in a record, a repository in a catalogue. They may lead where a redirect
// from there may. Of two origins the later one holds.
func Via(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, viaKey{}, origin)
}

// Led is Via for all requests to an origin from now on: somebody at the origin from, such as a catalogue, named it.
func (c *Client) Led(from, to string) {
	if from == to {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.led == nil {
		c.led = map[string]string{}
	}
	c.led[to] = from
}

// from is what a request may reach by what named its address: everything, if the caller did.
func (c *Client) from(req *http.Request) (origin string, limit reach) {
	origin, _ = req.Context().Value(viaKey{}).(string)
	if origin == "" {
		c.mu.Lock()
		origin = c.led[Of(req.URL)]
		c.mu.Unlock()
	}
	if origin == "" || origin == Of(req.URL) {
		return "", named
	}
	c.mu.Lock()
	at := c.at[origin]
	c.mu.Unlock()
	if at == named {
		at = public // nobody was there yet, so nobody knows
		if u, err := url.Parse(origin); err == nil {
			at = written(u.Hostname())
		}
	}
	return origin, at
}

// A leg is one hop of a chain.
type leg struct {
	limit reach
	at    reach // where the connection ended
}

// check refuses an address that is further in than the leg may go, as far as it is written there.
func (l *leg) check(u *url.URL) error {
	if to := written(u.Hostname()); !l.limit.lets(to) {
		return &inwardError{u.Hostname()}
	}
	return nil
}

// An inwardError says that a connection would lead further in than what named its address.
type inwardError struct{ address string }

func (e *inwardError) Error() string {
	return e.address + " is an address of this machine or of a network behind it"
}

// traced is req with a note of where its connection ends. Behind a proxy that is not known: then the name
// has to do, and one that says nothing is taken for public.
func (c *Client) traced(req *http.Request, l *leg, proxied bool) *http.Request {
	l.at = written(req.URL.Hostname())
	if proxied {
		return req
	}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if at, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			l.at = reachOf(at.Addr())
		}
	}}))
}

// Met reports whether an origin, "https://host[:port]", has answered a request of c.
func (c *Client) Met(origin string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, met := c.at[origin]
	return met
}

// arrived remembers where an origin was met: as far out as it ever was, so that a name that points inward later
// gains nothing.
func (c *Client) arrived(origin string, at reach) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]reach{}
	}
	c.at[origin] = c.at[origin].then(at)
}

// control refuses connections further in than limit. It sees the address after names were looked up, so it does not
// matter what a name meant before.
func control(limit reach) func(network, address string, _ syscall.RawConn) error {
	if limit == named {
		return nil
	}
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !limit.lets(reachOf(at.Addr())) {
			host, _, _ := net.SplitHostPort(address)
			return &inwardError{host}
		}
		return nil
	}
}

// inward is the refusal of a hop that leads to u.
func inward(err error, from string, u *url.URL, verb string) error {
	e, ok := errors.AsType[*inwardError](err)
	if !ok {
		return nil
	}
	why := e.Error()
	if u.Hostname() == e.address {
		why = "it is an address of this machine or of a network behind it"
	}
	return diag.New(diag.Failed, "redirect_refused", "%s %s %s: %s", from, verb, shown(u), why).
		Hint("if that is meant, write [origin.%q] in config.toml", Host(u))
}
