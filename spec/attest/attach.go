package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/diag"
)

// Annotations of an attachment, as cosign v3 writes them.
const (
	annotationContent   = "dev.sigstore.bundle.content"
	annotationPredicate = "dev.sigstore.bundle.predicateType"
)

// An Attachment is a bundle as an OCI referrer: three contents to push, each
// with its descriptor, the manifest last.
type Attachment struct {
	Config, Layer, Manifest                               []byte
	ConfigDescriptor, LayerDescriptor, ManifestDescriptor ocispec.Descriptor
}

// Attach puts bundle into a referrer of subject, in cosign's layout: an empty
// config, the bundle as the only layer, and annotations that say what it is
// about, so that a client can choose before it fetches. The manifest depends on
// the arguments alone; of created, whole seconds in UTC count. Errors have the
// codes invalid_digest and, for a bundle that is none, invalid_attestation.
func Attach(bundle []byte, subject ocispec.Descriptor, created time.Time) (Attachment, error) {
	if _, _, err := splitDigest(string(subject.Digest)); err != nil {
		return Attachment{}, err
	}
	b, no := parseBundle(bundle)
	if no != nil {
		return Attachment{}, diag.New(diag.Misuse, "invalid_attestation", "the bundle cannot be attached: %s", no.reason)
	}
	st, no := b.statement()
	if no != nil {
		return Attachment{}, diag.New(diag.Misuse, "invalid_attestation", "the bundle cannot be attached: %s", no.reason)
	}
	a := Attachment{Config: []byte("{}"), Layer: bundle}
	a.ConfigDescriptor = describe(ocispec.MediaTypeEmptyJSON, a.Config)
	a.LayerDescriptor = describe(BundleType, a.Layer)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: BundleType,
		Config:       a.ConfigDescriptor,
		Layers:       []ocispec.Descriptor{a.LayerDescriptor},
		Subject:      &ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
		Annotations: map[string]string{
			annotationContent:         "dsse-envelope",
			annotationPredicate:       st.PredicateType,
			ocispec.AnnotationCreated: stamp(created),
		},
	})
	if err != nil {
		return Attachment{}, err
	}
	a.Manifest = manifest
	a.ManifestDescriptor = describe(ocispec.MediaTypeImageManifest, manifest)
	a.ManifestDescriptor.ArtifactType = BundleType
	return a, nil
}

func describe(mediaType string, content []byte) ocispec.Descriptor {
	sum := sha256.Sum256(content)
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.Digest("sha256:" + hex.EncodeToString(sum[:])), Size: int64(len(content))}
}
