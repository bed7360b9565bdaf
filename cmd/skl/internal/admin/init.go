package admin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/deploy"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
)

// An InitRequest asks for the files that a registry starts with, in the working directory.
type InitRequest struct {
	URL, Addr, Data  string
	TLS              string // CERT,KEY or proxy
	Issuer, ClientID string // of identities, which this version refuses
	Systemd          bool   // also a unit of systemd
	Compose          bool   // also a file for docker compose
	DryRun           bool
}

// Prepared is the files that a registry starts with, registry.toml first.
type Prepared struct {
	Files []PreparedFile `json:"files"`
}

// A PreparedFile is one of them.
type PreparedFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Init writes a commented registry.toml and what else is asked for. It overwrites nothing.
func (a *Admin) Init(r InitRequest) (Prepared, error) {
	cfg, err := r.config()
	if err != nil {
		return Prepared{}, err
	}
	out := Prepared{Files: []PreparedFile{{"registry.toml", string(server.Template(cfg))}}}
	if r.Systemd {
		out.Files = append(out.Files, PreparedFile{"skl-registry.service", deploy.Service})
	}
	if r.Compose {
		out.Files = append(out.Files, PreparedFile{"compose.yaml", composeFile(cfg)})
	}
	for i := range out.Files {
		out.Files[i].Path = filepath.Join(a.Scope.Cwd, out.Files[i].Path)
		if _, err := os.Lstat(out.Files[i].Path); err == nil {
			return Prepared{}, diag.New(diag.Misuse, "exists", "%s is there already", a.Scope.Short(out.Files[i].Path)).Hint("edit it, or move it away")
		}
	}
	if r.DryRun {
		return out, nil
	}
	for _, f := range out.Files {
		if err := placeFile(f.Path, f.Text); err != nil {
			return Prepared{}, err
		}
	}
	return out, nil
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

// config is what a request asks for, checked as serve will.
func (r InitRequest) config() (server.Config, error) {
	cfg := server.Config{URL: strings.TrimSuffix(r.URL, "/"), Addr: r.Addr, Data: r.Data}
	if r.Issuer != "" || r.ClientID != "" {
		return cfg, diag.New(diag.Misuse, "not_supported", "this version knows no identities of an issuer").Hint("skl registry token create --name NAME --namespace NAMESPACE")
	}
	switch tls := r.TLS; tls {
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
	if r.Compose {
		if cfg.Addr != "" || cfg.Data != "" || cfg.TLS.Cert != "" {
			return cfg, diag.New(diag.Misuse, "usage", "--compose decides about --addr, --data and --tls by itself")
		}
		cfg.Addr, cfg.Data, cfg.TLS.Proxy = "0.0.0.0:5080", "/data", true
	}
	if r.Systemd && cfg.Data == "" {
		cfg.Data = "/var/lib/skl-registry"
	}
	if cfg.TLS.Cert != "" && cfg.Addr == "" {
		cfg.Addr = "0.0.0.0:443"
	}
	return cfg, cfg.Check()
}

// composeFile runs a registry of this file behind a proxy that gets a certificate for its URL.
func composeFile(cfg server.Config) string {
	_, host, _ := strings.Cut(cfg.URL, "://")
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
