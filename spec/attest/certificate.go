package attest

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sigstore/timestamp-authority/v2/pkg/verification"
)

// signedBy verifies the certificate of b: a path to an issuer of r that holds at
// every time that a log or a timestamp authority vouches for, and at least one
// such time. It returns the earliest.
func (r *TrustedRoot) signedBy(b *bundle, leaf *x509.Certificate) (time.Time, *refusal) {
	paths := r.paths(leaf)
	if len(paths) == 0 {
		return time.Time{}, refuse(UntrustedRoot, "its certificate was not issued by an authority of the trusted root")
	}
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
	for _, t := range times {
		if !(period{leaf.NotBefore, leaf.NotAfter}).holds(t) {
			return time.Time{}, refuse(Expired, "it was signed at %s, its certificate is valid from %s to %s",
				stamp(t), stamp(leaf.NotBefore), stamp(leaf.NotAfter))
		}
		paths = slices.DeleteFunc(paths, func(p path) bool { return !p.holds(t) })
		if len(paths) == 0 {
			return time.Time{}, refuse(UntrustedRoot, "the authority of its certificate was not in use at %s", stamp(t))
		}
		if t.Before(earliest) {
			earliest = t
		}
	}
	if len(r.certLogs) > 0 {
		if no := r.certLogged(leaf, paths[0].chain[1]); no != nil {
			return time.Time{}, no
		}
	}
	return earliest, nil
}

// timestamp verifies an RFC 3161 response over signature with any authority of r.
func (r *TrustedRoot) timestamp(response, signature []byte) (when time.Time, ok bool) {
	// The parser of CMS below is not ours and reads what anybody may have
	// attached: should it panic, this is no timestamp.
	defer func() {
		if recover() != nil {
			when, ok = time.Time{}, false
		}
	}()
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

// A path leads from a certificate to a root; chain holds both, and at least these.
type path struct {
	chain []*x509.Certificate
	valid period // of the authority
}

// holds reports whether every part of p may be used at t.
func (p path) holds(t time.Time) bool {
	return p.valid.holds(t) && !slices.ContainsFunc(p.chain, func(c *x509.Certificate) bool {
		return !(period{c.NotBefore, c.NotAfter}).holds(t)
	})
}

// paths are those from leaf to the issuers of r, as of the start of leaf. What
// else they are worth at a given time, [path.holds] says without checking the
// signatures again.
func (r *TrustedRoot) paths(leaf *x509.Certificate) []path {
	var out []path
	for _, a := range r.issuers {
		roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(a.root)
		for _, c := range a.intermediates {
			intermediates.AddCert(c)
		}
		chains, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: intermediates, CurrentTime: leaf.NotBefore,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		})
		if err != nil {
			continue
		}
		for _, chain := range chains {
			if len(chain) > 1 { // a root itself signs no statements
				out = append(out, path{chain, a.valid})
			}
		}
	}
	return out
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
