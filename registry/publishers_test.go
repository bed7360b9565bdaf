package registry

import (
	"regexp"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
)

// wild means what the regular expression with ".*" for "*" does, for the whole text.
func TestWild(t *testing.T) {
	words := []string{"", "a", "b", "ab", "ba", "aab", "abab", "aXb", "refs/tags/v1", "refs/heads/main", "acme/skills", "acme/skills-2"}
	for _, pattern := range append([]string{"*", "**", "a*", "*b", "a*b", "*a*", "a*a*b", "refs/tags/*", "*/skills", "ab*ab"}, words...) {
		same := regexp.MustCompile(`\A` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `\z`)
		for _, s := range words {
			if got, want := wild(pattern, s), same.MatchString(s); got != want {
				t.Errorf("wild(%q, %q) = %v", pattern, s, got)
			}
		}
	}
}

// A claim with a line break is no text that a pattern was written for.
func TestControlInClaim(t *testing.T) {
	p := meta.Publisher{Claims: map[string]string{"ref": "refs/tags/*", "repository": "acme/*"}}
	good := auth.Claims{"ref": "refs/tags/v1", "repository": "acme/skills"}
	if why := mismatch(p, good); why != "" {
		t.Error(why)
	}
	for _, ref := range []string{"refs/tags/\nrefs/heads/main", "refs/tags/v1\x00", "refs/tags/\u0085", "refs/tags/v1\r"} {
		if why := mismatch(p, auth.Claims{"ref": ref, "repository": "acme/skills"}); why != "its ref holds a control character" {
			t.Errorf("%q: %q", ref, why)
		}
	}
}
