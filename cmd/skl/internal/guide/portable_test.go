package guide

import (
	"strings"
	"testing"
)

func TestPortable(t *testing.T) {
	for in, want := range map[string]string{
		"See [sources](sources.md) and [it](run.md#arguments).\n":                  "See sources (`skl help guide sources`) and it (`skl help guide run`).\n",
		"[SECURITY.md](../../../../SECURITY.md), [v1](../../../../spec/v1.md#6)\n": "SECURITY.md, v1 (spec/v1.md)\n",
		"[above](#install) and [there](https://example.org/x.md)\n":                "above and [there](https://example.org/x.md)\n",
		"```\n[a](b.md)\n```\n[a](b.md)\n":                                         "```\n[a](b.md)\n```\na (`skl help guide b`)\n",
	} {
		if got := Portable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, g := range All() {
		if text := Portable(g.Text); strings.Contains(text, "](../") || strings.Contains(text, ".md)") && strings.Contains(text, "](") && !strings.Contains(text, "](http") {
			t.Errorf("%s leads nowhere without the source tree", g.Name)
		}
	}
}
