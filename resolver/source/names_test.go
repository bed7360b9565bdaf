package source_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/resolver/source/local"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/bundle/bundletest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
)

const skillMD = "---\nname: pdf\ndescription: reads PDF files\n---\n"

// One table of names is held against every source: what one refuses, all refuse, with the same code, and
// nothing of that name reaches the sink.
func TestEverySourceRefusesTheSameNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not let some of the names be made")
	}
	gittest.Need(t)
	sources := map[string]func(t *testing.T, name string, sink bundle.Sink) error{
		"git": fromGit, "folder": fromFolder, "tar": fromTar, "zip": fromZip, "oci": fromOCI, "oci, a layer for each file": fromRawOCI,
	}
	repository = gittest.Init(t, "names")
	for source, fetch := range sources {
		t.Run(source, func(t *testing.T) {
			for _, n := range append(bundletest.Names(), bundletest.Name{Path: "fine.md"}) {
				if n.Nowhere && (source == "folder" || source == "git") {
					continue
				}
				if source == "folder" && (filepath.Base(n.Path) == ".git" || n.Path == ".git/config") {
					continue // a folder's own repository is left out, not refused
				}
				if strings.HasPrefix(source, "oci, a layer") && strings.Contains(n.Path, "\xff") {
					continue // JSON cannot hold it
				}
				seen := &paths{}
				guard := bundle.NewGuard(seen, bundle.InstallLimits)
				err := fetch(t, n.Path, guard)
				if err == nil {
					_, err = guard.Close()
				}
				if n.Code == "" && err != nil || n.Code != "" && !errors.Is(err, diag.Code(n.Code)) {
					t.Errorf("%q: %v, want %q", n.Path, err, n.Code)
				}
				if n.Code != "" && slices.Contains(seen.all, n.Path) {
					t.Errorf("%q reached the sink", n.Path)
				}
			}
		})
	}
}

type paths struct{ all []string }

func (p *paths) File(path string, _ bool, _ int64, r io.Reader) error {
	p.all = append(p.all, path)
	_, err := io.Copy(io.Discard, r)
	return err
}

func (p *paths) Link(path, _ string) error { p.all = append(p.all, path); return nil }

var repository string // of fromGit

// fromGit writes trees as git would not: object by object.
func fromGit(t *testing.T, name string, sink bundle.Sink) error {
	blob := gittest.Input(t, repository, []byte(skillMD), "hash-object", "-w", "--stdin")
	root := rawTree(t, append([]string{"SKILL.md"}, strings.Split(name, "/")...), blob)
	commit := gittest.Git(t, repository, "commit-tree", "-m", "names", root)
	s := &git.Source{Git: "-"}
	return s.Fetch(context.Background(), lock.Skill{URL: "file://" + filepath.ToSlash(repository), Commit: ref.Commit(commit)}, sink)
}

// rawTree has the file elems[0], and the path of the others.
func rawTree(t *testing.T, elems []string, blob string) string {
	id, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	line := func(mode, name string, id []byte) string { return mode + " " + name + "\x00" + string(id) }
	first := elems[1]
	mode, at := "100644", id
	for i := len(elems) - 1; i > 1; i-- {
		sub := gittest.Input(t, repository, []byte(line(mode, elems[i], at)), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
		mode = "40000"
		if at, err = hex.DecodeString(sub); err != nil {
			t.Fatal(err)
		}
	}
	lines := []string{line("100644", elems[0], id), line(mode, first, at)}
	key := first
	if mode == "40000" {
		key += "/"
	}
	if key < elems[0] {
		slices.Reverse(lines)
	}
	return gittest.Input(t, repository, []byte(strings.Join(lines, "")), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
}

func fromFolder(t *testing.T, name string, sink bundle.Sink) error {
	dir := t.TempDir()
	for p, text := range map[string]string{"SKILL.md": skillMD, name: "text"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &local.Source{Dir: dir}
	return s.Fetch(context.Background(), lock.Skill{URL: dir}, sink)
}

func fromTar(t *testing.T, name string, sink bundle.Sink) error {
	return fromFile(t, "x.tar.gz", tarGz(t, "", "SKILL.md", name), sink)
}

func tarGz(t *testing.T, below string, names ...string) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, n := range names {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: below + n, Size: int64(len(skillMD)), Mode: 0o644}
		if strings.Contains(n, "\xff") {
			h.Format = tar.FormatGNU
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, skillMD)
	}
	w.Close()
	z.Close()
	return buf.Bytes()
}

func fromZip(t *testing.T, name string, sink bundle.Sink) error {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, n := range []string{"SKILL.md", name} {
		h := &zip.FileHeader{Name: n}
		h.SetMode(0o644)
		e, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(e, skillMD)
	}
	w.Close()
	return fromFile(t, "x.zip", buf.Bytes(), sink)
}

func fromFile(t *testing.T, file string, data []byte, sink bundle.Sink) error {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
		t.Fatal(err)
	}
	s := &local.Source{Dir: dir}
	return s.Fetch(context.Background(), lock.Skill{URL: filepath.Join(dir, file)}, sink)
}

func fromOCI(t *testing.T, name string, sink bundle.Sink) error {
	return fromLayers(t, sink, v1.Descriptor{MediaType: oci.ConfigSkill, Digest: oci.DigestOf([]byte("{}")), Size: 2},
		[]string{""}, [][]byte{tarGz(t, "", "SKILL.md", name)})
}

func fromRawOCI(t *testing.T, name string, sink bundle.Sink) error {
	return fromLayers(t, sink, v1.DescriptorEmptyJSON, []string{"SKILL.md", name}, [][]byte{[]byte(skillMD), []byte("text")})
}

func fromLayers(t *testing.T, sink bundle.Sink, config v1.Descriptor, titles []string, layers [][]byte) error {
	m := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: oci.ArtifactSkill, Config: config}
	for i, data := range layers {
		d := v1.Descriptor{MediaType: oci.LayerSkill, Digest: oci.DigestOf(data), Size: int64(len(data))}
		if titles[i] != "" {
			d.MediaType, d.Annotations = "text/plain", map[string]string{v1.AnnotationTitle: titles[i]}
		}
		m.Layers = append(m.Layers, d)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	a, err := oci.Read(m.MediaType, text)
	if err != nil {
		return err
	}
	return a.Unpack(func(d v1.Descriptor) (oci.Content, error) {
		for i := range m.Layers {
			if m.Layers[i].Digest == d.Digest {
				return oci.Bytes(layers[i]), nil
			}
		}
		return nil, fmt.Errorf("no layer %s", d.Digest)
	}, sink)
}
