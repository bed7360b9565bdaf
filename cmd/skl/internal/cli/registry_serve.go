package cli

import (
	"context"
	"log/slog"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/memory"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

func serveRegistryCommand() command {
	return command{name: "serve", memory: memory.Server, usage: "serve a registry from a directory", output: admin.Serving{}, run: serveRegistry,
		example: "skl registry serve\nskl registry serve --addr 127.0.0.1:0 --data ./data --json\nskl registry serve --config registry.toml\n" +
			"skl registry serve --db 'postgres://skl:PASSWORD@db.example/skl?sslmode=verify-full' --blobs 's3://skills?region=eu-west-1'",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "addr", Usage: "listen on `HOST:PORT` (default " + admin.DefaultAddr + "); port 0 takes a free one"},
			&cli.StringFlag{Name: "data", Usage: "keep everything in `DIR` (default: registry in skl's data directory)"},
			&cli.StringFlag{Name: "config", Usage: "read registry.toml from `FILE`"},
			&cli.BoolFlag{Name: "open", Usage: "anybody reads, writes and deletes anything; on loopback only"},
			&cli.StringFlag{Name: "db", Usage: "keep the metadata in the PostgreSQL database of `URL`: postgres://… (default: meta.db in the data directory)"},
			&cli.StringFlag{Name: "blobs", Usage: "keep the blobs in the bucket of `URL`: s3://bucket/prefix?endpoint=https://… (default: blobs in the data directory)"},
		}}
}

func serveRegistry(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "registry serve takes no arguments").Hint("skl registry serve --data DIR")
	}
	return w.admin().Serve(ctx, admin.ServeRequest{Config: c.String("config"), Addr: c.String("addr"), Data: c.String("data"), Open: c.Bool("open"), Version: build.Current().Version,
		Database: c.String("db"), Blobs: c.String("blobs"), Log: w.logHandler(), Ready: w.serving})
}

// logHandler writes a log for people to a terminal, and JSON to anything else.
func (w *world) logHandler() slog.Handler {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if w.ui.Quiet {
		options.Level = slog.LevelWarn
	}
	if w.env.terminal {
		return draw.NewLog(options.Level.Level(), w.ui.ErrLook, w.ui.Show)
	}
	return slog.NewJSONHandler(w.env.stderr, options)
}

// serving says what runs where and what to type next; programs get one line of JSON.
func (w *world) serving(s admin.Serving) error {
	return report.Report{Result: s, Streamed: true, Text: func(say *report.Text) {
		say.Print("registry at %s, data in %s", s.URL, w.scope.Short(s.Data))
		switch {
		case s.Open:
			say.Note("anybody on this machine reads, writes and deletes anything here (--open)")
			say.Hint("skl registry clients --registry %s", s.URL)
			return
		case s.AdminToken != "" && w.env.terminal: // a person, and no log, reads what goes to stderr
			say.Aside(func(screen.Look) string {
				s.Shown() // if its file stays, registry doctor says so
				return "\nadmin token, shown this once and stored nowhere:\n" + diag.Printable(s.AdminToken) + "\n\n"
			}, nil)
			say.Hint("skl login %s --default", s.URL)
		case s.AdminTokenFile != "":
			say.Note("the admin token is in %s", w.scope.Short(s.AdminTokenFile))
			say.Hint("skl login %s --default --token-stdin < %s", s.URL, w.scope.Short(s.AdminTokenFile))
		default:
			say.Hint("skl login %s --default", s.URL)
		}
		say.Hint("skl registry namespace create NAME    skl publish DIR NAME/SKILL@1.0.0")
	}}.Write(w.ui)
}
