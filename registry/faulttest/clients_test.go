package faulttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// A sloth is a connection of a client that is slow in one way.
type sloth struct {
	kind string
	conn net.Conn
	cut  chan time.Duration // when the server ended it; -1: it did not
}

// patience is how long the test waits for the server to end what is too slow. Header lines have 10 s, bodies and
// readers of the OCI protocol 30 s. The long test also waits for archives, which have a minute.
func patience() time.Duration {
	if os.Getenv("SKL_FAULT_SECONDS") != "" {
		return 75 * time.Second
	}
	return 40 * time.Second
}

// dialFrom connects from an address of this machine, 127.0.0.host, so that slow clients have no share of connections in common
// with those that are measured: beyond it the oldest idle connection of an address gives way. Where a
// machine has but one such address, they have.
func dialFrom(host byte, addr string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, host)}}
	conn, err := d.Dial("tcp", addr)
	if err != nil && runtime.GOOS != "linux" {
		return net.Dial("tcp", addr)
	}
	return conn, err
}

// sloths opens n connections that send head and then do as kind says; each kind has an address of its own.
func sloths(t *testing.T, url, kind string, n int, head string) (all []*sloth) {
	t.Helper()
	host := byte(2 + slices.Index([]string{"header", "body", "stalled", "reader", "silent", "archive", "idle"}, kind))
	for range n {
		conn, err := dialFrom(host, strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		s := &sloth{kind, conn, make(chan time.Duration, 1)}
		if kind == "reader" {
			conn.(*net.TCPConn).SetReadBuffer(32 << 10)
		}
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		go s.run()
		all = append(all, s)
	}
	return all
}

func (s *sloth) run() {
	began := time.Now()
	switch s.kind {
	case "reader":
		time.Sleep(patience() - 5*time.Second)
		s.conn.(*net.TCPConn).SetReadBuffer(8 << 20)
		s.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, err := io.Copy(io.Discard, s.conn)
		if errors.Is(err, os.ErrDeadlineExceeded) || n >= bigSize {
			s.cut <- -1
			return
		}
	default:
		ended := make(chan bool, 1)
		go func() {
			s.conn.SetReadDeadline(began.Add(patience()))
			_, err := io.Copy(io.Discard, s.conn) // perhaps an answer, and then the end
			ended <- !errors.Is(err, os.ErrDeadlineExceeded)
		}()
		drip := time.NewTicker(time.Second)
		defer drip.Stop()
		for {
			select {
			case ok := <-ended:
				if !ok {
					s.cut <- -1
					return
				}
				s.cut <- time.Since(began)
				return
			case <-drip.C:
				if s.kind == "header" || s.kind == "body" || s.kind == "archive" {
					io.WriteString(s.conn, "x")
				}
			}
		}
	}
	s.cut <- time.Since(began)
}

// bigSize is the size of what slow readers ask for: more than sockets buffer.
const bigSize = 15 << 20

// healthy measures what clients wait for that do what clients do, for a while.
func healthy(t *testing.T, publisher, reader *client, r *release, round string) (p99 time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer stop()
	publisher.close() // of a connection that waited, its server may have had enough
	reader.close()
	var mu sync.Mutex
	var all []time.Duration // guarded by mu
	var wg sync.WaitGroup
	layer := r.built.Blobs[0].Digest.String()
	for i, name := range []string{"alpha", "bravo", "charlie"} {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				began := time.Now()
				var err error
				switch n % 10 {
				case 0:
					var a answer
					if a, err = publisher.publish(t.Context(), newRelease(name, fmt.Sprintf("1.0.%d-%s", n, round), 500), mode((n/10+i)%int(modes))); err == nil && a.status != 201 {
						err = fmt.Errorf("publish: %d %s", a.status, a.body)
					}
				case 1, 2, 3:
					err = same(t.Context(), reader, r.v2("manifests", r.version), r.manifest())
				default:
					err = same(t.Context(), reader, r.v2("blobs", layer), layer)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, time.Since(began))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(all) == 0 {
		t.Fatal("no request was answered")
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// TestSlowClients: clients that dawdle with headers, bodies or reading, and idle ones, do not
// slow others, and are cut off.
func TestSlowClients(t *testing.T) {
	long.Only(t) // it waits for the time limit of headers; that of registry/server is its sample
	p := launch(t, setup{Data: metatest.Dir(t)})
	admin := newClient(p.URL, p.Admin)
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	r := newRelease("pdf", "1.0.0", 5000)
	big := noise(bigSize)
	for _, err := range []error{
		expect(201)(publisher.publish(t.Context(), r, byTag)),
		expect(201)(publisher.pushBlob(t.Context(), "acme/pdf", sha(big), big, true)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	healthy(t, publisher, reader, r, "warm")
	before := max(healthy(t, publisher, reader, r, "a"), healthy(t, publisher, reader, r, "b"))

	host := "Host: " + strings.TrimPrefix(p.URL, "http://") + "\r\n"
	auth := host + "Authorization: Bearer " + publisher.token + "\r\n"
	var slow []*sloth
	slow = append(slow, sloths(t, p.URL, "header", 100, "GET / HTTP/1.1\r\n"+host+"X-Slow: ")...)
	slow = append(slow, sloths(t, p.URL, "body", 50, "POST /v2/acme/pdf/blobs/uploads/?digest="+sha(big)+" HTTP/1.1\r\n"+auth+"Content-Length: 1000000\r\n\r\n")...)
	slow = append(slow, sloths(t, p.URL, "stalled", 50, "POST /v2/acme/pdf/blobs/uploads/?digest="+sha(big)+" HTTP/1.1\r\n"+auth+"Content-Length: 15728640\r\n\r\n"+string(big[:2<<20]))...)
	slow = append(slow, sloths(t, p.URL, "reader", 50, "GET /v2/acme/pdf/blobs/"+sha(big)+" HTTP/1.1\r\n"+auth+"\r\n")...)
	slow = append(slow, sloths(t, p.URL, "silent", 250, "")...)
	archives := sloths(t, p.URL, "archive", 20, "PUT /api/v1/skills/acme/pdf/versions/2.0.0 HTTP/1.1\r\n"+auth+"Content-Type: application/zip\r\nContent-Length: 1000000\r\n\r\n")
	if patience() > time.Minute {
		slow = append(slow, archives...)
	}
	sloths(t, p.URL, "idle", 250, "GET /healthz HTTP/1.1\r\n"+host+"\r\n") // they have 2 min

	var during time.Duration
	limit := 2*before + 20*time.Millisecond
	for _, round := range []string{"c", "d", "e"} { // the machine may have been busy with something else
		if during = healthy(t, publisher, reader, r, round); during < limit {
			break
		}
	}
	memory := p.resident(t)
	t.Logf("p99 %s, with %d slow and 250 idle clients %s; memory %.0f MiB", before.Round(100*time.Microsecond), len(slow), during.Round(100*time.Microsecond), memory)
	if during >= limit {
		t.Errorf("p99 was %s and is %s", before, during)
	}
	if memory > 150 && !raceEnabled {
		t.Errorf("memory is %.0f MiB, more than 150", memory)
	}

	t.Parallel() // the server waits, and other tests run meanwhile
	latest := map[string]time.Duration{}
	for _, s := range slow {
		d := <-s.cut
		if d < 0 {
			t.Fatalf("a slow client (%s) is not cut off after %s", s.kind, patience())
		}
		latest[s.kind] = max(latest[s.kind], d)
	}
	t.Logf("cut off after %v", latest)
	if latest["header"] > 15*time.Second {
		t.Errorf("slow headers were cut off after %s", latest["header"])
	}
	healthy(t, publisher, reader, r, "f")
	if left := files(t, p.data+"/blobs/staging"); len(left) > 0 {
		t.Errorf("slow uploads left %v", left)
	}
}
