package admin

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
)

// DefaultAddr is where Serve listens unless it is told.
const DefaultAddr = server.DefaultAddr

// A ServeRequest asks for a registry that serves.
type ServeRequest struct {
	Config   string // registry.toml; the rest goes before it
	Addr     string // port 0 takes a free one
	Data     string // "" is the configuration's, else registry in the data directory of skl
	Open     bool   // anybody reads and writes; on loopback only
	Database string // postgres://…, or the file that it is anyway; "" is the configuration's
	Blobs    string // s3://…, or the directory that they are in anyway; "" is the configuration's
	Version  string // of skl, for clients that ask; "" is unknown
	Log      slog.Handler
	Ready    func(Serving) error // called once requests are answered; its error ends the server
}

// A Serving is a registry that serves.
type Serving struct {
	Addr           string `json:"addr"`
	URL            string `json:"url"`
	Data           string `json:"data"`
	AdminTokenFile string `json:"admin_token_file"` // "" if there is none

	AdminToken string `json:"-"` // of a first start
	Open       bool   `json:"-"`
}

// Shown removes the file of the admin token, after a person has seen the token.
func (s Serving) Shown() error { return os.Remove(s.AdminTokenFile) }

// Serve serves a registry until ctx ends.
func (a *Admin) Serve(ctx context.Context, r ServeRequest) error {
	cfg, err := a.serveConfig(r)
	if err != nil {
		return err
	}
	s, err := server.Open(ctx, cfg, server.WithLogger(slog.New(r.Log)), server.WithVersion(r.Version))
	if err != nil {
		return err
	}
	defer s.Close()
	out := Serving{Data: cfg.Data, URL: cfg.URL, AdminToken: s.AdminToken, Open: cfg.Access.Open}
	if out.AdminTokenFile, err = keepAdminToken(s, cfg.Data); err != nil {
		return err
	}
	defer reloadOnHangup(s)() // before anybody hears of the address, since a hangup ends who does not listen for it
	l, err := s.Listen(ctx)
	if err != nil {
		return diag.New(diag.Failed, "cannot_listen", "cannot listen on %s: %w", cfg.Addr, err).Hint("add --addr 127.0.0.1:0 for a free port")
	}
	out.Addr = l.Addr().String()
	if out.URL == "" {
		out.URL = "http://" + out.Addr
		if cfg.TLS.Cert != "" {
			out.URL = "https://" + out.Addr
		}
	}
	if err := r.Ready(out); err != nil {
		return err
	}
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	return s.Close()
}

// reloadOnHangup reads the certificate anew at each SIGHUP, until the returned func is called.
func reloadOnHangup(s *server.Server) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hangups {
			_ = s.Reload() // it is logged
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-ended
	}
}

// serveConfig is the file, with the rest of the request on top of it.
func (a *Admin) serveConfig(r ServeRequest) (server.Config, error) {
	cfg, err := a.configFile(r.Config)
	if err != nil {
		return cfg, err
	}
	cfg.Addr = cmp.Or(r.Addr, cfg.Addr, server.DefaultAddr)
	if r.Data != "" || cfg.Data == "" {
		cfg.Data = a.dataDir(r.Data)
	}
	cfg.Access.Open = cfg.Access.Open || r.Open
	setting := "--db"
	if r.Database == "" && cfg.DB == (server.DB{}) {
		setting, r.Database = "SKL_DB", a.Scope.Getenv("SKL_DB")
	}
	return cfg, a.keepIn(&cfg, setting, r.Database, r.Blobs)
}

// configFile reads registry.toml; the zero configuration if it has no name.
func (a *Admin) configFile(name string) (cfg server.Config, err error) {
	if name == "" {
		return cfg, nil
	}
	path := scope.Absolute(a.Scope.WorkingDir, name)
	src, err := os.ReadFile(path)
	if err != nil {
		return cfg, diag.New(diag.Misuse, "config_unreadable", "reading configuration: %w", err)
	}
	return server.ParseConfig(src, path)
}

// keepIn sets where the metadata is, which the setting says, and the blobs. "" leaves what cfg says.
func (a *Admin) keepIn(cfg *server.Config, setting, database, blobs string) error {
	switch scheme, _, _ := strings.Cut(database, "://"); scheme {
	case "postgres", "postgresql":
		cfg.DB.URL, cfg.DB.URLFile = database, ""
	default:
		if err := a.inData(setting, database, cfg.Data, "meta.db"); err != nil {
			return err
		}
	}
	if strings.HasPrefix(blobs, "s3:") {
		cfg.Blobs.URL = blobs
		return nil
	}
	return a.inData("--blobs", blobs, cfg.Data, "blobs")
}

// inData accepts the one place in the data directory where a part of the data can be, if it is not elsewhere.
func (a *Admin) inData(setting, text, data, name string) error {
	place := filepath.Join(data, name)
	scheme, rest, ok := strings.Cut(text, ":")
	switch {
	case text == "":
		return nil
	case ok && len(scheme) > 1 && scheme != "sqlite" && scheme != "file":
		return diag.New(diag.Misuse, "not_supported", "%s: this version knows no %s for that", setting, diag.Printable(scheme)).
			Hint("skl registry serve --data DIR")
	case ok && len(scheme) > 1:
		text = strings.TrimPrefix(rest, "//")
	}
	if scope.Absolute(a.Scope.Cwd, text) != place {
		return diag.New(diag.Misuse, "not_supported", "%s: it is %s, and nowhere else", setting, a.Scope.Short(place)).Hint("skl registry serve --data DIR")
	}
	elsewhere, err := server.Elsewhere(data, name)
	if err == nil && elsewhere != "" {
		err = diag.New(diag.Misuse, "other_database", "%s: %s has that in %s, as its database.json says", setting, a.Scope.Short(data), elsewhere).
			Hint("leave %s out; for a registry with files of its own, name another directory with --data", setting)
	}
	return err
}

// adminTokenFile keeps the first token until somebody takes it away.
func adminTokenFile(data string) string { return filepath.Join(data, "admin-token") }

// keepAdminToken writes the token of the first start to a file of mode 0600, so that it is not lost if the
// start fails. It returns the file, also one from before, "" if there is none.
func keepAdminToken(s *server.Server, data string) (string, error) {
	file := adminTokenFile(data)
	if s.AdminToken != "" {
		return file, durable.WriteFile(file, []byte(s.AdminToken+"\n"), 0o600)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return file, nil
}
