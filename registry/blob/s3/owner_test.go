package s3_test

import (
	"sync"
	"testing"

	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta"
)

// tryOpen opens a place as one more process does, and is what that says.
func (p place) tryOpen(t *testing.T) error {
	at, err := s3.ParseAddress(p.address)
	if err == nil {
		_, err = s3.Open(t.Context(), at, s3.Options{Meta: p.meta, Dir: t.TempDir()})
	}
	return err
}

// TestOneBucket opens one database with several places before there is any content: one is its place, for good.
func TestOneBucket(t *testing.T) {
	p := newPlace(t)
	other := place{s3test.Address(t), p.meta}
	p.replica(t)
	for range 2 {
		if err := other.tryOpen(t); !isCode(err, "other_bucket") {
			t.Errorf("another place: %v", err)
		}
		p.replica(t)
	}
	if keys := other.objects(t); len(keys) != 0 {
		t.Errorf("the other place has %v", keys)
	}
	(place{other.address, openMeta(t)}).replica(t) // nobody took it
}

// TestOneBucketAtOnce lets processes begin at once with places that differ.
func TestOneBucketAtOnce(t *testing.T) {
	for round := range 5 {
		one := newPlace(t)
		places := []place{one, {s3test.Address(t), one.meta}, {s3test.Address(t), one.meta}}
		errs := make([]error, 9)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = places[i%3].tryOpen(t) })
		}
		group.Wait()
		won := -1
		for i, p := range places {
			if p.tryOpen(t) == nil {
				if won >= 0 {
					t.Errorf("round %d: places %d and %d are both of the database", round, won, i)
				}
				won = i
			}
		}
		for i, err := range errs {
			if (err == nil) != (i%3 == won) || err != nil && !isCode(err, "other_bucket") {
				t.Errorf("round %d: place %d, where %d is that of the database: %v", round, i%3, won, err)
			}
		}
	}
}

// TestBucketBegun goes on where a process ended after it wrote to a place and before the metadata had it.
func TestBucketBegun(t *testing.T) {
	begun := func(t *testing.T) place {
		p := newPlace(t)
		if err := p.meta.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), meta.SettingNextBucket, []byte("PLANNED")) }); err != nil {
			t.Fatal(err)
		}
		p.write(t, "registry.json", []byte(`{"registry":"PLANNED"}`))
		return p
	}
	p := begun(t)
	p.replica(t)
	if err := (place{s3test.Address(t), p.meta}).tryOpen(t); !isCode(err, "other_bucket") {
		t.Errorf("another place than that: %v", err)
	}

	p = begun(t)
	(place{s3test.Address(t), p.meta}).replica(t) // somebody gave up the first
	if err := p.tryOpen(t); !isCode(err, "other_bucket") {
		t.Errorf("the place that was given up: %v", err)
	}
}

// TestBlobsInDirectory refuses a bucket for a database whose blobs are in a directory.
func TestBlobsInDirectory(t *testing.T) {
	p := newPlace(t)
	if err := p.meta.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), meta.SettingDirectory, []byte("name")) }); err != nil {
		t.Fatal(err)
	}
	if err := p.tryOpen(t); !isCode(err, "other_blobs") {
		t.Error(err)
	}
	if keys := p.objects(t); len(keys) != 0 {
		t.Errorf("the place has %v", keys)
	}
}
