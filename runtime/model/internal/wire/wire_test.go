package wire

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestMessage(t *testing.T) {
	s := Service{Name: "x:m", Key: "sk-secret"}
	for in, want := range map[string]string{
		`{"type":"error","error":{"type":"invalid_request_error","message":"too long."}}`: "too long",
		`{"error":"model \"m\" not found"}`:                                               `model "m" not found`,
		`{"message":"no"}`:                                                                "no",
		`{"detail":"Not Found"}`:                                                          "Not Found",
		`{"error":{"message":"key sk-secret is wrong"}}`:                                  "key [key] is wrong",
		`{"error":{"message":"\u001b[2Jgone\nlines"}}`:                                    `\x1b[2Jgone lines`,
		`{"error":{"message":"` + strings.Repeat("x", 297) + `sk-secret"}}`:               strings.Repeat("x", 297) + "[ke…", // cut after the key is out
		`<html>`: "",
		`[]`:     "",
		``:       "",
	} {
		if got := s.Message([]byte(in)); got != want {
			t.Errorf("%.80s: %q, want %q", in, got, want)
		}
	}
}

// A message of a service becomes one printable line of bounded length, without the key.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"a\nb sk-secret"}}`))
	f.Add([]byte(`{"detail":"\u202e"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := Service{Key: "sk-secret"}.Message(text)
		if len(got) > maxMessage+len("…") || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || strings.Contains(got, "sk-secret") {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
