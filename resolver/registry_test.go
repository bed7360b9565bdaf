package resolver

import (
	"context"
	"errors"
	"testing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// shelf is a registry in memory that has one skill, pdf, in one namespace.
type shelf struct {
	namespace, releases string
	down                bool
	asked               []string
}

func (s *shelf) has(_ context.Context, url, namespace string) (bool, error) {
	s.asked = append(s.asked, url+" has "+namespace)
	if s.down {
		return false, diag.New(diag.Failed, "network", "%s does not answer", url)
	}
	return namespace == s.namespace, nil
}

func (s *shelf) Versions(_ context.Context, r ref.Ref) ([]source.Release, error) {
	s.asked = append(s.asked, r.URL+" versions of "+r.Owner+"/"+r.Repo)
	if r.Owner != s.namespace || r.Repo != "pdf" || r.Path != "" {
		return nil, diag.New(diag.Misuse, "unknown_skill", "there is no skill %s/%s", r.Owner, r.Repo)
	}
	return releasesOf(s.releases), nil
}

func (s *shelf) Skills(_ context.Context, r ref.Ref, at source.Release, _ []string) ([]source.Found, error) {
	if r.Path != "" {
		return nil, diag.New(diag.Misuse, "invalid_ref", "no paths here")
	}
	return []source.Found{{Lock: lock.Skill{Name: r.Repo, Source: "registry", URL: r.URL, Version: at.Version,
		Manifest: ref.Digest("sha256:" + at.Version), Log: &lock.Log{Origin: "k", Entry: "e" + at.Version, Checkpoint: "new"}}}}, nil
}

func (s *shelf) Fetch(context.Context, lock.Skill, bundle.Sink) error { return errors.New("not here") }

// A name leads to the registry that its namespace is bound to, else to the default registry
// if that has the namespace, and the binding says so.
func TestNamesOnRegistries(t *testing.T) {
	const git = "https://github.example/acme/pdf.git"
	tests := []struct {
		name, binding, fallback, namespace string
		down, market                       bool
		ref                                string
		want                               string // what the place is bound to, and where; or the code of an error
		asked                              int
	}{
		{name: "bound", binding: "registry:corp", namespace: "acme", ref: "acme/pdf", want: "registry:corp https://corp.example"},
		{name: "bound to one that is not configured", binding: "registry:gone", namespace: "acme", ref: "acme/pdf", want: "unknown_registry"},
		{name: "default has it", fallback: "corp", namespace: "acme", ref: "acme/pdf", want: "registry:corp https://corp.example", asked: 1},
		{name: "default wins over a marketplace", fallback: "corp", namespace: "acme", market: true, ref: "acme/pdf", want: "registry:corp https://corp.example", asked: 1},
		{name: "default has it not", fallback: "corp", namespace: "other", ref: "acme/pdf", want: "forge:github " + git, asked: 1},
		{name: "default does not answer", fallback: "corp", namespace: "acme", down: true, ref: "acme/pdf", want: "network", asked: 1},
		{name: "bound elsewhere, so not asked", binding: "forge:github", fallback: "corp", down: true, ref: "acme/pdf", want: "forge:github " + git},
		{name: "no default", ref: "acme/pdf", want: "forge:github " + git},
		{name: "an explicit forge is not looked up", fallback: "corp", namespace: "acme", ref: "github:acme/pdf", want: " " + git},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &shelf{namespace: tt.namespace, releases: "v1.0.0", down: tt.down}
			rs := resolverOf(&library{}, map[string]string{"acme": tt.binding})
			rs.Registry, rs.HasNamespace = s, s.has
			rs.DefaultRegistry = func() string { return tt.fallback }
			rs.RegistryURL = func(name string) (string, error) {
				if name != "corp" {
					return "", diag.New(diag.Misuse, "unknown_registry", "there is no registry %q", name)
				}
				return "https://corp.example", nil
			}
			rs.Market = func(name string) (ref.Ref, bool, error) { return ref.Ref{}, tt.market, nil }
			place, err := rs.Locate(t.Context(), ask(t, "", tt.ref).Ref)
			got := place.Binding + " " + place.Ref.URL
			if e, ok := errors.AsType[*diag.Error](err); ok {
				got = e.Code
			}
			if got != tt.want || len(s.asked) != tt.asked {
				t.Errorf("got %q after asking %q, want %q after %d questions", got, s.asked, tt.want, tt.asked)
			}
		})
	}
}

// Versions on a registry are chosen as version tags are.
func TestVersionsOnARegistry(t *testing.T) {
	s := &shelf{namespace: "acme", releases: "v1.4.2 v1.5.0 v2.0.0 v2.1.0-rc.1"}
	rs := resolverOf(&library{}, map[string]string{"acme": "registry:corp"})
	rs.Registry, rs.RegistryURL = s, func(string) (string, error) { return "https://corp.example", nil }
	for _, tt := range []struct{ ref, want string }{
		{"acme/pdf", "2.0.0 range ^2.0.0"},
		{"acme/pdf@^1.4", "1.5.0 range ^1.4"},
		{"acme/pdf@1.4.2", "1.4.2 tag =1.4.2"},
		{"acme/pdf@2.1.0-rc.1", "2.1.0-rc.1 tag =2.1.0-rc.1"},
		{"acme/pdf@3", "no_such_version"},
		{"acme/ocr", "unknown_skill"},
		{"acme/pdf/sub", "unknown_skill"},
		{"acme/pdf#other", "no_such_skill"},
	} {
		want := ask(t, "", tt.ref).Want
		o, err := rs.Open(t.Context(), want)
		got := ""
		if err == nil {
			var found []source.Found
			if found, err = o.Skills(t.Context(), nil); err == nil {
				version, _ := Written(o.Kind, want.Ref.Version, found[0].Lock.Version, "", false)
				got = found[0].Lock.Version + " " + string(o.Kind) + " " + version
			}
		}
		if e, ok := errors.AsType[*diag.Error](err); ok {
			got = e.Code
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.ref, got, tt.want)
		}
	}
}

// The same release stays the same entry: a newer checkpoint of the log is no reason to write the lock.
func TestRenewalKeepsTheProofOfARelease(t *testing.T) {
	s := &shelf{namespace: "acme", releases: "v1.0.0"}
	rs := resolverOf(&library{}, map[string]string{"acme": "registry:corp"})
	rs.Registry, rs.RegistryURL = s, func(string) (string, error) { return "https://corp.example", nil }
	old := &lock.Lock{}
	old.Set(lock.Skill{Name: "pdf", Ref: "acme/pdf@^1", Source: "registry", URL: "https://corp.example", RefKind: lock.Range, Version: "1.0.0",
		Manifest: "sha256:1.0.0", Tree: "tree-sha256:x", Log: &lock.Log{Origin: "k", Entry: "e1.0.0", Checkpoint: "old"}})
	pdf := ask(t, "pdf", "acme/pdf@^1")
	pdf.Kind = lock.Range
	next := rs.Releases(t.Context(), []Named{pdf}, old, func(string) bool { return true }, false)
	if next[0].Err != nil {
		t.Fatal(next[0].Err)
	}
	if a, b := old.Skills[0], next[0].Skill; !lock.Equal(a, b) {
		t.Errorf("the entry became\n%+v %+v", b, b.Log)
	}
}
