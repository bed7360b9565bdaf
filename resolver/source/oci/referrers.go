package oci

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/resolver/source"
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

// An Attestation is a sigstore bundle that somebody attached to a manifest. Nothing about it has been
// checked but its digest.
type Attestation struct {
	Bundle        []byte // JSON
	PredicateType string // as the referrer's annotation claims; "" if it does not
	Manifest      string // digest of the referrer's manifest
}

// predicateType is the annotation in which cosign repeats the predicate type of a bundle.
const predicateType = "dev.sigstore.bundle.predicateType"

// Referrers returns the sigstore bundles that are attached to l's manifest, in the registry's order, at
// most MaxAttestations. A registry without the referrers interface is asked by the tag schema. One bundle that cannot be
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
			if isBundle(d.ArtifactType) {
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
	return out, nil
}

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
	var out []Attestation
	for _, layer := range layers {
		if !isBundle(layer.MediaType) {
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
		out = append(out, Attestation{Bundle: text, PredicateType: annotations[predicateType], Manifest: string(d.Digest)})
	}
	return out, nil
}
