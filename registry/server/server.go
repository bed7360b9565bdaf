// Package server assembles a registry in one directory and serves it: the core over SQLite and files, or PostgreSQL
// and S3, the OCI protocol, REST, the well-known indexes and the operator's pages.
//
//		DIR/meta.db           everything that is not a blob; or
//		DIR/database.json     the address of the database that has it, and of the bucket if that has the blobs
//		DIR/blobs             blobs, and uploads that are not finished, unless they are in a bucket
//		DIR/cache             blobs of a bucket, for a while
//		DIR/keys/log.key      signs the transparency log; mode 0600
//		DIR/log.head          the newest head of the log that was signed
//		DIR/tmp               archives while they arrive; emptied at start
//
//	  - [Open] turns an empty directory into a registry, with an admin token that it returns
//	    once. One process at a time has a directory open.
//	  - Without TLS a server listens on loopback only, unless something in front ends TLS; an open
//	    registry always listens on loopback only.
//	  - Headers have 10 s and at most 64 KiB, a connection idles for 2 min, and a body has to make
//	    progress within 1 min: in each direction the time starts anew with every part that moves. What
//	    moves at less than 4 KiB a second on average is given up, too, and a body that nobody reads has 2 s.
//	  - Connections are bounded by descriptors, and those of one address by the configuration; those that wait for
//	    their client give way to new ones.
//	  - A certificate that changes is loaded; one that cannot be used is not, and the log says so.
//	  - What arrives on a loopback address names one of those, or a configured name, as its host; requests of
//	    web pages elsewhere are refused. /healthz and /readyz are open.
//	  - Tokens never reach the access log, neither those in headers nor those in capability paths.
//	  - On shutdown running requests have 30 s to end.
//	  - With PostgreSQL and a bucket any number of processes serve one registry, each with a directory of its own: keys are in
//	    the database then, heads of the log in the bucket, and each says every 10 s that it serves.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// A Server is a registry that can be served. Its methods may be called concurrently.
type Server struct {
	Registry *registry.Registry
	// AdminToken is the text of the token made at the first start, else empty. It is stored nowhere.
	AdminToken string

	cfg      Config
	ownMeta  bool                         // the metadata is in a file of the data directory
	fresh    bool                         // the data directory was not there
	beside   bool                         // another process may serve the data
	mover    bool                         // it updates also what is frozen
	told     func(meta.Schema) error      // of an older schema, instead of the log; nil for that
	outdated atomic.Pointer[wire.Problem] // this program is too old for the database by now; nil if it is not
	shared   bool                         // by many processes: nothing in the data directory has to stay
	local    func() time.Time             // the clock of this machine; nil means time.Now
	clock    *registry.Clock              // that of the database, if it is shared; else nil
	draining atomic.Bool                  // it is about to end
	scratch  string                       // directory to remove at the end; "" if there is none
	names    []string                     // of the server, besides loopback
	version  string                       // of the program
	logger   *slog.Logger
	handler  http.Handler
	access   *access
	metrics  *metrics
	gate     *gate.Gate
	stall    time.Duration // without a byte that moves
	ready    readiness
	heads    sync.Mutex     // held while the head of the log is compared and kept
	checks   sync.WaitGroup // deep checks that run
	closing  chan struct{}  // is closed by Close
	pair     *pair          // of TLS; nil without, and not loaded before Listen or Serve
	unlock   func()
	close    sync.Once
	closed   error
}

// Option changes how a server is opened.
type Option func(*Server)

// WithLogger sends the log to l. Without it there is none.
func WithLogger(l *slog.Logger) Option { return func(s *Server) { s.logger = l } }

// WithClock takes now for the clock of the machine.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.local = now } }

// WithVersion names the version of the program to clients. Without it that is "unknown".
func WithVersion(version string) Option { return func(s *Server) { s.version = version } }

// lockWait is how long Open waits for another process to let go of the directory.
const lockWait = 2 * time.Second

// Open opens the registry in cfg.Data, which is made if it does not exist. The caller closes it.
// Errors: data_in_use when another process has it open, config_invalid, and those of the stores.
func Open(ctx context.Context, cfg Config, options ...Option) (s *Server, err error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if cfg.Data == "" {
		return nil, invalid("", 0, 0, "data must name a directory")
	}
	s = blank(cfg)
	if cfg.TLS.Cert != "" {
		s.pair = &pair{certFile: cfg.TLS.Cert, keyFile: cfg.TLS.Key, now: time.Now}
	}
	for _, o := range options {
		o(s)
	}
	away, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.undo()
			s = nil
		}
	}()
	g := &registry.Registry{Open: cfg.Access.Open, Reserved: cfg.Reserved, Grace: cfg.GC.Grace.or(24 * time.Hour), Hold: cfg.Scan.Hold, Redirect: cfg.Blobs.Redirect, Replica: cfg.replica(), Logger: s.logger}
	s.Registry = g
	if away != nil {
		g.Meta = away.Store // so that Close closes it
	}
	if cfg.Policy != "" {
		if g.Admit, err = admitBy(cfg.Policy, cfg.URL, s.now); err != nil {
			return s, err
		}
	}
	if cfg.Signatures.TrustedRoot != "" {
		if g.TrustedRoot, err = os.ReadFile(cfg.Signatures.TrustedRoot); err != nil {
			return s, err
		}
	}
	if g.Issuers, err = issuers(cfg); err != nil {
		return s, err
	}
	if len(cfg.Scan.Command) > 0 {
		g.Scan = ScanCommand(cfg.Scan.Command, cfg.Scan.Timeout.or(time.Minute), s.path("tmp"))
	}
	if err = s.openStores(ctx, g, away, 0, s.path("cache")); err != nil {
		return s, err
	}
	if err = s.warnFrozen(ctx); err != nil {
		return s, err
	}
	if g.Key, err = s.logKey(ctx, s.logSecret()); err != nil {
		return s, err
	}
	if err = s.firstStart(ctx); err != nil {
		return s, err
	}
	if s.access, err = s.newAccess(ctx); err != nil {
		return s, err
	}
	s.gate = gate.New(gate.Options{Share: cfg.Limits.Connections, Proxy: cfg.TLS.Proxy, Logger: s.logger})
	s.metrics = newMetrics(s)
	s.names = cfg.names()
	s.handler = s.routes()
	return s, nil
}

// now is the time of the registry: that of its database, if many processes share it.
func (s *Server) now() time.Time {
	if s.clock != nil {
		return s.clock.Now()
	}
	return time.Now()
}

// blank is a server that nothing was opened for.
func blank(cfg Config) *Server {
	return &Server{cfg: cfg, logger: slog.New(slog.DiscardHandler), stall: stallTime, closing: make(chan struct{})}
}

// enter takes the directory and connects to what is elsewhere. A directory that is not there yet is made last: an address that is
// wrong leaves none. One that is there is taken first: a schema is not raised under a server that runs.
func (s *Server) enter(ctx context.Context) (*elsewhere, error) {
	_, err := os.Lstat(s.cfg.Data)
	if s.fresh = errors.Is(err, fs.ErrNotExist); s.fresh {
		away, err := s.connect(ctx, 0)
		if err == nil {
			if err = s.layout(ctx); err != nil {
				err = away.close(err)
			}
		}
		return away, err
	}
	if err := s.layout(ctx); err != nil {
		return nil, err
	}
	away, err := s.connect(ctx, 0)
	return away, s.abandon(err)
}

// undo closes a server that does not start, and removes the directory that it made, unless there is data in it by now.
func (s *Server) undo() {
	bare := s.fresh && !HasData(s.cfg.Data)
	if bare {
		os.RemoveAll(s.path("cache"))
		os.RemoveAll(s.path("tmp"))
		for _, dir := range []string{"blobs/blobs", "blobs/staging", "blobs", "keys"} {
			os.Remove(s.path(dir)) // if it is empty
		}
	}
	s.Close()
	if bare {
		os.Remove(s.cfg.Data)
	}
}

//go:noinline
func (s *Server) path(name string) string { return filepath.Join(s.cfg.Data, name) }

// layout makes the directories and takes the lock.
func (s *Server) layout(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := durable.Lock(wait, s.cfg.Data, nil)
	if errors.Is(err, durable.ErrLocked) {
		return diag.New(diag.Failed, "data_in_use", "another process has the registry in %s open", s.cfg.Data)
	}
	if err != nil {
		return err
	}
	s.unlock = unlock
	for _, dir := range []string{"blobs", "keys"} {
		if err := os.MkdirAll(s.path(dir), 0o700); err != nil {
			return s.abandon(err)
		}
	}
	if err := os.RemoveAll(s.path("tmp")); err != nil {
		return s.abandon(err)
	}
	return s.abandon(os.Mkdir(s.path("tmp"), 0o700))
}

// abandon lets go of the lock if err is one.
func (s *Server) abandon(err error) error {
	if err != nil {
		s.unlock()
	}
	return err
}

// logOrigin is the name of a new log: the configured one, that of the host, or one that no other has.
func (s *Server) logOrigin() string {
	if s.cfg.Log.Origin != "" {
		return s.cfg.Log.Origin
	}
	if u, err := url.Parse(s.cfg.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "skl-registry-" + strings.ToLower(rand.Text()[:8])
}

// system is who makes the first token.
func system() registry.Caller {
	return registry.Caller{Identity: auth.Identity{Account: registry.System, Grants: []auth.Grant{{Namespace: "*", Role: auth.Admin}}}, Remote: "local"}
}

// firstStart makes an admin token if there is no token yet.
func (s *Server) firstStart(ctx context.Context) (err error) {
	if s.cfg.Access.Open {
		return nil
	}
	s.AdminToken, err = s.Registry.FirstToken(ctx, system(), "admin")
	return err
}

// Handler serves everything. It is the same one every time.
func (s *Server) Handler() http.Handler { return s.handler }

// Close writes what is not written yet and lets go of the directory. Nobody uses the server
// any more when it is called.
func (s *Server) Close() error {
	s.close.Do(func() {
		if s.closing != nil { // nothing runs beside a server that only works on the data
			close(s.closing)
		}
		s.checks.Wait()
		if g := s.Registry; g != nil && g.Meta != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			err := g.FlushDownloads(ctx)
			if s.shared && s.metrics != nil {
				err = errors.Join(err, g.Leave(ctx))
			}
			if errors.Is(err, diag.Code(meta.CodeFrozen)) || errors.Is(err, diag.Code(meta.CodeNewer)) { // nobody counts here any more
				err = nil
			}
			s.closed = errors.Join(err, g.Meta.Close())
		}
		if s.scratch != "" {
			s.closed = errors.Join(s.closed, os.RemoveAll(s.scratch))
		}
		s.unlock()
	})
	return s.closed
}
