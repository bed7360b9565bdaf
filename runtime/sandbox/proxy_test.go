//go:build unix

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAllowed(t *testing.T) {
	p := newProxy([]string{"Example.org", "api.example.com:8443", "*.cdn.example", "127.0.0.1:80", "[2001:db8::1]:443", "*"}, nil)
	defer p.close()
	for _, c := range []struct {
		host, port string
		want       bool
	}{
		{"example.org", "443", true}, {"example.org", "80", true}, {"example.org", "22", false},
		{"api.example.com", "8443", true}, {"api.example.com", "443", false},
		{"a.cdn.example", "443", true}, {"cdn.example", "443", false}, {"acdn.example", "443", false}, {".cdn.example", "443", false},
		{"127.0.0.1", "80", true}, {"127.0.0.1", "81", false}, {"localhost", "80", false},
		{"2001:db8::1", "443", true}, {"example.org.evil.example", "443", false}, {"evil.example", "443", false}, {"", "443", false},
	} {
		if got := p.allowed(c.host, c.port); got != c.want {
			t.Errorf("%s:%s is allowed: %v", c.host, c.port, got)
		}
	}
}

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "1.1.1.1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "0.0.0.0": false,
		"100.64.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false, "192.0.0.8": false, "0.1.2.3": false,
		"::1": false, "::": false, "fe80::1": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "::127.0.0.1": false,
		"2002:7f00:1::": false, "2002:0101:0101::1": true, "64:ff9b::10.0.0.1": false, "64:ff9b::1.1.1.1": true, "2001::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("public(%s) = %v", address, got)
		}
	}
}

// A requests log is what a proxy told of.
type requests struct {
	mu   sync.Mutex
	list []string
}

func (r *requests) add(host string, allowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, fmt.Sprint(host, " ", allowed))
}

func (r *requests) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// TestProxy talks to real servers on the loopback interface through the proxy.
func TestProxy(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "host %s, proxy header %q", r.Host, r.Header.Get("Proxy-Authorization"))
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	plainHost, secureHost := strings.TrimPrefix(plain.URL, "http://"), strings.TrimPrefix(secure.URL, "https://")
	_, port, _ := net.SplitHostPort(plainHost)
	var log requests
	p := newProxy([]string{plainHost, secureHost, "loopback.example:" + port}, log.add)
	p.lookup = func(ctx context.Context, network, host string) ([]netip.Addr, error) {
		if host == "loopback.example" {
			return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
		}
		return net.DefaultResolver.LookupNetIP(ctx, network, host)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go p.serve(l)
	defer p.close()

	transport := secure.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String(), User: url.UserPassword("a", "b")})
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	defer transport.CloseIdleConnections()
	for _, c := range []struct {
		url  string
		code int // 0: no connection
	}{
		{plain.URL, 200}, {secure.URL, 200}, {"http://localhost:" + port, 403}, {"https://other.example", 0}, {"http://169.254.169.254/latest", 403},
	} {
		r, err := client.Get(c.url)
		if (err != nil) != (c.code == 0) || err == nil && r.StatusCode != c.code {
			t.Errorf("%s: %v, %v", c.url, r, err)
		}
		if err == nil {
			body, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if want := "host " + strings.SplitN(c.url, "/", 4)[2] + `, proxy header ""`; c.code == 200 && string(body) != want {
				t.Errorf("%s answers %q, want %q", c.url, body, want)
			}
		}
	}
	want := []string{plainHost + " true", secureHost + " true", "localhost:" + port + " false", "other.example:443 false", "169.254.169.254:80 false"}
	if got := log.all(); !slices.Equal(got, want) {
		t.Errorf("the log says %q, want %q", got, want)
	}

	t.Run("the URL decides, not the Host field", func(t *testing.T) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n", plainHost)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if body, _ := io.ReadAll(r.Body); !strings.HasPrefix(string(body), "host "+plainHost) {
			t.Errorf("%s %q", r.Status, body)
		}
	})
	t.Run("a name is not an address", func(t *testing.T) {
		r, err := client.Get("http://loopback.example:" + port)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if body, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusBadGateway || string(body) != "skl: "+errPrivate.Error()+"\n" {
			t.Errorf("%s %q", r.Status, body)
		}
	})
}

// TestHosts reaches an allowed server from inside, and no other.
func TestHosts(t *testing.T) {
	if Probe().Tier != Tier1 {
		t.Skip("hosts are allowed one by one in tier 1 only")
	}
	const curl = "/usr/bin/curl"
	if _, err := os.Stat(curl); err != nil {
		t.Skip("there is no " + curl)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello ") }))
	defer s.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secret ") }))
	defer other.Close()
	var log requests
	var out bytes.Buffer
	// The variables name the proxy for everything but the loopback interface, so curl is told to use it there too.
	script := "export no_proxy= NO_PROXY=; curl -s " + s.URL + "; curl -sp " + s.URL + "; curl -s -o /dev/null -w '%{http_code} ' " + other.URL +
		"; curl -sp " + other.URL + " || echo no; curl -s --noproxy '*' " + s.URL + " || echo no"
	r, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Stdout: &out, Stderr: &out,
		Hosts: []string{strings.TrimPrefix(s.URL, "http://")}, Log: log.add, Timeout: time.Minute})
	if err != nil || out.String() != "hello hello 403 no\nno\n" {
		t.Errorf("%+v, %v, %q", r, err, out.String())
	}
	if got := strings.Join(log.all(), ", "); strings.Count(got, "true") != 2 || strings.Count(got, "false") != 2 {
		t.Errorf("the log says %q", got)
	}
}
