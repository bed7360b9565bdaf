package oci

import (
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// others are media types, or starts of them, of what is often found beside skills.
var others = [...]struct{ prefix, what string }{
	{"application/vnd.dev.sigstore.bundle", "a sigstore signature or attestation"},
	{"application/vnd.dev.cosign.", "a cosign signature or attestation"},
	{"application/vnd.cncf.notary.signature", "a notation signature"},
	{"application/vnd.dsse.envelope", "an attestation"},
	{"application/vnd.in-toto", "an attestation"},
	{"application/spdx", "a software bill of materials"},
	{"text/spdx", "a software bill of materials"},
	{"application/vnd.cyclonedx", "a software bill of materials"},
	{"application/vnd.syft", "a software bill of materials"},
	{"application/sarif", "a scan report"},
	{"application/vnd.cncf.helm.", "a Helm chart"},
	{"application/vnd.cncf.flux.", "a Flux artifact"},
	{"application/vnd.cncf.openpolicyagent.", "a policy bundle"},
	{"application/vnd.wasm.", "a WebAssembly module"},
	{"application/wasm", "a WebAssembly module"},
	{"application/vnd.docker.plugin.", "a docker plugin"},
	{"application/vnd.docker.ai.", "a language model"},
	{"application/vnd.cncf.model.", "a language model"},
	{"application/vnd.ollama.", "a language model"},
	{"application/vnd.buildkit.", "a build cache"},
	{"application/vnd.skillimage.collection.", "a skillimage collection, a list of images in YAML"},
}

// notSkill names what d is when it is known to be something else than a skill, else "".
// An image whose SKILL.md is missing is found out when it is unpacked.
func notSkill(d document) string {
	types := []string{d.ArtifactType}
	if d.Config != nil {
		types = append(types, d.Config.MediaType)
	}
	if d.ArtifactType != ArtifactSkill && d.ArtifactType != artifactToolHive {
		for _, l := range d.Layers {
			types = append(types, l.MediaType)
		}
	}
	for _, b := range d.Blobs {
		types = append(types, b.MediaType)
	}
	for _, t := range types {
		for _, o := range others {
			if strings.HasPrefix(t, o.prefix) {
				return o.what
			}
		}
	}
	return ""
}

// describe names an artifact that no layout knows.
func describe(d document) string {
	what := "an artifact of type "
	switch {
	case d.ArtifactType != "":
		what += quoted(d.ArtifactType)
	case d.Config.MediaType != v1.MediaTypeEmptyJSON:
		what += quoted(d.Config.MediaType)
	case len(d.Layers) > 0:
		what += quoted(d.Layers[0].MediaType)
	default:
		what = "empty"
	}
	if d.Subject != nil {
		what += ", attached to another one"
	}
	return what
}
