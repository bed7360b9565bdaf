package attest

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/spec/lock"
)

// A Signer is who signed a release: an identity, or a key.
type Signer struct {
	Issuer     string // OpenID issuer, a URL
	Identity   string // as the issuer says it: an email address, or the URL of a CI workflow with its ref
	Repository string // the repository a CI job ran for, a URL; may be empty
	Ref        string // "refs/tags/v1.4.2"; may be empty
	Runner     string // "github-hosted", "self-hosted"; may be empty
	Key        string // fingerprint of the key; all others are empty then
}

// Lock is s as the lock records it.
func (s Signer) Lock() lock.Signer {
	return lock.Signer{Issuer: s.Issuer, Identity: s.Identity, Repository: s.Repository, Ref: s.Ref, Runner: s.Runner, Key: s.Key}
}

// String is s on one line, for people.
func (s Signer) String() string {
	if s.Key != "" {
		return "key " + s.Key
	}
	return s.Identity + " (" + s.Issuer + ")"
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
