package resolver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A library is a source in memory: releases in the notation of releasesOf, and the
// paths of skills, whose names are their last elements ("skills/pdf", "hidden .agents/skills/pdf").
type library struct {
	releases string
	skills   []string

	mu    sync.Mutex // guards asked
	asked []string   // URLs that Versions was called with
}

func (l *library) Versions(_ context.Context, r ref.Ref) ([]source.Release, error) {
	l.mu.Lock()
	l.asked = append(l.asked, r.URL)
	l.mu.Unlock()
	if strings.Contains(r.URL, "gone") {
		return nil, diag.New(diag.Failed, "network", "%s does not answer", r.URL)
	}
	return releasesOf(l.releases), nil
}

func (l *library) Skills(_ context.Context, r ref.Ref, at source.Release, names []string) ([]source.Found, error) {
	var out []source.Found
	var files []string
	for _, s := range l.skills {
		files = append(files, s+"/SKILL.md")
	}
	for _, d := range discover(files) {
		name := d.Path[strings.LastIndexByte(d.Path, '/')+1:]
		if r.Path != "" && r.Path != d.Path && !strings.HasPrefix(d.Path, r.Path+"/") || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		out = append(out, source.Found{Rank: d.Rank, Lock: lock.Skill{Name: name, Source: "git", URL: r.URL, Path: d.Path, Commit: at.Commit, Version: at.Version}})
	}
	return out, nil
}

func (l *library) Fetch(context.Context, lock.Skill, bundle.Sink) error {
	return errors.New("not here")
}

func resolverOf(l *library, bindings map[string]string) *Resolver {
	return &Resolver{Git: l, Local: l,
		Binding: func(ns string) string { return bindings[ns] },
		ForgeURL: func(forge, owner, repo string) (string, error) {
			return "https://" + forge + ".example/" + owner + "/" + repo + ".git", nil
		},
		Market: func(string) (ref.Ref, bool, error) { return ref.Ref{}, false, nil },
	}
}

func ask(t *testing.T, name, text string) Named {
	t.Helper()
	r, err := ref.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return Named{Name: name, Want: Want{Ref: r}}
}

// A namespace belongs to one place. What it does not have does not exist, and
// when it does not answer nobody else is asked.
func TestNamespacesDoNotFallThrough(t *testing.T) {
	l := &library{releases: "v1.0.0 branch:main*", skills: []string{"skills/pdf"}}
	rs := resolverOf(l, map[string]string{"acme": "forge:gone"})
	_, err := rs.Open(context.Background(), ask(t, "", "acme/tools/pdf").Want)
	if diag.ClassOf(err) != diag.Failed || len(l.asked) != 1 || !strings.HasPrefix(l.asked[0], "https://gone.example/acme/") {
		t.Errorf("error %v after asking %v; want the owner alone to be asked, and its error", err, l.asked)
	}
	if _, err := resolverOf(l, map[string]string{"acme": "registry:corp"}).Locate(context.Background(), ask(t, "", "acme/pdf").Ref); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("an unknown kind of owner gives %v, want a refusal", err)
	}
}

func TestSkillsOfARef(t *testing.T) {
	l := &library{releases: "v1.0.0 branch:main*", skills: []string{"skills/pdf", ".agents/skills/pdf", "skills/group/notes", "skills/other/notes", ".claude/skills/internal", "tools/fmt"}}
	for _, tt := range []struct{ ref, names, want string }{
		{"o/r", "", "skills/group/notes skills/other/notes skills/pdf tools/fmt"}, // hidden ones only when asked for; both notes
		{"o/r/pdf", "", "skills/pdf"},
		{"o/r", "pdf fmt", "skills/pdf tools/fmt"},
		{"o/r#internal", "", ".claude/skills/internal"},
		{"github:o/r//skills/other", "", "skills/other/notes"},
		{"o/r/tools", "", "tools/fmt"}, // no skill is called so, but a directory is
		{"o/r/notes", "", "error ambiguous_skill skills/group/notes,skills/other/notes"},
		{"o/r/pfd", "", "error no_such_skill pdf"},
	} {
		o, err := resolverOf(l, nil).Open(context.Background(), ask(t, "", tt.ref).Want)
		if err != nil {
			t.Fatal(err)
		}
		found, err := o.Skills(context.Background(), strings.Fields(tt.names))
		var got []string
		for _, f := range found {
			got = append(got, f.Lock.Path)
		}
		text := strings.Join(got, " ")
		if e, ok := err.(*diag.Error); ok {
			text = "error " + e.Code + " " + strings.Join(e.Candidates, ",")
		}
		if text != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.ref, tt.names, text, tt.want)
		}
	}
}

// A locked release that still satisfies its range is kept, and its source is not asked about it.
func TestReleasesAreMinimal(t *testing.T) {
	l := &library{releases: "v1.0.0 v1.1.0 branch:main*", skills: []string{"skills/pdf", "skills/notes"}}
	rs := resolverOf(l, nil)
	old := &lock.Lock{}
	old.Set(lock.Skill{Name: "pdf", Ref: "o/r/pdf@^1", RefKind: lock.Range, Version: "1.0.0", Tree: "tree-sha256:x", Files: 1, Bytes: 9,
		Source: "git", URL: "https://github.example/o/r.git", Path: "skills/pdf", Commit: ref.Commit(strings.Repeat("a", 40))})
	pdf := ask(t, "pdf", "o/r/pdf@>=1")
	pdf.Kind = lock.Range
	kept := rs.Releases(t.Context(), []Named{pdf}, old, func(string) bool { return false }, false)[0]
	if s := kept.Skill; kept.Err != nil || s.Version != "1.0.0" || s.Ref != "o/r/pdf@>=1" || len(l.asked) != 0 {
		t.Errorf("%+v after asking %v; want 1.0.0 kept under its new range, and nobody asked", kept, l.asked)
	}
	next := rs.Releases(t.Context(), []Named{pdf, ask(t, "notes", "o/r/notes")}, old, func(name string) bool { return name == "pdf" }, false)
	if s := next[0].Skill; next[0].Err != nil || s.Version != "1.1.0" || s.Tree != "" {
		t.Errorf("an upgrade keeps %+v, want 1.1.0 with its tree unknown", next[0])
	}
	if next[1].Err != nil || next[1].Skill.Name != "notes" {
		t.Errorf("a new want is %+v", next[1])
	}
}

// Skills that come with the program are their own place: they belong to no namespace, and
// where none were given, such refs are refused.
func TestEmbedded(t *testing.T) {
	ctx := context.Background()
	l := &library{releases: "v1.0.0 v1.1.0", skills: []string{"skills/canopy", "skills/debug"}}
	rs := resolverOf(&library{}, nil)
	if _, err := rs.Open(ctx, ask(t, "", "skl:canopy").Want); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("without embedded skills: %v, want a refusal", err)
	}
	rs.Embedded = l
	for in, want := range map[string]string{"skl:canopy": "skills/canopy 1.1.0", "skl:canopy@=1.0.0": "skills/canopy 1.0.0", "skl:": "skills/canopy 1.1.0"} {
		s, err := rs.Choose(ctx, ask(t, "canopy", in))
		if got := s.Path + " " + s.Version; err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := rs.Head(ctx, ask(t, "", "skl:canopy").Ref); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("a catalogue in an embedded skill: %v, want a refusal", err)
	}
}

func discover(files []string) []source.Dir {
	dirs, _ := source.Discover(files, nil)
	return dirs
}
