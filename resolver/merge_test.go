package resolver_test

import (
	"errors"
	"testing"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

func TestMerge(t *testing.T) {
	commit := func(c byte) ref.Commit {
		out := make([]byte, 40)
		for i := range out {
			out[i] = c
		}
		return ref.Commit(out)
	}
	entry := func(version string, c byte) *lock.Skill {
		return &lock.Skill{Name: "pdf", Ref: "a/b/pdf@^0", RefKind: lock.Range, Source: "git", URL: "https://x/a/b.git", Version: version, Commit: commit(c)}
	}
	m, err := manifest.Parse([]byte("[skills]\npdf = { ref = \"a/b/pdf\", version = \"^1.0.0\" }\n"), "skl.toml")
	if err != nil {
		t.Fatal(err)
	}
	wants, err := resolver.Wants(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what         string
		ours, theirs *lock.Skill
		anew         bool
		want         string // the version, "" for none
		told, barred bool
		code         string
	}{
		{what: "ours is higher", ours: entry("1.10.0", 'a'), theirs: entry("1.9.0", 'b'), want: "1.10.0", told: true},
		{what: "theirs is higher", ours: entry("1.1.0", 'a'), theirs: entry("1.2.0", 'b'), want: "1.2.0", told: true},
		{what: "the higher one is not allowed", ours: entry("1.1.0", 'a'), theirs: entry("2.0.0", 'b'), want: "1.1.0", told: true, barred: true},
		{what: "neither is allowed", ours: entry("3.0.0", 'a'), theirs: entry("2.0.0", 'b'), told: true},
		{what: "the same", ours: entry("1.1.0", 'a'), theirs: entry("1.1.0", 'a'), want: "1.1.0"},
		{what: "one version, two releases", ours: entry("1.1.0", 'a'), theirs: entry("1.1.0", 'b'), code: resolver.CodeMoved},
		{what: "one version, two releases, anew", ours: entry("1.1.0", 'a'), theirs: entry("1.1.0", 'b'), anew: true, told: true},
		{what: "one side", theirs: entry("1.1.0", 'a'), want: "1.1.0", told: true},
		{what: "one side, not allowed", ours: entry("2.1.0", 'a'), told: true},
		{what: "no version", ours: entry("x", 'a'), theirs: entry("y", 'b'), told: true},
	} {
		ours, theirs := &lock.Lock{}, &lock.Lock{}
		if c.ours != nil {
			ours.Set(*c.ours)
		}
		if c.theirs != nil {
			theirs.Set(*c.theirs)
		}
		got, told, err := resolver.Merge(wants, ours, theirs, func(string) bool { return c.anew })
		if c.code != "" {
			if !errors.Is(err, diag.Code(c.code)) || diag.ClassOf(err) != diag.Refused || got != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		s, _ := got.Skill("pdf")
		if s.Version != c.want || (len(told) > 0) != c.told || c.told && told[0].Barred != c.barred {
			t.Errorf("%s: %q, told %+v", c.what, s.Version, told)
		}
	}
}
