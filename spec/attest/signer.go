package attest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"github.com/skl-project/skl/spec/lock"
)

// A Signer is who signed a release: an identity, or a key.
type Signer struct {
	Kind       string // "" is a statement in a sigstore bundle; "ssh" a commit or tag of git, "cosign" its older form, "oms" a file of the skill
	Issuer     string // OpenID issuer, a URL
	Identity   string // as the issuer says it: an email address, or the URL of a CI workflow with its ref
	Repository string // the repository a CI job ran for, a URL; may be empty
	Ref        string // "refs/tags/v1.4.2"; may be empty
	Runner     string // "github-hosted", "self-hosted"; may be empty
	Key        string // fingerprint of the key; all others are empty then, but for Identity of "ssh", the principals of the key
}

// Lock is s as the lock records it. The principals of an SSH key are names that each machine gives it, so they are left out.
//
//go:noinline
func (s Signer) Lock() lock.Signer {
	if s.Kind == "ssh" {
		return lock.Signer{Kind: s.Kind, Key: s.Key}
	}
	return lock.Signer{Kind: s.Kind, Issuer: s.Issuer, Identity: s.Identity, Repository: s.Repository, Ref: s.Ref, Runner: s.Runner, Key: s.Key}
}

// String is s on one line, for people.
func (s Signer) String() string {
	switch {
	case s.Kind == "ssh" && s.Identity != "":
		return "ssh key " + s.Key + " of " + s.Identity
	case s.Key != "":
		return strings.TrimSpace(s.Kind + " key " + s.Key)
	case s.Kind != "":
		return s.Identity + " (" + s.Issuer + ", " + s.Kind + ")"
	}
	return s.Identity + " (" + s.Issuer + ")"
}

// Claims are the signers that bundles name. Nothing of it is verified: whoever makes a bundle writes there what they like. It serves
// to notice a change where nobody is trusted, and nothing else.
func Claims(bundles [][]byte) (out []Signer) {
	for _, text := range bundles[:min(len(bundles), MaxBundles)] {
		if s, ok := claim(text); ok && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func claim(text []byte) (s Signer, ok bool) {
	defer func() {
		if recover() != nil { // as in Verifier.one: the parsers are not ours
			s, ok = Signer{}, false
		}
	}()
	b, no := parseBundle(text)
	if no != nil {
		return Signer{}, false
	}
	if b.byKey {
		sum, err := base64.StdEncoding.DecodeString(b.hint)
		return Signer{Key: "SHA256:" + base64.RawStdEncoding.EncodeToString(sum)}, err == nil && len(sum) == sha256.Size
	}
	material, err := b.VerificationContent()
	if err != nil || material.Certificate() == nil {
		return Signer{}, false
	}
	c, err := certificate.SummarizeCertificate(material.Certificate())
	if err != nil {
		return Signer{}, false
	}
	return signerOf(&c)
}

// Same reports whether a release signed by next continues one signed by old.
// Pinned are the issuer, the identity without its git ref, the repository, the
// kind of runner, and the key; a ref alone may change with every release. If one
// differs, changed says which, was and is, as a sentence without a period.
func Same(old, next lock.Signer) (ok bool, changed string) {
	for _, pin := range []struct{ what, was, is string }{
		{"key", old.Key, next.Key},
		{"issuer", old.Issuer, next.Issuer},
		{"identity", withoutRef(old.Identity), withoutRef(next.Identity)},
		{"repository", old.Repository, next.Repository},
		{"runner", old.Runner, next.Runner},
	} {
		if pin.was != pin.is {
			return false, fmt.Sprintf("the %s of the signer was %s and is %s", pin.what, orNone(pin.was), orNone(pin.is))
		}
	}
	return true, ""
}

//go:noinline
func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// withoutRef cuts the git ref off the URL of a workflow.
func withoutRef(identity string) string {
	if i := strings.LastIndex(identity, "@refs/"); i >= 0 {
		return identity[:i]
	}
	return identity
}
