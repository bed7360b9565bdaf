package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/registrytest"
)

// open returns an empty store, and where it keeps what.
func open(t testing.TB, o s3.Options) *s3.Store {
	t.Helper()
	return openAt(t, s3test.Address(t), o)
}

// openAt opens the store at an address, with metadata of its own unless there are some.
func openAt(t testing.TB, address string, o s3.Options) *s3.Store {
	t.Helper()
	at, err := s3.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	if o.Meta == nil {
		o.Meta = openMeta(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := s3.Open(t.Context(), at, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openMeta(t testing.TB) meta.Store {
	t.Helper()
	m, err := metatest.Open(t.Context(), metatest.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestBlob(t *testing.T) {
	registrytest.Blob(t, func(t *testing.T) blob.Store {
		return open(t, s3.Options{MaxBytes: 8 << 20, Dir: filepath.Join(t.TempDir(), "cache")})
	})
}

// TestURL asks for addresses while the clock of the machine is right, and while it is not: then there is none that would work.
func TestURL(t *testing.T) {
	for _, off := range []time.Duration{0, 20 * time.Second, 10 * time.Minute, -10 * time.Minute, -2 * time.Hour} {
		s := open(t, s3.Options{Now: func() time.Time { return time.Now().Add(off) }})
		content := []byte("what is read elsewhere")
		d := blob.Sum(blob.SHA256, content)
		if err := s.Put(t.Context(), d, -1, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		url, err := s.URL(t.Context(), d, 5*time.Minute)
		if err != nil || (url != "") != (off < time.Minute && off > -time.Minute) {
			t.Errorf("off by %s: %q, %v", off, url, err)
		}
		if url == "" {
			continue
		}
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("off by %s: %d %s, %v", off, resp.StatusCode, got, err)
		}
	}
}
