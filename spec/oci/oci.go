// Package oci turns skills into OCI artifacts and reads every layout of them that is in use.
//
// It writes the layout of the Arconia specification, version 0.1: an image manifest of
// artifactType [ArtifactSkill] with a typed config and one tar+gzip layer, in which
// everything is below the directory "<name>/". On request it writes a second form of the same
// files that container engines can mount: an image index with an ordinary config and an ordinary,
// flat layer ([BuildImage]). The same files, facts and time give the same digests; a newer
// compressor may change them, the tree digest stays.
//
// It reads ([Read], [Artifact.Unpack]) what the table of [Layout] names. The layout is
// decided by the manifest's artifactType, else the type of its config, else that of its layers.
//
//   - A skill may be at the root of its layer or below directories: it is where the SKILL.md
//     nearest to the root is; two that are equally near are refused. In layers that are made
//     for skills nothing may be outside that directory; in ordinary image layers what is outside is left out.
//   - Of several layers, the later ones replace files of the earlier ones. A layer that
//     deletes (a whiteout) is refused: what was deleted would still be delivered.
//   - Layers that are elsewhere ("urls", non-distributable types) are refused, embedded content ("data") is not used.
//   - An index leads to one manifest, which may not be an index again. A collection lists skills
//     by name and digest.
//   - An Arconia config of an unknown schemaVersion is refused.
//   - Manifests have at most [MaxManifest] bytes, configs [MaxConfig], packed layers together
//     bundle.MaxArchiveBytes; what they unpack to is bounded by the limits of the [bundle.Guard] behind them.
//
// The package does no I/O: callers hand it bytes that they have checked against their digest,
// sizes are checked here. Errors are *diag.Error with the codes below.
package oci

import (
	"crypto/sha256"
	_ "crypto/sha512" // digest algorithms of descriptors
	"encoding/hex"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/spec/diag"
)

// Media types of artifacts, configs and layers.
const (
	ArtifactSkill      = "application/vnd.agentskills.skill.v1"
	ArtifactCollection = "application/vnd.agentskills.collection.v1"
	ConfigSkill        = "application/vnd.agentskills.skill.config.v1+json"
	LayerSkill         = "application/vnd.agentskills.skill.content.v1.tar+gzip"

	configCumasach   = "application/vnd.agentskills.config.v1+json"
	artifactToolHive = "dev.toolhive.skills.v1"
	configRedHat     = "application/vnd.redhat.agentskill.config.v1+json"
	layerRedHat      = "application/vnd.redhat.agentskill.layer.v1.tar+gzip"
	artifactACR      = "application/vnd.agent.skill.v1+json"
	layerACR         = "application/vnd.agent.skill.content.v1.tar+gzip"
	artifactRamaLama = "application/vnd.cncf.skill.manifest.v1+json"
	configRamaLama   = "application/vnd.cncf.skill.config.v1+json"
	layerRamaLama    = "application/vnd.cncf.skill.bundle.v1.tar+gzip"

	// Docker's names for the same media types.
	dockerManifest  = "application/vnd.docker.distribution.manifest.v2+json"
	dockerIndex     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerConfig    = "application/vnd.docker.container.image.v1+json"
	dockerLayer     = "application/vnd.docker.image.rootfs.diff.tar"
	dockerLayerGzip = "application/vnd.docker.image.rootfs.diff.tar.gzip"

	// SigstoreBundle is the artifactType and layer type of a signature or attestation in a sigstore bundle v0.3.
	SigstoreBundle = "application/vnd.dev.sigstore.bundle.v0.3+json"

	// ArtifactReport is the artifactType of what a registry's audit found in a release, and the type of its first layer, JSON; the
	// second is the same as SARIF.
	ArtifactReport = "application/vnd.skl.report.v1+json"
	LayerSARIF     = "application/sarif+json"
)

// Annotations. Those of the OCI image specification are in its own package.
const (
	AnnotationName          = "io.agentskills.skill.name"
	AnnotationCompatibility = "io.agentskills.skill.compatibility"
	AnnotationSkillRef      = "io.agentskills.skill.ref"       // of an entry of a collection
	AnnotationCollection    = "io.agentskills.collection.name" // of a collection

	// skl's own; also keys of the config's metadata and labels of the image form.
	AnnotationTree     = "io.github.skl-project.skl.tree"     // tree digest of the files
	AnnotationRequires = "io.github.skl-project.skl.requires" // JSON array of refs
	AnnotationAgents   = "io.github.skl-project.skl.agents"   // hosts that the skill names, separated by spaces

	toolHive = "dev.toolhive.skills." // name, description, version, allowedTools, license, files, requires
	acr      = "org.agent.skill."     // name, version, description, license, compatibility
)

// Layout is one convention for skills in OCI registries.
type Layout string

const (
	Arconia    Layout = "arconia"    // the one that is written
	ImageForm  Layout = "image-form" // artifactType of Arconia on an ordinary image
	RawFiles   Layout = "raw-files"  // one layer per file, named by its title
	Cumasach   Layout = "cumasach"
	ToolHive   Layout = "toolhive"
	SkillImage Layout = "skillimage"
	ACR        Layout = "acr"
	RamaLama   Layout = "ramalama"
	PlainImage Layout = "image" // an ordinary image that holds a skill
)

// Bounds. Those of content are bundle's.
const (
	MaxManifest = 4 << 20 // bytes of a manifest or index
	MaxConfig   = 1 << 20 // bytes of a config
	MaxLayers   = 128     // tar layers
	MaxMembers  = 1000    // entries of a collection or index
)

// Codes of the errors of this package, of class Refused.
const (
	CodeMalformed = "oci_invalid"    // not a manifest, or one that contradicts itself
	CodeTooLarge  = "oci_too_large"  // more than one of the bounds
	CodeNotSkill  = "not_a_skill"    // another kind of artifact: an image, a signature, a chart
	CodeSchema    = "oci_schema"     // an Arconia config of an unknown schemaVersion
	CodeNested    = "oci_nested"     // an index in an index
	CodeForeign   = "oci_foreign"    // a layer whose content is not in the registry
	CodeWhiteout  = "oci_whiteout"   // a layer that deletes files of another
	CodeTwoSkills = "oci_two_skills" // two SKILL.md at the same depth
	CodeOutside   = "oci_outside"    // files outside of the skill's directory
	CodeDigest    = "E_DIGEST"       // bytes that are not what their descriptor says
	CodeClaim     = "oci_claim"      // a name or tree digest that the files do not bear out
)

//go:noinline
func refuse(code, format string, args ...any) *diag.Error {
	return diag.New(diag.Refused, code, format, args...)
}

// Platform is an operating system and architecture as Go and OCI name them.
type Platform struct{ OS, Architecture string }

// DigestOf is the sha256 digest of b as descriptors spell it.
func DigestOf(b []byte) digest.Digest {
	sum := sha256.Sum256(b)
	return digest.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// CheckBytes checks that b is what d describes: its size and its digest.
func CheckBytes(d v1.Descriptor, b []byte) error {
	if err := checkDescriptor(d, MaxManifest); err != nil {
		return err
	}
	if int64(len(b)) != d.Size || d.Digest.Algorithm().FromBytes(b) != d.Digest {
		return refuse(CodeDigest, "the content is not %s with %d bytes", d.Digest, d.Size)
	}
	return nil
}

// CheckDigest refuses what is not a sha256 or sha512 digest as it must be spelled.
func CheckDigest(d digest.Digest) error {
	if err := d.Validate(); err != nil || d.Algorithm() != digest.SHA256 && d.Algorithm() != digest.SHA512 {
		return refuse(CodeMalformed, "%q is not a sha256 or sha512 digest", diag.Brief(string(d), maxQuoted))
	}
	return nil
}

// checkDescriptor checks what is used of a descriptor.
func checkDescriptor(d v1.Descriptor, limit int64) error {
	if err := CheckDigest(d.Digest); err != nil {
		return err
	}
	switch {
	case d.Size < 0:
		return refuse(CodeMalformed, "the size of %s is negative", d.Digest)
	case d.Size > limit:
		return refuse(CodeTooLarge, "%s has %d bytes, more than %d, the limit", d.Digest, d.Size, limit)
	case len(d.URLs) > 0:
		return refuse(CodeForeign, "%s is not in the registry but at addresses of its own", d.Digest)
	case d.Data != nil && (int64(len(d.Data)) != d.Size || d.Digest.Algorithm().FromBytes(d.Data) != d.Digest):
		return refuse(CodeDigest, "%s comes with other data, which some programs take for it", d.Digest)
	}
	return nil
}

// maxQuoted bounds what is quoted from outside, in bytes.
const maxQuoted = 100
