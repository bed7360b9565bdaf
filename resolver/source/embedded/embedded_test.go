package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// embeddedIn is a source of skills in the notation "name version", one per line; each has a
// second file.
func embeddedIn(skills string) *Source {
	fsys := fstest.MapFS{"README.md": {Data: []byte("not a skill\n")}, "notes/page.md": {Data: []byte("not a skill\n")}}
	for line := range strings.Lines(skills) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		text := fmt.Sprintf("---\nname: %s\ndescription: About %s.\nmetadata:\n  version: %q\n---\n# %s\n", name, name, version, name)
		fsys[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
		fsys[name+"/references/more.md"] = &fstest.MapFile{Data: []byte("more of " + name + " " + version + "\n"), Mode: 0o444}
	}
	return &Source{FS: fsys}
}

func parse(t *testing.T, s string) ref.Ref {
	t.Helper()
	r, err := ref.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fetch returns the paths that Fetch sent, and their digest.
func fetch(t *testing.T, s *Source, l lock.Skill) (paths []string, sum bundle.Summary, err error) {
	t.Helper()
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := s.Fetch(context.Background(), l, guard); err != nil {
		return nil, bundle.Summary{}, err
	}
	if sum, err = guard.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range sum.Entries {
		paths = append(paths, e.Path)
	}
	return paths, sum, nil
}

// seen is a sink that counts.
type seen struct{ n int }

func (s *seen) File(string, bool, int64, io.Reader) error { s.n++; return nil }

func (s *seen) Link(string, string) error { s.n++; return nil }

// Every skill has the version of its frontmatter; without a name the release is that of all.
func TestVersions(t *testing.T) {
	s := embeddedIn("alpha 1.0.0\nbeta 2.1.0\ngamma 1.9.9")
	for in, want := range map[string]string{"skl:alpha": "1.0.0", "skl:beta@^1": "2.1.0", "skl:": "2.1.0"} {
		got, err := s.Versions(context.Background(), parse(t, in))
		if err != nil || len(got) != 1 || got[0].Version != want || got[0].Kind != source.Tag {
			t.Errorf("Versions(%q) = %+v, %v; want %s", in, got, err, want)
		}
	}
}

func TestSkills(t *testing.T) {
	s := embeddedIn("beta 2.1.0\nalpha 1.0.0\ngamma 1.9.9")
	tests := []struct {
		in    string
		names []string
		want  string
	}{
		{"skl:", nil, "alpha 1.0.0, beta 2.1.0, gamma 1.9.9"},
		{"skl:", []string{"gamma", "alpha"}, "gamma 1.9.9, alpha 1.0.0"},
		{"skl:beta", nil, "beta 2.1.0"},
		{"skl:beta", []string{"beta"}, "beta 2.1.0"},
	}
	for _, tt := range tests {
		found, err := s.Skills(context.Background(), parse(t, tt.in), source.Release{}, tt.names)
		var got []string
		for _, f := range found {
			got = append(got, f.Lock.Name+" "+f.Lock.Version)
			want := lock.Skill{Name: f.Lock.Name, Source: "embedded", Path: f.Lock.Name, Version: f.Lock.Version}
			if !lock.Equal(f.Lock, want) || f.Description != "About "+f.Lock.Name+"." || f.Invalid != nil {
				t.Errorf("Skills(%q): %+v", tt.in, f)
			}
		}
		if err != nil || strings.Join(got, ", ") != tt.want {
			t.Errorf("Skills(%q, %v) = %v, %v; want %s", tt.in, tt.names, got, err, tt.want)
		}
	}
}

// A name that does not come with skl is a misuse, and the error lists the names that do.
func TestRefused(t *testing.T) {
	s := embeddedIn("canopy 1.0.0\ncanopy-debug 1.0.0")
	versions := func(in string) error { _, err := s.Versions(context.Background(), parse(t, in)); return err }
	skills := func(in string, at source.Release, names ...string) error {
		_, err := s.Skills(context.Background(), parse(t, in), at, names)
		return err
	}
	commit := strings.Repeat("0", 40)
	tests := []struct {
		name, code, candidate, hint string
		err                         error
	}{
		{"a misspelt name", "no_such_skill", "skl:canopy-debug", "did you mean skl:canopy-debug?", versions("skl:canopy-debg")},
		{"a misspelt name of several", "no_such_skill", "skl:canopy", "did you mean skl:canopy?", skills("skl:", source.Release{}, "canopy", "canpoy")},
		{"a name like no other", "no_such_skill", "skl:canopy", "skl install -l skl: lists those that do", versions("skl:zebra")},
		{"a version of all", "invalid_ref", "", "name the skill: skl:NAME@^1", versions("skl:@^1")},
		{"a commit", "no_such_version", "", "", skills("skl:canopy", source.Release{Kind: source.Commit, Commit: ref.Commit(commit)})},
	}
	for _, tt := range tests {
		e, ok := errors.AsType[*diag.Error](tt.err)
		if !ok || e.Class != diag.Misuse || e.Code != tt.code {
			t.Errorf("%s: %v; want a misuse with code %s", tt.name, tt.err, tt.code)
			continue
		}
		if tt.candidate != "" && (len(e.Candidates) == 0 || e.Candidates[0] != tt.candidate) {
			t.Errorf("%s: candidates %q; want %s first", tt.name, e.Candidates, tt.candidate)
		}
		if tt.hint != "" && !slices.Contains(e.Hints, tt.hint) {
			t.Errorf("%s: hints %q; want %q", tt.name, e.Hints, tt.hint)
		}
	}
}

// A skill that cannot be read is listed as such, and is not a release.
func TestInvalid(t *testing.T) {
	s := embeddedIn("alpha 1.0.0\nbeta soon")
	found, err := s.Skills(context.Background(), parse(t, "skl:"), source.Release{}, nil)
	if err != nil || len(found) != 2 || found[0].Invalid != nil || found[1].Invalid == nil {
		t.Errorf("Skills = %+v, %v; want beta to be invalid", found, err)
	}
	if _, err := s.Versions(context.Background(), parse(t, "skl:beta")); err == nil {
		t.Error("a skill without a version has a release")
	}
}

func TestFetch(t *testing.T) {
	s := embeddedIn("alpha 1.0.0\nalphabet 1.0.0")
	paths, sum, err := fetch(t, s, lock.Skill{Name: "alpha", Path: "alpha"})
	if err != nil || !slices.Equal(paths, []string{"SKILL.md", "references/more.md"}) {
		t.Fatalf("Fetch sent %q, %v", paths, err)
	}
	again, _, err := fetch(t, s, lock.Skill{Name: "alpha", Path: "alpha", Version: "1.0.0", Tree: sum.Tree})
	if err != nil || !slices.Equal(again, paths) {
		t.Errorf("with its tree locked, Fetch sent %q, %v", again, err)
	}
}

// Another skl has another copy: it is refused before the sink sees a byte.
func TestFetchAnotherCopy(t *testing.T) {
	old, now := embeddedIn("alpha 1.0.0"), embeddedIn("alpha 1.1.0")
	_, oldSum, err := fetch(t, old, lock.Skill{Name: "alpha", Path: "alpha"})
	if err != nil {
		t.Fatal(err)
	}
	_, nowSum, err := fetch(t, now, lock.Skill{Name: "alpha", Path: "alpha"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		from   *Source
		locked lock.Skill
		class  diag.Class
		code   string
		hint   string
	}{
		{"an older lock", now, lock.Skill{Name: "alpha", Path: "alpha", Version: "1.0.0", Tree: oldSum.Tree}, diag.Refused, "E_DIGEST", "to take the copy of this skl: skl update alpha"},
		{"a newer lock", old, lock.Skill{Name: "alpha", Path: "alpha", Version: "1.1.0", Tree: nowSum.Tree}, diag.Refused, "E_DIGEST", "a newer skl wrote the lock: update skl"},
		{"one version, two trees", now, lock.Skill{Name: "alpha", Path: "alpha", Version: "1.1.0", Tree: oldSum.Tree}, diag.Refused, "E_DIGEST", "to take the copy of this skl: skl update alpha"},
		{"a skill that is gone", now, lock.Skill{Name: "omega", Path: "omega", Version: "1.0.0", Tree: oldSum.Tree}, diag.Failed, "no_such_skill", "use the skl that wrote the lock, or: skl remove omega"},
		{"no path", now, lock.Skill{Name: "alpha"}, diag.Failed, "no_such_skill", "use the skl that wrote the lock, or: skl remove alpha"},
		{"a path outside", now, lock.Skill{Name: "alpha", Path: "../alpha"}, diag.Failed, "no_such_skill", ""},
		{"a directory that is no skill", now, lock.Skill{Name: "notes", Path: "notes"}, diag.Failed, "no_such_skill", ""},
	}
	for _, tt := range tests {
		var sink seen
		e, ok := errors.AsType[*diag.Error](tt.from.Fetch(context.Background(), tt.locked, &sink))
		if !ok || e.Class != tt.class || e.Code != tt.code || tt.hint != "" && !slices.Contains(e.Hints, tt.hint) {
			t.Errorf("%s: %v with hints %q; want %s and %q", tt.name, e, e.Hints, tt.code, tt.hint)
		}
		if sink.n > 0 {
			t.Errorf("%s: the sink saw %d files", tt.name, sink.n)
		}
	}
}

func TestFetchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var sink seen
	err := embeddedIn("alpha 1.0.0").Fetch(ctx, lock.Skill{Name: "alpha", Path: "alpha"}, &sink)
	if !errors.Is(err, context.Canceled) || sink.n > 0 {
		t.Errorf("Fetch after the end: %v, %d files", err, sink.n)
	}
}
