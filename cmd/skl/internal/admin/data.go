package admin

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
)

// A Problem is one thing that is wrong with the data of a registry.
type Problem = registry.Problem

// A GCRequest asks for content to be removed that nothing needs.
type GCRequest struct {
	Data   string        // "" is where Serve keeps its data
	Grace  time.Duration // files younger than this are kept
	DryRun bool
}

// A Collected is what was removed, or in a dry run would be.
type Collected struct {
	DryRun bool `json:"dry_run"`
	registry.GCReport
}

// GC removes content that nothing needs. No server may have the data open.
func (a *Admin) GC(ctx context.Context, r GCRequest) (Collected, error) {
	s, err := a.openAlone(ctx, a.dataDir(r.Data))
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Code == "data_in_use" {
		e.Hint("a server that runs does this itself, as often as every in [gc] of registry.toml says; to do it now, stop that server")
	}
	if err != nil {
		return Collected{}, err
	}
	defer s.Close()
	report, err := s.Registry.GC(ctx, registry.GCOptions{Grace: max(r.Grace, 1), DryRun: r.DryRun})
	if err != nil {
		return Collected{}, err
	}
	return Collected{r.DryRun, report}, nil
}

// ParseGrace reads "1h", "0s" or "7d".
func ParseGrace(text string) (time.Duration, error) {
	grace, ok := duration(text)
	if !ok || grace < 0 {
		return 0, diag.New(diag.Misuse, "usage", "--grace: invalid duration %q: use 1h or 7d", text)
	}
	return grace, nil
}

// An Examined is what a look at the data of a registry found.
type Examined struct {
	OK bool `json:"ok"`
	registry.FsckReport
}

// Fsck compares the records of a registry with its files, also beside a running server.
func (a *Admin) Fsck(ctx context.Context, data string) (Examined, error) {
	return a.examine(ctx, data, func(g *registry.Registry) (registry.FsckReport, error) { return g.Fsck(ctx) })
}

// Scrub reads every blob and finds damaged ones, also beside a running server.
func (a *Admin) Scrub(ctx context.Context, data string) (Examined, error) {
	return a.examine(ctx, data, func(g *registry.Registry) (registry.FsckReport, error) {
		return g.Scrub(ctx, func(done int) { a.Scope.Progress(diag.Event{Stage: "scrub", Name: "blob", Done: int64(done)}) })
	})
}

func (a *Admin) examine(ctx context.Context, data string, look func(*registry.Registry) (registry.FsckReport, error)) (Examined, error) {
	s, err := a.beside(ctx, a.dataDir(data))
	if err != nil {
		return Examined{}, err
	}
	defer s.Close()
	report, err := look(s.Registry)
	if err != nil {
		return Examined{}, err
	}
	return Examined{len(report.Problems) == 0, report}, nil
}

// A Copy is the data of a registry in another directory.
type Copy struct {
	OK    bool   `json:"ok"` // all content could be copied, and a restored copy is whole
	Dir   string `json:"dir"`
	Blobs int    `json:"blobs"`
	New   int    `json:"new"` // that were not there yet
	Bytes int64  `json:"bytes"`
	Log   string `json:"log"` // origin of the transparency log

	Problems []registry.Problem `json:"problems"` // content that could not be copied

	From  string   `json:"-"`
	Found Examined `json:"-"` // of a restored copy: it is only good if this is
}

// A BackupRequest asks for a copy of the data of a registry.
type BackupRequest struct {
	Data   string // "" is where Serve keeps its data
	Dir    string // the copy; what it has already is not copied again
	DryRun bool
}

// Backup copies the data of a registry, also beside a running server. The copy holds the keys of the registry.
func (a *Admin) Backup(ctx context.Context, r BackupRequest) (Copy, error) {
	data, to := a.dataDir(r.Data), scope.Absolute(a.Scope.Cwd, r.Dir)
	if scope.Holds(data, to) || scope.Holds(to, data) {
		return Copy{}, diag.New(diag.Misuse, "usage", "the backup directory must be outside the data directory").Hint("skl registry backup DIR names a directory elsewhere")
	}
	s, err := a.beside(ctx, data)
	if err != nil {
		return Copy{}, err
	}
	defer s.Close()
	out := Copy{OK: true, Dir: to, Log: s.Registry.Key.Origin(), From: data, Problems: []registry.Problem{}}
	if r.DryRun {
		return out, s.MayBackup(ctx, to)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return Copy{}, err
	}
	unlock, err := durable.Lock(ctx, to, func() { a.Scope.Tell.Note("waiting for another backup to %s", a.Scope.Short(to)) })
	if err != nil {
		return Copy{}, err
	}
	defer unlock()
	copied, err := s.Backup(ctx, to, func(done int) { a.Scope.Progress(diag.Event{Stage: "backup", Name: "blob", Done: int64(done)}) })
	if err != nil {
		return Copy{}, err
	}
	out.Blobs, out.New, out.Bytes = copied.Blobs, copied.New, copied.Bytes
	out.Problems = append(out.Problems, copied.Problems...)
	out.OK = len(out.Problems) == 0
	return out, nil
}

// A RestoreRequest asks for a registry from a backup.
type RestoreRequest struct {
	Dir    string // the backup
	Data   string // the new data
	DryRun bool
}

// Restore makes new data of a backup, and examines it.
func (a *Admin) Restore(ctx context.Context, r RestoreRequest) (Copy, error) {
	if r.Data == "" {
		return Copy{}, diag.New(diag.Misuse, "usage", "--data says where the registry's data will be").Hint("skl registry restore %s --data NEW", r.Dir)
	}
	from, data := scope.Absolute(a.Scope.Cwd, r.Dir), scope.Absolute(a.Scope.Cwd, r.Data)
	if err := a.hasData(from); err != nil {
		return Copy{}, err
	}
	out := Copy{OK: true, Dir: data, From: from, Problems: []registry.Problem{}}
	if r.DryRun {
		return out, nil
	}
	copied, err := server.Restore(ctx, data, from)
	if err != nil {
		return Copy{}, err
	}
	s, err := a.beside(ctx, data)
	if err != nil {
		return Copy{}, err
	}
	defer s.Close()
	report, err := s.Registry.Fsck(ctx)
	if err != nil {
		return Copy{}, err
	}
	report.Problems = append(copied.Problems, report.Problems...)
	out.Problems, out.OK = report.Problems, len(report.Problems) == 0
	out.Found = Examined{len(report.Problems) == 0, report}
	out.Blobs, out.New, out.Bytes, out.Log = copied.Blobs, copied.New, copied.Bytes, s.Registry.Key.Origin()
	return out, nil
}

// A MigrateRequest asks for a registry to be moved to another place.
type MigrateRequest struct {
	Data     string // "" is where Serve keeps its data
	To       string // the data directory there; "" is the configuration's
	Config   string // registry.toml there; the rest goes before it
	Database string // postgres://…; "" is the configuration's, or the file that it is anyway
	Blobs    string // s3://…; "" is the configuration's, or the directory that they are in anyway
	DryRun   bool
}

// A Migrated is the data of a registry at another place.
type Migrated struct {
	Copy
	Rows     int64  `json:"rows"`
	Releases int    `json:"releases"`
	Entries  int64  `json:"log_entries"`
	Frozen   int64  `json:"frozen_ms"`        // how long nobody could change anything
	Database bool   `json:"database"`         // it has its metadata in PostgreSQL
	Bucket   bool   `json:"bucket"`           // it has its blobs in S3
	Schema   *Raise `json:"schema,omitempty"` // if that was asked for, and nothing was moved
	Config   string `json:"-"`
	Begun    bool   `json:"-"` // also after an error: there is something at the new place
}

// Migrate moves a registry to another place, also beside a running server. From then on the old one takes no changes.
func (a *Admin) Migrate(ctx context.Context, r MigrateRequest) (Migrated, error) {
	out := Migrated{Config: r.Config}
	cfg, err := a.configFile(r.Config)
	if err != nil {
		return out, err
	}
	if r.To != "" {
		cfg.Data = scope.Absolute(a.Scope.Cwd, r.To)
	}
	if cfg.Data == "" {
		return out, diag.New(diag.Misuse, "usage", "--to says where the registry's data will be").Hint("skl registry migrate --data OLD --to NEW --db postgres://… --blobs s3://…")
	}
	if err := a.keepIn(&cfg, "--db", r.Database, r.Blobs); err != nil {
		return out, err
	}
	from, to := a.dataDir(r.Data), cfg.Data
	if scope.Holds(from, to) || scope.Holds(to, from) {
		return out, diag.New(diag.Misuse, "usage", "the new data directory must be outside the old one").Hint("skl registry migrate --to DIR names a directory elsewhere")
	}
	if err := a.hasData(from); err != nil {
		return out, err
	}
	out.Copy = Copy{OK: true, Dir: to, From: from, Problems: []registry.Problem{}}
	out.Database, out.Bucket = cfg.DB != (server.DB{}), cfg.Blobs.URL != ""
	if r.DryRun {
		out.Log, err = server.MayMigrate(ctx, from, cfg)
		return out, err
	}
	m, err := server.Migrate(ctx, from, cfg, func(stage registry.Stage, n int64) {
		a.Scope.Progress(diag.Event{Stage: "migrate", Name: string(stage), Done: n})
	})
	if err != nil {
		out.Begun = server.HasData(to)
		return out, err
	}
	out.Log, out.Blobs, out.New, out.Bytes, out.Rows = m.Log, m.Blobs, m.New, m.Bytes, m.Rows
	out.Releases, out.Entries, out.Frozen = m.Found.Releases, m.Found.Entries, m.Frozen.Milliseconds()
	out.Problems = append(append(out.Problems, m.Problems...), m.Found.Problems...)
	out.OK = len(out.Problems) == 0
	return out, nil
}

// A Raise is what became of the schema of a database.
type Raise struct {
	Before int      `json:"before"` // 0 of an empty database
	Now    int      `json:"now"`    // or would be, in a dry run
	Known  int      `json:"known"`  // the newest that this skl knows
	Waits  []string `json:"waits"`  // names of processes of an earlier version that serve, and would not go on with the one after Now
}

// MigrateSchema brings the database of a registry to the newest schema that all processes which serve it go on with.
func (a *Admin) MigrateSchema(ctx context.Context, r MigrateRequest) (Migrated, error) {
	cfg, err := a.serveConfig(ServeRequest{Config: r.Config, Data: r.Data, Database: r.Database, Blobs: r.Blobs})
	if err != nil {
		return Migrated{}, err
	}
	out := Migrated{Copy: Copy{OK: true, Dir: cfg.Data, Problems: []registry.Problem{}}, Config: r.Config, Database: cfg.DB != (server.DB{}), Bucket: cfg.Blobs.URL != ""}
	if !server.HasData(cfg.Data) { // the database is all there is
		out.Dir = ""
	}
	before, after, err := server.MigrateSchema(ctx, cfg, r.DryRun, func(have, to int) {
		a.Scope.Tell.Note("upgrading the database from schema %d to %d, which takes minutes with many skills", have, to)
	})
	if err != nil {
		return out, err
	}
	out.Schema = &Raise{Before: before.Version, Now: after.Next, Known: after.Known, Waits: append([]string{}, after.Waits...)}
	return out, nil
}

// Stay has a registry take changes again, after a move that was interrupted.
func (a *Admin) Stay(ctx context.Context, data string) (Migrated, error) {
	data = a.dataDir(data)
	if err := a.hasData(data); err != nil {
		return Migrated{}, err
	}
	return Migrated{Copy: Copy{OK: true, Dir: data, From: data, Problems: []registry.Problem{}}}, server.Stay(ctx, data)
}
