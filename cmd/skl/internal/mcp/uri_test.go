package mcp

import (
	"strings"
	"testing"
)

// hostileURIs name no file of a skill, or not as it is named.
var hostileURIs = []string{
	"", "skill:", "skill://", "skill:///", "skill:///SKILL.md", "pdf/SKILL.md", "file:///etc/passwd", "https://example.com/SKILL.md",
	"SKILL://pdf/SKILL.md", "Skill://pdf/SKILL.md", " skill://pdf/SKILL.md", "skill:/pdf/SKILL.md",
	"skill://pdf/", "skill://pdf//SKILL.md", "skill://pdf/SKILL.md/", "skill://pdf/docs/",
	"skill://pdf/../pdf/SKILL.md", "skill://pdf/./SKILL.md", "skill://pdf/docs/..", "skill://../pdf/SKILL.md", "skill://.", "skill://..",
	"skill://pdf/%2e%2e/pdf/SKILL.md", "skill://pdf/%2E/SKILL.md", "skill://pdf/docs%2Fone.md", "skill://pdf/docs%2fone.md", "skill://pdf%2FSKILL.md",
	"skill://pdf/docs%5Cone.md", `skill://pdf/docs\one.md`, "skill://pdf/%00", "skill://pdf/SKILL.md%00", "skill://pdf/%FF", "skill://pdf/\xff",
	"skill://pdf/%53KILL.md", "skill://pdf/a%2db", "skill://pdf/a b.md", "skill://pdf/ü.md", "skill://pdf/%c3%bc.md", "skill://pdf/%", "skill://pdf/%zz",
	"skill://pdf/SKILL.md?", "skill://pdf/SKILL.md?x=1", "skill://pdf/SKILL.md#top", "skill://pdf/SKILL.md#", "skill://user@pdf/SKILL.md?",
}

func TestParseURIRefuses(t *testing.T) {
	for _, uri := range hostileURIs {
		if p, err := parseURI(uri); err == nil || p != (place{}) {
			t.Errorf("%q: %+v, %v", uri, p, err)
		}
	}
	if _, err := parseURI(strings.Repeat("x", 1<<20)); len(err.Error()) > 500 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func FuzzURI(f *testing.F) {
	for _, uri := range append([]string{"skill://pdf", "skill://pdf/SKILL.md", "skill://pdf/a%20b/%C3%BC&=+$.md", "skill://pdf/100%25.md", "skill://a:80/x"}, hostileURIs...) {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		p, err := parseURI(uri)
		if err != nil {
			return
		}
		if p.String() != uri {
			t.Errorf("%q is %+v, which is %q", uri, p, p)
		}
		for element := range strings.SplitSeq(p.skill+"/"+p.path, "/") {
			if element == ".." || element == "." || element == "" && p.path != "" {
				t.Errorf("%q is %+v", uri, p)
			}
		}
	})
}
