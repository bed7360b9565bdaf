package attest

import (
	"bytes"
	"cmp"
	"crypto"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

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
	NotChecked     Code = "not_checked"     // signed in a way that is not verified here, so it is no signature: state Unsigned
	Malformed      Code = "malformed"       // no bundle of version 0.3 with one signed statement
	NoBundle       Code = "no_signature"    // state Unsigned
	NoTrust        Code = "no_trust"        // state Skipped
	Revoked        Code = "revoked"         // by whoever verifies: the signer counts no more; never said by a Verifier
)

var nearness = [...]Code{Replayed, WrongDigest, WrongPredicate, WrongIssuer, WrongIdentity, Expired, NoTimestamp,
	NotLogged, BadLog, UntrustedRoot, BadSignature, WrongKey, NotChecked, Malformed}

// An Identity is a signer without a key that is trusted. Issuer and one of
// Identity and Pattern are required.
type Identity struct {
	Issuer     string // exact
	Identity   string // exact
	Pattern    string // regular expression (RE2) for the whole identity; anchors are added
	Repository string // exact; "" means any
	Runner     string // exact; "" means any
}

// SSHSigners are those of an allowed-signers file, or some of them.
type SSHSigners struct {
	Allowed []AllowedSigner
	Pattern string // regular expression (RE2) for the whole list of principals; "" means any
}

// Trust is whom a caller believes. The zero Trust believes nobody.
type Trust struct {
	Keys       []PublicKey
	Identities []Identity
	Root       *TrustedRoot // needed for Identities
	SSH        []SSHSigners // who may sign commits and tags of git
	OMS        []OMSSigners // who may sign the files of a skill, in the file [OMSFile] of it
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
		if v.Code == NotChecked {
			return diag.New(diag.Refused, "signature_"+string(v.Code), "%s has no signature that counts: %s", name, v.Reason)
		}
		return diag.New(diag.Refused, "signature_"+string(v.Code), "%s is not signed", name)
	}
	return diag.New(diag.Refused, "signature_"+string(v.Code), "the signature of %s is refused: %s", name, v.Reason)
}

// refusal is a reason against one bundle.
type refusal struct {
	code   Code
	reason string
}

//go:noinline
func malformed(reason string) *refusal { return &refusal{Malformed, reason} }

//go:noinline
func refuse(code Code, format string, args ...any) *refusal {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// A Verifier verifies against one Trust. It is meant to be kept: patterns and
// certificates are parsed once. It may be used concurrently.
type Verifier struct {
	keys       []trustedKey
	identities verify.CertificateIdentities
	policies   []verify.PolicyOption // that one of identities signed
	root       *TrustedRoot
	predicates []string
	ssh        []sshTrust
	oms        []OMSSigners
}

// An sshTrust is an allowed signer whose principals have to match a pattern, if there is one.
type sshTrust struct {
	AllowedSigner
	trusted *regexp.Regexp
}

// A trustedKey is a key with the verifier that knows this key alone: the hint in
// a bundle is not signed, so that it cannot choose one.
type trustedKey struct {
	PublicKey
	material root.TrustedMaterial
	verifier *verify.Verifier
}

// NewVerifier checks t. Errors have the code invalid_trust: a pattern that is no
// regular expression, an identity without an issuer, identities without a root.
func NewVerifier(t Trust) (*Verifier, error) {
	v := &Verifier{root: t.Root, oms: t.OMS, predicates: slices.Clone(t.Predicates)}
	if t.Predicates == nil {
		v.predicates = []string{SignaturePredicate, ProvenancePredicate}
	}
	for _, k := range t.Keys {
		if k.key == nil {
			return nil, diag.New(diag.Misuse, "invalid_trust", "a trusted key is empty")
		}
		trusted, err := trustKey(k)
		if err != nil {
			return nil, diag.New(diag.Misuse, "invalid_trust", "the trusted key %s cannot be used", k.Fingerprint())
		}
		v.keys = append(v.keys, trusted)
	}
	if len(t.Identities) > 0 && t.Root == nil {
		return nil, diag.New(diag.Misuse, "invalid_trust", "identities are trusted, but no trusted root says who may certify them")
	}
	for _, some := range t.SSH {
		whole, err := wholePattern(some.Pattern)
		if err != nil {
			return nil, err
		}
		for _, a := range some.Allowed {
			v.ssh = append(v.ssh, sshTrust{a, whole})
		}
	}
	for _, id := range t.Identities {
		if id.Issuer == "" || (id.Identity == "") == (id.Pattern == "") {
			return nil, diag.New(diag.Misuse, "invalid_trust", "a trusted identity needs an issuer, and either an identity or a pattern")
		}
		pattern, err := wholePattern(id.Pattern)
		if err != nil {
			return nil, err
		}
		whole := ""
		if pattern != nil {
			whole = pattern.String()
		}
		trusted, err := verify.NewShortCertificateIdentity(id.Issuer, "", id.Identity, whole)
		if err != nil {
			return nil, diag.New(diag.Misuse, "invalid_trust", "the identity pattern %q is too large", diag.Printable(id.Pattern))
		}
		trusted.Extensions = certificate.Extensions{SourceRepositoryURI: id.Repository, RunnerEnvironment: id.Runner}
		v.identities = append(v.identities, trusted)
		v.policies = append(v.policies, verify.WithCertificateIdentity(trusted))
	}
	return v, nil
}

// wholePattern is a pattern that has to match the whole of a text, nil if it is "".
func wholePattern(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	// On its own first: "a)|(b" would become valid inside the group and escape the anchors.
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, diag.New(diag.Misuse, "invalid_trust", "the identity pattern %q is not a regular expression", diag.Printable(pattern))
	}
	// \A and \z stay anchors whatever flags the pattern sets.
	whole, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, diag.New(diag.Misuse, "invalid_trust", "the identity pattern %q is too large", diag.Printable(pattern))
	}
	return whole, nil
}

func trustKey(k PublicKey) (trustedKey, error) {
	_, hash := prehash(k.key, nil)
	if hash == 0 {
		hash = crypto.SHA512 // Ed25519 hashes by itself; the loader wants one named
	}
	loaded, err := signature.LoadVerifier(k.key, hash)
	if err != nil {
		return trustedKey{}, err
	}
	expiring := root.NewExpiringKey(loaded, time.Time{}, time.Time{})
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { return expiring, nil })
	verifier, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps(), verify.WithoutStatementPredicate())
	return trustedKey{k, material, verifier}, err
}

// Verify looks for a bundle by which a trusted signer signed subject. It stops
// at the first. A subject whose digest is not one fails every bundle.
func (v *Verifier) Verify(bundles [][]byte, subject Subject) Verdict {
	if len(v.keys)+len(v.identities)+len(v.ssh)+len(v.oms) == 0 {
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
	if out.Code == NotChecked {
		out.State = Unsigned // whoever could forge it could as well take it away
	}
	return out
}

// A finding is whose signature is on a bundle.
type finding struct {
	signer Signer
	at     time.Time
	// accepted says that sigstore-go's verifier found nothing wrong, with the
	// subject's digest and the trusted signers as its policy. Without it the
	// finding only serves to say what is wrong.
	accepted bool
}

// one verifies one bundle.
func (v *Verifier) one(text []byte, subject Subject) (out Verdict, no *refusal) {
	// The parsers of certificates, CMS and log entries are not ours and read what
	// anybody may have attached: should one panic, this is no signature.
	defer func() {
		if recover() != nil {
			out, no = Verdict{}, malformed("it cannot be read")
		}
	}()
	if !bytes.HasPrefix(text, []byte(`{"mediaType"`)) {
		if is, no := v.foreign(&out, text, &subject); is && no != nil {
			return Verdict{}, no
		} else if is {
			return out, nil
		}
	}
	b, no := parseBundle(text)
	if no != nil {
		return Verdict{}, no
	}
	var found finding
	if b.byKey {
		found, no = v.signedByKey(b, subject)
	} else {
		found, no = v.signedByIdentity(b, subject.artifact())
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
	if !found.accepted {
		return Verdict{}, malformed("its statement does not pass the verification of sigstore")
	}
	if !slices.Contains(v.predicates, st.PredicateType) {
		return Verdict{}, refuse(WrongPredicate, "it is a statement of type %q and not a signature", st.PredicateType)
	}
	return Verdict{Signer: found.signer, At: found.at, PredicateType: st.PredicateType, Predicate: st.Predicate}, nil
}

// foreign verifies a signature in a form that is not a sigstore bundle for out; is reports whether text is one.
func (v *Verifier) foreign(out *Verdict, text []byte, subject *Subject) (is bool, no *refusal) {
	unread := malformed("it cannot be read")
	switch {
	case len(text) > 4*MaxBundle:
	case bytes.HasPrefix(text, []byte(`{"git":`)):
		e := new(gitEvidence)
		if json.Unmarshal(text, e) != nil {
			return true, unread
		}
		return true, v.gitSigned(out, e, subject)
	case bytes.HasPrefix(text, []byte(`{"cosign":`)):
		e := new(simpleEvidence)
		if json.Unmarshal(text, e) != nil {
			return true, unread
		}
		return true, v.simpleSigned(out, e, subject)
	case bytes.HasPrefix(text, []byte(`{"oms":`)):
		e := new(omsEvidence)
		if json.Unmarshal(text, e) != nil {
			return true, unread
		}
		return true, v.omsSigned(out, e, subject)
	}
	return false, nil
}

// artifact is the policy that a statement is about the digest of s; nil when
// that is no digest, which [about] refuses.
func (s Subject) artifact() verify.ArtifactPolicyOption {
	algorithm, sum, err := splitDigest(s.Digest)
	if err != nil {
		return nil
	}
	raw, err := hex.DecodeString(sum)
	if err != nil {
		return nil
	}
	return verify.WithArtifactDigest(algorithm, raw)
}

// signedByKey finds the trusted key that signed b.
func (v *Verifier) signedByKey(b *signed, subject Subject) (finding, *refusal) {
	if len(v.keys) == 0 {
		return finding{}, refuse(WrongKey, "it is signed with a key, and only identities are trusted")
	}
	if artifact := subject.artifact(); artifact != nil {
		policy := verify.NewPolicy(artifact, verify.WithKey())
		for _, k := range v.keys {
			if _, err := k.verifier.Verify(b, policy); err == nil {
				return finding{signer: Signer{Key: k.Fingerprint()}, accepted: true}, nil
			}
		}
	}
	content, err1 := b.SignatureContent()
	material, err2 := b.VerificationContent()
	if err1 != nil || err2 != nil {
		return finding{}, malformed("its envelope is damaged")
	}
	hinted := false
	for _, k := range v.keys {
		if verify.VerifySignature(content, material, k.material) == nil {
			return finding{signer: Signer{Key: k.Fingerprint()}}, nil
		}
		hinted = hinted || k.ID() == b.hint
	}
	if hinted {
		return finding{}, refuse(BadSignature, "it names a trusted key, but that key did not sign this")
	}
	return finding{}, refuse(WrongKey, "it is signed with a key that is not trusted")
}

// signedByIdentity finds whom the certificate of b was issued to.
func (v *Verifier) signedByIdentity(b *signed, artifact verify.ArtifactPolicyOption) (finding, *refusal) {
	if len(v.identities) == 0 {
		return finding{}, refuse(WrongIdentity, "it is signed by an identity, and only keys are trusted")
	}
	if artifact != nil {
		if result, err := v.root.verifier.Verify(b, verify.NewPolicy(artifact, v.policies...)); err == nil {
			signer, no := certificateSigner(b, result)
			return finding{signer, earliest(result), true}, no
		}
	}
	// The bundle itself is verified first: if it passes, only the signer or the content can be wrong.
	result, err := v.root.verifier.Verify(b, verify.NewPolicy(b.artifact(), verify.WithoutIdentitiesUnsafe()))
	if err != nil {
		return finding{}, v.root.reason(b)
	}
	signer, no := certificateSigner(b, result)
	if no == nil {
		no = v.trusts(signer, *result.Signature.Certificate)
	}
	return finding{signer: signer, at: earliest(result)}, no
}

func earliest(result *verify.VerificationResult) time.Time {
	var at time.Time
	for _, t := range result.VerifiedTimestamps {
		if at.IsZero() || t.Timestamp.Before(at) {
			at = t.Timestamp
		}
	}
	return at
}

// certificateSigner is what the certificate of a verified bundle says about its
// owner. Of older and newer forms of a claim the newer one counts.
func certificateSigner(b *signed, result *verify.VerificationResult) (Signer, *refusal) {
	material, err := b.VerificationContent()
	if err != nil {
		return Signer{}, malformed("its certificate is damaged")
	}
	// The summary takes the first of several names, which others may not.
	if c := material.Certificate(); len(c.URIs)+len(c.EmailAddresses)+len(c.DNSNames)+len(c.IPAddresses) > 1 {
		return Signer{}, malformed("its certificate names more than one identity")
	}
	s, ok := signerOf(result.Signature.Certificate)
	if !ok {
		return Signer{}, malformed("a claim in its certificate is not printable text")
	}
	return s, nil
}

// signerOf is what a certificate says about its owner; ok is false if that is not printable text.
func signerOf(c *certificate.Summary) (s Signer, ok bool) {
	s = Signer{Issuer: c.Issuer, Identity: c.SubjectAlternativeName, Repository: c.SourceRepositoryURI, Ref: c.SourceRepositoryRef, Runner: c.RunnerEnvironment}
	s.Repository = cmp.Or(s.Repository, c.GithubWorkflowRepository)
	s.Ref = cmp.Or(s.Ref, c.GithubWorkflowRef)
	for _, text := range []string{s.Issuer, s.Identity, s.Repository, s.Ref, s.Runner} {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return Signer{}, false
		}
	}
	return s, true
}

// trusts compares c with the trusted identities.
func (v *Verifier) trusts(s Signer, c certificate.Summary) *refusal {
	if _, err := v.identities.Verify(c); err == nil {
		return nil
	}
	for _, id := range v.identities {
		if id.SubjectAlternativeName.Verify(c) == nil && certificate.CompareExtensions(id.Extensions, c.Extensions) == nil {
			return refuse(WrongIssuer, "it is signed by %s according to %s, and that issuer is not trusted", s.Identity, s.Issuer)
		}
	}
	return refuse(WrongIdentity, "it is signed by %s, who is not trusted", s)
}

// about checks that st speaks of subject: one of its subjects has the digest.
// A subject with our version annotation binds its name and version too; the
// names that other tools write follow no common rule and are not compared.
func about(st Statement, subject Subject) *refusal {
	algorithm, sum, err := splitDigest(subject.Digest)
	if err != nil {
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
