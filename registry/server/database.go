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
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry"
	blobfs "github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/postgres"
	"github.com/skl-project/skl/registry/meta/sqlite"
	"github.com/skl-project/skl/spec/diag"
)

// A location is where the metadata of a data directory is, if that is not its own file, and where the blobs are, if they are not in
// it: what database.json says. So commands that are told the directory find the rest.
type location struct {
	URL    string `json:"url"`
	Pooler bool   `json:"pooler,omitempty"`
	// Directory is a name of the data directory that the database knows as well. Keys and blobs are in the directory, and
	// others would not have them.
	Directory string `json:"directory"`
	Blobs     string `json:"blobs,omitempty"` // s3://…
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

// Elsewhere says where a data directory has its metadata, "meta.db", or its "blobs", if not in itself; "" if it does.
func Elsewhere(data, part string) (string, error) {
	p, err := (&Server{cfg: Config{Data: data}}).readLocation()
	switch {
	case err != nil:
		return "", err
	case part == "blobs" && p.Blobs != "":
		return "a bucket", nil
	case part == "meta.db" && p.URL != "":
		return "a PostgreSQL database", nil
	}
	return "", nil
}

// Private are the files and directories of the data directory that nobody else may read.
func (s *Server) Private() []string {
	private := []string{".", "keys"}
	if !s.shared {
		private = append(private, filepath.Join("keys", "log.key"))
	}
	if s.ownMeta {
		return append(private, "meta.db")
	}
	return append(private, filepath.Base(s.locationFile()))
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
	if next.Blobs = cmp.Or(s.cfg.Blobs.URL, next.Blobs); next.Blobs != "" {
		if _, err := s3.ParseAddress(next.Blobs); err != nil {
			return before, next, err
		}
		if err := s.mayMove(before, next); err != nil {
			return before, next, err
		}
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

// mayMove refuses blobs in a bucket without metadata for many, and for a directory that holds blobs of its own.
func (s *Server) mayMove(before, next location) error {
	if next.URL == "" {
		return needsDatabase()
	}
	if before.Blobs != "" {
		return nil
	}
	own, err := filepath.Glob(filepath.Join(s.path("blobs"), "blobs", "*", "*", "*"))
	if err == nil && len(own) > 0 {
		err = diag.New(diag.Misuse, "other_blobs", "%s holds a registry whose blobs are in it, in %s", s.cfg.Data, s.path("blobs")).
			Hint("to serve that one, leave --blobs out; for a new one, name another directory and another database")
	}
	return err
}

func needsDatabase() error {
	return diag.New(diag.Misuse, "not_supported", "blobs in S3 need metadata in PostgreSQL, which says what is there").
		Hint("name a database with --db postgres://…, or leave --blobs out")
}

// CheckPlaces refuses a database and a bucket that could not be used, by their addresses alone.
func (c Config) CheckPlaces() error {
	if c.Blobs.URL != "" {
		if _, err := s3.ParseAddress(c.Blobs.URL); err != nil {
			return err
		}
		if c.DB == (DB{}) {
			return needsDatabase()
		}
	}
	if c.DB.URL == "" {
		return nil
	}
	return postgres.CheckAddress(c.DB.URL)
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
	db, err := postgres.Open(ctx, next.URL, postgres.Options{Pooler: next.Pooler, Readers: cmp.Or(readers, s.cfg.DB.Connections), Upgrading: s.upgrading, Mover: s.mover})
	if err != nil {
		return nil, err
	}
	return &elsewhere{db, before, next}, nil
}

// upgrading says that the database is upgraded, and refuses that beside its server: an earlier version may still be that, and who
// wants a backup before the upgrade gets none after it.
func (s *Server) upgrading(have meta.Schema) error {
	if s.told != nil {
		return s.told(have)
	}
	if have.Version == 0 {
		return nil
	}
	if s.beside {
		return diag.New(diag.Refused, "older_database", "the database has schema %d, which the server of this skl brings to %d when it starts", have.Version, have.Next).
			Hint("for a backup before that, use the skl that wrote it; to upgrade, run skl registry serve, or skl registry migrate --schema")
	}
	if have.Next > have.Version {
		s.logger.Info("upgrading the database, which takes minutes with many skills", "schema", have.Version, "to", have.Next)
	}
	if len(have.Waits) > 0 {
		s.logger.Info("the next schema waits for processes of an earlier version", "schema", have.Next+1, "for", strings.Join(have.Waits, ", "))
	}
	return nil
}

// openStores opens what keeps the metadata and the blobs of g: the directory's own, where there is nothing elsewhere. If there is, it
// makes the directory and that belong to each other. What a bucket has is kept in the directory cache for a while. The caller closes g.Meta, also after an error.
func (s *Server) openStores(ctx context.Context, g *registry.Registry, e *elsewhere, readers int, cache string) error {
	if e == nil {
		s.ownMeta = true
		db, err := s.openFile(ctx, readers)
		if err != nil {
			return err // and no store that is nil
		}
		g.Meta = db
		return s.openBlobs(ctx, g, "", cache)
	}
	g.Meta = e.Store
	if s.shared = e.next.Blobs != ""; s.shared {
		if err := s.blobsElsewhere(ctx, e); err != nil {
			return err
		}
		s.logger = s.logger.With("replica", s.cfg.replica())
		g.Logger = s.logger
		if err := s.setClock(ctx, g); err != nil {
			return err
		}
		if err := s.openBlobs(ctx, g, e.next.Blobs, cache); err != nil {
			return err
		}
		g.Remember()
		return s.keepLocation(e)
	}
	owned := false
	if err := e.View(ctx, func(tx *meta.Tx) (err error) {
		owned, err = s.owned(ctx, tx, e.next.Directory)
		return err
	}); err != nil {
		return err
	}
	if err := s.openBlobs(ctx, g, "", cache); err != nil {
		return err
	}
	return s.own(ctx, e, owned)
}

// setClock makes the database's clock that of the registry.
func (s *Server) setClock(ctx context.Context, g *registry.Registry) (err error) {
	if s.clock, err = registry.OpenClock(ctx, g.Meta, s.local); err != nil {
		return err
	}
	g.Now = s.clock.Now
	if g.Issuers != nil {
		g.Issuers.Now = s.clock.Now
	}
	if off := s.clock.Ahead(); off.Abs() > maxSkew {
		s.logger.Warn("the clock of this machine is not that of the database", "ahead", off.Round(time.Second))
	}
	return nil
}

// openFile opens the directory's own metadata.
func (s *Server) openFile(ctx context.Context, readers int) (meta.Store, error) {
	return sqlite.Open(ctx, s.path("meta.db"), sqlite.Options{Readers: readers, Upgrading: s.upgrading, Mover: s.mover})
}

// blobsElsewhere refuses a database whose blobs are in a directory.
func (s *Server) blobsElsewhere(ctx context.Context, e *elsewhere) error {
	return e.View(ctx, func(tx *meta.Tx) error {
		place, _, err := tx.Place(ctx)
		if err != nil || place == meta.SettingBucket {
			return err
		}
		blobs, err := tx.StoredBlobs(ctx, "", 1)
		if err == nil && (len(blobs) > 0 || place == meta.SettingDirectory) {
			err = s3.OtherBlobs()
		}
		return err
	})
}

func (s *Server) openBlobs(ctx context.Context, g *registry.Registry, address, cache string) error {
	if address == "" {
		blobs, err := blobfs.Open(s.path("blobs"))
		if err != nil {
			return err
		}
		g.Blobs = blobs
		return nil
	}
	at, err := s3.ParseAddress(address)
	if err != nil {
		return err
	}
	blobs, err := s3.Open(ctx, at, s3.Options{Meta: g.Meta, Dir: cache, Cache: s.cfg.Blobs.Cache << 20, Now: g.Now})
	if err != nil {
		return err
	}
	g.Blobs, g.Heads = blobs, blobs
	return nil
}

// owned reports whether the database belongs to the directory, and refuses one that belongs to another.
func (s *Server) owned(ctx context.Context, tx *meta.Tx, directory string) (bool, error) {
	place, have, err := tx.Place(ctx)
	switch {
	case err != nil || place == "":
		return false, err
	case place == meta.SettingBucket:
		err = diag.New(diag.Misuse, "other_blobs", "the database is of a registry whose blobs are in a bucket").
			Hint("name that with --blobs s3://…, as its other processes do; for a new registry, name a database without tables")
	case have != directory:
		err = diag.New(diag.Misuse, "other_database", "the database belongs to another directory than %s, which has its keys", s.cfg.Data).
			Hint("name that directory with --data, or a database without tables")
	}
	return err == nil, err
}

// keepLocation writes where everything is, if that is not known yet.
func (s *Server) keepLocation(e *elsewhere) error {
	if e.next == e.before {
		return nil
	}
	text, err := json.MarshalIndent(e.next, "", "  ")
	if err == nil {
		err = durable.WriteFile(s.locationFile(), append(text, '\n'), 0o600)
	}
	return err
}

// own writes where everything is, and then into the database whose it is: what is interrupted in between goes on the next time.
func (s *Server) own(ctx context.Context, e *elsewhere, owned bool) error {
	if err := s.keepLocation(e); err != nil || owned {
		return err
	}
	return e.Update(ctx, func(tx *meta.Tx) error {
		if owned, err := s.owned(ctx, tx, e.next.Directory); owned || err != nil {
			return err
		}
		return tx.PutSetting(ctx, meta.SettingDirectory, []byte(e.next.Directory))
	})
}

// close closes what connect gave, also nothing, and returns err.
func (e *elsewhere) close(err error) error {
	if e == nil {
		return err
	}
	return errors.Join(err, e.Close())
}
