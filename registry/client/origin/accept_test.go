package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func TestAccept(t *testing.T) {
	const loop, lan = "127.0.0.1:5080", "192.0.2.7:5080"
	for _, q := range []struct {
		local, method, host, headers string
		want                         string // code; "" is accepted
	}{
		{loop, "GET", "127.0.0.1:5080", "", ""},
		{loop, "GET", "127.0.0.1", "", ""},
		{loop, "GET", "127.9.9.9:80", "", ""},
		{loop, "GET", "localhost:5080", "", ""},
		{loop, "GET", "LOCALHOST.:8080", "", ""}, // a forwarded port
		{loop, "GET", "[::1]:5080", "", ""},
		{loop, "GET", "[::ffff:127.0.0.1]:5080", "", ""},
		{loop, "GET", "skills.corp", "", ""},
		{loop, "GET", "Skills.Corp:443", "", ""},
		{loop, "GET", "other.corp:8443", "", ""},
		{loop, "GET", "other.corp:5080", "", CodeHost}, // configured with another port
		{loop, "GET", "rebind.example:5080", "", CodeHost},
		{loop, "GET", "127.0.0.1.rebind.example:5080", "", CodeHost},
		{loop, "GET", "localhost.rebind.example", "", CodeHost},
		{loop, "GET", "192.0.2.7:5080", "", CodeHost},
		{loop, "GET", "0.0.0.0:5080", "", CodeHost},
		{loop, "GET", "2130706433:5080", "", CodeHost}, // browsers write it out, so it is not one's
		{loop, "GET", "", "", CodeHost},
		{"[::1]:5080", "GET", "rebind.example", "", CodeHost},
		{"[::ffff:127.0.0.1]:5080", "GET", "rebind.example", "", CodeHost},
		{"", "GET", "rebind.example", "", CodeHost}, // nobody knows where it came in
		{lan, "GET", "whatever.example:5080", "", ""},
		{"tls", "GET", "whatever.example:5080", "", ""},

		{loop, "GET", "127.0.0.1:5080", "Origin: http://127.0.0.1:5080", ""},
		{loop, "POST", "127.0.0.1:5080", "Origin: http://127.0.0.1:5080", ""},
		{loop, "POST", "127.0.0.1:5080", "Origin: https://skills.corp", ""}, // a proxy in front
		{loop, "POST", "127.0.0.1", "Origin: http://127.0.0.1:80", ""},
		{loop, "POST", "127.0.0.1:5080", "Origin: http://127.0.0.1:3000", CodeOrigin},
		{loop, "POST", "127.0.0.1:5080", "Origin: http://localhost:5080", CodeOrigin},
		{loop, "POST", "127.0.0.1:5080", "Origin: http://rebind.example:5080", CodeOrigin},
		{loop, "POST", "127.0.0.1:5080", "Origin: null", CodeOrigin},
		{loop, "POST", "127.0.0.1:5080", "Origin: ", CodeOrigin},
		{loop, "POST", "127.0.0.1:5080", "Origin: file://", CodeOrigin},
		{loop, "POST", "127.0.0.1:5080", "Origin: http://127.0.0.1:5080|Origin: http://rebind.example", CodeOrigin},
		{loop, "GET", "127.0.0.1:5080", "Origin: http://evil.example", CodeOrigin},
		{lan, "GET", "skills.corp", "Origin: https://evil.example", CodeOrigin},
		{lan, "PUT", "skills.corp", "Origin: https://skills.corp", ""},
		{lan, "PUT", "anything.example", "Origin: https://anything.example", ""},

		{loop, "GET", "127.0.0.1:5080", "Sec-Fetch-Site: none", ""},
		{loop, "POST", "127.0.0.1:5080", "Sec-Fetch-Site: same-origin", ""},
		{loop, "GET", "127.0.0.1:5080", "Sec-Fetch-Site: cross-site", CodeOrigin},
		{loop, "GET", "127.0.0.1:5080", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: no-cors|Sec-Fetch-Dest: image", CodeOrigin},
		{loop, "GET", "127.0.0.1:5080", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: cors|Sec-Fetch-Dest: empty", CodeOrigin},
		{loop, "GET", "127.0.0.1:5080", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: iframe", CodeOrigin},
		{loop, "GET", "127.0.0.1:5080", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", ""},
		{loop, "POST", "127.0.0.1:5080", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", CodeOrigin},
	} {
		r := httptest.NewRequest(q.method, "/", nil)
		r.Host = q.host
		switch q.local {
		case "":
		case "tls":
			r.TLS = &tls.ConnectionState{}
			fallthrough
		default:
			addr, err := net.ResolveTCPAddr("tcp", strings.Replace(q.local, "tls", loop, 1))
			if err != nil {
				t.Fatal(err)
			}
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(addr)))
		}
		for h := range strings.SplitSeq(q.headers, "|") {
			if name, value, ok := strings.Cut(h, ": "); ok {
				r.Header.Add(name, value)
			}
		}
		got := ""
		if e, ok := errors.AsType[*diag.Error](Accept(r, "skills.corp", "other.corp:8443", "")); ok {
			got = e.Code
			if want := map[string]int{CodeHost: 421, CodeOrigin: 403}[got]; AcceptStatus(e) != want {
				t.Errorf("status %d, want %d", AcceptStatus(e), want)
			}
		}
		if got != q.want {
			t.Errorf("%+v: %q", q, got)
		}
	}
}
