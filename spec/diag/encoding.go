package diag

import "strings"

// Encoding says, as the end of a sentence about a file, why src is not the plain UTF-8 that the files of skl are written
// in: "begins with a byte order mark". It is "" if nothing at its start says so.
func Encoding(src []byte) string {
	start := string(src[:min(len(src), 4)])
	switch {
	case strings.HasPrefix(start, "\xef\xbb\xbf"):
		return "begins with a byte order mark"
	case strings.HasPrefix(start, "\xff\xfe"), strings.HasPrefix(start, "\xfe\xff"):
		return "is UTF-16, not UTF-8"
	case len(start) == 4 && (start[0] == 0) != (start[1] == 0) && (start[0] == 0) == (start[2] == 0) && (start[1] == 0) == (start[3] == 0):
		return "is UTF-16 without a byte order mark, not UTF-8"
	}
	return ""
}

// EncodingHint is the way out of what Encoding says.
const EncodingHint = "save it as UTF-8 without a byte order mark"
