package attest

import (
	"bytes"
	"encoding/hex"
	"io"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// reason says why r's verifier refused the signature, the certificate or the
// proofs of b. It takes the verifier's steps one by one and names the first that
// fails; it can never accept anything.
func (r *TrustedRoot) reason(b *signed) *refusal {
	content, err := b.SignatureContent()
	if err != nil {
		return malformed("its envelope is damaged")
	}
	material, err := b.VerificationContent()
	if err != nil {
		return malformed("its certificate is damaged")
	}
	if b.message == nil {
		err = verify.VerifySignature(content, material, r.material)
	} else {
		err = verify.VerifySignatureWithArtifacts(content, material, r.material, []io.Reader{bytes.NewReader(b.message)})
	}
	if err != nil {
		return refuse(BadSignature, "its content was changed after signing, or another key signed it")
	}
	leaf := material.Certificate()
	if _, err := certificate.SummarizeCertificate(leaf); err != nil {
		return malformed("its certificate does not say who signed")
	}
	if _, err := verify.VerifyLeafCertificate(leaf.NotBefore, leaf, r.material); err != nil {
		return refuse(UntrustedRoot, "its certificate was not issued by an authority of the trusted root")
	}
	times, no := r.times(b)
	if no != nil {
		return no
	}
	for _, t := range times {
		chains, err := verify.VerifyLeafCertificate(t, leaf, r.material)
		switch {
		case err != nil && !material.ValidAtTime(t, r.material):
			return refuse(Expired, "it was signed at %s, its certificate is valid from %s to %s", stamp(t), stamp(leaf.NotBefore), stamp(leaf.NotAfter))
		case err != nil:
			return refuse(UntrustedRoot, "the authority of its certificate was not in use at %s", stamp(t))
		case len(r.material.CTLogs()) > 0 && verify.VerifySignedCertificateTimestamp(chains, 1, r.material) != nil:
			return refuse(BadLog, "its certificate is in no certificate log of the trusted root")
		}
	}
	return malformed("it does not pass the verification of sigstore")
}

// times are those that logs and timestamp authorities of r vouch for, at least one.
func (r *TrustedRoot) times(b *signed) ([]time.Time, *refusal) {
	var times []time.Time
	if len(r.material.RekorLogs()) > 0 {
		logged, err := verify.VerifyTlogEntry(b, r.material, 1, true)
		if err != nil {
			return nil, r.logReason(b)
		}
		for _, t := range logged {
			times = append(times, t.Time)
		}
	}
	stamped, _, err := verify.VerifySignedTimestamp(b, r.material)
	if err != nil {
		return nil, malformed("its timestamps cannot be read")
	}
	for _, t := range stamped {
		times = append(times, t.Time)
	}
	if len(times) == 0 {
		return nil, refuse(NoTimestamp, "nothing that the trusted root knows says when it was signed")
	}
	return times, nil
}

func (r *TrustedRoot) logReason(b *signed) *refusal {
	known := false
	for _, entry := range b.entries {
		known = known || r.material.RekorLogs()[hex.EncodeToString(entry.GetLogId().GetKeyId())] != nil
	}
	if !known {
		return refuse(NotLogged, "it is in no transparency log of the trusted root")
	}
	if _, err := verify.VerifyTlogEntry(anytime{b}, r.material, 1, true); err == nil {
		return refuse(Expired, "it was entered into the log while its certificate was not valid")
	}
	return refuse(BadLog, "its log entry is not about this signature, or not proven")
}

// An anytime is a bundle whose certificate is taken as valid always, to find out
// whether the time is all that is wrong.
type anytime struct{ verify.SignedEntity }

// VerificationContent implements verify.SignedEntity.
func (a anytime) VerificationContent() (verify.VerificationContent, error) {
	c, err := a.SignedEntity.VerificationContent()
	return always{c}, err
}

type always struct{ verify.VerificationContent }

// ValidAtTime implements verify.VerificationContent.
func (always) ValidAtTime(time.Time, root.TrustedMaterial) bool { return true }

//go:noinline
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
