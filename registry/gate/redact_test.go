package gate

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for p, want := range map[string]string{
		"/t/skl_abc/acme/.well-known/skills/index.json": "/t/REDACTED/acme/.well-known/skills/index.json",
		"/t/skl_abc": "/t/REDACTED", "/t/skl_abc/": "/t/REDACTED/", "/t/abc/acme/t/x": "/t/REDACTED/acme/t/REDACTED",
		// Nothing to hide stays as it was written.
		"/t/": "/t/", "/t": "/t", "/": "/", "": "", "/v2/acme/tt/%41": "/v2/acme/tt/%41", "/acme/.well-known/skills/a%zz": "/acme/.well-known/skills/a%zz",
		// Anything that looks like a token is hidden wherever it stands.
		"/a/skl_0123456789abcdef/b": "/a/REDACTED/b", "/v2/sklb_0123456789abcdef": "/v2/REDACTED", "/x=SKL_0123456789abcdef": "/REDACTED",
		"/a/skl%5f0123456789abcdef/b": "/a/REDACTED/b",
		// Nothing before, behind or around the t helps.
		"/x/../t/TOK/y": "/x/../t/REDACTED", "/x/%2e%2e/t/TOK/x": "/x/../t/REDACTED", "/v2/../t/TOK/x": "/v2/../t/REDACTED",
		"/t/../t/TOK/x": "/t/REDACTED", "/x//../t/TOK/y": "/x//../t/REDACTED", `/t\TOK/y`: `/t\REDACTED`, "/t;/TOK/x": "/t;REDACTED",
		"/t;TOK": "/t;REDACTED", "/t/TOK;x/y": "/t/REDACTED", "/v2/t/TOK/x": "/v2/t/REDACTED", "/acme/t/TOK": "/acme/t/REDACTED",
		"/t//TOK/x": "/t/REDACTED", "//t/TOK/x": "//t/REDACTED", "/t///./../TOK/x": "/t/REDACTED", "/T/TOK": "/T/REDACTED", "/./t/TOK": "/./t/REDACTED",
		"/t/t/TOK": "/t/REDACTED", "/%74/TOK": "/t/REDACTED", "/%2574/TOK": "/t/REDACTED", "/%%37%34/TOK": "/t/REDACTED", "/t%2fTOK": "/t/REDACTED",
		"/t%252FTOK": "/t/REDACTED", "/%zz/%74/TOK": "/%zz/t/REDACTED", "/ t./TOK": "/ t./REDACTED", "/t?/TOK": "/t?REDACTED",
	} {
		if got := Redact(p); got != want {
			t.Errorf("Redact(%q) = %q, want %q", p, got, want)
		}
	}
}

// The time grows with the length alone, also where each escape is that of another one.
func TestRedactNested(t *testing.T) {
	if got := Redact("/%" + strings.Repeat("25", 1<<20) + "74/TOK"); got != "/t/REDACTED" {
		t.Error("a nested escape hides the t")
	}
}

// A path that leads to /t/TOKEN by any reading shows no token.
func FuzzRedact(f *testing.F) {
	for _, p := range []string{"/t/", "/x/../t/", "/%2574/", `/t\`, "/t;/", "//t/./", "/api/v1/../../t/"} {
		f.Add(p)
	}
	const token = "TOKEN"
	f.Fuzz(func(t *testing.T, before string) {
		p, got := before+token+"/x", Redact(before+token+"/x")
		for _, read := range []string{p, path.Clean(p), strings.ReplaceAll(p, `\`, "/"), unescaped(p), path.Clean(unescaped(p))} {
			if strings.HasPrefix(strings.ToLower(read), "/t/"+strings.ToLower(token)) && strings.Contains(got, token) {
				t.Errorf("Redact(%q) = %q", p, got)
			}
		}
	})
}

// unescaped is what a server makes of a path in a request.
func unescaped(p string) string {
	if plain, err := url.PathUnescape(p); err == nil {
		return plain
	}
	return p
}
