package s3_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/spec/diag"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"s3://skills":                      "skills||https://s3.us-east-1.amazonaws.com|us-east-1",
		"s3://skills/":                     "skills||https://s3.us-east-1.amazonaws.com|us-east-1",
		"s3://skills/a/b?region=eu-west-1": "skills|a/b/|https://s3.eu-west-1.amazonaws.com|eu-west-1",
		"s3://skills/a?endpoint=https://s3.example:9000&path_style=true": "skills|a/|https://s3.example:9000|us-east-1",
		"s3://skills/a?endpoint=http://127.0.0.1:9000":                   "skills|a/|http://127.0.0.1:9000|us-east-1",
		"s3://skills/a?endpoint=http://[::1]:9000":                       "skills|a/|http://[::1]:9000|us-east-1",
		"s3://skills/a?endpoint=http://localhost":                        "skills|a/|http://localhost|us-east-1",
	} {
		a, err := s3.ParseAddress(text)
		bucket, prefix, endpoint, region := s3.Parts(a)
		if got := strings.Join([]string{bucket, prefix, endpoint, region}, "|"); err != nil || got != want || a.String() != text {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, code := range map[string]string{
		"": "invalid_blobs", "s3://": "invalid_blobs", "https://skills": "invalid_blobs", "s3://Skills": "invalid_blobs", "s3://sk": "invalid_blobs",
		"s3://a_b": "invalid_blobs", "s3://key:secret@skills": "invalid_blobs", "s3://skills/../x": "invalid_blobs", "s3://skills/a//b": "invalid_blobs",
		"s3://skills/%00": "invalid_blobs", "s3://skills/a#b": "invalid_blobs", "s3://skills?region=EU": "invalid_blobs", "s3://skills?region=": "invalid_blobs",
		"s3://skills?region=a&region=b": "invalid_blobs", "s3://skills?path_style=maybe": "invalid_blobs", "s3://skills?secret=x": "invalid_blobs",
		"s3://skills?endpoint=s3.example": "invalid_blobs", "s3://skills?endpoint=https://k:s@s3.example": "invalid_blobs",
		"s3://skills?endpoint=https://s3.example/path": "invalid_blobs", "s3://skills?endpoint=http://s3.example": "tls_needed",
		"s3://skills?endpoint=http://127.0.0.1.example": "tls_needed", "s3://skills?endpoint=http://localhost.example": "tls_needed",
	} {
		_, err := s3.ParseAddress(text)
		if e, ok := err.(*diag.Error); !ok || e.Code != code || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: %v, want code %s", text, err, code)
		}
	}
}

// Law: what is accepted is spoken to over TLS or loopback, by a prefix that stays below itself, and is printed as it was.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{"s3://skills", "s3://skills/a/b?region=eu-west-1", "s3://skills/a?endpoint=http://127.0.0.1:9000&path_style=true", "s3://k:s@skills?endpoint=http://x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := s3.ParseAddress(text)
		if err != nil {
			return
		}
		_, prefix, endpoint, _ := s3.Parts(a)
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "https" && !strings.HasPrefix(u.Host, "127.") && !strings.HasPrefix(strings.ToLower(u.Host), "localhost") && !strings.HasPrefix(u.Host, "[") || u.User != nil {
			t.Errorf("%q: endpoint %q", text, endpoint)
		}
		if strings.HasPrefix(prefix, "/") || strings.Contains("/"+prefix, "/../") || prefix != "" && !strings.HasSuffix(prefix, "/") || a.String() != text {
			t.Errorf("%q: prefix %q", text, prefix)
		}
	})
}

// A bucket, or a prefix of one, belongs to one registry.
func TestForeign(t *testing.T) {
	p := newPlace(t)
	a := p.replica(t)
	d := put(t, a, []byte("content"))
	at, err := s3.ParseAddress(p.address)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, at s3.Address, o s3.Options) {
		t.Helper()
		o.Dir = t.TempDir()
		if _, err := s3.Open(t.Context(), at, o); !isCode(err, "other_bucket") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("another database", at, s3.Options{Meta: openMeta(t)})
	other, err := s3.ParseAddress(s3test.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	refused("another bucket", other, s3.Options{Meta: p.meta})
	p.write(t, "registry.json", nil)
	refused("no name any more", at, s3.Options{Meta: p.meta})
	refused("blobs of nobody", at, s3.Options{Meta: openMeta(t)})
	if err := a.Probe(t.Context()); !isCode(err, "other_bucket") {
		t.Errorf("Probe: %v", err)
	}
	p.write(t, "registry.json", []byte("{"))
	refused("a name that cannot be read", at, s3.Options{Meta: p.meta})
	want(t, a, d, []byte("content"))
}

func isCode(err error, code string) bool {
	e, ok := err.(*diag.Error)
	return ok && e.Code == code
}

func TestIsKey(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	for key, want := range map[string]bool{
		"b/sha256/ab/" + hex + ".abcdefghijklmnopqrstuvwxyz": true,
		"b/sha256/aa/" + hex + ".abcdefghijklmnopqrstuvwxyz": false,
		"b/sha256/ab/" + hex:              false,
		"b/sha256/ab/" + hex + ".../../":  false,
		"u/ab/abcdefghijklmnopqrstuvwxyz": true,
		"u/ab/abcdefghijklmnopqrstuvwxy":  false,
		"u/ac/abcdefghijklmnopqrstuvwxyz": false,
		"registry.json":                   false,
		"":                                false,
	} {
		if got := s3.IsKey(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}
