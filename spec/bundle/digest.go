package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// A Digest is a tree digest: "tree-sha256:" and 64 lower-case hex digits.
//
// It is the SHA-256 of one line for each entry, sorted by path bytes:
// the SHA-256 in hex of the content (or of a link's text), a space, the [Kind], a
// space, the path, a newline. Only [ParseDigest], [TreeDigest] and a Guard make one.
type Digest string

const digestPrefix = "tree-sha256:"

// ParseDigest parses s, which must be in the one form a Digest has.
func ParseDigest(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, digestPrefix)
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", diag.New(diag.Misuse, CodeDigest, "%q is not a tree digest: %s and 64 hex digits", s, digestPrefix)
	}
	return Digest(s), nil
}

// Short is the first 12 hex digits, for people; the zero Digest gives "".
func (d Digest) Short() string {
	digits := strings.TrimPrefix(string(d), digestPrefix)
	return digits[:min(12, len(digits))]
}

// TreeDigest returns the digest of a bundle with these entries, which may
// be in any order and stay in it. Paths are taken as unique.
func TreeDigest(entries []Entry) Digest {
	byPath := func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(entries, byPath) {
		entries = slices.Clone(entries)
		order.Sort(entries, byPath)
	}
	h := sha256.New()
	var line []byte
	for i := range entries {
		e := &entries[i]
		line = hex.AppendEncode(line[:0], e.SHA256[:])
		line = append(line, ' ', byte(e.Kind), ' ')
		line = append(line, e.Path...)
		h.Write(append(line, '\n'))
	}
	return Digest(digestPrefix + hex.EncodeToString(h.Sum(nil)))
}
