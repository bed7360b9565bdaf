package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// attachedCache is how many MiB of content a command that works on the data keeps: it reads all of it once.
const attachedCache = 64

// Attach opens the registry in data for Fsck, Scrub and Backup, also while another process serves it: it takes no
// lock and makes nothing. What it returns has no handler; the caller closes it. A directory
// that holds no registry is an error of class Misuse and code no_registry_data, a database of an earlier version older_database, one at
// which the data of a registry arrives frozen.
func Attach(ctx context.Context, data string) (*Server, error) {
	return attach(ctx, data, attachment{beside: true})
}

// OpenData opens the registry in data for who works on it directly. Where all that is kept is elsewhere that is one process more beside those that serve it,
// with a directory of its own until it is closed; else it is Open, with the error data_in_use if a process serves it.
func OpenData(ctx context.Context, data string) (*Server, error) {
	p, err := (&Server{cfg: Config{Data: data}}).readLocation()
	if err != nil {
		return nil, err
	}
	if p.Blobs == "" {
		return Open(ctx, Config{Data: data})
	}
	own, err := os.MkdirTemp("", "skl-registry-")
	if err != nil {
		return nil, err
	}
	s, err := Open(ctx, Config{Data: filepath.Join(own, "data"), DB: DB{URL: p.URL, Pooler: p.Pooler}, Blobs: Blobs{URL: p.Blobs, Cache: attachedCache}})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(own))
	}
	s.scratch = own
	return s, nil
}

// Serving names the processes that serve the registry, where many can: see [meta.Tx.Serving].
func (s *Server) Serving(ctx context.Context) (names []string, err error) {
	err = s.Registry.Meta.View(ctx, func(tx *meta.Tx) error {
		names, err = tx.Serving(ctx)
		return err
	})
	return names, err
}

// An attachment says how data is opened.
type attachment struct {
	beside bool // another process may serve it; else it is upgraded
	mover  bool // what is frozen is updated
}

// attach is Attach in other ways as well.
func attach(ctx context.Context, data string, how attachment) (*Server, error) {
	s := &Server{cfg: Config{Data: data}, beside: how.beside, mover: how.mover, logger: slog.New(slog.DiscardHandler), unlock: func() {}}
	if !HasData(data) {
		return nil, diag.New(diag.Misuse, "no_registry_data", "%s does not hold the data of a registry", data)
	}
	g := &registry.Registry{Logger: s.logger}
	away, err := s.connect(ctx, 2)
	if err != nil {
		return nil, err
	}
	s.Registry = g
	if away != nil {
		g.Meta = away.Store // so that Close closes it
		s.cfg.Blobs.Cache = attachedCache
		// The directory's own cache is its server's.
		if s.scratch, err = os.MkdirTemp("", "skl-registry-"); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.openStores(ctx, g, away, 2, s.scratch); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	key := s.logSecret()
	key.make = nil
	if g.Key, err = s.logKey(ctx, key); err == nil && !how.mover {
		_, err = s.frozen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
