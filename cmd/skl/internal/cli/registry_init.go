package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/deploy"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
)

type initRegistryResult struct {
	Files []initFile `json:"files"`
}

type initFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

func initRegistryCommand() command {
	return command{name: "init", usage: "write a commented registry.toml", output: initRegistryResult{}, run: initRegistry,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "clients reach it by `URL`"},
			&cli.StringFlag{Name: "addr", Usage: "listen on `HOST:PORT`"},
			&cli.StringFlag{Name: "data", Usage: "keep everything in `DIR`"},
			&cli.StringFlag{Name: "tls", Usage: "end TLS with `CERT,KEY|proxy`: two PEM files, or something in front"},
			&cli.StringFlag{Name: "oidc", Usage: "not in this version: `ISSUER` of identities"},
			&cli.StringFlag{Name: "client-id", Usage: "not in this version: `ID` at the issuer"},
			&cli.BoolFlag{Name: "systemd", Usage: "also write skl-registry.service"},
			&cli.BoolFlag{Name: "compose", Usage: "also write compose.yaml"},
			dryRunFlag(),
		}}
}

func initRegistry(_ context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry init --url URL"); err != nil {
		return err
	}
	cfg, err := w.initConfig(c)
	if err != nil {
		return err
	}
	out := initRegistryResult{Files: []initFile{{"registry.toml", string(server.Template(cfg))}}}
	if c.Bool("systemd") {
		out.Files = append(out.Files, initFile{"skl-registry.service", deploy.Service})
	}
	if c.Bool("compose") {
		out.Files = append(out.Files, initFile{"compose.yaml", composeFile(cfg)})
	}
	for i := range out.Files {
		out.Files[i].Path = filepath.Join(w.Cwd, out.Files[i].Path)
		if _, err := os.Lstat(out.Files[i].Path); err == nil {
			return diag.New(diag.Misuse, "exists", "%s is there already", w.Short(out.Files[i].Path)).Hint("edit it, or move it away")
		}
	}
	for _, f := range out.Files {
		if c.Bool("dry-run") {
			continue
		}
		if err := placeFile(f.Path, f.Text); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	for _, f := range out.Files {
		if c.Bool("dry-run") {
			w.ui.Raw([]byte(f.Text))
		} else {
			w.ui.Print("wrote %s", w.Short(f.Path))
		}
	}
	if c.Bool("dry-run") {
		w.ui.Note("nothing was written (--dry-run)")
		return nil
	}
	w.ui.Hint("skl registry serve --config %s", w.Short(out.Files[0].Path))
	return nil
}

// placeFile writes a file that is not there.
func placeFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return durable.WriteFile(path, []byte(text), fs.FileMode(0o644))
}

// initConfig is what the flags say, checked as serve will.
func (w *world) initConfig(c *cli.Context) (server.Config, error) {
	cfg := server.Config{URL: strings.TrimSuffix(c.String("url"), "/"), Addr: c.String("addr"), Data: c.String("data")}
	if c.String("oidc") != "" || c.String("client-id") != "" {
		return cfg, diag.New(diag.Misuse, "not_supported", "this version knows no identities of an issuer").Hint("skl registry token create")
	}
	switch tls := c.String("tls"); tls {
	case "":
	case "auto":
		return cfg, diag.New(diag.Misuse, "not_supported", "this version does not get certificates by itself").Hint("--tls CERT,KEY, or --tls proxy and --compose, where the proxy gets one")
	case "proxy":
		cfg.TLS.Proxy = true
	default:
		cert, key, ok := strings.Cut(tls, ",")
		if !ok || cert == "" || key == "" {
			return cfg, diag.New(diag.Misuse, "usage", "--tls is CERT,KEY or proxy, not %q", tls)
		}
		cfg.TLS.Cert, cfg.TLS.Key = cert, key
	}
	if c.Bool("compose") {
		if cfg.Addr != "" || cfg.Data != "" || cfg.TLS.Cert != "" {
			return cfg, diag.New(diag.Misuse, "usage", "--compose decides about --addr, --data and --tls by itself")
		}
		cfg.Addr, cfg.Data, cfg.TLS.Proxy = "0.0.0.0:5080", "/data", true
	}
	if c.Bool("systemd") && cfg.Data == "" {
		cfg.Data = "/var/lib/skl-registry"
	}
	if cfg.TLS.Cert != "" && cfg.Addr == "" {
		cfg.Addr = "0.0.0.0:443"
	}
	return cfg, cfg.Check()
}

// composeFile runs a registry of this file behind a proxy that gets a certificate for its URL.
func composeFile(cfg server.Config) string {
	host := hostOf(cfg.URL)
	if host == "" {
		host = "${SKL_HOST:?set the name of your host}"
	}
	return fmt.Sprintf(`# Start it with: docker compose up -d
# The admin token of the first start is in the volume: docker compose cp registry:/data/admin-token .
# The image is made by: docker build -f registry/deploy/Containerfile -t skl-registry .
services:
  registry:
    image: skl-registry
    volumes:
      - ./registry.toml:/etc/skl/registry.toml:ro
      - data:/data
    expose: ["5080"]
    read_only: true
    tmpfs: ["/tmp:size=256m,mode=1777"]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    stop_grace_period: 40s
    restart: unless-stopped

  proxy:
    image: docker.io/library/caddy:2
    command: caddy reverse-proxy --from %s --to registry:5080
    ports: ["80:80", "443:443"]
    volumes:
      - proxy:/data
    restart: unless-stopped
    depends_on: [registry]

volumes:
  data:
  proxy:
`, host)
}
