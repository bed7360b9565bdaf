package origin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Codes of [Accept].
const (
	CodeHost   = "host_refused"   // 421 Misdirected Request
	CodeOrigin = "origin_refused" // 403 Forbidden
)

// Accept is the other side of the same rules, for whoever serves: it refuses requests that a web page elsewhere
// makes a browser on this machine send. Names are what the server is called besides the addresses of
// loopback, "host" or "host:port".
//
//   - What arrives on a loopback address names a loopback address, localhost or one of names in its Host
//     header, else code host_refused: a page can make its own name mean 127.0.0.1, but cannot send another
//     Host. Over TLS the certificate says as much.
//   - An Origin header names the host that was asked, with its port, or one of names, else origin_refused, whatever
//     the address and the method: there is no page elsewhere that has something to ask.
//   - Sec-Fetch-Site may say nothing, none or same-origin; else only a person who follows a link is let in.
//
// A request whose connection is not known is held to be one that arrived on loopback.
func Accept(r *http.Request, names ...string) error {
	own := func(host string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return name != "" && (strings.EqualFold(name, host) || strings.EqualFold(name, bare(host)))
		})
	}
	if r.TLS == nil && arrivedOnLoopback(r) && !Loopback(bare(r.Host)) && !own(r.Host) {
		return diag.New(diag.Refused, CodeHost, "%q is not the name of this server", diag.Printable(r.Host)).
			Hint("ask for it as 127.0.0.1 or localhost, or add the name to those that the server is configured with")
	}
	foreign := diag.New(diag.Refused, CodeOrigin, "requests of web pages elsewhere are refused")
	switch origins := r.Header.Values("Origin"); {
	case len(origins) > 1:
		return foreign
	case len(origins) == 1:
		u, err := url.Parse(origins[0])
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return foreign // "null" among them
		}
		if Host(u) != Host(&url.URL{Scheme: u.Scheme, Host: r.Host}) && !own(Host(u)) {
			return foreign
		}
		return nil
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		link := (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
			r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if site != "" && site != "none" && site != "same-origin" && !link {
			return foreign
		}
	}
	return nil
}

// AcceptStatus is the status of an error of [Accept].
func AcceptStatus(err error) int {
	if e, ok := err.(*diag.Error); ok && e.Code == CodeHost {
		return http.StatusMisdirectedRequest
	}
	return http.StatusForbidden
}

// arrivedOnLoopback reports whether the connection of r ends at a loopback address, as far as is known.
func arrivedOnLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true
	}
	at, err := netip.ParseAddrPort(local.String())
	return err != nil || at.Addr().Unmap().IsLoopback()
}

// bare is host without port, brackets and the dot of a full name.
func bare(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.TrimSuffix(host, ".")
}
