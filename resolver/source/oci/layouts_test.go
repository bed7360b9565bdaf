package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/resolver/source/oci/ocitest"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/oci"
)

// pdf is a skill. Without a program in it, layouts that keep no modes have the same tree.
func pdf(name string, exec bool) fstest.MapFS {
	mode := fs.FileMode(0o644)
	if exec {
		mode = 0o755
	}
	return fstest.MapFS{
		"SKILL.md":        {Data: []byte("---\nname: " + name + "\ndescription: Fill PDF forms\nmetadata:\n  version: 0.9.0\n---\n# PDF\n"), Mode: 0o644},
		"scripts/fill.py": {Data: []byte("print(1)\n"), Mode: mode},
		"empty":           {Data: nil, Mode: 0o644},
	}
}

func treeOf(t testing.TB, fsys fs.FS) bundle.Digest {
	t.Helper()
	g := bundle.NewGuard(nil, bundle.Limits{})
	if err := bundle.FromFS(fsys, g); err != nil {
		t.Fatal(err)
	}
	sum, err := g.Close()
	if err != nil {
		t.Fatal(err)
	}
	return sum.Tree
}

// packed is a layer as other programs write it: with times and owners, entries as given.
func packed(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, h := range entries {
		content := h.Uname // a place for the content in a test's table
		h.Uname, h.Size = "someone", int64(len(content))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			w.Write([]byte(content))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return buf.Bytes()
}

// layerOf packs fsys below a directory, with entries for directories.
func layerOf(t testing.TB, fsys fstest.MapFS, below string) []byte {
	t.Helper()
	var entries []tar.Header
	if below != "" {
		entries = append(entries, tar.Header{Name: below + "/", Typeflag: tar.TypeDir, Mode: 0o755})
		below += "/"
	}
	for _, p := range slices.Sorted(maps.Keys(fsys)) {
		entries = append(entries, tar.Header{Name: below + p, Mode: int64(fsys[p].Mode), Uname: string(fsys[p].Data)})
	}
	return packed(t, entries...)
}

func pushManifest(r *ocitest.Registry, repo, artifactType string, config v1.Descriptor, annotations map[string]string, tag string, layers ...v1.Descriptor) v1.Descriptor {
	m := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: artifactType, Config: config, Layers: layers, Annotations: annotations}
	tags := []string{tag}
	if tag == "" {
		tags = nil
	}
	return r.Manifest(repo, v1.MediaTypeImageManifest, m, tags...)
}

// pushLayouts pushes the skill in every layout of the table, each to acme/<layout> with the tag 1.4.2, and returns their names.
func pushLayouts(t testing.TB, r *ocitest.Registry, fsys fstest.MapFS, name string) []string {
	t.Helper()
	const tag = "1.4.2"
	flat, nested := layerOf(t, fsys, ""), layerOf(t, fsys, name)
	empty := func(repo string) v1.Descriptor { return r.Blob(repo, v1.MediaTypeEmptyJSON, []byte("{}")) }
	image := func(repo, labels string) v1.Descriptor {
		return r.Blob(repo, v1.MediaTypeImageConfig, []byte(`{"os":"linux","architecture":"amd64","config":{"Labels":{`+labels+`}}}`))
	}
	var repos []string
	add := func(layout string, push func(repo string)) {
		repos = append(repos, "acme/"+layout)
		push("acme/" + layout)
	}
	in := oci.Input{Files: fsys, Version: "1.4.2"}
	for layout, build := range map[string]func(oci.Input) (*oci.Built, error){"arconia": oci.Build, "image-form": oci.BuildImage} {
		add(layout, func(repo string) {
			b, err := build(in)
			if err != nil {
				t.Fatal(err)
			}
			r.Push(repo, b, tag)
		})
	}
	add("raw-files", func(repo string) {
		var layers []v1.Descriptor
		for _, p := range slices.Sorted(maps.Keys(fsys)) {
			d := r.Blob(repo, "text/plain", fsys[p].Data)
			d.Annotations = map[string]string{v1.AnnotationTitle: p}
			layers = append(layers, d)
		}
		pushManifest(r, repo, oci.ArtifactSkill, empty(repo), nil, tag, layers...)
	})
	add("cumasach", func(repo string) {
		config := r.Blob(repo, "application/vnd.agentskills.config.v1+json", []byte(`{"name":"`+name+`","version":"1.4.2"}`))
		pushManifest(r, repo, "", config, nil, tag, r.Blob(repo, oci.LayerSkill, nested))
	})
	add("toolhive", func(repo string) {
		layer := r.Blob(repo, v1.MediaTypeImageLayerGzip, flat)
		config := image(repo, `"dev.toolhive.skills.name":"`+name+`","dev.toolhive.skills.version":"1.4.2"`)
		var entries []v1.Descriptor
		for _, arch := range []string{"amd64", "arm64"} {
			d := pushManifest(r, repo, "dev.toolhive.skills.v1", config, map[string]string{"arch": arch}, "", layer)
			d.Platform = &v1.Platform{OS: "linux", Architecture: arch}
			entries = append(entries, d)
		}
		r.Manifest(repo, v1.MediaTypeImageIndex, v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, ArtifactType: "dev.toolhive.skills.v1",
			Manifests: entries, Annotations: map[string]string{"dev.toolhive.skills.name": name, "dev.toolhive.skills.requires": `["ghcr.io/a/b:1"]`}}, tag)
	})
	add("skillimage", func(repo string) {
		pushManifest(r, repo, "", image(repo, ""), map[string]string{"io.skillimage.status": "published"}, tag, r.Blob(repo, v1.MediaTypeImageLayerGzip, flat))
	})
	add("skillimage-redhat", func(repo string) {
		config := r.Blob(repo, "application/vnd.redhat.agentskill.config.v1+json", []byte(`{}`))
		pushManifest(r, repo, "", config, nil, tag, r.Blob(repo, "application/vnd.redhat.agentskill.layer.v1.tar+gzip", flat))
	})
	add("acr", func(repo string) {
		pushManifest(r, repo, "application/vnd.agent.skill.v1+json", empty(repo), map[string]string{"org.agent.skill.name": name, "org.agent.skill.version": "1.4.2"}, tag,
			r.Blob(repo, "application/vnd.agent.skill.content.v1.tar+gzip", nested))
	})
	add("ramalama", func(repo string) {
		config := r.Blob(repo, "application/vnd.cncf.skill.config.v1+json", []byte(`{"name":"`+name+`"}`))
		pushManifest(r, repo, "application/vnd.cncf.skill.manifest.v1+json", config, nil, tag, r.Blob(repo, "application/vnd.cncf.skill.bundle.v1.tar+gzip", flat))
	})
	add("image-one-layer", func(repo string) {
		pushManifest(r, repo, "", image(repo, ""), nil, tag, r.Blob(repo, v1.MediaTypeImageLayerGzip, layerOf(t, fsys, "skills/"+name)))
	})
	add("image-several-layers", func(repo string) {
		old, rest := fstest.MapFS{}, fstest.MapFS{}
		for p, f := range fsys {
			rest[p] = f
			if strings.HasSuffix(p, ".py") {
				old[p] = &fstest.MapFile{Data: []byte("an older program"), Mode: 0o644}
			} else if p == "SKILL.md" {
				old[p] = f
				delete(rest, p)
			}
		}
		readme := tar.Header{Name: "etc/os-release", Uname: "ID=none\n"}
		pushManifest(r, repo, "", image(repo, ""), nil, tag,
			r.Blob(repo, v1.MediaTypeImageLayerGzip, layerOf(t, old, "skill")), r.Blob(repo, v1.MediaTypeImageLayerGzip, layerOf(t, rest, "skill")), r.Blob(repo, v1.MediaTypeImageLayerGzip, packed(t, readme)))
	})
	add("docker-image", func(repo string) {
		config := r.Blob(repo, "application/vnd.docker.container.image.v1+json", []byte(`{}`))
		m := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: "application/vnd.docker.distribution.manifest.v2+json", Config: config,
			Layers: []v1.Descriptor{r.Blob(repo, "application/vnd.docker.image.rootfs.diff.tar.gzip", flat)}}
		r.Manifest(repo, m.MediaType, m, tag)
	})
	return repos
}
