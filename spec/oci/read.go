package oci

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"mime"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// An Artifact is what a manifest says. Exactly one of these holds: it is a skill and
// has Layers; it is an index of several platforms and has Entries; it is a collection and has Members.
type Artifact struct {
	Layout  Layout
	Digest  digest.Digest   // of the manifest's bytes
	Facts   Facts           // claims of the annotations; ReadConfig adds those of the config
	Config  v1.Descriptor   // to be read and given to ReadConfig; the zero Descriptor if it says nothing
	Layers  []v1.Descriptor // that hold the skill, in order
	Entries []v1.Descriptor // of an index: manifests, the one to take first (see Prefer)
	Members []Member        // of a collection

	raw      bool // one layer per file
	ordinary bool // layers of a container image
	index    bool
}

// A Member is one skill of a collection. At least one of Ref and Manifest says where it is.
type Member struct {
	Name     string        // as the collection calls it, may be ""
	Ref      string        // "host/ns/name:tag", or "" when it is in the collection's own repository
	Manifest v1.Descriptor // of its manifest or index
}

// Facts is what an artifact claims of its skill, as written; nothing of it is checked against the files.
type Facts struct {
	Name, Version, Description, License, Compatibility string
	AllowedTools                                       []string
	Requires                                           []string      // refs of other skills
	Tree                                               bundle.Digest // "" if it claims none
	Created                                            string        // RFC 3339, not checked
	Metadata                                           map[string]string
}

// fill takes from other what f does not say.
func (f *Facts) fill(other Facts) {
	f.Name = cmp.Or(f.Name, other.Name)
	f.Version = cmp.Or(f.Version, other.Version)
	f.Description = cmp.Or(f.Description, other.Description)
	f.License = cmp.Or(f.License, other.License)
	f.Compatibility = cmp.Or(f.Compatibility, other.Compatibility)
	f.Tree = cmp.Or(f.Tree, other.Tree)
	f.Created = cmp.Or(f.Created, other.Created)
	if len(f.AllowedTools) == 0 {
		f.AllowedTools = other.AllowedTools
	}
	if len(f.Requires) == 0 {
		f.Requires = other.Requires
	}
	for k, v := range other.Metadata {
		if _, ok := f.Metadata[k]; !ok {
			if f.Metadata == nil {
				f.Metadata = map[string]string{}
			}
			f.Metadata[k] = v
		}
	}
}

// document is a manifest or an index; which one is decided after looking at both.
type document struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        *v1.Descriptor    `json:"config"`
	Layers        []v1.Descriptor   `json:"layers"`
	Manifests     []v1.Descriptor   `json:"manifests"`
	Subject       *v1.Descriptor    `json:"subject"`
	Annotations   map[string]string `json:"annotations"`
	FSLayers      json.RawMessage   `json:"fsLayers"`
	Blobs         []v1.Descriptor   `json:"blobs"`
}

// Read reads a manifest or index. mediaType is what it was served as, without parameters
// or with them; "" means that only its own words count.
func Read(mediaType string, manifest []byte) (*Artifact, error) {
	if len(manifest) > MaxManifest {
		return nil, refuse(CodeTooLarge, "the manifest has more than %d bytes, the limit", MaxManifest)
	}
	var d document
	if err := json.Unmarshal(manifest, &d); err != nil {
		e := refuse(CodeMalformed, "the manifest is not a JSON object of the expected form")
		e.Err = err
		return nil, e
	}
	if err := CheckKeys(manifest); err != nil {
		return nil, err
	}
	kind, err := d.kind(mediaType)
	if err != nil {
		return nil, err
	}
	if what := notSkill(d); what != "" {
		return nil, notASkill(what)
	}
	a := &Artifact{Digest: DigestOf(manifest), Facts: annotated(d.Annotations)}
	if kind == v1.MediaTypeImageIndex {
		err = a.readIndex(d)
	} else {
		err = a.readManifest(d)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func notASkill(what string) *diag.Error {
	return refuse(CodeNotSkill, "the artifact is %s, not a skill", what)
}

// kind decides between manifest and index. A document that could be taken for both is refused, so that
// no two programs see different things in it.
func (d *document) kind(served string) (string, error) {
	if parsed, _, err := mime.ParseMediaType(served); err == nil {
		served = parsed
	}
	if served == "application/json" || served == "text/plain" || served == "application/octet-stream" {
		served = "" // what servers say that do not know
	}
	if served != "" && d.MediaType != "" && served != d.MediaType {
		return "", refuse(CodeMalformed, "the manifest is served as %q and calls itself %q", diag.Brief(served, maxQuoted), diag.Brief(d.MediaType, maxQuoted))
	}
	mediaType := cmp.Or(served, d.MediaType)
	switch {
	case d.FSLayers != nil || d.SchemaVersion == 1:
		return "", refuse(CodeMalformed, "the manifest is of version 1, which no registry has served for years")
	case d.SchemaVersion != 2:
		return "", refuse(CodeMalformed, "the manifest has schemaVersion %d, not 2", d.SchemaVersion)
	case d.Manifests != nil && (d.Layers != nil || d.Config != nil):
		return "", refuse(CodeMalformed, "the manifest is also an index")
	}
	switch mediaType {
	case v1.MediaTypeImageManifest, dockerManifest:
		mediaType = v1.MediaTypeImageManifest
	case v1.MediaTypeImageIndex, dockerIndex:
		mediaType = v1.MediaTypeImageIndex
	case "":
		mediaType = v1.MediaTypeImageManifest
		if d.Manifests != nil {
			mediaType = v1.MediaTypeImageIndex
		}
	default:
		return "", notASkill("of type " + quoted(mediaType))
	}
	switch {
	case mediaType == v1.MediaTypeImageManifest && d.Config == nil:
		return "", refuse(CodeMalformed, "the manifest has no config")
	case mediaType == v1.MediaTypeImageManifest && d.Manifests != nil,
		mediaType == v1.MediaTypeImageIndex && d.Config != nil:
		return "", refuse(CodeMalformed, "the manifest is not of the type it is served as")
	}
	return mediaType, nil
}

//go:noinline
func quoted(s string) string { return `"` + diag.Brief(s, maxQuoted) + `"` }

// readIndex reads a collection, or the choice between platforms.
func (a *Artifact) readIndex(d document) error {
	if len(d.Manifests) > MaxMembers {
		return refuse(CodeTooLarge, "the index has %d entries, more than %d, the limit", len(d.Manifests), MaxMembers)
	}
	a.index = true
	if d.ArtifactType == ArtifactCollection || d.ArtifactType == "" && d.Annotations[AnnotationCollection] != "" {
		a.Facts.Name = cmp.Or(d.Annotations[AnnotationCollection], a.Facts.Name)
		for _, m := range d.Manifests {
			if err := checkDescriptor(m, MaxManifest); err != nil {
				return err
			}
			a.Members = append(a.Members, member(m))
		}
		if len(a.Members) == 0 {
			return refuse(CodeNotSkill, "the collection is empty")
		}
		return nil
	}
	if d.ArtifactType == artifactToolHive {
		a.Layout = ToolHive
	}
	for _, m := range d.Manifests {
		switch {
		case m.Annotations["vnd.docker.reference.type"] != "": // a build's provenance beside its images
			continue
		case m.MediaType != v1.MediaTypeImageManifest && m.MediaType != dockerManifest && m.MediaType != v1.MediaTypeImageIndex && m.MediaType != dockerIndex:
			continue
		}
		if err := checkDescriptor(m, MaxManifest); err != nil {
			return err
		}
		a.Entries = append(a.Entries, m)
	}
	if len(a.Entries) == 0 {
		return refuse(CodeNotSkill, "the index lists no manifest")
	}
	return nil
}

// member is an entry of a collection. Two conventions say the ref.
func member(m v1.Descriptor) Member {
	out := Member{Name: m.Annotations[AnnotationName], Manifest: m}
	for _, key := range []string{AnnotationSkillRef, v1.AnnotationRefName} {
		// A tag alone says nothing that the digest does not.
		if text := strings.TrimPrefix(m.Annotations[key], "oci://"); out.Ref == "" && strings.Contains(text, "/") {
			out.Ref = text
		}
	}
	if out.Name == "" && out.Ref != "" {
		last := out.Ref[strings.LastIndexByte(out.Ref, '/')+1:]
		last, _, _ = strings.Cut(last, "@")
		out.Name, _, _ = strings.Cut(last, ":")
	}
	return out
}

// Prefer puts the entry for p first, linux if no entry has its operating system, and keeps the order of the rest.
func (a *Artifact) Prefer(p Platform) {
	rank := func(d v1.Descriptor) int {
		switch {
		case d.Platform == nil:
			return 2
		case d.Platform.Architecture == p.Architecture && d.Platform.OS == p.OS:
			return 0
		case d.Platform.Architecture == p.Architecture && d.Platform.OS == "linux":
			return 1
		}
		return 2
	}
	order.Stable(a.Entries, func(x, y v1.Descriptor) int { return rank(x) - rank(y) })
}

// Entry reads the manifest of one of a's Entries. It is checked against entry and must not be
// an index again. What the index says of the skill fills in what the manifest does not say.
func (a *Artifact) Entry(entry v1.Descriptor, manifest []byte) (*Artifact, error) {
	if err := CheckBytes(entry, manifest); err != nil {
		return nil, err
	}
	child, err := Read(entry.MediaType, manifest)
	if err != nil {
		return nil, err
	}
	if child.index {
		return nil, refuse(CodeNested, "the index leads to another index, %s", entry.Digest)
	}
	child.Digest = entry.Digest
	if a.Layout == ToolHive && child.ordinary {
		child.Layout = ToolHive
	}
	child.Facts.fill(a.Facts)
	return child, nil
}

// IsIndex reports whether a is an index or a collection.
func (a *Artifact) IsIndex() bool { return a.index }

// A convention gives its layers a type of their own; "" is no type of its own.
type convention struct {
	layout                  Layout
	artifact, config, layer string
}

var layouts = [...]convention{
	{Arconia, ArtifactSkill, ConfigSkill, LayerSkill},
	{Cumasach, "", configCumasach, LayerSkill},
	{ACR, artifactACR, "", layerACR},
	{RamaLama, artifactRamaLama, configRamaLama, layerRamaLama},
	{SkillImage, "", configRedHat, layerRedHat},
}

func (a *Artifact) readManifest(d document) error {
	ordinaryConfig := d.Config.MediaType == v1.MediaTypeImageConfig || d.Config.MediaType == dockerConfig
	row := slices.IndexFunc(layouts[:], func(l convention) bool { return l.artifact != "" && d.ArtifactType == l.artifact })
	if row < 0 {
		row = slices.IndexFunc(layouts[:], func(l convention) bool { return l.config != "" && d.Config.MediaType == l.config })
	}
	switch {
	case ordinaryConfig && (row >= 0 && layouts[row].layout == Arconia || d.ArtifactType == artifactToolHive || row < 0 && d.ArtifactType == ""):
		a.ordinary = true
		a.Layout = ordinaryLayout(d, row >= 0)
	case row >= 0 && layouts[row].layout == Arconia && rawLayers(d.Layers):
		a.raw, a.Layout = true, RawFiles
	case row < 0:
		row = slices.IndexFunc(layouts[:], func(l convention) bool {
			return slices.ContainsFunc(d.Layers, func(x v1.Descriptor) bool { return x.MediaType == l.layer })
		})
		if row < 0 {
			return notASkill(describe(d))
		}
		fallthrough
	default:
		a.Layout = layouts[row].layout
	}
	if err := a.takeLayers(d, row); err != nil {
		return err
	}
	if d.Config.MediaType != v1.MediaTypeEmptyJSON && (a.ordinary || a.Layout != RawFiles && a.Layout != ACR || d.Config.MediaType == ConfigSkill) {
		if err := checkDescriptor(*d.Config, MaxConfig); err != nil {
			return err
		}
		a.Config = *d.Config
	}
	return nil
}

// ordinaryLayout names the convention behind an ordinary image.
func ordinaryLayout(d document, typed bool) Layout {
	switch {
	case typed:
		return ImageForm
	case d.ArtifactType == artifactToolHive || d.Annotations[toolHive+"name"] != "":
		return ToolHive
	}
	for key := range d.Annotations {
		if strings.HasPrefix(key, "io.skillimage.") {
			return SkillImage
		}
	}
	return PlainImage
}

// rawLayers reports whether every layer is a file of its own.
func rawLayers(layers []v1.Descriptor) bool {
	for _, l := range layers {
		if l.Annotations[v1.AnnotationTitle] == "" || l.MediaType == LayerSkill || isImageLayer(l.MediaType) {
			return false
		}
	}
	return len(layers) > 0
}

// takeLayers selects the layers that hold the skill.
func (a *Artifact) takeLayers(d document, row int) error {
	var total int64
	for _, l := range d.Layers {
		switch {
		case a.raw:
		case a.ordinary && isImageLayer(l.MediaType):
		case !a.ordinary && l.MediaType == layouts[row].layer:
		case strings.Contains(l.MediaType, "nondistributable") || strings.Contains(l.MediaType, ".foreign."):
			return refuse(CodeForeign, "layer %s is of a type that registries do not keep", quoted(string(l.Digest)))
		case a.ordinary:
			return notASkill("an image with a layer of type " + quoted(l.MediaType))
		default:
			continue // something beside the skill, which the layout allows
		}
		if err := checkDescriptor(l, bundle.MaxArchiveBytes); err != nil {
			return err
		}
		if total += l.Size; total > bundle.MaxArchiveBytes {
			return refuse(CodeTooLarge, "the layers have more than %d bytes together, the limit", int64(bundle.MaxArchiveBytes))
		}
		a.Layers = append(a.Layers, l)
	}
	limit := MaxLayers
	if a.raw {
		limit = bundle.InstallLimits.Entries
	}
	switch {
	case len(a.Layers) == 0:
		return refuse(CodeMalformed, "the manifest has no layer with the skill's files")
	case len(a.Layers) > limit:
		return refuse(CodeTooLarge, "the manifest has %d layers, more than %d, the limit", len(a.Layers), limit)
	case !a.raw && !a.ordinary && len(a.Layers) > 1:
		return refuse(CodeMalformed, "the manifest has %d layers with files of the skill, and its layout has one", len(a.Layers))
	}
	return nil
}

func isImageLayer(mediaType string) bool { return layerFormat(mediaType) != "" }

// layerFormat is the archive format of a layer type that is read; "" for others.
func layerFormat(mediaType string) bundle.Format {
	switch mediaType {
	case v1.MediaTypeImageLayer, dockerLayer:
		return bundle.Tar
	case v1.MediaTypeImageLayerGzip, dockerLayerGzip, LayerSkill, layerRedHat, layerACR, layerRamaLama:
		return bundle.TarGz
	}
	return ""
}

// Content is the bytes of a blob. Its bytes are those of the digest it was opened for.
type Content interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Bytes is a Content in memory.
func Bytes(b []byte) Content { return memory{bytes.NewReader(b)} }

type memory struct{ content *bytes.Reader }

func (m memory) ReadAt(p []byte, off int64) (int, error) { return m.content.ReadAt(p, off) }
func (m memory) Size() int64                             { return m.content.Size() }
func (memory) Close() error                              { return nil }

// Referrer reads a manifest that is attached to another one: its layers, the digest of its subject,
// which is "" if it has none, and its annotations. Layers are checked to be within bundle.MaxArchiveBytes.
func Referrer(manifest []byte) (layers []v1.Descriptor, subject digest.Digest, annotations map[string]string, err error) {
	var d document
	if len(manifest) > MaxManifest || json.Unmarshal(manifest, &d) != nil || d.SchemaVersion != 2 || d.Manifests != nil {
		return nil, "", nil, refuse(CodeMalformed, "the attachment is not a manifest of at most %d bytes", MaxManifest)
	}
	if err := CheckKeys(manifest); err != nil {
		return nil, "", nil, err
	}
	for _, l := range append(d.Layers, d.Blobs...) {
		if err := checkDescriptor(l, bundle.MaxArchiveBytes); err != nil {
			return nil, "", nil, err
		}
		layers = append(layers, l)
	}
	if d.Subject != nil {
		subject = d.Subject.Digest
	}
	return layers, subject, d.Annotations, nil
}
