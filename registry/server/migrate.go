package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// A Migration says what is at another place now.
type Migration struct {
	registry.Moved
	Log   string // origin of the log
	Found registry.FsckReport
}

// Migrate moves the registry in the directory from to where cfg says: its data directory, a database if it names one, and a bucket. The registry
// may be served meanwhile: changes are refused while the last of them are copied, and the old place takes none any more when the new one
// does. What was interrupted goes on where it was. Keys, accounts, tokens and the log are the same at the new place.
// Errors: not_empty for a place that holds something else, moved for a registry that was moved before, and those of [Open].
func Migrate(ctx context.Context, from string, cfg Config, progress func(registry.Stage, int64), options ...Option) (m Migration, err error) {
	if err := cfg.Check(); err != nil {
		return m, err
	}
	src, err := attach(ctx, from, attachment{beside: true, mover: true})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	m.Log = src.Registry.Key.Origin()
	var dst *Server
	defer func() {
		if dst != nil {
			err = errors.Join(err, dst.Close())
		}
	}()
	arrive := func(ctx context.Context) (_ *registry.Registry, err error) {
		if dst, err = receive(ctx, src, cfg, options); err != nil {
			return nil, err
		}
		return dst.Registry, nil
	}
	check := func(ctx context.Context, c registry.Copied) (err error) {
		m.Found, err = dst.examineCopy(ctx, src, c.Problems)
		return err
	}
	m.Moved, err = src.Registry.MoveTo(ctx, arrive, check, progress)
	return m, err
}

// MayMigrate is the error of a move that cannot begin, as far as that shows without a word to the new place, and else the origin of the log.
func MayMigrate(ctx context.Context, from string, cfg Config) (log string, err error) {
	src, err := Attach(ctx, from)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	f, err := src.frozen(ctx)
	if err == nil {
		err = cfg.Check()
	}
	if err == nil {
		err = mayEnter(cfg.Data)
	}
	if err != nil {
		return "", err
	}
	dst := blank(cfg)
	dst.beside, dst.unlock = true, func() {}
	_, next, err := dst.locate()
	place := ""
	if err == nil && next.URL == "" && HasData(cfg.Data) {
		dst.Registry = &registry.Registry{Logger: dst.logger}
		if err = dst.openStores(ctx, dst.Registry, nil, 1, ""); err == nil {
			place, err = dst.Registry.MayReceive(ctx, src.Registry.Key.Public())
		}
		err = errors.Join(err, dst.Close())
	}
	if err == nil && next.URL == "" && wasMoved(f, place) { // a database is asked when it begins
		err = src.moved(f)
	}
	return src.Registry.Key.Origin(), err
}

// frozen says why the registry takes no changes; the zero Freeze if it does. One that arrives is not whole, and refused.
func (s *Server) frozen(ctx context.Context) (meta.Freeze, error) {
	f, err := s.Registry.Frozen(ctx)
	if errors.Is(err, meta.ErrNotFound) {
		return f, nil
	}
	if err == nil && f.State == meta.Arriving {
		err = diag.New(diag.Refused, meta.CodeFrozen, "%s: %s", s.cfg.Data, f.Text()).
			Hint("run skl registry migrate once more, or begin anew with another directory, database and bucket")
	}
	return f, err
}

// wasMoved reports whether a registry was moved, and not to the place of that name, which would lack no more than the end of the move.
func wasMoved(f meta.Freeze, place string) bool {
	return f.State == meta.Moved && (place == "" || place != f.Place)
}

// moved refuses to move what was moved before.
func (s *Server) moved(f meta.Freeze) error {
	return diag.New(diag.Refused, "moved", "%s: %s", s.cfg.Data, f.Text()).Hint("move it from there")
}

// receive opens the place that the registry of src moves to, with its keys, and keeps everybody from changing what is there.
func receive(ctx context.Context, src *Server, cfg Config, options []Option) (dst *Server, err error) {
	f, err := src.frozen(ctx)
	if err == nil {
		err = mayEnter(cfg.Data)
	}
	if err != nil {
		return nil, err
	}
	dst = blank(cfg)
	dst.beside, dst.mover = true, true // no schema is raised there
	for _, o := range options {
		o(dst)
	}
	away, err := dst.enter(ctx)
	if err != nil {
		return nil, err
	}
	received := false
	defer func() {
		if err == nil {
			return
		}
		if dst.fresh && !received && dst.Registry.Meta != nil {
			dst.Registry.Meta.Close()
			for _, name := range []string{"meta.db", "meta.db-wal", "meta.db-shm", "database.json"} {
				os.Remove(dst.path(name))
			}
		}
		dst.undo()
		dst = nil
	}()
	g := &registry.Registry{Key: src.Registry.Key, Logger: dst.logger}
	dst.Registry = g
	if away != nil {
		g.Meta = away.Store // so that it is closed
	} else if HasData(cfg.Data) || f.State != meta.Moved {
		if err := dst.openStores(ctx, g, nil, 0, ""); err != nil {
			return dst, err
		}
	}
	place := ""
	if g.Meta != nil {
		if place, err = g.MayReceive(ctx, g.Key.Public()); err != nil {
			return dst, err
		}
	}
	if wasMoved(f, place) {
		return dst, src.moved(f)
	}
	if away != nil {
		if err := dst.openStores(ctx, g, away, 0, dst.path("cache")); err != nil {
			return dst, err
		}
	}
	if err := g.Receive(ctx, g.Key.Public()); err != nil {
		return dst, err
	}
	received = true
	return dst, dst.takeKeys(ctx, src)
}

// mayEnter refuses a directory that holds something, but no registry.
func mayEnter(data string) error {
	left, err := os.ReadDir(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(left) > 0 && !HasData(data) {
		err = diag.New(diag.Misuse, "not_empty", "%s is not empty; a registry is moved into a new directory", data)
	}
	return err
}

// examineCopy compares what arrived with what src has, and keeps the head of the log here. What is wrong at both is no error.
func (s *Server) examineCopy(ctx context.Context, src *Server, skipped []registry.Problem) (found registry.FsckReport, err error) {
	head, err := src.logHead(ctx)
	if err != nil {
		return found, err
	}
	if _, err := s.Registry.LogContinues(ctx, head); err != nil {
		return found, err
	}
	if err := s.probeLog(ctx); err != nil {
		return found, err
	}
	if found, err = s.Registry.Fsck(ctx); err != nil || len(found.Problems) == 0 {
		return found, err
	}
	there, err := src.Registry.Fsck(ctx)
	if err != nil {
		return found, err
	}
	known := map[string]bool{}
	for _, p := range append(there.Problems, skipped...) {
		if p.Code == "corrupt_blob" {
			p.Code = "lost_blob" // it was not copied
		}
		known[p.Code+" "+p.What] = true
	}
	for _, p := range found.Problems {
		if !known[p.Code+" "+p.What] {
			return found, diag.New(diag.Failed, "damaged_copy", "what arrived has a problem that %s has not: %s of %s, %s", src.cfg.Data, p.Code, p.What, p.Text).
				Hint("skl registry migrate once more copies what is missing or damaged; nothing was changed at the old place")
		}
	}
	return found, nil
}

// takeKeys has the keys of another registry be those of this one.
func (s *Server) takeKeys(ctx context.Context, from *Server) error {
	for _, k := range []secret{from.logSecret(), from.bearerSecret()} {
		k.make = nil
		text, err := from.secret(ctx, k)
		if k.name != from.logSecret().name && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, meta.ErrNotFound)) {
			continue // it never served
		}
		if err == nil && s.shared {
			err = s.Registry.Meta.Update(ctx, func(tx *meta.Tx) error { return tx.PutSetting(ctx, meta.SettingSecret+k.name, text) })
		} else if err == nil {
			err = durable.WriteFile(filepath.Join(s.path("keys"), k.name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Stay has the registry in data take changes again, after a move that was interrupted. One that was moved is refused with code moved.
func Stay(ctx context.Context, data string) error {
	s, err := attach(ctx, data, attachment{beside: true, mover: true})
	if err != nil {
		return err
	}
	return errors.Join(s.Registry.StayHere(ctx), s.Close())
}

// Frozen says why the registry takes no changes, "" if it does, and whether somebody moves it, or was interrupted.
func (s *Server) Frozen(ctx context.Context) (why string, moving bool, err error) {
	f, err := s.Registry.Frozen(ctx)
	if errors.Is(err, meta.ErrNotFound) {
		return "", false, nil
	}
	return f.Text(), f.State == meta.Moving, err
}

// warnFrozen logs why the registry takes no changes, if it takes none.
func (s *Server) warnFrozen(ctx context.Context) error {
	f, err := s.frozen(ctx)
	if err != nil || f.State == "" {
		return err
	}
	s.logger.WarnContext(ctx, "takes no changes", "why", f.Text())
	return nil
}
