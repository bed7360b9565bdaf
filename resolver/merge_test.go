package resolver_test

import (
	"errors"
	"strings"
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
		got, told, err := resolver.Merge(wants, nil, ours, theirs, func(string) bool { return c.anew })
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

// Without the manifest, the entries say what is wanted; what they leave open is an error.
func TestMergeApart(t *testing.T) {
	type entries map[string]string // "REF VERSION", with " <NAME" for who requires it, and " >NAME" for what it requires
	parse := func(all entries) *lock.Lock {
		l := &lock.Lock{}
		for name, text := range all {
			f := strings.Fields(text)
			s := lock.Skill{Name: name, Ref: "a/b/" + name + "@" + f[0], RefKind: lock.Range, Source: "git", URL: "https://x/a/b.git", Version: f[1],
				Commit: ref.Commit(strings.Repeat(f[1][2:3], 40))}
			if f[0] == "-" {
				s.Ref = "a/b/" + name
			}
			for _, more := range f[2:] {
				if by, ok := strings.CutPrefix(more, "<"); ok {
					s.RequiredBy = append(s.RequiredBy, by)
				} else {
					s.Requires = append(s.Requires, more[1:])
				}
			}
			l.Set(s)
		}
		return l
	}
	for what, c := range map[string]struct {
		base, ours, theirs, want entries
		code                     string
	}{
		"each adds one":                {entries{"a": "^1 1.1.0"}, entries{"a": "^1 1.1.0", "b": "^1 1.1.0"}, entries{"a": "^1 1.1.0", "c": "^1 1.1.0"}, entries{"a": "^1 1.1.0", "b": "^1 1.1.0", "c": "^1 1.1.0"}, ""},
		"both update":                  {entries{"a": "^1 1.1.0"}, entries{"a": "^1 1.2.0"}, entries{"a": "^1 1.3.0"}, entries{"a": "^1 1.3.0"}, ""},
		"one goes back":                {entries{"a": "^1 1.3.0", "b": "^1 1.1.0"}, entries{"a": "^1 1.2.0", "b": "^1 1.1.0"}, entries{"a": "^1 1.3.0", "b": "^1 1.2.0"}, entries{"a": "^1 1.2.0", "b": "^1 1.2.0"}, ""},
		"one removes, one updates":     {entries{"a": "^1 1.1.0", "b": "^1 1.1.0"}, entries{"b": "^1 1.1.0"}, entries{"a": "^1 1.2.0", "b": "^1 1.1.0"}, entries{"b": "^1 1.1.0"}, ""},
		"one removes, one wants other": {entries{"a": "^1 1.1.0"}, entries{}, entries{"a": "~1.2 1.2.0"}, nil, manifest.CodeConflict},
		"one narrows, one updates":     {entries{"a": "^1 1.1.0"}, entries{"a": "~1.2 1.2.0"}, entries{"a": "^1 1.3.0"}, entries{"a": "~1.2 1.2.0"}, ""},
		"the narrower range":           {entries{"a": "^1 1.1.0"}, entries{"a": "^1.2 1.3.0"}, entries{"a": "~1.2.0 1.2.0"}, entries{"a": "~1.2.0 1.2.0"}, ""},
		"apart":                        {entries{"a": "^1 1.1.0"}, entries{"a": "~1.2.0 1.2.0"}, entries{"a": "~1.3.0 1.3.0"}, nil, manifest.CodeConflict},
		"what both require": {entries{}, entries{"a": "^1 1.1.0 >d", "d": "- 1.1.0 <a"}, entries{"b": "^1 1.1.0 >d", "d": "- 1.2.0 <b"},
			entries{"a": "^1 1.1.0 >d", "b": "^1 1.1.0 >d", "d": "- 1.2.0 <a <b"}, ""},
		"what nothing requires any more": {entries{"a": "^1 1.1.0 >d", "d": "- 1.1.0 <a"}, entries{}, entries{"a": "^1 1.2.0 >d", "d": "- 1.2.0 <a"}, entries{}, ""},
		"nobody knows the ancestor":      {nil, entries{"a": "^1 1.2.0"}, entries{"a": "^1 1.1.0"}, entries{"a": "^1 1.2.0"}, ""},
	} {
		got, _, err := resolver.MergeApart(parse(c.base), parse(c.ours), parse(c.theirs))
		if c.code != "" {
			if !errors.Is(err, diag.Code(c.code)) || got != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || string(got.Format()) != string(parse(c.want).Format()) {
			t.Errorf("%s: %v\n%s", what, err, got.Format())
		}
	}
}
