package registry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/skl-project/skl/registry/meta"
)

// A limited store does so many updates, and fails in the one after.
type limited struct {
	meta.Store
	left int
}

var errFailing = errors.New("no more")

func (s *limited) Update(ctx context.Context, fn func(*meta.Tx) error) error {
	if s.left--; s.left < 0 {
		return errFailing
	}
	return s.Store.Update(ctx, fn)
}

// Downloads of more releases than one transaction counts are counted once each, also when it fails in between.
func TestManyDownloads(t *testing.T) {
	f := open(t, meta.Policy{})
	f.release("1.0.0")
	r, err := f.Release(t.Context(), publisher, "acme", "pdf", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	count := func() {
		for i := range 450 {
			f.CountDownload("acme", "pdf", "1.0.0")
			f.CountDownload("acme", "pdf", r.Manifest)
			f.CountDownload("acme", fmt.Sprint("unknown-", i), "1.0.0")
			want += 2
		}
	}
	count()
	store := f.Meta
	f.Meta = &limited{store, 1}
	if err := f.FlushDownloads(t.Context()); !errors.Is(err, errFailing) {
		t.Error(err)
	}
	f.Meta = store
	count()
	for range 2 {
		if err := f.FlushDownloads(t.Context()); err != nil {
			t.Error(err)
		}
		if r, err = f.Release(t.Context(), publisher, "acme", "pdf", "1.0.0"); err != nil || r.Downloads != want {
			t.Errorf("%d downloads, want %d: %v", r.Downloads, want, err)
		}
	}
}
