package blob

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// The algorithms of digests.
const (
	SHA256 = "sha256"
	SHA512 = "sha512"
)

// A Digest is the name of content: "sha256:" and 64, or "sha512:" and 128 lower-case
// hexadecimal digits. Digests can be compared with ==. The zero Digest names
// nothing; all others come from [ParseDigest] or [Sum].
type Digest struct{ text string }

// ParseDigest parses s. For every s it accepts, its String is s.
// Its error is a *diag.Error with the code invalid_digest.
func ParseDigest(s string) (Digest, error) {
	algorithm, digits, _ := strings.Cut(s, ":")
	want := 0
	switch algorithm {
	case SHA256:
		want = 2 * sha256.Size
	case SHA512:
		want = 2 * sha512.Size
	}
	if want == 0 || len(digits) != want || strings.Trim(digits, "0123456789abcdef") != "" {
		return Digest{}, diag.New(diag.Misuse, "invalid_digest", "%q is not a digest: sha256 or sha512, a colon and lower-case hexadecimal digits", diag.Brief(s, 160))
	}
	return Digest{s}, nil
}

// Sum returns the digest of content by SHA256 or SHA512; it panics for another algorithm.
func Sum(algorithm string, content []byte) Digest {
	h := newHash(algorithm)
	h.Write(content)
	return Finish(algorithm, h)
}

// Finish returns the digest of what was written to h, a hash of algorithm: what [Digest.Hash]
// made, or one restored from its saved state. A hash of another size gives the zero Digest, which equals no claim.
func Finish(algorithm string, h hash.Hash) Digest {
	d, err := ParseDigest(algorithm + ":" + hex.EncodeToString(h.Sum(nil)))
	if err != nil {
		return Digest{}
	}
	return d
}

// String is the text form, empty for the zero Digest.
func (d Digest) String() string { return d.text }

// Algorithm is SHA256 or SHA512, and empty for the zero Digest.
func (d Digest) Algorithm() string {
	algorithm, _, _ := strings.Cut(d.text, ":")
	return algorithm
}

// Hex is the part after the colon.
func (d Digest) Hex() string {
	_, digits, _ := strings.Cut(d.text, ":")
	return digits
}

// IsZero reports whether d names nothing.
func (d Digest) IsZero() bool { return d.text == "" }

// Hash returns a new hash of d's algorithm. Its state can be saved and restored: it
// implements encoding.BinaryMarshaler and BinaryUnmarshaler. It panics for the zero Digest.
func (d Digest) Hash() hash.Hash { return newHash(d.Algorithm()) }

// Names reports whether d is the digest of content.
func (d Digest) Names(content []byte) bool {
	h := d.Hash()
	h.Write(content)
	return d.Matches(h)
}

// Matches reports whether what was written to h has the digest d. The hash is one of d's algorithm.
func (d Digest) Matches(h hash.Hash) bool {
	sum := h.Sum(nil)
	want, err := hex.DecodeString(d.Hex())
	return err == nil && len(want) > 0 && bytes.Equal(sum, want)
}

// MarshalText makes a Digest a string in JSON.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.text), nil }

// UnmarshalText accepts what ParseDigest accepts, and empty text for the zero Digest.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	parsed, err := ParseDigest(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}

func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case SHA256:
		return sha256.New()
	case SHA512:
		return sha512.New()
	}
	panic(fmt.Sprintf("blob: no hash algorithm %q", algorithm))
}
