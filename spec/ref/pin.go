package ref

import "strings"

// A Commit is the full id of a git commit: 40 or 64 lower-case hex digits. The zero
// Commit names none. [ParseCommit] makes one of text from outside.
type Commit string

// ParseCommit parses s; ok says whether it is a full id.
func ParseCommit(s string) (c Commit, ok bool) {
	if len(s) != 40 && len(s) != 64 || !isHex(s) {
		return "", false
	}
	return Commit(s), true
}

// Short is the first 12 digits, for people and pseudo-versions; the zero Commit gives "".
func (c Commit) Short() string { return string(c[:min(12, len(c))]) }

// A Digest names bytes: "sha256:" and 64, or "sha512:" and 128 lower-case hex digits. The
// zero Digest names none. [ParseDigest] makes one of text from outside.
type Digest string

// ParseDigest parses s; ok says whether it has the one form of a digest.
func ParseDigest(s string) (d Digest, ok bool) {
	kind, digits, _ := strings.Cut(s, ":")
	if !isHex(digits) || (kind != "sha256" || len(digits) != 64) && (kind != "sha512" || len(digits) != 128) {
		return "", false
	}
	return Digest(s), true
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
