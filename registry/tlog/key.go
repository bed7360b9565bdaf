package tlog

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// publicOf derives the verifier key from a signer key, whose data is one byte for the algorithm
// and the Ed25519 seed: golang.org/x/mod/sumdb/note, "Generating Keys".
func publicOf(secret string) (string, error) {
	rest, ok := strings.CutPrefix(secret, "PRIVATE+KEY+")
	name, rest, ok2 := strings.Cut(rest, "+")
	_, data, ok3 := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(data)
	if !ok || !ok2 || !ok3 || err != nil || len(raw) != 1+ed25519.SeedSize {
		return "", errors.New("malformed signing key")
	}
	return note.NewEd25519VerifierKey(name, ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey))
}
