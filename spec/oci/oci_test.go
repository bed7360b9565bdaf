package oci

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// pdf is a skill with a nested directory and a program.
func pdf() fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md": {Data: []byte("---\nname: pdf\ndescription: Fill PDF <forms> & more\nlicense: MIT\ncompatibility: needs python\n" +
			"allowed-tools: Bash(python *) Read\nmetadata:\n  author: someone\n---\n# PDF\n"), Mode: 0o644},
		"scripts/fill.py":    {Data: []byte("print(1)\n"), Mode: 0o755},
		"docs/deep/notes.md": {Data: []byte("notes\n"), Mode: 0o644},
	}
}

func input() Input {
	return Input{Files: pdf(), Version: "1.4.2+b1", Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)),
		Requires: []string{"host/acme/ocr:2.0.0"}, Agents: []string{"claude-code"}, Annotations: map[string]string{"org.opencontainers.image.source": "https://example.test"}}
}

func opener(b *Built) Opener {
	return func(d v1.Descriptor) (Content, error) {
		for _, blob := range b.Blobs {
			if blob.Digest == d.Digest {
				return Bytes(blob.Data), nil
			}
		}
		return nil, diag.New(diag.Failed, "no_blob", "no blob %s", d.Digest)
	}
}

// load reads what Build made, through the index if there is one.
func load(t *testing.T, b *Built) *Artifact {
	t.Helper()
	a, err := Read(b.Root.MediaType, b.Root.Data)
	if err != nil {
		t.Fatal(err)
	}
	if a.IsIndex() {
		a.Prefer(Platform{"linux", "arm64"})
		for _, m := range b.Manifests {
			if m.Digest == a.Entries[0].Digest {
				if a, err = a.Entry(a.Entries[0], m.Data); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	for _, blob := range b.Blobs {
		if blob.Digest == a.Config.Digest {
			if err := a.ReadConfig(blob.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return a
}

// Both forms carry the same files and facts; a second build is the same artifact.
func TestBuildRead(t *testing.T) {
	for name, build := range map[string]func(Input) (*Built, error){"typed": Build, "image": BuildImage} {
		t.Run(name, func(t *testing.T) {
			b, err := build(input())
			if err != nil {
				t.Fatal(err)
			}
			later := input()
			for _, f := range later.Files.(fstest.MapFS) {
				f.ModTime = time.Now()
			}
			if again, err := build(later); err != nil || again.Root.Digest != b.Root.Digest {
				t.Errorf("a second build is %v, %v; the first was %s", again.Root.Digest, err, b.Root.Digest)
			}
			a := load(t, b)
			_, _, sum, err := a.SkillFile(opener(b), 100, bundle.Limits{})
			if err != nil || sum.Tree != b.Summary.Tree {
				t.Fatalf("unpacked tree %v, %v; want %v", sum.Tree, err, b.Summary.Tree)
			}
			f := a.Facts
			if f.Name != "pdf" || f.Version != "1.4.2+b1" || f.License != "MIT" || f.Description != "Fill PDF <forms> & more" ||
				f.Tree != sum.Tree || len(f.Requires) != 1 || f.Requires[0] != "host/acme/ocr:2.0.0" || len(f.AllowedTools) != 2 || f.AllowedTools[0] != "Bash(python *)" {
				t.Errorf("facts %+v", f)
			}
			if f.Created != "2026-01-02T02:04:05Z" || f.Check(sum.Tree) != nil || f.Check("tree-sha256:x") == nil {
				t.Errorf("created %q, check %v", f.Created, f.Check(sum.Tree))
			}
			if want := map[string]Layout{"typed": Arconia, "image": ImageForm}[name]; a.Layout != want {
				t.Errorf("layout %s, want %s", a.Layout, want)
			}
		})
	}
}

// The typed form meets the demands of the Arconia specification.
func TestTypedForm(t *testing.T) {
	b, err := Build(input())
	if err != nil {
		t.Fatal(err)
	}
	var m v1.Manifest
	if err := json.Unmarshal(b.Root.Data, &m); err != nil {
		t.Fatal(err)
	}
	if m.ArtifactType != ArtifactSkill || m.Config.MediaType != ConfigSkill || len(m.Layers) != 1 || m.Layers[0].MediaType != LayerSkill {
		t.Errorf("manifest %+v", m)
	}
	for key, want := range map[string]string{AnnotationName: "pdf", AnnotationCompatibility: "needs python", v1.AnnotationTitle: "pdf",
		v1.AnnotationVersion: "1.4.2+b1", v1.AnnotationLicenses: "MIT", "org.opencontainers.image.source": "https://example.test"} {
		if m.Annotations[key] != want {
			t.Errorf("annotation %s = %q, want %q", key, m.Annotations[key], want)
		}
	}
	if l := m.Layers[0].Annotations; l[v1.AnnotationTitle] != "pdf.tar.gz" {
		t.Errorf("oras pull would leave the layer out: %v", l)
	}
	if !strings.HasPrefix(string(b.Blobs[1].Data), `{"schemaVersion":"1","name":"pdf","version":"1.4.2+b1",`) {
		t.Errorf("config %s", b.Blobs[1].Data)
	}
	var paths scanner
	top, err := bundle.Unpack(bytes.NewReader(b.Blobs[0].Data), b.Blobs[0].Size, bundle.TarGz, &paths)
	if err != nil || top != "pdf" || len(paths.paths) != 3 {
		t.Errorf("layer: top %q, %v, %v", top, paths, err)
	}
}

// The image form has the diff id that container engines compare with the layer.
func TestImageForm(t *testing.T) {
	b, err := BuildImage(input())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Manifests) != 2 || len(b.Blobs) != 3 {
		t.Fatalf("%d manifests, %d blobs", len(b.Manifests), len(b.Blobs))
	}
	diffID, _ := uncompressed(b.Blobs[0].Data)
	for _, config := range b.Blobs[1:] {
		var image v1.Image
		if err := json.Unmarshal(config.Data, &image); err != nil || len(image.RootFS.DiffIDs) != 1 || image.RootFS.DiffIDs[0] != diffID ||
			image.Config.Labels["dev.toolhive.skills.name"] != "pdf" || image.Config.Labels["dev.toolhive.skills.files"] != `["SKILL.md","docs/deep/notes.md","scripts/fill.py"]` {
			t.Errorf("config %s, %v", config.Data, err)
		}
	}
}

func TestTags(t *testing.T) {
	for version, tag := range map[string]string{"1.4.2": "1.4.2", "1.0.0-rc.1+build.5": "1.0.0-rc.1_build.5", "0.0.0-20260101000000-abcdefabcdef": "0.0.0-20260101000000-abcdefabcdef"} {
		if got, err := Tag(version); err != nil || got != tag {
			t.Errorf("Tag(%q) = %q, %v", version, got, err)
		}
		if got, ok := Version(tag); !ok || got != version {
			t.Errorf("Version(%q) = %q, %v", tag, got, ok)
		}
	}
	for _, version := range []string{"", "v1.0.0", "1.0", "latest", "1.0.0-image", "1.0.0+x_y", "1.0.0+" + strings.Repeat("a", 130)} {
		if got, err := Tag(version); err == nil {
			t.Errorf("Tag(%q) = %q", version, got)
		}
	}
	for _, tag := range []string{"latest", "1.0", "1.4.2-image", "1.4.2_b-image", "1.0.0_a_b", "sha256-" + strings.Repeat("a", 64)} {
		if got, ok := Version(tag); ok {
			t.Errorf("Version(%q) = %q", tag, got)
		}
	}
	if v, ok := Version("v2.0.0"); v != "2.0.0" || !ok || !IsReferrersTag("sha256-"+strings.Repeat("a", 64)) || IsReferrersTag("1.0.0") {
		t.Error("v2.0.0, or the tag of referrers")
	}
}

const aDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// desc is a descriptor in JSON.
func desc(mediaType string, size string) string {
	return `{"mediaType":"` + mediaType + `","digest":"` + aDigest + `","size":` + size + `}`
}

func TestReadRefuses(t *testing.T) {
	manifest := func(artifact, config, layers string) string {
		return `{"schemaVersion":2,"artifactType":"` + artifact + `","config":` + desc(config, "2") + `,"layers":[` + layers + `]}`
	}
	layer := desc(LayerSkill, "9")
	tests := []struct{ name, mediaType, in, code, says string }{
		{"no json", "", "<html>", CodeMalformed, ""},
		{"version 1", "", `{"schemaVersion":1,"fsLayers":[]}`, CodeMalformed, "version 1"},
		{"no version", "", `{"config":{}}`, CodeMalformed, "schemaVersion"},
		{"both", "", `{"schemaVersion":2,"config":{},"layers":[],"manifests":[]}`, CodeMalformed, "also an index"},
		{"another type than served", v1.MediaTypeImageManifest, `{"schemaVersion":2,"mediaType":"` + v1.MediaTypeImageIndex + `","manifests":[]}`, CodeMalformed, "served"},
		{"index as manifest", v1.MediaTypeImageManifest, `{"schemaVersion":2,"manifests":[]}`, CodeMalformed, ""},
		{"too large", "", `{"schemaVersion":2,"x":"` + strings.Repeat("a", MaxManifest) + `"}`, CodeTooLarge, ""},
		{"unknown type", "application/x", `{"schemaVersion":2}`, CodeNotSkill, "application/x"},
		{"empty index", "", `{"schemaVersion":2,"manifests":[]}`, CodeNotSkill, ""},
		{"signature", "", manifest(SigstoreBundle, v1.MediaTypeEmptyJSON, desc(SigstoreBundle, "9")), CodeNotSkill, "sigstore"},
		{"cosign signature", "", manifest("", v1.MediaTypeImageConfig, desc("application/vnd.dev.cosign.simplesigning.v1+json", "9")), CodeNotSkill, "cosign"},
		{"chart", "", manifest("", "application/vnd.cncf.helm.config.v1+json", desc("application/x", "9")), CodeNotSkill, "Helm"},
		{"sbom", "", manifest("application/spdx+json", v1.MediaTypeEmptyJSON, desc("application/spdx+json", "9")), CodeNotSkill, "bill of materials"},
		{"unknown artifact", "", manifest("application/vnd.other", v1.MediaTypeEmptyJSON, desc("x/y", "9")), CodeNotSkill, "application/vnd.other"},
		{"no layer", "", manifest(ArtifactSkill, ConfigSkill, ""), CodeMalformed, "no layer"},
		{"two layers", "", manifest(ArtifactSkill, ConfigSkill, layer+","+layer), CodeMalformed, "2 layers"},
		{"huge layer", "", manifest(ArtifactSkill, ConfigSkill, desc(LayerSkill, "200000000")), CodeTooLarge, ""},
		{"negative size", "", manifest(ArtifactSkill, ConfigSkill, desc(LayerSkill, "-1")), CodeMalformed, "negative"},
		{"huge config", "", strings.Replace(manifest(ArtifactSkill, ConfigSkill, layer), `"size":2`, `"size":2000000`, 1), CodeTooLarge, ""},
		{"weak digest", "", strings.ReplaceAll(manifest(ArtifactSkill, ConfigSkill, layer), "sha256:", "md5:"), CodeMalformed, "digest"},
		{"path in digest", "", strings.ReplaceAll(manifest(ArtifactSkill, ConfigSkill, layer), aDigest, "sha256:../../../etc/passwd"), CodeMalformed, "digest"},
		{"layer elsewhere", "", strings.Replace(manifest(ArtifactSkill, ConfigSkill, layer), `"size":9`, `"size":9,"urls":["http://x"]`, 1), CodeForeign, ""},
		{"foreign layer", "", manifest("", v1.MediaTypeImageConfig, desc("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "9")), CodeForeign, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Read(tt.mediaType, []byte(tt.in))
			e, ok := err.(*diag.Error)
			if a != nil || !ok || e.Code != tt.code || e.Class != diag.Refused || !strings.Contains(e.Message, tt.says) {
				t.Errorf("Read = %+v, %v; want code %s and %q", a, err, tt.code, tt.says)
			}
		})
	}
}

func TestUnknownSchemaVersion(t *testing.T) {
	for _, version := range []string{`"2"`, `"1.1"`, `null`, `[]`, ``} {
		config := []byte(`{"schemaVersion":` + version + `,"name":"pdf"}`)
		if version == "" {
			config = []byte(`{"name":"pdf"}`)
		}
		a := Artifact{Config: v1.Descriptor{MediaType: ConfigSkill, Digest: DigestOf(config), Size: int64(len(config))}}
		if err, ok := a.ReadConfig(config).(*diag.Error); !ok || err.Code != CodeSchema {
			t.Errorf("schemaVersion %s: %v", version, err)
		}
	}
}

func TestNestedIndex(t *testing.T) {
	inner := []byte(`{"schemaVersion":2,"mediaType":"` + v1.MediaTypeImageIndex + `","manifests":[` + desc(v1.MediaTypeImageManifest, "2") + `]}`)
	entry := v1.Descriptor{MediaType: v1.MediaTypeImageIndex, Digest: DigestOf(inner), Size: int64(len(inner))}
	outer, _ := json.Marshal(v1.Index{MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{entry}})
	a, err := Read("", bytes.Replace(outer, []byte(`"schemaVersion":0`), []byte(`"schemaVersion":2`), 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Entry(entry, inner); diagCode(err) != CodeNested {
		t.Errorf("an index in an index: %v", err)
	}
	if _, err := a.Entry(entry, append(inner, ' ')); diagCode(err) != CodeDigest {
		t.Errorf("another manifest than the entry names: %v", err)
	}
}

func diagCode(err error) string {
	if e, ok := err.(*diag.Error); ok {
		return e.Code
	}
	return ""
}

func TestCollection(t *testing.T) {
	one := CollectionEntry{"pdf", "host/acme/pdf:1.0.0", v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: aDigest, Size: 9}}
	b, err := BuildCollection("office", time.Time{}, []CollectionEntry{one})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Read(b.MediaType, b.Data)
	if err != nil || len(a.Members) != 1 || a.Members[0].Name != "pdf" || a.Members[0].Ref != one.Ref || a.Members[0].Manifest.Digest != aDigest || a.Facts.Name != "office" {
		t.Errorf("Read = %+v, %v", a, err)
	}
	if err := a.Unpack(nil, nil); err == nil {
		t.Error("a collection was unpacked")
	}
}

func FuzzRead(f *testing.F) {
	b, err := Build(input())
	if err != nil {
		f.Fatal(err)
	}
	image, err := BuildImage(input())
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range [][]byte{b.Root.Data, image.Root.Data, image.Manifests[0].Data} {
		f.Add("", m, b.Blobs[1].Data)
	}
	f.Fuzz(func(t *testing.T, mediaType string, manifest, config []byte) {
		a, err := Read(mediaType, manifest)
		if err != nil {
			if a != nil || diag.ClassOf(err) != diag.Refused {
				t.Fatalf("%+v, %v", a, err)
			}
			return
		}
		kinds := 0
		for _, n := range []int{len(a.Layers), len(a.Entries), len(a.Members)} {
			if n > 0 {
				kinds++
			}
		}
		if kinds != 1 {
			t.Fatalf("%d kinds at once: %+v", kinds, a)
		}
		if a.IsIndex() {
			a.Prefer(Platform{"linux", "amd64"})
			for _, e := range a.Entries {
				a.Entry(e, config)
			}
			return
		}
		a.Config.Digest, a.Config.Size = DigestOf(config), int64(len(config))
		a.ReadConfig(config)
		for i := range a.Layers {
			a.Layers[i].Size = int64(len(config))
		}
		a.SkillFile(func(v1.Descriptor) (Content, error) { return Bytes(config), nil }, 100, bundle.Limits{})
	})
}

// Whatever can be built is read as the same files, in both forms.
func FuzzBuildRead(f *testing.F) {
	f.Add("a.txt", "text", "d/b", "more", true)
	f.Add("scripts/SKILL.md", "---\n", "x/y/z", "", false)
	f.Fuzz(func(t *testing.T, p1, c1, p2, c2 string, exec bool) {
		mode := fs.FileMode(0o644)
		if exec {
			mode = 0o755
		}
		files := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: x\ndescription: y\n---\n")}}
		for _, p := range []string{p1, p2} {
			if bundle.CheckPath(p) != nil || len(p) > 200 || p == "SKILL.md" {
				return
			}
		}
		files[p1] = &fstest.MapFile{Data: []byte(c1), Mode: 0o644}
		files[p2] = &fstest.MapFile{Data: []byte(c2), Mode: mode}
		for _, build := range []func(Input) (*Built, error){Build, BuildImage} {
			b, err := build(Input{Files: files})
			if err != nil {
				return
			}
			a := load(t, b)
			_, _, sum, err := a.SkillFile(opener(b), 100, bundle.Limits{})
			if err != nil || sum.Tree != b.Summary.Tree || a.Facts.Tree != sum.Tree {
				t.Fatalf("%q %q: %v, %v; want %v", p1, p2, sum.Tree, err, b.Summary.Tree)
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		if _, err := Build(input()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	built, err := Build(input())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a, err := Read(built.Root.MediaType, built.Root.Data)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, _, err := a.SkillFile(opener(built), 100, bundle.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
