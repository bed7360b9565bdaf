package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
)

// A Signature is one sigstore bundle attached to a release.
type Signature struct {
	PredicateType string
	Bundle        []byte // JSON
}

// predicateAnnotation says what the statement in a bundle is about, in cosign's layout.
const predicateAnnotation = "dev.sigstore.bundle.predicateType"

// Signatures returns the sigstore bundles attached to a release that who found.
func (g *Registry) Signatures(ctx context.Context, who Caller, r meta.Release) (list []Signature, err error) {
	if !r.Signed {
		return nil, nil
	}
	err = g.view(ctx, func(tx *meta.Tx) error {
		list, err = g.bundles(ctx, tx, r.Repo(), r.Manifest)
		return err
	})
	return list, err
}

// bundles reads what is attached to a manifest. One that cannot be read is left out: it proves nothing.
func (g *Registry) bundles(ctx context.Context, tx *meta.Tx, repo, manifest string) ([]Signature, error) {
	referrers, err := tx.Referrers(ctx, repo, manifest, oci.SigstoreBundle, attest.MaxBundles)
	if err != nil {
		return nil, err
	}
	var list []Signature
	missing := unread{}
	for _, m := range referrers {
		var doc document
		if json.Unmarshal(m.Bytes, &doc) != nil || len(doc.Layers) != 1 {
			continue
		}
		text, err := g.small(doc.Layers[0].Digest.String(), attest.MaxBundle)
		if more, ok := errors.AsType[unread](err); ok {
			maps.Copy(missing, more)
			continue
		}
		if err != nil {
			g.logger().Warn("a signature cannot be read", "repo", repo, "manifest", m.Digest, "error", err)
			continue
		}
		list = append(list, Signature{m.Annotations[predicateAnnotation], text})
	}
	if len(missing) > 0 {
		return nil, missing
	}
	return list, nil
}

// verifySigner looks for a signature of one of the policy's signers. If there is none it
// says why.
func (g *Registry) verifySigner(p meta.Policy, r meta.Release, bundles []Signature) (*lock.Signer, string) {
	if len(p.Signers) == 0 {
		return nil, "no signer is known"
	}
	trust := attest.Trust{}
	for _, s := range p.Signers {
		if s.Key == "" {
			trust.Identities = append(trust.Identities, attest.Identity{Issuer: s.Issuer, Pattern: s.Identity})
			continue
		}
		if key, err := attest.ParsePublic([]byte(s.Key)); err == nil {
			trust.Keys = append(trust.Keys, key)
		}
	}
	if g.TrustedRoot == nil {
		trust.Identities = nil
	} else {
		root, err := attest.ParseRoot(g.TrustedRoot)
		if err != nil {
			return nil, err.Error()
		}
		trust.Root = root
	}
	v, err := attest.NewVerifier(trust)
	if err != nil {
		return nil, err.Error()
	}
	raw := make([][]byte, len(bundles))
	for i, b := range bundles {
		raw[i] = b.Bundle
	}
	verdict := v.Verify(raw, attest.Subject{Name: r.Repo(), Version: r.Version, Digest: r.Manifest})
	if verdict.State != attest.Verified {
		return nil, verdict.Reason
	}
	signer := verdict.Signer.Lock()
	return &signer, ""
}

// signerText is a stored signer for the log, on one line.
func signerText(stored []byte) string {
	var s lock.Signer
	if len(stored) == 0 || json.Unmarshal(stored, &s) != nil {
		return ""
	}
	if s.Key != "" {
		return s.Key
	}
	return s.Issuer + " " + s.Identity
}

// logSigners logs that the signers of a namespace changed.
func (g *Registry) logSigners(ctx context.Context, tx *meta.Tx, who Caller, old, next meta.Namespace) error {
	if slices.Equal(old.Policy.Signers, next.Policy.Signers) && old.Policy.RequireSignature == next.Policy.RequireSignature {
		return nil
	}
	reason := fmt.Sprintf("%d signers, required: %v", len(next.Policy.Signers), next.Policy.RequireSignature)
	_, err := g.append(ctx, tx, tlog.Record{Action: tlog.Rotate, Name: next.Name, By: who.Account, Reason: reason, At: tlog.At(g.now())})
	return err
}
