// Image writes the container image of a release, for each architecture of Linux, as an OCI image layout that "crane push"
// takes. It holds what registry/deploy/Containerfile builds: the program, certificate authorities, the configuration of
// a registry, and empty folders for data and scratch files; there is no shell in it.
//
//	image -version 1.4.2 -commit ID -date TIME -deploy registry/deploy -amd64 FILE -arm64 FILE OUT
//
// The authorities are those of golang.org/x/crypto/x509roots, at the version in go.mod, so that the same input gives the same digests.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"

	user = 65532 // owns /data and runs the program
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type config struct {
	Created time.Time `json:"created"`
	platform
	Config struct {
		User         string
		ExposedPorts map[string]struct{}
		Env          []string
		Entrypoint   []string
		Cmd          []string
		Volumes      map[string]struct{}
		Labels       map[string]string
		StopSignal   string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []history `json:"history"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// A release is what the image says of itself.
type release struct {
	version, commit string
	date            time.Time
}

// A layout is an OCI image layout in a directory.
type layout string

func main() {
	log.SetFlags(0)
	log.SetPrefix("image: ")
	version := flag.String("version", "", "`VERSION` of the release")
	commit := flag.String("commit", "", "`ID` of the commit")
	date := flag.String("date", "", "`TIME` of the commit, in the form of RFC 3339")
	deploy := flag.String("deploy", "../../registry/deploy", "`DIR` with registry.toml")
	programs := map[string]*string{"amd64": flag.String("amd64", "", "`FILE` with the program"), "arm64": flag.String("arm64", "", "`FILE` with the program")}
	flag.Parse()
	day, err := time.Parse(time.RFC3339, *date)
	if *version == "" || flag.NArg() != 1 || *programs["amd64"] == "" || *programs["arm64"] == "" || err != nil {
		flag.Usage()
		os.Exit(2)
	}
	digest, err := write(layout(flag.Arg(0)), release{*version, *commit, day.UTC()}, *deploy, programs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(digest)
}

// write makes the layout and returns the digest of the image.
func write(to layout, r release, deploy string, programs map[string]*string) (string, error) {
	registry, err := os.ReadFile(filepath.Join(deploy, "registry.toml"))
	if err != nil {
		return "", err
	}
	base, err := archive(r.date, authorities(), registry)
	if err != nil {
		return "", err
	}
	image := index{SchemaVersion: 2, MediaType: typeIndex, Annotations: r.labels()}
	for _, arch := range []string{"amd64", "arm64"} {
		program, err := os.ReadFile(*programs[arch])
		if err != nil {
			return "", err
		}
		top, err := programLayer(r.date, program)
		if err != nil {
			return "", err
		}
		d, err := to.image(r, platform{arch, "linux"}, base, top)
		if err != nil {
			return "", err
		}
		image.Manifests = append(image.Manifests, d)
	}
	// The index of the layout is that of the image, so that pushing the layout pushes these very bytes.
	text, err := json.Marshal(image)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), errors.Join(os.WriteFile(filepath.Join(string(to), "index.json"), text, 0o644),
		os.WriteFile(filepath.Join(string(to), "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
}

func (r release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "skl",
		"org.opencontainers.image.description": "a registry of agent skills, and the program skl",
		"org.opencontainers.image.source":      "https://github.com/skl-project/skl",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.date.Format(time.RFC3339),
	}
}

// image writes the image of one platform.
func (to layout) image(r release, p platform, layers ...layer) (descriptor, error) {
	c := config{Created: r.date, platform: p}
	c.Config.User = fmt.Sprintf("%d:%d", user, user)
	c.Config.ExposedPorts = map[string]struct{}{"5080/tcp": {}}
	c.Config.Env = []string{"PATH=/"}
	c.Config.Entrypoint = []string{"/skl"}
	c.Config.Cmd = []string{"registry", "serve", "--config", "/etc/skl/registry.toml"}
	c.Config.Volumes = map[string]struct{}{"/data": {}}
	c.Config.Labels = r.labels()
	c.Config.StopSignal = "SIGTERM"
	c.RootFS.Type = "layers"
	m := manifest{SchemaVersion: 2, MediaType: typeManifest, Annotations: r.labels()}
	for _, l := range layers {
		d, err := to.blob(typeLayer, l.packed)
		if err != nil {
			return descriptor{}, err
		}
		m.Layers = append(m.Layers, d)
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, l.diff)
		c.History = append(c.History, history{r.date, l.what})
	}
	var err error
	if m.Config, err = to.json(typeConfig, c); err != nil {
		return descriptor{}, err
	}
	d, err := to.json(typeManifest, m)
	d.Platform = &p
	return d, err
}

func (to layout) json(mediaType string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return to.blob(mediaType, text)
}

func (to layout) blob(mediaType string, data []byte) (descriptor, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	dir := filepath.Join(string(to), "blobs", "sha256")
	d := descriptor{MediaType: mediaType, Digest: "sha256:" + name, Size: int64(len(data))}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return d, err
	}
	return d, os.WriteFile(filepath.Join(dir, name), data, 0o644)
}

// A layer is an archive of files.
type layer struct {
	what   string // for the history
	diff   string // digest of the archive before it is compressed
	packed []byte
}

// A file of a layer; a name that ends in "/" is a folder.
type file struct {
	name  string
	mode  int64
	owner int
	data  []byte
}

// archive is the layer that all architectures have in common.
func archive(at time.Time, authorities, registry []byte) (layer, error) {
	return pack("certificate authorities, registry.toml, folders", at, []file{
		{"data/", 0o700, user, nil},
		{"etc/", 0o755, 0, nil},
		{"etc/skl/", 0o755, 0, nil},
		{"etc/skl/registry.toml", 0o644, 0, registry},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities},
		{"tmp/", 0o700, user, nil},
	})
}

func programLayer(at time.Time, program []byte) (layer, error) {
	return pack("skl", at, []file{{"skl", 0o755, 0, program}})
}

func pack(what string, at time.Time, files []file) (layer, error) {
	var packed bytes.Buffer
	plain, small := sha256.New(), gzip.NewWriter(&packed)
	w := tar.NewWriter(io.MultiWriter(plain, small))
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return layer{}, err
		}
		if _, err := w.Write(f.data); err != nil {
			return layer{}, err
		}
	}
	err := errors.Join(w.Close(), small.Close())
	return layer{what, "sha256:" + hex.EncodeToString(plain.Sum(nil)), packed.Bytes()}, err
}

// authorities are the certificate authorities that have no further conditions: programs that read this file know none.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}
