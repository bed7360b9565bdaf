package s3_test

import (
	"path/filepath"
	"testing"

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
