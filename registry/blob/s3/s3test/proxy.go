package s3test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// A Proxy stands before the shared server and does to requests and answers what it is told to.
type Proxy struct {
	URL      string
	before   atomic.Pointer[func(http.ResponseWriter, *http.Request) (done bool)]
	after    atomic.Pointer[func(*http.Response)]
	requests atomic.Int64
}

// NewProxy starts one that changes nothing, until the end of the test. Without a server the test is skipped; with SKL_TEST_REQUIRE=all it
// fails.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	Address(t) // or skip
	endpoint, err := Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{}
	reverse := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if after := p.after.Load(); after != nil {
				(*after)(r)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { panic(http.ErrAbortHandler) },
		Transport:    &http.Transport{MaxIdleConnsPerHost: 100},
	}
	reverse.ErrorLog = log.New(io.Discard, "", 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		if before := p.before.Load(); before != nil && (*before)(w, r) {
			return
		}
		reverse.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = reverse.ErrorLog
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Do has the proxy call before with each request, which has answered it if it returns true, and after with each answer of the server. Both are called
// concurrently, and may be nil.
func (p *Proxy) Do(before func(http.ResponseWriter, *http.Request) (done bool), after func(*http.Response)) {
	p.before.Store(&before)
	if before == nil {
		p.before.Store(nil)
	}
	p.after.Store(&after)
	if after == nil {
		p.after.Store(nil)
	}
}

// Requests counts those that came.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// Fail answers a request with an error of S3.
func Fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	io.WriteString(w, "<Error><Code>"+code+"</Code><Message>as the test says</Message></Error>")
}

// A Body is one that goes wrong after Left bytes: it ends there, or one bit is another.
type Body struct {
	io.ReadCloser
	Left int
	Flip bool
}

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n <= b.Left {
		b.Left -= n
		return n, err
	}
	if b.Flip {
		p[b.Left] ^= 1
		b.Flip = false
		b.Left = 1 << 62
		return n, err
	}
	return b.Left, io.ErrUnexpectedEOF
}
