package tool

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestFetch(t *testing.T) {
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere = append(elsewhere, r.URL.Path) }))
	defer other.Close()
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		switch r.URL.Path {
		case "/out":
			http.Redirect(w, r, other.URL+"/leak?secret=1", http.StatusFound)
		case "/in":
			http.Redirect(w, r, "/page", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/meta":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/private":
			w.Write([]byte("private"))
		case "/topriv":
			http.Redirect(w, r, "/private", http.StatusFound)
		case "/big":
			fmt.Fprint(w, strings.Repeat("x", 2<<20))
		case "/bin":
			w.Write([]byte{1, 0, 2})
		case "/401":
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(401)
			fmt.Fprint(w, "who are you")
		default:
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			fmt.Fprint(w, "page "+r.URL.RequestURI())
		}
	}))
	defer server.Close()
	u, _ := url.Parse(server.URL)
	d, _ := open(t, Config{Consent: yes, Hosts: []string{u.Host, "*.example.org", "only.example.net"}, Policy: tools(t, "deny: fetch(*/private*)")})
	for _, c := range []struct {
		url, want string
		denied    bool
	}{
		{server.URL + "/x?y=1", "page /x?y=1", false},
		{server.URL + "/in", "page /page", false},
		{server.URL + "/out", "not allowed: fetch does not ask " + other.URL, true},
		{server.URL + "/meta", "not allowed: fetch does not ask http://169.254.169.254", true},
		{server.URL + "/file", "not allowed: fetch does not ask ", true},
		{server.URL + "/topriv", "not allowed: ", true},
		{server.URL + "/private", "not allowed: fetch is denied by the skill", true},
		{server.URL + "/loop", "error: ", false},
		{server.URL + "/bin", "error: ", false},
		{server.URL + "/401", "error: who are you\n" + server.URL + " answered 401", false},
		{other.URL, "not allowed: ", true},
		{"http://localhost:" + u.Port(), "not allowed: ", true},
		{"https://example.org", "not allowed: ", true},
		{"http://a.example.org/", "not allowed: fetch does not ask http://a.example.org: plain http is for loopback addresses only", true},
		{"https://a.example.org:8443/", "not allowed: ", true},
		{"https://only.example.net.evil.org/", "not allowed: ", true},
		{"https://user:secret@only.example.net/", "not allowed: ", true},
		{"ftp://only.example.net/", "not allowed: ", true},
		{"file:///etc/passwd", "not allowed: ", true},
		{"//only.example.net/", "not allowed: ", true},
		{"https://127.0.0.1:1\\@" + u.Host, "error: the input of fetch", false},
		{"", "not allowed: ", true},
	} {
		text, denied := call(d, "fetch", "url", c.url)
		if denied != c.denied || !strings.HasPrefix(text, c.want) || strings.Contains(text, "secret") {
			t.Errorf("%s: %s", c.url, text)
		}
	}
	if len(elsewhere) > 0 {
		t.Errorf("another host was asked: %q", elsewhere)
	}
	if header.Get("Authorization") != "" || header.Get("Cookie") != "" || header.Get("Referer") != "" {
		t.Errorf("sent %v", header)
	}
	if text, _ := call(d, "fetch", "url", server.URL+"/big"); len(text) < maxFetch || len(text) > maxFetch+100 {
		t.Errorf("%d bytes", len(text))
	}
}

// An agreement to an address is none to where it leads.
func TestFetchGrant(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/docs/moved" {
			http.Redirect(w, r, "/other", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.URL.Path)
	}))
	defer server.Close()
	grant, err := ParseGrant("fetch(" + server.URL + "/docs/*)")
	if err != nil {
		t.Fatal(err)
	}
	d, _ := open(t, Config{Hosts: []string{strings.TrimPrefix(server.URL, "http://")}, Grants: []Grant{grant}})
	for path, denied := range map[string]bool{"/docs/a": false, "/other": true, "/docs/moved": true} {
		if text, got := call(d, "fetch", "url", server.URL+path); got != denied {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// A name that a name server leads to this machine is not asked, although the name is allowed.
func TestFetchInward(t *testing.T) {
	for _, c := range []struct {
		host   string
		inward bool
	}{{"127.0.0.1", true}, {"10.1.2.3", true}, {"192.168.0.1", true}, {"169.254.169.254", true}, {"100.64.0.1", true}, {"0.0.0.0", true}, {"224.0.0.1", true}, {"8.8.8.8", false},
		{"::1", true}, {"fd00::1", true}, {"fe80::1", true}, {"::ffff:10.0.0.1", true}, {"2606:4700::1", false},
		{"64:ff9b::7f00:1", true}, {"2002:7f00:1::", true}, {"::10.0.0.1", true}, {"64:ff9b::808:808", false}} {
		if got := inward(mustAddr(c.host)); got != c.inward {
			t.Errorf("%s: %v", c.host, got)
		}
	}
	asked := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	u, _ := url.Parse(server.URL)
	// "localhost." is a name that every resolver leads to this machine; it is not the address nor localhost itself.
	d, _ := open(t, Config{Consent: yes, Hosts: []string{"localhost:" + u.Port()}})
	text, denied := call(d, "fetch", "url", "https://localhost.:"+u.Port()+"/")
	if asked || strings.HasPrefix(text, "error: ") && strings.Contains(text, "certificate") {
		t.Errorf("asked: %s", text)
	}
	if !denied && !strings.Contains(text, "no such host") {
		t.Errorf("%s", text)
	}
}

func TestFetchProxy(t *testing.T) {
	var through []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = append(through, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	d, _ := open(t, Config{Consent: yes, Hosts: []string{"docs.example.org"}, Proxy: func(name string) string {
		if name == "HTTPS_PROXY" {
			return proxy.URL
		}
		return ""
	}})
	if text, denied := call(d, "fetch", "url", "https://docs.example.org/"); denied || len(through) != 1 || through[0] != "CONNECT docs.example.org:443" {
		t.Errorf("%s, %q", text, through)
	}
}

func TestFetchPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, part string
		want          bool
	}{
		{"example.org", "https://example.org/x", true}, {"domain:example.org", "https://example.org/x", true}, {"*.example.org", "https://a.b.example.org/", true},
		{"*.example.org", "https://example.org/", false}, {"example.org", "https://example.org.evil/", false}, {"https://example.org/docs/*", "https://example.org/docs/x", true},
		{"https://example.org/docs/*", "https://example.org/other", false}, {"example.org:8443", "https://example.org:8443/", true}, {"example.org", "https://example.org:8443/", false},
	} {
		if got := matchAddress(c.pattern, c.part, false); got != c.want {
			t.Errorf("%s and %s", c.pattern, c.part)
		}
	}
}

func mustAddr(s string) netip.Addr { return netip.MustParseAddr(s) }
