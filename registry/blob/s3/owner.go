package s3

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// An owner is registry.json: what the metadata calls the bucket.
type owner struct {
	Registry string `json:"registry"`
}

const (
	ownerKey = "registry.json"
	maxOwner = 4 << 10
	attempts = 20 // to be first; another process is, when one of ours fails
)

// belongs makes the place and the metadata belong to each other for good, or refuses. A place has no name that all processes know
// it by, so it gets one: it is in registry.json and in the metadata. Of many processes that open the same metadata the first that
// finishes decides, and one with another place is refused.
//
// A name is planned in the metadata before it is written to a place, and counts when it is there. Whoever begins anew plans
// a new name, unless the place has the planned one already: no two places get the same, whoever ends in between.
func (s *Store) belongs(ctx context.Context) error {
	for try := range attempts {
		if try > 0 { // by chance, so that one of many has the time to plan a name and to write it before another plans
			if err := sleep(ctx, mathrand.N(min(10*time.Millisecond<<try, time.Second))); err != nil {
				return err
			}
		}
		name, err := meta.KeepSetting(ctx, s.meta, meta.SettingBucket, nil)
		if err == nil {
			s.name = string(name)
			return s.Probe(ctx)
		}
		if !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		planned, err := s.plan(ctx)
		if err == nil {
			err = s.bind(ctx, planned)
		}
		if err != nil {
			return err
		}
	}
	return diag.New(diag.Failed, "unavailable", "other processes begin with the database and %s all the time", s.bucket).Hint("try again")
}

// sleep waits for d, or until ctx is done, whose error it returns then.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Probe reads registry.json.
func (s *Store) Probe(ctx context.Context) error {
	switch have, err := s.owner(ctx); {
	case err != nil:
		return err
	case have == "":
		return s.foreign("has no " + ownerKey + ", so it is not the one that the database knows")
	case have != s.name:
		return s.foreign("belongs to another registry than the database")
	}
	return nil
}

// owner is the name in registry.json, "" if there is none.
func (s *Store) owner(ctx context.Context) (string, error) {
	text, err := s.bucket.small(ctx, ownerKey, maxOwner)
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var have owner
	if err := json.Unmarshal(text, &have); err != nil || have.Registry == "" {
		return "", s.foreign("has a " + ownerKey + " that cannot be read")
	}
	return have.Registry, nil
}

// plan returns the name that the place is to have. It is for nothing if the metadata has a place by now.
func (s *Store) plan(ctx context.Context) (name string, err error) {
	have, err := s.owner(ctx)
	if err != nil {
		return "", err
	}
	err = s.meta.Update(ctx, func(tx *meta.Tx) error {
		planned, err := tx.Setting(ctx, meta.SettingNextBucket)
		if name = string(planned); err == nil && have != "" && have == name {
			return nil // it ended before it could say that it is done
		}
		if err != nil && !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		name = rand.Text()
		return tx.PutSetting(ctx, meta.SettingNextBucket, []byte(name))
	})
	return name, err
}

// bind gives the place its name, if nobody planned another. No other process changes the metadata meanwhile.
func (s *Store) bind(ctx context.Context, name string) error {
	return s.meta.Update(ctx, func(tx *meta.Tx) error {
		switch place, _, err := tx.Place(ctx); {
		case err != nil:
			return err
		case place == meta.SettingDirectory:
			return OtherBlobs()
		case place != "":
			return nil
		}
		planned, err := tx.Setting(ctx, meta.SettingNextBucket)
		if err != nil || string(planned) != name {
			return err
		}
		have, err := s.owner(ctx)
		switch {
		case err != nil:
			return err
		case have == "":
			if err := s.unused(ctx, tx); err != nil {
				return err
			}
			text, err := json.Marshal(owner{name})
			if err == nil {
				err = s.bucket.putSmall(ctx, ownerKey, text)
			}
			if err != nil {
				return err
			}
		case have != name:
			return s.foreign("belongs to another registry than the database")
		}
		return tx.PutSetting(ctx, meta.SettingBucket, []byte(name))
	})
}

// unused refuses a place that lost its registry.json, or never had one, and holds blobs of which the database knows nothing; or none
// of those that it knows.
func (s *Store) unused(ctx context.Context, tx *meta.Tx) error {
	known, err := tx.Objects(ctx, "", 1)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		return s.foreign("has no " + ownerKey + ", and the database knows blobs in it")
	}
	for _, prefix := range []string{"b/", "u/", headPrefix} {
		for _, err := range s.bucket.list(ctx, prefix, 0) {
			if err != nil {
				return err
			}
			return s.foreign("holds what belongs to a registry, and the database knows nothing in it")
		}
	}
	return nil
}

func (s *Store) foreign(is string) error {
	return diag.New(diag.Misuse, "other_bucket", "%s %s", s.bucket, is).
		Hint("name the bucket and prefix that go with the database, or ones that hold nothing and a database without tables")
}

// OtherBlobs refuses a database whose blobs are in a directory.
func OtherBlobs() error {
	return diag.New(diag.Misuse, "other_blobs", "the database is of a registry whose blobs are in a data directory").
		Hint("to serve that one, leave --blobs out and name its directory with --data; for a new one, name a database without tables")
}
