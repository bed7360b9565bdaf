package faulttest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// askReady is how often a proxy asks who is ready.
const askReady = 50 * time.Millisecond

// A proxy sends requests to replicas in turn, to those that are ready.
type proxy struct {
	url  string
	turn atomic.Int64

	mu    sync.Mutex // guards what follows
	all   []string   // URLs of replicas
	ready []*url.URL
}

// newProxy starts one, until the end of the test.
func newProxy(t testing.TB, replicas ...*process) *proxy {
	p := &proxy{all: make([]string, len(replicas))}
	for i, r := range replicas {
		p.set(i, r.URL)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.ready) > 0 {
				r.SetURL(p.ready[p.turn.Add(1)%int64(len(p.ready))])
			}
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 100},
		ErrorLog:  log.New(io.Discard, "", 0), // the client has it
	}
	server := httptest.NewServer(forward)
	p.url = server.URL
	p.ask()
	var asking sync.WaitGroup
	ended := make(chan struct{})
	asking.Go(func() {
		for tick := time.Tick(askReady); ; {
			select {
			case <-ended:
				return
			case <-tick:
				p.ask()
			}
		}
	})
	t.Cleanup(func() {
		server.Close()
		close(ended)
		asking.Wait()
	})
	return p
}

// set has a replica be at another place.
func (p *proxy) set(replica int, url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[replica] = url
}

// ask finds out who is ready.
func (p *proxy) ask() {
	p.mu.Lock()
	all := append([]string{}, p.all...)
	p.mu.Unlock()
	client := http.Client{Timeout: time.Second}
	answers := make([]*url.URL, len(all))
	var asked sync.WaitGroup
	for i, at := range all {
		asked.Go(func() {
			resp, err := client.Get(at + "/readyz")
			if err != nil {
				return
			}
			resp.Body.Close()
			if u, err := url.Parse(at); err == nil && resp.StatusCode == http.StatusOK {
				answers[i] = u
			}
		})
	}
	asked.Wait()
	var ready []*url.URL
	for _, u := range answers {
		if u != nil {
			ready = append(ready, u)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = ready
}
