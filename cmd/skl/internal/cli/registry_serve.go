package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
)

// A serveResult is the one line that "registry serve --json" prints when it is ready.
type serveResult struct {
	Addr           string `json:"addr"`
	URL            string `json:"url"`
	Data           string `json:"data"`
	AdminTokenFile string `json:"admin_token_file"` // "" if there is none
}

func serveRegistryCommand() command {
	return command{name: "serve", usage: "serve a registry from a directory", output: serveResult{}, run: serveRegistry,
		example: "skl registry serve\nskl registry serve --addr 127.0.0.1:0 --data ./data --json\nskl registry serve --config registry.toml",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "addr", Usage: "listen on `HOST:PORT` (default " + server.DefaultAddr + "); port 0 takes a free one"},
			&cli.StringFlag{Name: "data", Usage: "keep everything in `DIR` (default: registry in skl's data directory)"},
			&cli.StringFlag{Name: "config", Usage: "read registry.toml from `FILE`"},
			&cli.BoolFlag{Name: "open", Usage: "anybody reads, writes and deletes anything; on loopback only"},
			&cli.StringFlag{Name: "db", Usage: "the database, as `PATH`: meta.db in the data directory"},
			&cli.StringFlag{Name: "blobs", Usage: "the blobs, as `PATH`: blobs in the data directory"},
		}}
}

func serveRegistry(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "registry serve takes no arguments").Hint("skl registry serve --data DIR")
	}
	cfg, err := w.serveConfig(c)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if w.ui.Quiet {
		level = slog.LevelWarn
	}
	options := &slog.HandlerOptions{Level: level}
	var log slog.Handler = slog.NewJSONHandler(w.env.stderr, options)
	if w.env.terminal {
		log = slog.NewTextHandler(w.env.stderr, options)
	}
	s, err := server.Open(ctx, cfg, server.WithLogger(slog.New(log)))
	if err != nil {
		return err
	}
	defer s.Close()
	out := serveResult{Data: cfg.Data}
	if out.AdminTokenFile, err = w.keepAdminToken(s, cfg.Data); err != nil {
		return err
	}
	l, err := s.Listen(ctx)
	if err != nil {
		return diag.New(diag.Failed, "cannot_listen", "cannot listen on %s: %w", cfg.Addr, err).Hint("add --addr 127.0.0.1:0 for a free port")
	}
	out.Addr, out.URL = l.Addr().String(), cfg.URL
	if out.URL == "" {
		out.URL = "http://" + out.Addr
		if cfg.TLS.Cert != "" {
			out.URL = "https://" + out.Addr
		}
	}
	if w.ui.JSON {
		line, err := json.Marshal(out)
		if err != nil {
			return err
		}
		w.ui.Raw(append(line, '\n'))
	} else {
		w.welcome(s, cfg, out)
	}
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	return s.Close()
}

// serveConfig is the file, with the flags on top of it.
func (w *world) serveConfig(c *cli.Context) (server.Config, error) {
	var cfg server.Config
	if file := c.String("config"); file != "" {
		path := scope.Absolute(w.WorkingDir, file)
		src, err := os.ReadFile(path)
		if err != nil {
			return cfg, diag.New(diag.Misuse, "config_unreadable", "reading configuration: %w", err)
		}
		if cfg, err = server.ParseConfig(src, path); err != nil {
			return cfg, err
		}
	}
	if addr := c.String("addr"); addr != "" {
		cfg.Addr = addr
	}
	if cfg.Addr == "" {
		cfg.Addr = server.DefaultAddr
	}
	if dir := c.String("data"); dir != "" {
		cfg.Data = scope.Absolute(w.Cwd, dir)
	}
	if cfg.Data == "" {
		cfg.Data = w.defaultData()
	}
	cfg.Access.Open = cfg.Access.Open || c.Bool("open")
	for flag, part := range map[string]string{"db": "meta.db", "blobs": "blobs"} {
		if err := w.inData(flag, c.String(flag), filepath.Join(cfg.Data, part)); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// inData accepts the one place where a part of the data can be.
func (w *world) inData(flag, text, place string) error {
	scheme, rest, ok := strings.Cut(text, ":")
	switch {
	case text == "":
		return nil
	case ok && len(scheme) > 1 && scheme != "sqlite" && scheme != "file":
		return diag.New(diag.Misuse, "not_supported", "--%s: this version keeps its data in files, not in %s", flag, diag.Printable(scheme)).
			Hint("skl registry serve --data DIR")
	case ok && len(scheme) > 1:
		text = strings.TrimPrefix(rest, "//")
	}
	if scope.Absolute(w.Cwd, text) != place {
		return diag.New(diag.Misuse, "not_supported", "--%s: it is %s, and nowhere else", flag, w.Short(place)).Hint("skl registry serve --data DIR")
	}
	return nil
}

// adminTokenFile keeps the first token until somebody takes it away.
func adminTokenFile(data string) string { return filepath.Join(data, "admin-token") }

// keepAdminToken writes the token of the first start to a file of mode 0600, so that it is not lost if the
// start fails. It returns the file, also one from before, "" if there is none.
func (w *world) keepAdminToken(s *server.Server, data string) (string, error) {
	file := adminTokenFile(data)
	if s.AdminToken != "" {
		return file, durable.WriteFile(file, []byte(s.AdminToken+"\n"), 0o600)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return file, nil
}

// showsToken reports whether a person, and no log, reads what goes to stderr.
func (w *world) showsToken() bool { return w.env.terminal && !w.ui.JSON }

// welcome says what runs where and what to type next.
func (w *world) welcome(s *server.Server, cfg server.Config, out serveResult) {
	w.ui.Print("registry at %s, data in %s", out.URL, w.Short(cfg.Data))
	switch {
	case cfg.Access.Open:
		w.ui.Note("anybody on this machine reads, writes and deletes anything here (--open)")
		w.ui.Hint("skl registry clients --registry %s", out.URL)
		return
	case s.AdminToken != "" && w.showsToken():
		w.ui.Warn("this is the admin token, which is shown once and stored nowhere: %s", s.AdminToken)
		os.Remove(out.AdminTokenFile)
		w.ui.Hint("skl login %s --default", out.URL)
	case out.AdminTokenFile != "":
		w.ui.Note("the admin token is in %s", w.Short(out.AdminTokenFile))
		w.ui.Hint("skl login %s --default --token-stdin < %s", out.URL, w.Short(out.AdminTokenFile))
	default:
		w.ui.Hint("skl login %s --default", out.URL)
	}
	w.ui.Hint("skl registry namespace create NAME    skl publish DIR NAME/SKILL@1.0.0")
}
