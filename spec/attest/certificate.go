package attest

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"strings"
	"time"
	"unicode"

	"github.com/sigstore/timestamp-authority/v2/pkg/verification"
)

// signedBy verifies the certificate of b: a path to an issuer of r at every time
// that a log or a timestamp authority vouches for, and at least one such time.
// It returns the earliest.
func (r *TrustedRoot) signedBy(b *bundle, leaf *x509.Certificate) (time.Time, *refusal) {
	var times []time.Time
	if len(r.logs) > 0 {
		var no *refusal
		if times, no = r.logged(b, leaf); no != nil {
			return time.Time{}, no
		}
	}
	if b.Material.Timestamps != nil {
		for _, t := range b.Material.Timestamps.RFC3161 {
			if when, ok := r.timestamp(t.Signed, b.envelope().Signature); ok {
				times = append(times, when)
			}
		}
	}
	if len(times) == 0 {
		return time.Time{}, refuse(NoTimestamp, "nothing that the trusted root knows says when it was signed")
	}
	earliest := times[0]
	var issuer *x509.Certificate
	for _, t := range times {
		var no *refusal
		if issuer, no = r.issued(leaf, t); no != nil {
			return time.Time{}, no
		}
		if t.Before(earliest) {
			earliest = t
		}
	}
	if len(r.certLogs) > 0 {
		if no := r.certLogged(leaf, issuer); no != nil {
			return time.Time{}, no
		}
	}
	return earliest, nil
}

// timestamp verifies an RFC 3161 response over signature with any authority of r.
func (r *TrustedRoot) timestamp(response, signature []byte) (time.Time, bool) {
	for _, a := range r.timestamps {
		t, err := verification.VerifyTimestampResponse(response, bytes.NewReader(signature), verification.VerifyOpts{
			Roots: []*x509.Certificate{a.root}, Intermediates: a.intermediates, TSACertificate: a.leaf,
		})
		if err == nil && a.valid.holds(t.Time) {
			return t.Time, true
		}
	}
	return time.Time{}, false
}

// issued returns the certificate that signed leaf, if a path to an issuer of r
// holds at time t.
func (r *TrustedRoot) issued(leaf *x509.Certificate, t time.Time) (*x509.Certificate, *refusal) {
	expired := t.Before(leaf.NotBefore) || t.After(leaf.NotAfter)
	for _, a := range r.issuers {
		roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(a.root)
		for _, c := range a.intermediates {
			intermediates.AddCert(c)
		}
		at := t
		if expired {
			at = leaf.NotBefore // only to tell an old certificate from a foreign one
		}
		chains, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: intermediates, CurrentTime: at,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		})
		if err != nil || !a.valid.holds(at) {
			continue
		}
		if expired {
			return nil, refuse(Expired, "it was signed at %s, its certificate is valid from %s to %s",
				stamp(t), stamp(leaf.NotBefore), stamp(leaf.NotAfter))
		}
		if len(chains[0]) < 2 {
			continue // the root itself signs nothing
		}
		return chains[0][1], nil
	}
	return nil, refuse(UntrustedRoot, "its certificate was not issued by an authority of the trusted root")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// oidFulcio is the arc below which sigstore's certificates carry claims.
func oidFulcio() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}
}

// certificateSigner reads who a certificate was issued to. Of older and newer
// forms of a claim the newer one counts.
func certificateSigner(c *x509.Certificate) (Signer, *refusal) {
	if len(c.URIs)+len(c.EmailAddresses)+len(c.DNSNames)+len(c.IPAddresses) != 1 || len(c.DNSNames)+len(c.IPAddresses) > 0 {
		return Signer{}, refuse(Malformed, "its certificate does not name exactly one URI or email address")
	}
	var s Signer
	if len(c.URIs) == 1 {
		s.Identity = c.URIs[0].String()
	} else {
		s.Identity = c.EmailAddresses[0]
	}
	arc := oidFulcio()
	seen := map[int]bool{}
	var oldIssuer, oldRepository, oldRef string
	for _, e := range c.Extensions {
		if len(e.Id) != len(arc)+1 || !e.Id[:len(arc)].Equal(arc) {
			continue
		}
		claim := e.Id[len(arc)]
		if seen[claim] {
			return Signer{}, refuse(Malformed, "its certificate makes a claim twice")
		}
		seen[claim] = true
		var to *string
		switch claim {
		case 1:
			oldIssuer = string(e.Value)
		case 5:
			oldRepository = string(e.Value)
		case 6:
			oldRef = string(e.Value)
		case 8:
			to = &s.Issuer
		case 11:
			to = &s.Runner
		case 12:
			to = &s.Repository
		case 14:
			to = &s.Ref
		}
		if to != nil {
			if rest, err := asn1.Unmarshal(e.Value, to); err != nil || len(rest) > 0 {
				return Signer{}, refuse(Malformed, "a claim in its certificate is damaged")
			}
		}
	}
	if s.Issuer != "" && oldIssuer != "" && s.Issuer != oldIssuer {
		return Signer{}, refuse(Malformed, "its certificate names two issuers")
	}
	fill(&s.Issuer, oldIssuer)
	fill(&s.Repository, oldRepository)
	fill(&s.Ref, oldRef)
	for _, text := range []string{s.Issuer, s.Identity, s.Repository, s.Ref, s.Runner} {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return Signer{}, refuse(Malformed, "a claim in its certificate is not printable text")
		}
	}
	if s.Issuer == "" || s.Identity == "" {
		return Signer{}, refuse(Malformed, "its certificate does not say who issued the identity")
	}
	return s, nil
}

func fill(to *string, from string) {
	if *to == "" {
		*to = from
	}
}
