package server

import (
	"context"
	"errors"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// errLooked ends an upgrade that is only looked at.
var errLooked = errors.New("looked at")

// MigrateSchema brings the database of the registry that cfg names to the newest schema that all who serve it go on with. Dry only looks. It
// returns the schemas before and after; after a look that is the one before. Upgrading is told of one that is not empty before it begins, as it
// may take minutes. Replicas over a database and a bucket go on meanwhile; a directory that
// another process serves is refused with code data_in_use, as that process might not be of this version.
func MigrateSchema(ctx context.Context, cfg Config, dry bool, upgrading func(have, to int)) (before, after meta.Schema, err error) {
	if err := cfg.Check(); err != nil {
		return before, after, err
	}
	s := blank(cfg)
	_, next, err := s.locate()
	if err != nil {
		return before, after, err
	}
	if next.Blobs == "" && !HasData(cfg.Data) {
		return before, after, diag.New(diag.Misuse, "no_registry_data", "%s does not hold the data of a registry", cfg.Data).
			Hint("for a database and a bucket name both: skl registry migrate --schema --db postgres://… --blobs s3://…")
	}
	if next.Blobs == "" && !dry {
		if err := s.layout(ctx); err != nil {
			return before, after, err
		}
		defer s.unlock()
	}
	told := false
	s.told = func(have meta.Schema) error {
		before, told = have, true
		if dry {
			return errLooked
		}
		if have.Next > have.Version && have.Version > 0 {
			upgrading(have.Version, have.Next)
		}
		return nil
	}
	db, err := s.openMeta(ctx)
	if errors.Is(err, errLooked) {
		return before, before, nil
	}
	if err != nil {
		return before, after, err
	}
	err = db.View(ctx, func(tx *meta.Tx) (err error) {
		after, err = tx.Schema(ctx)
		return err
	})
	if !told {
		before = after
	}
	return before, after, errors.Join(err, db.Close())
}

// openMeta opens the metadata alone.
func (s *Server) openMeta(ctx context.Context) (meta.Store, error) {
	away, err := s.connect(ctx, 1)
	if err == nil && away == nil {
		return s.openFile(ctx, 1)
	}
	if err != nil {
		return nil, err
	}
	return away.Store, nil
}
