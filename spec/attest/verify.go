package attest

import (
	"crypto/x509"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// A State is the outcome of a verification.
type State string

// The four states of a release.
const (
	Verified State = "verified" // a trusted signer signed exactly this release
	Unsigned State = "unsigned" // there is no signature at all
	Failed   State = "failed"   // there are signatures, and none can be accepted
	Skipped  State = "skipped"  // nothing is trusted, so nothing was looked at
)

// A Code is a stable reason of a verdict.
type Code string

// Reasons, from the nearest miss to the furthest. The verdict over many bundles
// takes the nearest.
const (
	Replayed       Code = "replayed"        // a good signature of a trusted signer, of another release
	WrongDigest    Code = "wrong_digest"    // a good signature of a trusted signer, of other content
	WrongPredicate Code = "wrong_predicate" // a trusted signer says something else than "I signed this"
	WrongIssuer    Code = "wrong_issuer"    // the right identity according to the wrong issuer
	WrongIdentity  Code = "wrong_identity"  // an identity that is not trusted
	Expired        Code = "expired"         // signed while the certificate was not valid
	NoTimestamp    Code = "no_timestamp"    // nothing trusted says when it was signed
	NotLogged      Code = "not_logged"      // in no known transparency log
	BadLog         Code = "bad_log_entry"   // the log entry or its proof is wrong
	UntrustedRoot  Code = "untrusted_root"  // the certificate comes from elsewhere
	BadSignature   Code = "bad_signature"   // the content was changed after signing, or another key signed
	WrongKey       Code = "wrong_key"       // signed with a key that is not trusted
	Malformed      Code = "malformed"       // no bundle of version 0.3 with one signed statement
	NoBundle       Code = "no_signature"    // state Unsigned
	NoTrust        Code = "no_trust"        // state Skipped
)

var nearness = [...]Code{Replayed, WrongDigest, WrongPredicate, WrongIssuer, WrongIdentity, Expired, NoTimestamp,
	NotLogged, BadLog, UntrustedRoot, BadSignature, WrongKey, Malformed}

// An Identity is a signer without a key that is trusted. Issuer and one of
// Identity and Pattern are required.
type Identity struct {
	Issuer     string // exact
	Identity   string // exact
	Pattern    string // regular expression (RE2) for the whole identity; anchors are added
	Repository string // exact; "" means any
	Runner     string // exact; "" means any
}

// Trust is whom a caller believes. The zero Trust believes nobody.
type Trust struct {
	Keys       []PublicKey
	Identities []Identity
	Root       *TrustedRoot // needed for Identities
	Predicates []string     // that count as a signature; nil means SignaturePredicate and ProvenancePredicate
}

// A Verdict is what a verification found.
type Verdict struct {
	State  State
	Code   Code   // "" when Verified
	Reason string // a sentence without a period, "" when Verified
	Signer Signer // when Verified

	At            time.Time // when it was signed, zero for a key
	PredicateType string    // of the statement that was accepted
	Predicate     []byte    // its JSON
	Bundles       []Attempt // one per bundle, in their order
}

// An Attempt is what became of one bundle; the Code is "" for a good one, and
// for those that were not looked at after it.
type Attempt struct {
	Code   Code
	Reason string
}

// Err is nil for a release that was verified or skipped. For the others it is
// a *diag.Error of class Refused about the release called name, whose code is
// "signature_" and the reason: signature_wrong_key, signature_no_signature.
func (v Verdict) Err(name string) error {
	switch v.State {
	case Verified, Skipped:
		return nil
	case Unsigned:
		return diag.New(diag.Refused, "signature_"+string(v.Code), "%s is not signed", name)
	}
	return diag.New(diag.Refused, "signature_"+string(v.Code), "the signature of %s is refused: %s", name, v.Reason)
}

// refusal is a reason against one bundle.
type refusal struct {
	code   Code
	reason string
}

func refuse(code Code, format string, args ...any) *refusal {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// A Verifier verifies against one Trust. It is meant to be kept: patterns and
// certificates are parsed once. It may be used concurrently.
type Verifier struct {
	keys       []PublicKey
	identities []identity
	root       *TrustedRoot
	predicates []string
}

type identity struct {
	Identity
	pattern *regexp.Regexp // nil when exact
}

// NewVerifier checks t. Errors have the code bad_trust: a pattern that is no
// regular expression, an identity without an issuer, identities without a root.
func NewVerifier(t Trust) (*Verifier, error) {
	v := &Verifier{keys: slices.Clone(t.Keys), root: t.Root, predicates: slices.Clone(t.Predicates)}
	if t.Predicates == nil {
		v.predicates = []string{SignaturePredicate, ProvenancePredicate}
	}
	for _, k := range t.Keys {
		if k.key == nil {
			return nil, diag.New(diag.Misuse, "bad_trust", "a trusted key is empty")
		}
	}
	if len(t.Identities) > 0 && t.Root == nil {
		return nil, diag.New(diag.Misuse, "bad_trust", "identities are trusted, but no trusted root says who may certify them")
	}
	for _, id := range t.Identities {
		if id.Issuer == "" || (id.Identity == "") == (id.Pattern == "") {
			return nil, diag.New(diag.Misuse, "bad_trust", "a trusted identity needs an issuer, and either an identity or a pattern")
		}
		compiled := identity{Identity: id}
		if id.Pattern != "" {
			// On its own first: "a)|(b" would become valid inside the group and escape the anchors.
			if _, err := regexp.Compile(id.Pattern); err != nil {
				return nil, diag.New(diag.Misuse, "bad_trust", "the identity pattern %q is no regular expression", diag.Printable(id.Pattern))
			}
			// \A and \z stay anchors whatever flags the pattern sets.
			whole, err := regexp.Compile(`\A(?:` + id.Pattern + `)\z`)
			if err != nil {
				return nil, diag.New(diag.Misuse, "bad_trust", "the identity pattern %q is too large", diag.Printable(id.Pattern))
			}
			compiled.pattern = whole
		}
		v.identities = append(v.identities, compiled)
	}
	return v, nil
}

// Verify looks for a bundle by which a trusted signer signed subject. It stops
// at the first. A subject whose digest is not one fails every bundle.
func (v *Verifier) Verify(bundles [][]byte, subject Subject) Verdict {
	if len(v.keys)+len(v.identities) == 0 {
		return Verdict{State: Skipped, Code: NoTrust, Reason: "no key and no identity is trusted"}
	}
	if len(bundles) == 0 {
		return Verdict{State: Unsigned, Code: NoBundle, Reason: "no signature is attached"}
	}
	out := Verdict{State: Failed, Bundles: make([]Attempt, len(bundles))}
	best := len(nearness)
	for i, text := range bundles {
		if i == MaxBundles {
			for j := range bundles[i:] {
				out.Bundles[i+j] = Attempt{Malformed, fmt.Sprintf("only the first %d are looked at", MaxBundles)}
			}
			break
		}
		found, no := v.one(text, subject)
		if no == nil {
			found.State, found.Bundles = Verified, out.Bundles
			return found
		}
		out.Bundles[i] = Attempt{no.code, no.reason}
		if near := slices.Index(nearness[:], no.code); near < best {
			best, out.Code, out.Reason = near, no.code, no.reason
		}
	}
	return out
}

// one verifies a single bundle: first who signed, then what.
func (v *Verifier) one(text []byte, subject Subject) (Verdict, *refusal) {
	b, no := parseBundle(text)
	if no != nil {
		return Verdict{}, no
	}
	var out Verdict
	if b.Material.PublicKey != nil {
		out.Signer, no = v.byKey(b)
	} else {
		out.Signer, out.At, no = v.byCertificate(b)
	}
	if no != nil {
		return Verdict{}, no
	}
	st, no := b.statement()
	if no != nil {
		return Verdict{}, no
	}
	if no := about(st, subject); no != nil {
		return Verdict{}, no
	}
	if !slices.Contains(v.predicates, st.PredicateType) {
		return Verdict{}, refuse(WrongPredicate, "it is a statement of type %q and not a signature", st.PredicateType)
	}
	out.PredicateType, out.Predicate = st.PredicateType, st.Predicate
	return out, nil
}

// byKey finds the trusted key that signed b. The hint in a bundle is not signed:
// it only helps to say what is wrong.
func (v *Verifier) byKey(b *bundle) (Signer, *refusal) {
	if len(v.keys) == 0 {
		return Signer{}, refuse(WrongKey, "it is signed with a key, and only identities are trusted")
	}
	env := b.envelope()
	covered := env.Covered()
	hinted := false
	for _, k := range v.keys {
		if verifies(k.key, covered, env.Signature) {
			return Signer{Key: k.Fingerprint()}, nil
		}
		hinted = hinted || k.ID() == b.Material.PublicKey.Hint
	}
	if hinted {
		return Signer{}, refuse(BadSignature, "it names a trusted key, but that key did not sign this")
	}
	return Signer{}, refuse(WrongKey, "it is signed with a key that is not trusted")
}

func (v *Verifier) byCertificate(b *bundle) (Signer, time.Time, *refusal) {
	if len(v.identities) == 0 {
		return Signer{}, time.Time{}, refuse(WrongIdentity, "it is signed by an identity, and only keys are trusted")
	}
	leaf, err := x509.ParseCertificate(b.Material.Certificate.Raw)
	if err != nil {
		return Signer{}, time.Time{}, refuse(Malformed, "its certificate is damaged")
	}
	env := b.envelope()
	if !verifies(leaf.PublicKey, env.Covered(), env.Signature) {
		return Signer{}, time.Time{}, refuse(BadSignature, "its content was changed after signing, or another key signed it")
	}
	signer, no := certificateSigner(leaf)
	if no != nil {
		return Signer{}, time.Time{}, no
	}
	at, no := v.root.signedBy(b, leaf)
	if no != nil {
		return Signer{}, time.Time{}, no
	}
	if no := v.trusts(signer); no != nil {
		return Signer{}, time.Time{}, no
	}
	return signer, at, nil
}

func (v *Verifier) trusts(s Signer) *refusal {
	otherIssuer := false
	for _, id := range v.identities {
		matches := s.Identity == id.Identity.Identity
		if id.pattern != nil {
			matches = id.pattern.MatchString(s.Identity)
		}
		matches = matches && (id.Repository == "" || id.Repository == s.Repository) && (id.Runner == "" || id.Runner == s.Runner)
		if matches && s.Issuer == id.Issuer {
			return nil
		}
		otherIssuer = otherIssuer || matches
	}
	if otherIssuer {
		return refuse(WrongIssuer, "it is signed by %s according to %s, and that issuer is not trusted", s.Identity, s.Issuer)
	}
	return refuse(WrongIdentity, "it is signed by %s, who is not trusted", s)
}

// about checks that st speaks of subject: one of its subjects has the digest.
// A subject with our version annotation binds its name and version too; the
// names that other tools write follow no common rule and are not compared.
func about(st Statement, subject Subject) *refusal {
	algorithm, sum, ok := strings.Cut(subject.Digest, ":")
	if !ok || sum == "" {
		return refuse(WrongDigest, "%q is not a digest", subject.Digest)
	}
	var other *Resource
	for i, r := range st.Subject {
		version := r.version()
		foreign := version != "" && (subject.Name != "" && r.Name != subject.Name || subject.Version != "" && version != subject.Version)
		if foreign {
			other = &st.Subject[i]
		} else if r.Digest[algorithm] == sum {
			return nil
		}
	}
	if other != nil {
		return refuse(Replayed, "it is a statement about %s, not about %s", release(other.Name, other.version()), release(subject.Name, subject.Version))
	}
	return refuse(WrongDigest, "it is a statement about other content than %s", subject.Digest)
}

func release(name, version string) string {
	if version == "" {
		return name
	}
	return name + "@" + version
}
