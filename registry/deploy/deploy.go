// Package deploy holds the files that run a registry as a service; "skl registry init" writes them.
package deploy

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

//go:embed skl-registry.service
var service string

// Service is the systemd unit skl-registry.service. Low says that it listens on a port below 1024, which takes a right.
func Service(low bool) string {
	if !low {
		return service
	}
	const rights, bind = "CapabilityBoundingSet=\nAmbientCapabilities=\n", "CAP_NET_BIND_SERVICE\n"
	return strings.Replace(service, rights, strings.ReplaceAll(rights, "\n", bind), 1)
}

//go:embed *.tmpl all:chart
var files embed.FS

// A File is one that is written, with a path relative to where.
type File struct{ Path, Text string }

// Together are processes of one registry on one machine, with what they share, in containers.
type Together struct {
	Host        string   // that the proxy answers to, as its configuration names it: with http:// it has no certificate
	Replicas    []string // names
	OwnDatabase bool     // PostgreSQL is one of the containers, at DatabaseURL
	OwnBucket   bool     // S3 is one of the containers, at BucketURL
}

// Addresses of a database, with its password, and of a bucket that are containers.
const (
	DatabaseURL = "postgres://skl:%s@127.0.0.1:5432/skl?sslmode=disable"
	BucketURL   = "s3://skl?endpoint=http://127.0.0.1:7070"
)

// firstPort is that of the first replica on loopback; the others have the next ones.
const firstPort = 5081

// Alone is compose.yaml of one process, behind a proxy that gets a certificate for the host of a URL; "" is one that is named when it starts. It
// reads registry.toml, which the caller writes.
func Alone(url string) ([]File, error) {
	_, host, _ := strings.Cut(url, "://")
	return fill(cmp.Or(host, "${SKL_HOST:?set the name of your host}"), File{"compose.yaml", "alone.yaml.tmpl"})
}

// Compose is compose.yaml, and Caddyfile of its proxy. Each replica reads registry.toml and registry.env, which the caller writes.
func (d Together) Compose() ([]File, error) {
	return fill(d, File{"compose.yaml", "replicas.yaml.tmpl"}, File{"Caddyfile", "Caddyfile.tmpl"})
}

// fill makes files whose texts are names of templates.
func fill(data any, from ...File) (out []File, err error) {
	for _, f := range from {
		t, err := template.New(f.Text).Funcs(template.FuncMap{"port": func(n int) int { return firstPort + n }}).ParseFS(files, f.Text)
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		if err := t.Execute(&text, data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		out = append(out, File{f.Path, text.String()})
	}
	return out, nil
}

// ChartDir is where [Chart] puts its files.
const ChartDir = "skl-registry"

// Chart is a Helm chart of that many replicas, which clients reach by the name of a host. It needs a registry.toml as well, and a secret
// of the cluster with the address of the database.
func Chart(host string, replicas int) ([]File, error) {
	var out []File
	err := fs.WalkDir(files, "chart", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Base(name) == "values.yaml" {
			text = []byte(strings.NewReplacer(`host: "skills.example"`, fmt.Sprintf("host: %q", host), "\nreplicas: 2\n", fmt.Sprintf("\nreplicas: %d\n", replicas)).Replace(string(text)))
		}
		out = append(out, File{path.Join(ChartDir, strings.TrimPrefix(name, "chart/")), string(text)})
		return nil
	})
	return out, err
}
