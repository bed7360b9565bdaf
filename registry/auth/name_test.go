package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/spec/diag"
)

func TestCheckNamespace(t *testing.T) {
	for name, code := range map[string]string{
		"acme": "", "a": "", "a-1": "", "0x": "", strings.Repeat("a", 39): "",
		"":                      "invalid_namespace",
		"Acme":                  "invalid_namespace",
		"a_b":                   "invalid_namespace",
		"a.b":                   "invalid_namespace",
		"a/b":                   "invalid_namespace",
		"-a":                    "invalid_namespace",
		"a-":                    "invalid_namespace",
		"a--b":                  "invalid_namespace",
		" a":                    "invalid_namespace",
		"é":                     "invalid_namespace",
		"а":                     "invalid_namespace", // Cyrillic
		"*":                     "invalid_namespace",
		"..":                    "invalid_namespace",
		"con":                   "invalid_namespace",
		"lpt1":                  "invalid_namespace",
		"a\x00":                 "invalid_namespace",
		strings.Repeat("a", 40): "invalid_namespace",
		"api":                   "name_reserved",
		"v2":                    "name_reserved",
		"t":                     "name_reserved",
		"token":                 "name_reserved",
		"well-known":            "name_reserved",
		"agent-skills":          "name_reserved",
		"official":              "name_reserved",
	} {
		err := auth.CheckNamespace(name)
		if (err == nil) != (code == "") || err != nil && !errors.Is(err, diag.Code(code)) {
			t.Errorf("CheckNamespace(%q) = %v, want %q", name, err, code)
		}
	}
	for name, code := range map[string]string{"pdf-forms": "", strings.Repeat("a", 64): "", "index": "name_reserved", "latest": "name_reserved", "A": "SPEC-NAME-CHARS", "nul": "SPEC-NAME-DEVICE"} {
		err := auth.CheckSkill(name)
		if (err == nil) != (code == "") || err != nil && !errors.Is(err, diag.Code(code)) {
			t.Errorf("CheckSkill(%q) = %v, want %q", name, err, code)
		}
	}
}

func TestNear(t *testing.T) {
	for pair, near := range map[string]bool{
		"pdf-forms pdf-form":          true,
		"pdf-forms pdfforms":          true,
		"pdf-forms pdf-fomrs":         true,
		"pdf-forms pdf-farms":         true,
		"pdf-forms pdf-f0rms":         true,
		"pdf-forms pdf-forrns":        true, // rn for m
		"release-notes re1ease-notes": true,
		"release-notes releaseno-tes": true,
		"release-notes reiease-n0te5": true, // three looks
		"vviki wiki":                  true,
		"brainstorm bra1nst0rm":       true,
		"pdf-forms pdf-forms":         false, // itself
		"pdf-forms pdf-reader":        false,
		"pdf pdg":                     false, // short names are all neighbours
		"pdf p-d-f":                   true,  // but not hyphens
		"go g0":                       true,
		"gpt4 gpt5":                   false,
		"report-2024 report-2025":     false,
		"report-v1 report-v2":         false,
		"report-v2 report-v22":        false,
		"terraform terra":             false,
		"skill-a skill-b":             true,
		" ":                           false,
	} {
		a, b, _ := strings.Cut(pair, " ")
		for _, ask := range [][2]string{{a, b}, {b, a}} {
			if got := auth.Near(ask[0], ask[1]); got != near {
				t.Errorf("Near(%q, %q) = %v", ask[0], ask[1], got)
			}
		}
	}
}

// BenchmarkNear asks what a publish pays in a registry of 100,000 names.
func BenchmarkNear(b *testing.B) {
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("skill-%c%c-number-%d", 'a'+i%26, 'a'+i/26%26, i)
	}
	for b.Loop() {
		for _, name := range names {
			auth.Near("release-notes", name)
		}
	}
}
