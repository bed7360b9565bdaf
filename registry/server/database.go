package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/postgres"
	"github.com/skl-project/skl/registry/meta/sqlite"
	"github.com/skl-project/skl/spec/diag"
)

// A location is where the metadata of a data directory is, if that is not its own file: what database.json says. So commands that
// are told the directory find the rest.
type location struct {
	URL    string `json:"url"`
	Pooler bool   `json:"pooler,omitempty"`
	// Directory is a name of the data directory that the database knows as well. Blobs are in the directory, and others would
	// not have them.
	Directory string `json:"directory"`
}

func (s *Server) locationFile() string { return s.path("database.json") }

// HasData reports whether a directory holds a registry: a database, or the place of one.
func HasData(data string) bool {
	s := &Server{cfg: Config{Data: data}}
	for _, path := range []string{s.path("meta.db"), s.locationFile()} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// readLocation is the zero location if there is none.
func (s *Server) readLocation() (p location, err error) {
	text, err := os.ReadFile(s.locationFile())
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil || p.URL == "" || p.Directory == "" {
		return p, diag.New(diag.Failed, "corrupt", "%s does not say where the database is", s.locationFile()).Hint("skl registry serve --data DIR --db URL writes it anew, after you moved it away")
	}
	return p, nil
}

// locate says where the metadata is, what is known of that, and what will be: the address that the configuration names, else the
// one that the directory says, else none for its own file. Nothing is written.
func (s *Server) locate() (before, next location, err error) {
	if before, err = s.readLocation(); err != nil {
		return before, next, err
	}
	url, err := s.cfg.DB.address()
	if err != nil {
		return before, next, err
	}
	if next = before; url != "" {
		next.URL, next.Pooler = url, s.cfg.DB.Pooler
	}
	if next.URL == "" {
		return before, next, nil
	}
	if _, err := os.Stat(s.path("meta.db")); err == nil {
		return before, next, diag.New(diag.Misuse, "other_database", "%s holds a registry with a database of its own, meta.db", s.cfg.Data).
			Hint("to serve that one, leave db out; for a new one, name another directory with --data")
	}
	next.Directory = cmp.Or(next.Directory, rand.Text())
	return before, next, postgres.CheckAddress(next.URL)
}

// An elsewhere is metadata that is not in the directory.
type elsewhere struct {
	meta.Store
	before, next location
}

// connect opens the metadata if it is elsewhere, with so many connections for reading, 0 for as many as a server needs. It writes
// nothing to the directory, which need not exist. It returns nil if the directory has a database of its own.
func (s *Server) connect(ctx context.Context, readers int) (*elsewhere, error) {
	before, next, err := s.locate()
	if err != nil || next.URL == "" {
		return nil, err
	}
	db, err := postgres.Open(ctx, next.URL, postgres.Options{Pooler: next.Pooler, Readers: cmp.Or(readers, s.cfg.DB.Connections)})
	if err != nil {
		return nil, err
	}
	return &elsewhere{db, before, next}, nil
}

// openMeta opens the directory's own database, if there is none elsewhere. If there is, it makes the directory and that belong to
// each other.
func (s *Server) openMeta(ctx context.Context, e *elsewhere, readers int) (meta.Store, error) {
	if e == nil {
		s.ownMeta = true
		db, err := sqlite.Open(ctx, s.path("meta.db"), sqlite.Options{Readers: readers})
		if err != nil {
			return nil, err // and no store that is nil
		}
		return db, nil
	}
	err := s.belongs(ctx, e.Store, e.next.Directory)
	if err != nil || e.next == e.before {
		return e.Store, err
	}
	text, err := json.MarshalIndent(e.next, "", "  ")
	if err == nil {
		err = durable.WriteFile(s.locationFile(), append(text, '\n'), 0o600)
	}
	return e.Store, err
}

// close closes what connect gave, also nothing, and returns err.
func (e *elsewhere) close(err error) error {
	if e == nil {
		return err
	}
	return errors.Join(err, e.Close())
}

// belongs refuses a database that belongs to another directory, and makes a new one belong to this.
func (s *Server) belongs(ctx context.Context, db meta.Store, directory string) error {
	const key = "directory"
	return db.Update(ctx, func(tx *meta.Tx) error {
		have, err := tx.Setting(ctx, key)
		if errors.Is(err, meta.ErrNotFound) {
			return tx.PutSetting(ctx, key, []byte(directory))
		}
		if err == nil && string(have) != directory {
			return diag.New(diag.Misuse, "other_database", "the database belongs to another directory than %s, which has its blobs", s.cfg.Data).
				Hint("name that directory with --data, or a database without tables")
		}
		return err
	})
}
