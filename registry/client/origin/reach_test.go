package origin

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"context"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/skl-project/skl/spec/diag"
)

func TestReachOf(t *testing.T) {
	for text, want := range map[string]reach{
		"8.8.8.8": public, "2606:4700::1111": public, "1.1.1.1": public, "172.15.0.1": public, "172.32.0.1": public, "100.128.0.1": public, "11.0.0.1": public, "198.20.0.1": public,
		"127.0.0.1": loopback, "127.255.255.254": loopback, "::1": loopback, "::ffff:127.0.0.1": loopback, "::127.0.0.1": loopback,
		"64:ff9b::7f00:1": loopback, "2002:7f00:1::": loopback, "::ffff:0:127.0.0.1": loopback,
		"10.0.0.1": private, "172.16.0.1": private, "172.31.255.255": private, "192.168.1.1": private, "100.64.0.1": private, "100.127.255.255": private,
		"fc00::1": private, "fd12:3456::1": private, "fec0::1": private, "::ffff:10.0.0.1": private, "64:ff9b::a00:1": private, "64:ff9b:1::1": private,
		"2002:a00:1::": private, "2002:c0a8:101::1": private, "::10.0.0.1": private, "198.18.0.1": private,
		"169.254.169.254": special, "::ffff:169.254.169.254": special, "64:ff9b::a9fe:a9fe": special, "fe80::1": special, "fe80::1%eth0": special,
		"0.0.0.0": special, "0.1.2.3": special, "::": special, "::ffff:0.0.0.0": special, "224.0.0.1": special, "239.255.255.250": special, "ff02::1": special,
		"255.255.255.255": special, "240.0.0.1": special, "192.0.2.1": special, "2001:db8::1": special, "2001::1": special, "100::1": special,
		"2002:808:808::": public, "64:ff9b::808:808": public,
	} {
		if got := reachOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is at %d, want %d", text, got, want)
		}
	}
	for host, want := range map[string]reach{"localhost": loopback, "LocalHost.": loopback, "x.localhost": loopback, "skills.example": public, "10.0.0.1": private, "10.0.0.1.": private, "fe80::1%25eth0": special} {
		if got := written(host); got != want {
			t.Errorf("%q is at %d, want %d", host, got, want)
		}
	}
}

// Each row is the origin of a redirect, each letter whether it may lead to a public, private, loopback or special
// address.
func TestReachLets(t *testing.T) {
	all := []reach{public, private, loopback, special}
	for from, want := range map[reach]string{named: "yyyy", public: "ynnn", private: "yynn", loopback: "ynyn", special: "ynnn"} {
		got := ""
		for _, to := range all {
			got += map[bool]string{true: "y", false: "n"}[from.lets(to)]
		}
		if got != want {
			t.Errorf("%d: %s, want %s", from, got, want)
		}
	}
	if loopback.then(public).then(loopback) != public || named.then(private) != private || private.then(loopback) != private {
		t.Error("a chain is as far out as it ever was")
	}
}

// names is a resolver for which names mean what a map says, IPv4 only.
func names(t *testing.T, of map[string]string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if ip, ok := of[strings.TrimSuffix(q.Name.String(), ".")]; !ok {
				m.RCode = dnsmessage.RCodeNameError
			} else if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
					Body: &dnsmessage.AResource{A: netip.MustParseAddr(ip).As4()}}}
			}
			if text, err := m.Pack(); err == nil {
				pc.WriteTo(text, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// Where a server names an address, it is the connection that decides: names that mean this machine are
// refused, and a connection that the user's own request made is not used for it.
func TestNamedByAServer(t *testing.T) {
	here, log := server(t, ok)
	_, port, _ := strings.Cut(strings.TrimPrefix(here, "http://"), ":")
	inner := "http://inner.example:" + port
	client := func() *Client {
		return &Client{Insecure: map[string]bool{"inner.example:" + port: true, "registry.example": true, "10.1.2.3": true},
			resolver: names(t, map[string]string{"inner.example": "127.0.0.1", "meta.example": "169.254.169.254"})}
	}
	c := client()
	via := func(c *Client, from, to string) error {
		req := get(t, to)
		resp, err := c.Do(req.WithContext(Via(req.Context(), from)))
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := via(c, inner, inner+"/own"); err != nil { // the caller named it
		t.Fatal(err)
	}
	*log = nil
	for _, to := range []string{here, inner, "http://localhost:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://0.0.0.0:" + port, "http://10.1.2.3/", "https://meta.example/", "https://[fe80::1]/", "https://[64:ff9b::7f00:1]:" + port} {
		err := via(c, "https://registry.example", to+"/x?token=s3cret")
		if !errors.Is(err, diag.Code("redirect_refused")) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(*log) != 0 {
		t.Errorf("requests %+v", *log)
	}
	// From loopback to loopback is no way in; nor is what the user's configuration names.
	if err := via(c, here, inner+"/x"); err != nil {
		t.Errorf("from loopback: %v", err)
	}
	if err := via(c, here, "http://10.1.2.3/"); !errors.Is(err, diag.Code("redirect_refused")) {
		t.Errorf("from loopback to a network: %v", err)
	}
	c = client()
	c.Known = map[string]bool{"inner.example:" + port: true, "127.0.0.1": true}
	for _, to := range []string{inner, here} {
		if err := via(c, "https://registry.example", to+"/x"); err != nil {
			t.Errorf("a configured host: %v", err)
		}
	}
}

// A redirect from the internet leads to no address behind it: neither one that is written, nor one that a name means. The
// internet is a proxy here, which is reached all the same.
func TestRedirectInward(t *testing.T) {
	here, log := server(t, ok)
	_, port, _ := strings.Cut(strings.TrimPrefix(here, "http://"), ":")
	var to string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, _ := url.Parse(to)
		if r.URL.Host == u.Host {
			w.Write([]byte("the end"))
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer proxy.Close()
	c := &Client{Insecure: map[string]bool{"skills.example": true, "mirror.example": true, "10.1.2.3": true, "inner.example:" + port: true},
		resolver: names(t, map[string]string{"inner.example": "127.0.0.1"}),
		Getenv: func(name string) string {
			return map[string]string{"HTTP_PROXY": proxy.URL, "NO_PROXY": "inner.example"}[name]
		}}
	for _, location := range []string{here + "/x", "http://10.1.2.3/x", "http://inner.example:" + port + "/x", "http://[::1]:" + port + "/x"} {
		to = location
		_, err := c.Do(get(t, "http://skills.example/start"))
		if !errors.Is(err, diag.Code("redirect_refused")) || !strings.Contains(err.Error(), "http://skills.example/start redirects to ") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(*log) != 0 {
		t.Errorf("requests %+v", *log)
	}
	to = "http://mirror.example/x"
	if resp, err := c.Do(get(t, "http://skills.example/start")); err != nil || resp.StatusCode != 200 {
		t.Errorf("outward, by the proxy: %v", err)
	}
}
