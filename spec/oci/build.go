package oci

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Input is a skill to be built. What its SKILL.md says (name, description, license, compatibility,
// allowed tools, metadata) is read from there.
type Input struct {
	Files    fs.FS     // the skill's directory; read twice, and a third time for the image form
	Version  string    // semantic version, "" for none
	Created  time.Time // written with seconds in UTC; the zero Time is left out
	Requires []string  // refs of the skills it needs, in this order
	Agents   []string  // hosts it is for
	// Annotations are added to the manifest, or replace those that are written
	// otherwise, except for skl's own.
	Annotations map[string]string
}

// A Blob is content with the descriptor that names it.
type Blob struct {
	v1.Descriptor
	Data []byte
}

// Built is an artifact in the order in which it is pushed: Blobs, Manifests, and Root last.
type Built struct {
	Document  *skill.Document
	Summary   bundle.Summary
	Blobs     []Blob // layer and configs
	Manifests []Blob // that Root lists; none for the typed form
	Root      Blob   // the manifest or index that gets the tag
}

// Build makes the typed artifact: one layer below "<name>/", a config, a manifest.
func Build(in Input) (*Built, error) {
	b, err := newBuilder(in)
	if err != nil {
		return nil, err
	}
	layer, err := b.pack(b.out.Document.Name, LayerSkill)
	if err != nil {
		return nil, err
	}
	// For oras, which leaves out layers without a name. It could unpack the layer by itself, but not directories that have no
	// entry of their own, and a bundle has none.
	layer.Annotations = map[string]string{v1.AnnotationTitle: b.out.Document.Name + ".tar.gz"}
	config, err := encode(ConfigSkill, b.config())
	if err != nil {
		return nil, err
	}
	b.out.Blobs = []Blob{layer, config}
	b.out.Root, err = encode(v1.MediaTypeImageManifest, v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: ArtifactSkill,
		Config: config.Descriptor, Layers: []v1.Descriptor{layer.Descriptor}, Annotations: b.annotations(),
	})
	if err != nil {
		return nil, err
	}
	return b.out, nil
}

// BuildImage makes the form that container engines mount: an index for linux/amd64 and linux/arm64,
// whose manifests share one flat layer and have configs that differ in the architecture alone.
func BuildImage(in Input) (*Built, error) {
	b, err := newBuilder(in)
	if err != nil {
		return nil, err
	}
	layer, err := b.pack("", v1.MediaTypeImageLayerGzip)
	if err != nil {
		return nil, err
	}
	diffID, err := uncompressed(layer.Data)
	if err != nil {
		return nil, err
	}
	b.out.Blobs = []Blob{layer}
	annotations := b.annotations()
	maps.Copy(annotations, b.toolHive("name", "description", "version", "requires"))
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, ArtifactType: ArtifactSkill, Annotations: annotations}
	for _, arch := range []string{"amd64", "arm64"} {
		platform := v1.Platform{OS: "linux", Architecture: arch}
		image := v1.Image{Platform: platform, RootFS: v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{diffID}}, Config: v1.ImageConfig{Labels: b.labels(annotations)}}
		if !in.Created.IsZero() {
			created := in.Created.UTC().Truncate(time.Second)
			image.Created = &created
		}
		config, err := encode(v1.MediaTypeImageConfig, image)
		if err != nil {
			return nil, err
		}
		manifest, err := encode(v1.MediaTypeImageManifest, v1.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: ArtifactSkill,
			Config: config.Descriptor, Layers: []v1.Descriptor{layer.Descriptor}, Annotations: annotations,
		})
		if err != nil {
			return nil, err
		}
		entry := manifest.Descriptor
		entry.Platform, entry.ArtifactType = &platform, ArtifactSkill
		b.out.Blobs = append(b.out.Blobs, config)
		b.out.Manifests = append(b.out.Manifests, manifest)
		index.Manifests = append(index.Manifests, entry)
	}
	if b.out.Root, err = encode(v1.MediaTypeImageIndex, index); err != nil {
		return nil, err
	}
	return b.out, nil
}

// A CollectionEntry is one skill of a collection that is written.
type CollectionEntry struct {
	Name     string
	Ref      string        // "host/ns/name:tag"
	Manifest v1.Descriptor // of the skill's manifest
}

// BuildCollection makes the index of a collection called name, its entries in the order given.
func BuildCollection(name string, created time.Time, entries []CollectionEntry) (Blob, error) {
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, ArtifactType: ArtifactCollection,
		Manifests: []v1.Descriptor{}, Annotations: map[string]string{AnnotationCollection: name, v1.AnnotationTitle: name}}
	if !created.IsZero() {
		index.Annotations[v1.AnnotationCreated] = created.UTC().Format(time.RFC3339)
	}
	for _, e := range entries {
		d := e.Manifest
		d.ArtifactType = ArtifactSkill
		d.Annotations = map[string]string{AnnotationName: e.Name, AnnotationSkillRef: e.Ref, v1.AnnotationRefName: e.Ref}
		index.Manifests = append(index.Manifests, d)
	}
	return encode(v1.MediaTypeImageIndex, index)
}

type builder struct {
	in  Input
	out *Built
}

func newBuilder(in Input) (*builder, error) {
	src, err := fs.ReadFile(in.Files, skill.FileName)
	if err != nil {
		return nil, refuse(bundle.CodeNoSkillMD, "the folder has no %s at its root", skill.FileName)
	}
	doc, err := skill.Read(src)
	if err != nil {
		return nil, err
	}
	if err := skill.CheckName(doc.Name, ""); err != nil {
		return nil, err
	}
	if in.Version != "" {
		if _, err := Tag(in.Version); err != nil {
			return nil, err
		}
	}
	if year := in.Created.Year(); year < 0 || year > 9999 {
		return nil, diag.New(diag.Misuse, "invalid_time", "the year %d of a release cannot be written", year)
	}
	return &builder{in, &Built{Document: doc}}, nil
}

// pack makes the layer. The layers of a skill are small enough (bundle.InstallLimits) to be kept.
func (b *builder) pack(top, mediaType string) (Blob, error) {
	var buf bytes.Buffer
	sum, err := bundle.PackBelow(&buf, b.in.Files, top)
	if err != nil {
		return Blob{}, err
	}
	b.out.Summary = sum
	return blob(mediaType, buf.Bytes()), nil
}

func blob(mediaType string, data []byte) Blob {
	return Blob{v1.Descriptor{MediaType: mediaType, Digest: DigestOf(data), Size: int64(len(data))}, data}
}

// encode is JSON with sorted keys of maps, and without the escapes that are for HTML.
func encode(mediaType string, v any) (Blob, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Blob{}, err
	}
	data := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if limit := MaxManifest; len(data) > limit || mediaType == ConfigSkill && len(data) > MaxConfig {
		return Blob{}, refuse(CodeTooLarge, "the description of the skill is larger than registries accept")
	}
	return blob(mediaType, data), nil
}

// config is the typed config, its keys in the order of the specification.
func (b *builder) config() any {
	d := b.out.Document
	metadata := map[string]string{}
	for _, p := range d.Metadata {
		metadata[p.Key] = p.Value
	}
	maps.Copy(metadata, b.own())
	return struct {
		SchemaVersion string            `json:"schemaVersion"`
		Name          string            `json:"name"`
		Version       string            `json:"version,omitempty"`
		Description   string            `json:"description"`
		License       string            `json:"license,omitempty"`
		Compatibility string            `json:"compatibility,omitempty"`
		AllowedTools  []string          `json:"allowedTools,omitempty"`
		Metadata      map[string]string `json:"metadata"`
	}{"1", d.Name, b.in.Version, d.Description, d.License, d.Compatibility, d.AllowedTools, metadata}
}

// own are skl's facts, which stand in metadata, annotations and labels alike.
func (b *builder) own() map[string]string {
	m := map[string]string{AnnotationTree: string(b.out.Summary.Tree)}
	if len(b.in.Requires) > 0 {
		m[AnnotationRequires] = list(b.in.Requires)
	}
	if len(b.in.Agents) > 0 {
		m[AnnotationAgents] = strings.Join(b.in.Agents, " ")
	}
	return m
}

// list is a JSON array of strings.
func list(words []string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.Encode(words) // strings can always be written
	return strings.TrimSpace(buf.String())
}

func (b *builder) annotations() map[string]string {
	d := b.out.Document
	m := map[string]string{AnnotationName: d.Name, v1.AnnotationTitle: d.Name, v1.AnnotationDescription: d.Description}
	for key, value := range map[string]string{
		v1.AnnotationVersion: b.in.Version, v1.AnnotationLicenses: d.License, AnnotationCompatibility: d.Compatibility,
	} {
		if value != "" {
			m[key] = value
		}
	}
	if !b.in.Created.IsZero() {
		m[v1.AnnotationCreated] = b.in.Created.UTC().Format(time.RFC3339)
	}
	maps.Copy(m, b.in.Annotations)
	maps.Copy(m, b.own())
	return m
}

// toolHive is what ToolHive reads of a skill, under its own keys.
func (b *builder) toolHive(keys ...string) map[string]string {
	d := b.out.Document
	all := map[string]string{
		"name": d.Name, "description": d.Description, "version": b.in.Version, "license": d.License,
		"allowedTools": strings.Join(d.AllowedTools, " "), "files": b.paths(),
	}
	if len(b.in.Requires) > 0 {
		all["requires"] = list(b.in.Requires)
	}
	m := map[string]string{}
	for k, v := range all {
		if v != "" && slices.Contains(keys, k) {
			m[toolHive+k] = v
		}
	}
	return m
}

func (b *builder) labels(annotations map[string]string) map[string]string {
	m := maps.Clone(annotations)
	maps.Copy(m, b.toolHive("name", "description", "version", "license", "allowedTools", "files", "requires"))
	return m
}

// paths is the list of files as a JSON array, "" if it is too long for a label.
func (b *builder) paths() string {
	var paths []string
	for _, e := range b.out.Summary.Entries {
		paths = append(paths, e.Path)
	}
	if text := list(paths); len(text) <= 64<<10 {
		return text
	}
	return ""
}

// uncompressed is the digest of the tar stream in a gzip file: the diff id of a layer.
func uncompressed(packed []byte) (digest.Digest, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, z); err != nil {
		return "", err
	}
	return digest.Digest("sha256:" + hex.EncodeToString(h.Sum(nil))), nil
}
