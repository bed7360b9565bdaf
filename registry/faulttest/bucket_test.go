package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/testdata/long"
)

// TestReplicasBucket has the bucket of two replicas go wrong in each way while clients publish to both and read. Nobody reads a wrong byte, what is
// acknowledged is there, what needs no blob goes on, and afterwards all is as before.
func TestReplicasBucket(t *testing.T) {
	long.Slow(t)
	bucket := s3test.NewProxy(t)
	another := metatest.SharedAt(t, postgrestest.URL(t), s3test.At(bucket.URL))
	p := newPairOf(t, setup{Grace: time.Hour, Every: 100 * time.Millisecond, Cache: 1}, another(), another())
	type file struct{ path, digest string }
	var files []file // that are read meanwhile, and too many for the caches
	for n := range 12 {
		r := newRelease("pdf", fmt.Sprintf("1.0.%d", n), 200<<10)
		if err := expect(201)(newClient(p.processes[0].URL, p.publisher.token).publish(t.Context(), r, byTag)); err != nil {
			t.Fatal(err)
		}
		for _, b := range r.built.Blobs {
			digest := b.Digest.String()
			files = append(files, file{r.v2("blobs", digest), digest})
		}
	}
	lasts := time.Duration(long.Of(1, 1, 60)) * time.Second
	for _, fault := range faults() {
		began, requests := p.published(), bucket.Requests()
		var reads, failed atomic.Int64
		bucket.Do(fault.before, fault.after)
		stop, halt := context.WithTimeout(t.Context(), lasts)
		defer halt()
		var clients sync.WaitGroup
		for side, process := range p.processes {
			c := newClient(process.URL, p.publisher.token)
			defer c.close()
			for _, w := range p.workers[side] {
				clients.Go(func() {
					if err := w.insist(stop, c); err != nil {
						t.Errorf("%s: %v", fault.name, err)
					}
				})
			}
			clients.Go(func() {
				for n := 0; stop.Err() == nil; n++ {
					f := files[n%len(files)]
					err := same(t.Context(), c, f.path, f.digest)
					reads.Add(1)
					if err != nil {
						failed.Add(1)
						if strings.Contains(err.Error(), "what is served") || fault.name == "no fault" {
							t.Errorf("%s: %v", fault.name, err)
						}
					}
				}
			})
			clients.Go(func() {
				for stop.Err() == nil {
					if err := expect(200)(c.do(t.Context(), "GET", "/api/v1/namespaces/acme", nil)); err != nil {
						t.Errorf("%s: what needs no blob: %v", fault.name, err)
						return
					}
				}
			})
		}
		clients.Wait()
		bucket.Do(nil, nil)
		for side, process := range p.processes {
			c := newClient(process.URL, p.publisher.token)
			for limit := time.Now().Add(backIn); ; time.Sleep(100 * time.Millisecond) {
				ctx, once := context.WithTimeout(t.Context(), 50*time.Millisecond)
				err := p.workers[side][0].insist(ctx, c)
				once()
				if err == nil && p.workers[side][0].pending == nil {
					break
				}
				if err != nil || time.Now().After(limit) {
					t.Fatalf("%s: afterwards: %v", fault.name, err)
				}
			}
			c.close()
		}
		half := p.look(t, 0)
		var memory []int
		for _, process := range p.processes {
			memory = append(memory, int(process.resident(t)))
		}
		t.Logf("%s: %d releases, of them %d whole that nobody was told of, %d of %d reads failed, %d requests to the bucket, processes of %v MiB",
			fault.name, p.published()-began, half, failed.Load(), reads.Load(), bucket.Requests()-requests, memory)
		if t.Failed() {
			return
		}
	}
	if n, want := len(p.log.published), len(p.acked())+12; n != want {
		t.Errorf("%d releases are in the log, %d were acknowledged or found", n, want)
	}
	p.clean(t)
}

// A bucketFault is how a bucket goes wrong.
type bucketFault struct {
	name   string
	before func(http.ResponseWriter, *http.Request) bool
	after  func(*http.Response)
}

func faults() []bucketFault {
	one := func(n int) bool { return rand.IntN(n) == 0 }
	var mu sync.Mutex
	changed := map[string]bool{} // addresses; guarded by mu
	return []bucketFault{
		{name: "no fault"},
		{name: "a tenth is refused", before: func(w http.ResponseWriter, r *http.Request) bool {
			if one(10) {
				s3test.Fail(w, http.StatusServiceUnavailable, "SlowDown")
				return true
			}
			return false
		}},
		{name: "answers are lost", after: func(r *http.Response) {
			if r.Request.Method != http.MethodGet && one(3) {
				panic(http.ErrAbortHandler)
			}
		}},
		{name: "late", before: func(http.ResponseWriter, *http.Request) bool {
			time.Sleep(300 * time.Millisecond)
			return false
		}},
		{name: "bodies are cut", after: func(r *http.Response) {
			if r.Request.Method == http.MethodGet && one(3) {
				r.Body = &s3test.Body{ReadCloser: r.Body, Left: 100}
			}
		}},
		{name: "bodies are changed", after: func(r *http.Response) { // each once: twice in a row would be damage
			if r.Request.Method != http.MethodGet || !strings.Contains(r.Request.URL.Path, "/b/") {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if !changed[r.Request.URL.Path] {
				changed[r.Request.URL.Path] = true
				r.Body = &s3test.Body{ReadCloser: r.Body, Left: 100, Flip: true}
			}
		}},
		{name: "no conditions", before: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("If-None-Match") == "" {
				return false
			}
			s3test.Fail(w, http.StatusNotImplemented, "NotImplemented")
			return true
		}},
		{name: "away", before: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }},
	}
}

// published counts the releases that were acknowledged.
func (p *pair) published() int { return len(p.acked()) }

// insist publishes until it is told to stop, and sends again what is answered with 503.
func (w *worker) insist(stop context.Context, c *client) error {
	for stop.Err() == nil {
		r, by := w.next()
		a, err := c.publish(context.Background(), r, by)
		switch {
		case err != nil:
			return err
		case a.status == http.StatusServiceUnavailable:
			time.Sleep(10 * time.Millisecond)
		case a.status == http.StatusCreated, strings.HasSuffix(a.code(), "version_exists"): // an answer before it was 503, and it was taken
			w.acked, w.pending = append(w.acked, r), nil
		default:
			return fmt.Errorf("%s by way %d: %d %s", r, by, a.status, a.body)
		}
	}
	return nil
}
