package ref

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// inwardRanges are the addresses of machines and networks that netip has no word for.
var inwardRanges = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),      // this network
	netip.MustParsePrefix("100.64.0.0/10"),  // what providers use behind their own translation, RFC 6598
	netip.MustParsePrefix("64:ff9b:1::/48"), // translation within a network, RFC 8215
	netip.MustParsePrefix("fec0::/10"),      // site-local
}

// carriers are the addresses of IPv6 that lead to one of IPv4, by the byte at which that begins.
var carriers = map[netip.Prefix]int{
	netip.MustParsePrefix("::/96"):           12, // IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"): 12, // translated
	netip.MustParsePrefix("64:ff9b::/96"):    12, // NAT64
	netip.MustParsePrefix("2002::/16"):       2,  // 6to4
}

// inwardNames are the ends of names that the public name system does not have, or gives to nobody: names of this machine, of a
// network and of the services of a provider.
var inwardNames = []string{
	"localhost", "localdomain", "localdomain6", "local", "internal", "lan", "home.arpa", "home", "intranet", "private", "corp",
}

// InwardAddr reports whether ip is an address of this machine, its link or a private network. An address that
// carries another one is what that is.
func InwardAddr(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() ||
		slices.ContainsFunc(inwardRanges, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return true
	}
	for p, at := range carriers {
		if p.Contains(ip) {
			b := ip.As16()
			return InwardAddr(netip.AddrFrom4([4]byte(b[at : at+4])))
		}
	}
	return false
}

// Inward reports whether host, "host" or "host:port" as a URL has it, is written as an address of this
// machine, its link or a private network. It looks nothing up. A name without a dot counts as one, as the files of hosts and the
// search list of a network decide what it is; so does what only some resolvers take for an address
// ("127.1", "0x7f000001", "2130706433").
func Inward(host string) bool {
	name := strings.ToLower(host)
	if u, err := url.Parse("https://" + host); err == nil {
		name = strings.ToLower(u.Hostname())
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return InwardAddr(ip)
	}
	name = strings.TrimRight(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == name || isNumber(last) ||
		slices.ContainsFunc(inwardNames, func(end string) bool { return strings.HasSuffix(name, "."+end) })
}

// isNumber reports whether the last element of a host is a number to some resolvers, which then take all of it for an address.
func isNumber(last string) bool {
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") || strings.HasPrefix(last, "0X")
}

// isOddAddress reports whether h is an address of IPv4 to some programs and a name, or another address, to others:
// "127.1", "0x7f000001", "0177.0.0.1".
func isOddAddress(h string) bool {
	if _, err := netip.ParseAddr(h); err == nil {
		return false
	}
	h = strings.TrimRight(h, ".")
	return isNumber(h[strings.LastIndexByte(h, '.')+1:])
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
