package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/skl-project/skl/spec/diag"
)

// rotation is the predicate of a rotation.
type rotation struct {
	From   string `json:"from"` // fingerprint
	To     string `json:"to"`   // PEM of the next public key
	Reason string `json:"reason,omitempty"`
}

// Rotation is the statement by which the owner of a key names the next one. It
// is to be signed with old; its subject is the SHA-256 of next in PKIX form.
func Rotation(old, next PublicKey, reason string) (Statement, error) {
	if old.Equal(next) {
		return Statement{}, diag.New(diag.Misuse, "same_key", "the next key is the same key, %s", next.Fingerprint())
	}
	predicate, err := json.Marshal(rotation{From: old.Fingerprint(), To: string(next.PEM()), Reason: reason})
	if err != nil {
		return Statement{}, err
	}
	return NewStatement(Subject{Name: next.Fingerprint(), Digest: next.digest()}, RotationPredicate, predicate)
}

const codeRotation = "rotation_refused"

// Rotated returns the key that old handed over to. Its errors are *diag.Error of
// class Refused with the code rotation_refused.
func Rotated(bundle []byte, old PublicKey) (PublicKey, error) {
	v, err := NewVerifier(Trust{Keys: []PublicKey{old}, Predicates: []string{RotationPredicate}})
	if err != nil {
		return PublicKey{}, err
	}
	b, no := parseBundle(bundle)
	if no != nil {
		return PublicKey{}, diag.New(diag.Refused, codeRotation, "the rotation of %s is refused: %s", old.Fingerprint(), no.reason)
	}
	// The next key is in the predicate; it is believed only when the statement
	// is signed with old and its subject is that key.
	var claim rotation
	st, no := b.statement()
	if no == nil && json.Unmarshal(st.Predicate, &claim) != nil {
		no = refuse(Malformed, "its predicate is not a rotation")
	}
	var next PublicKey
	if no == nil {
		if next, err = ParsePublic([]byte(claim.To)); err != nil || claim.From != old.Fingerprint() {
			no = refuse(Malformed, "it does not lead from this key to another")
		}
	}
	if no != nil {
		return PublicKey{}, diag.New(diag.Refused, codeRotation, "the rotation of %s is refused: %s", old.Fingerprint(), no.reason)
	}
	verdict := v.Verify([][]byte{bundle}, Subject{Digest: next.digest()})
	if verdict.State != Verified {
		return PublicKey{}, diag.New(diag.Refused, codeRotation, "the rotation of %s is refused: %s", old.Fingerprint(), verdict.Reason)
	}
	return next, nil
}

func (k PublicKey) digest() string {
	sum := sha256.Sum256(k.der)
	return "sha256:" + hex.EncodeToString(sum[:])
}
