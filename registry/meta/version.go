package meta

import (
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// versionKey returns a text that sorts by bytes as semantic versions do, and whether
// v is a prerelease. What is not a semantic version sorts before all that are.
func versionKey(v string) (key string, prerelease bool) {
	sv, err := semver.StrictNewVersion(v)
	if err != nil {
		return "!" + v, true
	}
	var b strings.Builder
	for _, n := range []uint64{sv.Major(), sv.Minor(), sv.Patch()} {
		writeNumber(&b, strconv.FormatUint(n, 10))
	}
	pre := sv.Prerelease()
	if pre == "" {
		b.WriteByte('~') // after every prerelease
		return b.String(), false
	}
	for id := range strings.SplitSeq(pre, ".") {
		if strings.Trim(id, "0123456789") == "" {
			b.WriteByte('0') // numbers come before words
			writeNumber(&b, id)
		} else {
			b.WriteByte('1')
			b.WriteString(id)
			b.WriteByte('!') // less than what may stand in a word, so that a word comes before its continuations
		}
	}
	return b.String(), true
}

// writeNumber writes a number behind its length, which is a letter up to 26 digits and
// the letter z and more letters beyond.
func writeNumber(b *strings.Builder, digits string) {
	n := len(digits)
	for ; n > 25; n -= 25 {
		b.WriteByte('z')
	}
	b.WriteByte(byte('a' + n - 1))
	b.WriteString(digits)
}
