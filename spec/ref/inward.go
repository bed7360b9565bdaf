package ref

import (
	"net/netip"
	"net/url"
	"strings"
)

// shared is 100.64.0.0/10, which providers use behind their own translation of addresses (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// Inward reports whether host, "host" or "host:port" as a URL has it, is written as an address of this
// machine, its link or a private network. It looks nothing up. What only some resolvers take for an address
// ("127.1", "0x7f000001", "2130706433") counts as one.
func Inward(host string) bool {
	name := strings.ToLower(host)
	if u, err := url.Parse("https://" + host); err == nil {
		name = strings.ToLower(u.Hostname())
	}
	name = strings.TrimSuffix(name, ".")
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() || shared.Contains(ip)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}

// InwardURL reports whether a URL leads to this machine or a private network: a file, or a host that
// is [Inward]. What is not a URL does.
func InwardURL(s string) bool {
	u, err := url.Parse(s)
	return err != nil || u.Scheme == "file" || u.Host == "" || Inward(u.Host)
}

// SameHost reports whether two URLs have one scheme and host. No two files do.
func SameHost(a, b string) bool {
	ua, erra := url.Parse(a)
	ub, errb := url.Parse(b)
	return erra == nil && errb == nil && ua.Host != "" && ua.Scheme == ub.Scheme && strings.EqualFold(ua.Host, ub.Host)
}
