package s3_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/blob/s3/s3test"
)

// Every request with content says how long it is and is signed with the content's SHA-256, by which the server judges it.
func TestContentIsAnnounced(t *testing.T) {
	p := s3test.NewProxy(t)
	var puts atomic.Int64
	p.Do(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		puts.Add(1)
		sum, err := hex.DecodeString(r.Header.Get("X-Amz-Content-Sha256"))
		if r.ContentLength < 0 || len(r.TransferEncoding) > 0 || r.Header.Get("Content-Encoding") != "" || err != nil || len(sum) != sha256.Size {
			t.Errorf("%s: %d bytes, %q, %v", r.URL, r.ContentLength, r.TransferEncoding, r.Header)
		}
		return false
	}, nil)
	s := openAt(t, s3test.At(p.URL), s3.Options{Meta: openMeta(t)})
	for _, content := range [][]byte{nil, []byte("a"), make([]byte, 9<<20)} {
		d := blob.Sum(blob.SHA256, content)
		if err := s.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("up-", len(content))
		if _, err := s.Append(t.Context(), id, 0, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	if before, err := s.KeepHead(t.Context(), 1, []byte("head")); err != nil || before != nil {
		t.Fatalf("%q, %v", before, err)
	}
	if puts.Load() < 7 {
		t.Errorf("%d PUTs were seen", puts.Load())
	}
}

// A conflict in S3 is not that of whoever stores: a key has one writer.
func TestConflict(t *testing.T) {
	for name, tt := range map[string]struct {
		conflicts int64
		stored    bool
	}{"for a moment": {2, true}, "for ever": {1 << 30, false}} {
		t.Run(name, func(t *testing.T) {
			p := s3test.NewProxy(t)
			s := openAt(t, s3test.At(p.URL), s3.Options{Meta: openMeta(t)})
			var puts atomic.Int64
			p.Do(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut || puts.Add(1) > tt.conflicts {
					return false
				}
				io.Copy(io.Discard, r.Body)
				s3test.Fail(w, http.StatusConflict, "ExistingObjectIsDirectory")
				return true
			}, nil)
			content := bytes.Repeat([]byte("content "), 20<<10)
			d := blob.Sum(blob.SHA256, content)
			err := s.Put(t.Context(), d, int64(len(content)), bytes.NewReader(content))
			if tt.stored == (err != nil) || err != nil && !errors.Is(err, blob.ErrUnavailable) {
				t.Fatal(err)
			}
			if err := s.Check(t.Context(), d); tt.stored == (err != nil) {
				t.Errorf("as stored: %v", err)
			}
		})
	}
}

// A head that another process is about to store is there, and cannot be read yet.
func TestHeadIsBeingKept(t *testing.T) {
	for name, tt := range map[string]struct {
		there int64 // times that it seems to be there
		first bool
	}{"for a moment": {1, true}, "for ever": {1 << 30, false}} {
		t.Run(name, func(t *testing.T) {
			p := s3test.NewProxy(t)
			s := openAt(t, s3test.At(p.URL), s3.Options{Meta: openMeta(t)})
			var creates atomic.Int64
			p.Do(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut || creates.Add(1) > tt.there {
					return false
				}
				s3test.Fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
				return true
			}, nil)
			before, err := s.KeepHead(t.Context(), 7, []byte("head"))
			if before != nil || tt.first == (err != nil) || err != nil && !errors.Is(err, blob.ErrUnavailable) {
				t.Errorf("%q, %v", before, err)
			}
			if n := creates.Load(); n > 10 {
				t.Errorf("%d tries", n)
			}
		})
	}
}

// Whatever the network and the server do: never a wrong byte, what was acknowledged is there, and the number of tries is bounded.
func TestFaults(t *testing.T) {
	p := s3test.NewProxy(t)
	m := openMeta(t)
	address := s3test.At(p.URL)
	fresh := func() *s3.Store { return openAt(t, address, s3.Options{Meta: m}) }
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	chance := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n) == 0
	}
	for name, fault := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		after  func(*http.Response)
	}{
		"a tenth fails": {before: func(w http.ResponseWriter, r *http.Request) bool {
			if chance(10) {
				s3test.Fail(w, http.StatusServiceUnavailable, "SlowDown")
				return true
			}
			return false
		}},
		"half the answers are lost": {after: func(r *http.Response) {
			if r.Request.Method != http.MethodGet && chance(2) {
				r.StatusCode, r.Body = http.StatusInternalServerError, io.NopCloser(strings.NewReader("<Error><Code>InternalError</Code></Error>"))
				r.Header.Del("Content-Length")
				r.ContentLength = -1
			}
		}},
		"bodies are cut": {after: func(r *http.Response) {
			if r.Request.Method == http.MethodGet && chance(2) {
				r.Body = &s3test.Body{ReadCloser: r.Body, Left: 700}
			}
		}},
		"bodies are changed": {after: func(r *http.Response) {
			if r.Request.Method == http.MethodGet && chance(4) {
				r.Body = &s3test.Body{ReadCloser: r.Body, Left: 700, Flip: true}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p.Do(nil, nil)
			writer, reader := fresh(), fresh()
			p.Do(fault.before, fault.after)
			began, stored, failed := p.Requests(), map[blob.Digest][]byte{}, 0
			for i := range 20 {
				content := noise(1000 + i*10_000)
				d := blob.Sum(blob.SHA256, content)
				if err := writer.Put(t.Context(), d, -1, bytes.NewReader(content)); err == nil {
					stored[d] = content
				} else if !errors.Is(err, blob.ErrUnavailable) {
					t.Errorf("Put: %v", err)
				}
				got, err := read(t.Context(), reader, d)
				switch {
				case err == nil && !bytes.Equal(got, content):
					t.Error("wrong bytes")
				case err != nil:
					failed++
				}
			}
			if n := p.Requests() - began; n > 20*20 {
				t.Errorf("%d requests for 20 blobs", n)
			}
			t.Logf("%d of 20 stored, %d of 20 not read at once, %d requests", len(stored), failed, p.Requests()-began)
			p.Do(nil, nil)
			after := fresh()
			for d, content := range stored {
				if err := after.Check(t.Context(), d); err != nil { // heals what was taken for damaged
					t.Errorf("acknowledged: %v", err)
				}
				want(t, after, d, content)
			}
		})
	}
}

// That a store is away is said by the kind of error; what the cache has is served.
func TestAway(t *testing.T) {
	p := s3test.NewProxy(t)
	m := openMeta(t)
	s := openAt(t, s3test.At(p.URL), s3.Options{Meta: m})
	content, absent := noise(1000), noise(1000)
	d := put(t, s, content)
	p.Do(func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }, nil)
	want(t, s, d, content)
	if err := s.Put(t.Context(), blob.Sum(blob.SHA256, absent), -1, bytes.NewReader(absent)); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Put: %v", err)
	}
	if _, err := s.Append(t.Context(), "up", 0, bytes.NewReader(absent)); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Append: %v", err)
	}
	if err := s.Check(t.Context(), d); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Check: %v", err)
	}
	if err := s.Probe(t.Context()); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Probe: %v", err)
	}
	if err := s.Survey(t.Context()); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Survey: %v", err)
	}
	p.Do(nil, nil)
	if err := s.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	if size, err := s.Stat(t.Context(), d); err != nil || size != 1000 {
		t.Errorf("Stat = %d, %v", size, err)
	}
}

// A deletion that arrives after the same content was stored again removes the old object and not the new one.
func TestLateDeletion(t *testing.T) {
	p := s3test.NewProxy(t)
	m := openMeta(t)
	address := s3test.At(p.URL)
	a, b := openAt(t, address, s3.Options{Meta: m}), openAt(t, address, s3.Options{Meta: m})
	content := noise(1000)
	d := put(t, a, content)
	arrived, release := make(chan bool), make(chan bool)
	p.Do(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete {
			arrived <- true
			<-release
		}
		return false
	}, nil)
	deleted := make(chan error)
	go func() { deleted <- a.Delete(t.Context(), d, time.Time{}) }()
	<-arrived
	put(t, b, content)
	close(release)
	if err := <-deleted; err != nil {
		t.Error(err)
	}
	p.Do(nil, nil)
	want(t, openAt(t, address, s3.Options{Meta: m}), d, content)
}

// diskUse is how many bytes of content a cache has.
func diskUse(t testing.TB, dir string) (size int64) {
	t.Helper()
	for _, file := range cached(t, dir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// damage changes every file of a cache.
func damage(t testing.TB, dir string) {
	t.Helper()
	for _, file := range cached(t, dir) {
		if err := os.WriteFile(file, noise(100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func cached(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "content", "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
