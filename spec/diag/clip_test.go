package diag

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	for _, test := range []struct {
		s          string
		n          int
		head, clip string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc", "abc…"},
		{"abc", 0, "", "…"},
		{"abc", -1, "", "…"},
		{"aäb", 2, "a", "a…"},
		{"aäb", 3, "aä", "aä…"},
		{"a🙂b", 4, "a", "a…"},
		{"🙂b", 3, "", "…"}, // there is no whole character
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80…"},
	} {
		if got := Head(test.s, test.n); got != test.head {
			t.Errorf("Head(%q, %d) = %q", test.s, test.n, got)
		}
		if got := Clip(test.s, test.n); got != test.clip {
			t.Errorf("Clip(%q, %d) = %q", test.s, test.n, got)
		}
	}
}

func FuzzHead(f *testing.F) {
	f.Add("aäb🙂", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		h := Head(s, n)
		if len(h) > max(n, 0) || !strings.HasPrefix(s, h) {
			t.Errorf("Head(%q, %d) = %q", s, n, h)
		}
		if utf8.ValidString(s) && (!utf8.ValidString(h) || len(h) < min(len(s), n-utf8.UTFMax+1)) {
			t.Errorf("Head(%q, %d) = %q", s, n, h)
		}
	})
}
