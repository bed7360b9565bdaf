package git

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source/git/gittest"
)

func TestTagVersion(t *testing.T) {
	for _, c := range []struct{ tag, skill, version string }{
		{"v1.2.3", "", "1.2.3"},
		{"1.2.3", "", "1.2.3"},
		{"v1.2.3-rc.1+build", "", "1.2.3-rc.1+build"},
		{"pdf-v1.2.3", "pdf", "1.2.3"},
		{"pdf--v1.2.3", "pdf", "1.2.3"},
		{"pdf@1.2.3", "pdf", "1.2.3"},
		{"pdf@v1.2.3", "pdf", "1.2.3"},
		{"my-v2-tool-v1.0.0", "my-v2-tool", "1.0.0"},
		{"pdf-v1.0.0-v2", "pdf", "1.0.0-v2"},
		{"v1.2", "", ""},
		{"v01.2.3", "", ""},
		{"release", "", ""},
		{"pdf-1.2.3", "", ""},
		{"skills/pdf-v1.2.3", "", ""},
		{"@scope/pdf@1.2.3", "", ""},
		{"-v1.2.3", "", ""},
		{"@1.2.3", "", ""},
		{"", "", ""},
	} {
		if skill, version := tagVersion(c.tag); skill != c.skill || version != c.version {
			t.Errorf("tagVersion(%q) = %q, %q, want %q, %q", c.tag, skill, version, c.skill, c.version)
		}
	}
}

// Law: a version is a strict semantic version, and is in the tag behind the skill.
func FuzzTagVersion(f *testing.F) {
	for _, s := range []string{"v1.2.3", "pdf-v1.2.3", "pdf--v1.2.3-v2.0.0", "a@1.0.0-@2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		skill, version := tagVersion(tag)
		if version == "" {
			if skill != "" {
				t.Errorf("%q is of skill %q without a version", tag, skill)
			}
			return
		}
		if _, err := semver.StrictNewVersion(version); err != nil || !strings.HasPrefix(tag, skill) || !strings.HasSuffix(tag, version) {
			t.Errorf("tagVersion(%q) = %q, %q, %v", tag, skill, version, err)
		}
	})
}

// Without a symref, HEAD is main, then master, then the first branch at its commit.
func TestDefaultBranch(t *testing.T) {
	one, two := plumbing.NewHash(strings.Repeat("1", 40)), plumbing.NewHash(strings.Repeat("2", 40))
	head := advert{name: "HEAD", id: one}
	for _, c := range []struct {
		want string
		refs []advert
	}{
		{"refs/heads/x", []advert{{name: "HEAD", id: one, symref: "refs/heads/x"}, {name: "refs/heads/main", id: one}}},
		{"refs/heads/main", []advert{head, {name: "refs/heads/a", id: one}, {name: "refs/heads/main", id: one}, {name: "refs/heads/master", id: one}}},
		{"refs/heads/master", []advert{head, {name: "refs/heads/a", id: one}, {name: "refs/heads/main", id: two}, {name: "refs/heads/master", id: one}}},
		{"refs/heads/b", []advert{head, {name: "refs/heads/a", id: two}, {name: "refs/heads/b", id: one}, {name: "refs/heads/c", id: one}}},
		{"", []advert{head, {name: "refs/tags/v1", id: one}, {name: "refs/heads/a", id: two}}},
	} {
		if got := defaultBranch(c.refs); got != c.want {
			t.Errorf("defaultBranch(%v) = %q, want %q", c.refs, got, c.want)
		}
	}
}

// Names that are accepted git accepts, and plain ones are accepted.
func TestLegalRefAgreesWithGit(t *testing.T) {
	git := gittest.Need(t)
	for _, name := range []string{
		"refs/heads/main", "refs/heads/feature/a-b", "refs/tags/v1.2.3", "refs/tags/pdf@1.2.3", "refs/heads/ü", "refs/heads/@", "refs/heads/a/-b",
		"refs/heads/.a", "refs/heads/a.", "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads/a..b", "refs/heads/a b", "refs/heads/a~1",
		"refs/heads/a^", "refs/heads/a:b", "refs/heads/a?", "refs/heads/a*", "refs/heads/a[b", `refs/heads/a\b`, "refs/heads/a@{b", "refs/heads//a",
		"refs/heads/a/", "refs/heads/a\x7f", "refs/heads/a\nb", "refs/heads/",
	} {
		legal := legalRef(name)
		if err := exec.Command(git, "check-ref-format", name).Run(); (err == nil) != legal {
			t.Errorf("legalRef(%q) = %t, git says %v", name, legal, err)
		}
	}
	for _, name := range []string{"refs/heads/-a", "refs/tags/--upload-pack=x", "refs/heads/\u202ea", "refs/heads/a\xffb", strings.Repeat("refs/heads/", 200)} {
		if legalRef(name) {
			t.Errorf("legalRef(%q) = true", name)
		}
	}
}
