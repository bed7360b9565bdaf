package admin

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io/fs"
	"net"
	"net/url"
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
	Database, Blobs  string // postgres://…, s3://…; "" is in Data
	TLS              string // CERT,KEY or proxy
	Issuer, ClientID string // of identities, which this version refuses
	Systemd          bool   // also a unit of systemd
	Compose          bool   // also a file for docker compose
	Helm             bool   // a chart for Kubernetes
	Replicas         int    // of processes that share what they keep; 0 is not said
	DryRun           bool
}

// Prepared is the files that a registry starts with, registry.toml first.
type Prepared struct {
	Files []PreparedFile `json:"files"`
}

// A PreparedFile is one of them. The text of one that holds secrets is kept back, and nobody else may read it.
type PreparedFile struct {
	Path   string `json:"path"`
	Text   string `json:"text,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	hidden string // Text of a secret one
}

// Init writes a commented registry.toml and what else is asked for. It overwrites nothing.
func (a *Admin) Init(r InitRequest) (Prepared, error) {
	cfg, err := r.config()
	if err != nil {
		return Prepared{}, err
	}
	var others []PreparedFile
	dir := "" // of registry.toml
	switch {
	case r.Helm:
		dir = deploy.ChartDir
		if others, err = r.chart(&cfg); err != nil {
			return Prepared{}, err
		}
	case r.together():
		if others, err = r.replicas(&cfg); err != nil {
			return Prepared{}, err
		}
	case r.Compose:
		files, err := deploy.Alone(cfg.URL)
		if err != nil {
			return Prepared{}, err
		}
		others = prepared(files)
	case holdsPassword(cfg.DB.URL):
		others = append(others, PreparedFile{Path: "db.url", Secret: true, hidden: cfg.DB.URL + "\n"})
		cfg.DB.URL, cfg.DB.URLFile = "", "db.url"
	}
	out := Prepared{Files: []PreparedFile{{Path: filepath.Join(dir, "registry.toml"), Text: string(server.Template(cfg))}}}
	if r.Systemd {
		out.Files = append(out.Files, PreparedFile{Path: "skl-registry.service", Text: deploy.Service(lowPort(cfg.Addr))})
	}
	out.Files = append(out.Files, others...)
	for i := range out.Files {
		name := out.Files[i].Path
		out.Files[i].Path = filepath.Join(a.Scope.Cwd, name)
		if dir != "" && strings.HasPrefix(name, dir) {
			name = dir // a directory of its own, and no link to another
		}
		taken := filepath.Join(a.Scope.Cwd, name)
		if _, err := os.Lstat(taken); err == nil {
			return Prepared{}, diag.New(diag.Misuse, "exists", "%s is there already", a.Scope.Short(taken)).Hint("edit it, or move it away")
		}
	}
	if r.DryRun {
		return out, nil
	}
	for _, f := range out.Files {
		if err := placeFile(f); err != nil {
			return Prepared{}, err
		}
	}
	return out, nil
}

// chart are the files for Kubernetes beside registry.toml. The address of the database leaves cfg, for a secret of the cluster.
func (r InitRequest) chart(cfg *server.Config) ([]PreparedFile, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	files, err := deploy.Chart(u.Hostname(), cmp.Or(r.Replicas, 2))
	if err != nil {
		return nil, err
	}
	secrets := "# For a secret of the cluster: nobody else may read this file.\nSKL_DB=" + cfg.DB.URL + "\n" + keyless
	cfg.DB.URL = ""
	return append(prepared(files), PreparedFile{Path: "registry.env", Secret: true, hidden: secrets}), nil
}

// lowPort reports whether an address has a port that not everybody may listen on.
func lowPort(addr string) bool {
	_, port, _ := net.SplitHostPort(addr)
	n, err := net.LookupPort("tcp", port)
	return err == nil && n > 0 && n < 1024
}

func prepared(files []deploy.File) (out []PreparedFile) {
	for _, f := range files {
		out = append(out, PreparedFile{Path: f.Path, Text: f.Text})
	}
	return out
}

// keyless stands in a file of secrets for the key of a bucket, which is not known.
const keyless = "# The key of the bucket, unless the machine has a role that may use it:\n# AWS_ACCESS_KEY_ID=\n# AWS_SECRET_ACCESS_KEY=\n"

// together reports whether many processes are asked for.
func (r InitRequest) together() bool { return r.Compose && (r.Replicas > 1 || r.Database != "") }

// replicas are the files of many processes on one machine. What these are told in another way leaves cfg.
func (r InitRequest) replicas(cfg *server.Config) ([]PreparedFile, error) {
	d := deploy.Together{Host: strings.TrimPrefix(cfg.URL, "https://"), OwnDatabase: r.Database == "", OwnBucket: r.Blobs == ""}
	for n := range cmp.Or(r.Replicas, 2) {
		d.Replicas = append(d.Replicas, fmt.Sprintf("replica-%d", n+1))
	}
	secrets := []string{"# Secrets of compose.yaml: nobody else may read this file."}
	add := func(name, value string) {
		secrets = append(secrets, name+"='"+strings.ReplaceAll(value, "'", "%27")+"'")
	}
	if d.OwnDatabase {
		password := rand.Text()
		add("POSTGRES_USER", "skl")
		add("POSTGRES_DB", "skl")
		add("POSTGRES_PASSWORD", password)
		cfg.DB.URL = fmt.Sprintf(deploy.DatabaseURL, password)
	}
	add("SKL_DB", cfg.DB.URL)
	cfg.DB.URL = ""
	if d.OwnBucket {
		key, secret := rand.Text(), rand.Text()
		for _, name := range []string{"ROOT_ACCESS_KEY", "AWS_ACCESS_KEY_ID"} {
			add(name, key)
		}
		for _, name := range []string{"ROOT_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"} {
			add(name, secret)
		}
		cfg.Blobs.URL = deploy.BucketURL
	} else {
		secrets = append(secrets, strings.TrimSuffix(keyless, "\n"))
	}
	files, err := d.Compose()
	if err != nil {
		return nil, err
	}
	return append(prepared(files), PreparedFile{Path: "registry.env", Secret: true, hidden: strings.Join(secrets, "\n") + "\n"}), nil
}

// holdsPassword reports whether an address does, or may.
func holdsPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Query().Has("password") || u.Query().Has("sslpassword") {
		return address != ""
	}
	_, has := u.User.Password()
	return has
}

// placeFile writes a file that is not there.
func placeFile(p PreparedFile) error {
	mode := fs.FileMode(0o644)
	if p.Secret {
		mode = 0o600
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(p.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return durable.WriteFile(p.Path, []byte(p.Text+p.hidden), mode)
}

// config is what a request asks for, checked as serve will.
func (r InitRequest) config() (server.Config, error) {
	cfg := server.Config{URL: strings.TrimSuffix(r.URL, "/"), Addr: r.Addr, Data: r.Data, DB: server.DB{URL: r.Database}, Blobs: server.Blobs{URL: r.Blobs}}
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
	switch {
	case r.Replicas != 0 && (r.Replicas < 1 || r.Replicas > 9):
		return cfg, diag.New(diag.Misuse, "usage", "--replicas is a number from 1 to 9, not %d", r.Replicas)
	case r.Replicas > 1 && !r.Compose && !r.Helm:
		return cfg, diag.New(diag.Misuse, "usage", "--replicas is for --compose and --helm")
	case r.Systemd && r.Compose:
		return cfg, diag.New(diag.Misuse, "usage", "a registry is run by systemd or in containers: --systemd or --compose")
	case r.Systemd && r.Data != "":
		return cfg, diag.New(diag.Misuse, "usage", "--systemd decides about --data by itself: the unit lets the registry write to /var/lib/skl-registry alone")
	case r.Helm && (r.Compose || r.Systemd):
		return cfg, diag.New(diag.Misuse, "usage", "--helm is for Kubernetes alone, without --compose and --systemd")
	case r.Helm && (cfg.Addr != "" || cfg.Data != "" || cfg.TLS.Cert != ""):
		return cfg, diag.New(diag.Misuse, "usage", "--helm decides about --addr, --data and --tls by itself")
	case r.Helm && (!strings.HasPrefix(cfg.URL, "https://") || r.Database == "" || r.Blobs == ""):
		return cfg, diag.New(diag.Misuse, "usage", "--helm needs the address by which clients come, and those of a database and a bucket: pods keep nothing").
			Hint("skl registry init --helm --url https://HOST --db URL --blobs URL")
	case r.Helm:
		cfg.Addr, cfg.Data, cfg.TLS.Proxy = "0.0.0.0:5080", "/data", true
	case r.together() && (r.Database == "") != (r.Blobs == ""):
		return cfg, diag.New(diag.Misuse, "usage", "replicas share a database and a bucket, so --db and --blobs go together").
			Hint("without both, --compose --replicas 2 has containers for them")
	case r.together() && cfg.URL == "":
		return cfg, diag.New(diag.Misuse, "usage", "--compose with replicas needs the address by which clients reach the proxy").Hint("skl registry init --url https://HOST --compose --replicas 2")
	case r.together():
		cfg.Addr = "" // each has its own
	}
	if err := cfg.CheckPlaces(); err != nil {
		return cfg, err
	}
	if r.Systemd && cfg.Data == "" {
		cfg.Data = "/var/lib/skl-registry"
	}
	if cfg.TLS.Cert != "" && cfg.Addr == "" {
		cfg.Addr = "0.0.0.0:443"
	}
	return cfg, cfg.Check()
}
