package oci

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
)

// Bounds of what is attached to a release.
const (
	MaxAttestations = 64      // sigstore bundles that are read
	MaxBundle       = 1 << 20 // bytes of one
	maxReferrers    = 4096    // entries of any kind that are looked at
)

// An Attestation is a signature that somebody attached to a manifest, as a bundle for attest.Verifier. Nothing about it has been
// checked but its digest.
type Attestation struct {
	Bundle        []byte // JSON: a sigstore bundle, or one of attest.SimpleEvidence
	PredicateType string // as the referrer's annotation claims; "" if it does not
	Manifest      string // digest of the referrer's manifest
}

// predicateType is the annotation in which cosign repeats the predicate type of a bundle.
const predicateType = "dev.sigstore.bundle.predicateType"

// Referrers returns the sigstore bundles that are attached to l's manifest, in the registry's order, and what older versions of
// cosign signed, at most MaxAttestations. A registry without the referrers interface is asked by the tag schema. One bundle that cannot be
// read is an error: leaving it out could hide a signature.
func (s *Source) Referrers(ctx context.Context, l lock.Skill) ([]Attestation, error) {
	repo, err := s.at(l.URL)
	if err != nil {
		return nil, err
	}
	if err := oci.CheckDigest(digest.Digest(l.Manifest)); err != nil {
		return nil, err
	}
	subject := v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: digest.Digest(l.Manifest)}
	var attached []v1.Descriptor
	seen := 0
	tooMany := errors.New("too many")
	err = repo.remote.Referrers(ctx, subject, "", func(page []v1.Descriptor) error {
		for _, d := range page {
			if seen++; seen > maxReferrers {
				return tooMany
			}
			if isBundle(d.ArtifactType) || d.ArtifactType == simpleArtifact {
				attached = append(attached, d)
			}
		}
		return nil
	})
	if err == tooMany || len(attached) > MaxAttestations {
		return nil, diag.New(diag.Failed, source.CodeTooLarge, "%s: more is attached to %s than is read, %d bundles", repo.url, subject.Digest, MaxAttestations)
	}
	if err != nil {
		return nil, repo.failed(err)
	}
	var out []Attestation
	for _, d := range attached {
		a, err := repo.attestation(ctx, d, subject.Digest)
		if err != nil {
			return nil, err
		}
		out = append(out, a...)
	}
	older, err := repo.older(ctx, subject.Digest)
	if err != nil {
		return nil, err
	}
	if out = append(out, older...); len(out) > MaxAttestations {
		return nil, diag.New(diag.Failed, source.CodeTooLarge, "%s: more is attached to %s than is read, %d signatures", repo.url, subject.Digest, MaxAttestations)
	}
	return out, nil
}

// older reads what cosign signed before version 3: a manifest under a tag that is made of the digest of what it is about.
func (r *repository) older(ctx context.Context, subject digest.Digest) ([]Attestation, error) {
	m, err := r.manifest(ctx, strings.Replace(string(subject), ":", "-", 1)+".sig")
	if errors.Is(err, diag.Code("oci_not_found")) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	layers, _, annotations, err := oci.Referrer(m.bytes)
	if err != nil {
		return nil, r.explain(err)
	}
	return r.signatures(ctx, m.digest, layers, annotations)
}

// simpleArtifact is the type of a referrer that holds what cosign otherwise puts under a tag.
const simpleArtifact = "application/vnd.dev.cosign.artifact.sig.v1+json"

func isBundle(mediaType string) bool {
	return strings.HasPrefix(mediaType, "application/vnd.dev.sigstore.bundle")
}

// attestation reads the bundles of one referrer; cosign writes one. One that is attached to something else gives none.
func (r *repository) attestation(ctx context.Context, d v1.Descriptor, subject digest.Digest) ([]Attestation, error) {
	if err := oci.CheckDigest(d.Digest); err != nil {
		return nil, r.explain(err)
	}
	m, err := r.manifest(ctx, string(d.Digest))
	if err != nil {
		return nil, err
	}
	layers, about, annotations, err := oci.Referrer(m.bytes)
	if err != nil {
		return nil, r.explain(err)
	}
	if about != subject {
		return nil, nil // the tag schema is a list that anybody with write access makes
	}
	return r.signatures(ctx, m.digest, layers, annotations)
}

// signatures reads the layers of a manifest that hold one.
func (r *repository) signatures(ctx context.Context, manifest digest.Digest, layers []v1.Descriptor, annotations map[string]string) ([]Attestation, error) {
	var out []Attestation
	for _, layer := range layers {
		if !isBundle(layer.MediaType) && layer.MediaType != attest.SimpleSigning {
			continue
		}
		if layer.Size > MaxBundle || len(out) == MaxAttestations {
			return nil, diag.New(diag.Refused, oci.CodeTooLarge, "%s: the bundle %s has more than %d bytes, the limit", r.url, layer.Digest, MaxBundle)
		}
		blob, err := r.blob(ctx, layer)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.NewSectionReader(blob, 0, layer.Size))
		blob.Close()
		if err == nil {
			err = oci.CheckBytes(layer, text)
		}
		if err != nil {
			return nil, r.explain(err)
		}
		a := Attestation{Bundle: text, PredicateType: annotations[predicateType], Manifest: string(manifest)}
		if layer.MediaType == attest.SimpleSigning {
			a.PredicateType = attest.SignaturePredicate
			if a.Bundle, err = attest.SimpleEvidence(text, layer.Annotations); err != nil {
				return nil, err
			}
		}
		out = append(out, a)
	}
	return out, nil
}
