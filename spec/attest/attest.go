// Package attest signs and verifies statements about releases: which bytes
// were published under which name, said by whom.
//
// A [Statement] is an in-toto statement v1 whose subject is the sha256 digest of
// an OCI manifest. It is signed as a DSSE envelope and stored as a sigstore
// bundle v0.3 (JSON), attached to the manifest as an OCI referrer in the layout
// that cosign v3 reads and writes; see [Attach].
//
// Two kinds of signers exist. A key is a file of the publisher; its bundles
// carry neither a time nor a log entry, so the key itself is what is trusted.
// An identity is what an OpenID issuer said about somebody or about a CI job,
// written into a certificate that lives for minutes (keyless). Its bundles are
// accepted only with a proof of when they were made.
//
// Three foreign forms are verified too: commits and annotated tags of git signed with an SSH key ([GitEvidence],
// [ParseAllowedSigners]), signatures that cosign made before its version 3 ([SimpleEvidence]), and the file by which
// OpenSSF Model Signing signs all files of a directory ([OMSEvidence], [ParseOMSSigners]).
//
// A [Verifier] promises:
//   - it works on bytes alone, without a network, a clock or files;
//   - of many bundles one good one is enough, and the reasons against the
//     others are kept;
//   - patterns of identities match whole identities, never a part of one;
//   - a statement of another release is refused although its signature is good.
//
// It refuses bundles of other versions than 0.3, signatures over a bare message
// in place of a statement, statements of more than 1,024 subjects, bundles above
// [MaxBundle] bytes, and looks at [MaxBundles] bundles at most.
//
// Everything that a trusted root (trusted_root.json) lists is demanded: with transparency
// logs, an entry in one of them; with certificate logs, a timestamp of one in
// the certificate; in every case a time, from a log of Rekor v1 or from a
// timestamp authority, at which the certificate was valid.
//
// Bundles, roots and proofs are read and verified by sigstore-go, never reaching
// a network or a TUF repository. This package adds which of its checks a
// [Trust] asks for, whose release a statement is about, and why a bundle was
// refused. Linking it costs every start of the program a few milliseconds.
package attest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Predicate types.
const (
	// SignaturePredicate says "I signed this", with an empty predicate; cosign's own.
	SignaturePredicate = "https://sigstore.dev/cosign/sign/v1"
	// ProvenancePredicate says how the subject was built (SLSA v1); those that
	// forges make for their CI jobs count as signatures.
	ProvenancePredicate = "https://slsa.dev/provenance/v1"
	// RotationPredicate hands over from one key to the next; see [Rotation].
	RotationPredicate = "https://github.com/skl-project/skl/rotate/v1"
)

const (
	statementType    = "https://in-toto.io/Statement/v1"
	statementTypeOld = "https://in-toto.io/Statement/v0.1" // same fields; still written by older builders
	payloadType      = "application/vnd.in-toto+json"

	versionAnnotation = "skl.version" // of a subject
	maxSubjects       = 1024
)

// A Subject is a release that a statement speaks about.
type Subject struct {
	Name    string   // "namespace/name", without a host so that a mirror serves the same statement; "" is not compared
	Version string   // "1.4.2"; "" is not compared, and a statement without one binds no name either
	Digest  string   // of the manifest: "sha256:" or "sha512:" and lower-case hex; of a commit, see [GitDigest]
	Tree    string   // tree digest of the files; "" if they are not known
	Tags    []string // in git, the names of tags that stand for Version
}

// A Statement is an in-toto statement v1.
type Statement struct {
	Type          string          `json:"_type"`
	Subject       []Resource      `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// A Resource is a subject as in-toto writes it.
type Resource struct {
	Name        string            `json:"name,omitempty"`
	Digest      map[string]string `json:"digest"` // algorithm: lower-case hex
	Annotations map[string]any    `json:"annotations,omitempty"`
}

// NewSignature is the statement that signs s and says nothing else about it.
func NewSignature(s Subject) (Statement, error) {
	return NewStatement(s, SignaturePredicate, json.RawMessage(`{}`))
}

// NewStatement is a statement of any predicate type about s; predicate is a
// JSON object. Its errors have the codes invalid_digest and invalid_predicate.
func NewStatement(s Subject, predicateType string, predicate json.RawMessage) (Statement, error) {
	algorithm, sum, err := splitDigest(s.Digest)
	if err != nil {
		return Statement{}, err
	}
	if predicateType == "" {
		return Statement{}, diag.New(diag.Misuse, "invalid_predicate", "a statement needs a predicate type")
	}
	if predicate = bytes.TrimSpace(predicate); !json.Valid(predicate) || predicate[0] != '{' {
		return Statement{}, diag.New(diag.Misuse, "invalid_predicate", "the predicate of type %s is not a JSON object", predicateType)
	}
	r := Resource{Name: s.Name, Digest: map[string]string{algorithm: sum}}
	if s.Version != "" {
		r.Annotations = map[string]any{versionAnnotation: s.Version}
	}
	return Statement{Type: statementType, Subject: []Resource{r}, PredicateType: predicateType, Predicate: predicate}, nil
}

// version is the release that r claims to be, "" if it does not say.
func (r Resource) version() string {
	v, _ := r.Annotations[versionAnnotation].(string)
	return v
}

// splitDigest parses a digest of an OCI manifest.
func splitDigest(s string) (algorithm, sum string, err error) {
	algorithm, sum, ok := strings.Cut(s, ":")
	size := map[string]int{"sha256": 64, "sha512": 128}[algorithm]
	if _, herr := hex.DecodeString(sum); !ok || size == 0 || len(sum) != size || herr != nil || strings.ToLower(sum) != sum {
		return "", "", diag.New(diag.Misuse, "invalid_digest", "%q is not a digest of the form sha256:<64 hex digits>", diag.Printable(s))
	}
	return algorithm, sum, nil
}
