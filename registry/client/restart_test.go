package client_test

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// A phoenix is a registry that ends in the middle of a request and is back a moment later, on the same data and the same port.
type phoenix struct {
	t       *testing.T
	address string
	data    string
	token   string
	away    time.Duration

	mu     sync.Mutex // guards what follows
	reg    *server.Server
	web    *http.Server
	left   int  // requests until it ends; below 0 it does not
	late   bool // the request is carried out, and its answer is lost
	deaths int
	done   chan struct{} // closed when it is back
}

func newPhoenix(t *testing.T) *phoenix {
	p := &phoenix{t: t, address: "127.0.0.1:0", data: metatest.Dir(t), left: -1, done: make(chan struct{})}
	close(p.done)
	p.rise()
	p.token = p.reg.AdminToken
	t.Cleanup(func() {
		<-p.done
		p.web.Close()
		p.reg.Close()
	})
	return p
}

func (p *phoenix) rise() {
	reg, err := server.Open(p.t.Context(), server.Config{Data: p.data, Limits: server.Limits{Read: -1, Write: -1, Download: -1, Failures: -1}})
	if err != nil {
		p.t.Error(err)
		return
	}
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address, p.reg, p.web = l.Addr().String(), reg, &http.Server{Handler: p}
	go p.web.Serve(l)
}

// arm lets it end at request n, from 0.
func (p *phoenix) arm(n int, late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.late = n, late
}

func (p *phoenix) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	dies := p.left == 0
	p.left--
	reg, web, late := p.reg, p.web, p.late
	if dies {
		p.deaths++
		p.done = make(chan struct{})
		go func(done chan struct{}) {
			defer close(done)
			web.Close()
			time.Sleep(p.away)
			reg.Close()
			p.rise()
		}(p.done)
	}
	p.mu.Unlock()
	if !dies {
		reg.Handler().ServeHTTP(w, r)
		return
	}
	if late {
		reg.Handler().ServeHTTP(discard{http.Header{}}, r)
	}
	panic(http.ErrAbortHandler)
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// Whichever request of a publish or of a pull the restart hits, before or after it was carried out, both go on.
func TestRestart(t *testing.T) {
	long.Slow(t)
	p := newPhoenix(t)
	p.away = 50 * time.Millisecond
	ctx := t.Context()
	s := &shop{t: t}
	first, _ := s.as("http://"+p.address, p.token)
	if _, err := first.CreateNamespace(ctx, wire.NewNamespace{Name: "acme", Public: true}); err != nil {
		t.Fatal(err)
	}
	for _, late := range []bool{false, true} {
		for n, hit := 1, true; hit; n += long.Of(5, 3, 1) { // the first request finds a registry: one that never answered is not waited for
			name := fmt.Sprintf("skill-%d", n)
			if late {
				name += "-late"
			}
			s := &shop{t: t}
			s.Client, s.oci = s.as("http://"+p.address, p.token)
			before := p.deaths
			p.arm(n, late)
			v := s.restarted(name)
			r, err := s.oci.Manifest(ctx, s.target(name), v.Manifest)
			if err != nil {
				t.Fatalf("%s: pull of the manifest: %v", name, err)
			}
			if r.Digest.String() != v.Manifest {
				t.Errorf("%s: got %s", name, r.Digest)
			}
			if _, err := s.Version(ctx, "acme", name, "1.0.0"); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			hit = p.deaths > before
			p.arm(-1, false)
			<-p.done
		}
	}
	if p.deaths < long.Of(4, 8, 24) {
		t.Errorf("%d restarts are fewer than there are requests", p.deaths)
	}
}

func (s *shop) restarted(name string) wire.Version {
	s.t.Helper()
	b := build(s.t, name, "1.0.0")
	pushed, err := s.oci.Push(s.t.Context(), s.target(name), client.ImageOf(b))
	if err != nil {
		s.t.Fatalf("%s: push: %v", name, err)
	}
	v, _, err := s.Publish(s.t.Context(), "acme", name, "1.0.0", wire.PublishRequest{Manifest: pushed.Manifest})
	if err != nil {
		s.t.Fatalf("%s: publish: %v", name, err)
	}
	return v
}

// A registry that is away for some seconds is waited for; one that never answered is an error at once.
func TestRestartTakesSeconds(t *testing.T) {
	long.Slow(t)
	p := newPhoenix(t)
	p.away = 2 * time.Second
	s := &shop{t: t}
	s.Client, s.oci = s.as("http://"+p.address, p.token)
	if _, err := s.CreateNamespace(t.Context(), wire.NewNamespace{Name: "acme", Public: true}); err != nil {
		t.Fatal(err)
	}
	p.arm(2, false)
	s.restarted("pdf")
	<-p.done

	// A request that changes something each time is sent again only if it did not arrive.
	p.arm(0, true)
	if _, err := s.CreateNamespace(t.Context(), wire.NewNamespace{Name: "lost"}); !isCode(err, diag.Failed, "network") {
		t.Errorf("an answer that was lost: %v", err)
	}
	for { // until it is really away
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			break
		}
		c.Close()
	}
	time.Sleep(200 * time.Millisecond) // until the client has seen that its idle connections ended: what is sent on one may have arrived
	if _, err := s.CreateNamespace(t.Context(), wire.NewNamespace{Name: "found"}); err != nil {
		t.Errorf("while it is away: %v", err)
	}
	<-p.done

	const nobody = "127.0.0.1:9" // a port that was free a moment ago may be another test's by now
	c, images := s.as("http://"+nobody, "")
	start := time.Now()
	if _, err := c.Namespaces(t.Context()); !isCode(err, diag.Failed, "network") || time.Since(start) > 10*time.Second {
		t.Errorf("nothing listens there: %v after %s", err, time.Since(start))
	}
	image := client.ImageOf(build(t, "pdf", "1.0.0"))
	to := client.Target{Host: nobody, Repo: "acme/pdf"}
	start = time.Now()
	if _, err := images.Push(t.Context(), to, image); !isCode(err, diag.Failed, "network") || time.Since(start) > 10*time.Second { // which is how long one with a credential waits
		t.Errorf("a push without a credential: %v after %s", err, time.Since(start))
	}
	_, images = s.as("http://"+nobody, p.token)
	var said []string
	images.Warn = func(text string) { said = append(said, text) }
	start = time.Now()
	if _, err := images.Push(t.Context(), to, image); !isCode(err, diag.Failed, "network") || time.Since(start) < 10*time.Second || len(said) != 1 {
		t.Errorf("a push with a credential: %v after %s, saying %q", err, time.Since(start), said)
	}
}
