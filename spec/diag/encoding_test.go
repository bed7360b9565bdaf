package diag

import "testing"

func TestEncoding(t *testing.T) {
	for src, want := range map[string]string{
		"":                    "",
		"a":                   "",
		"version = 1\n":       "",
		"{\"v\": 1}":          "",
		"é = 1":               "",
		"\xef\xbb\xbfversion": "begins with a byte order mark",
		"\xef\xbb\xbf":        "begins with a byte order mark",
		"\xff\xfev\x00e\x00":  "is UTF-16, not UTF-8",
		"\xfe\xff\x00v\x00e":  "is UTF-16, not UTF-8",
		"v\x00e\x00r\x00":     "is UTF-16 without a byte order mark, not UTF-8",
		"\x00v\x00e\x00r":     "is UTF-16 without a byte order mark, not UTF-8",
		"\x00\x00\x00\x00":    "",
		"v\x00er":             "",
	} {
		if got := Encoding([]byte(src)); got != want {
			t.Errorf("Encoding(%q) = %q, want %q", src, got, want)
		}
	}
}
