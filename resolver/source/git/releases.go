package git

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/ref"
)

// releases makes Releases of refs: tags first, then branches, each by name.
func releases(refs []advert) []source.Release {
	head := defaultBranch(refs)
	var out []source.Release
	for _, a := range refs {
		if tag, ok := strings.CutPrefix(a.name, "refs/tags/"); ok {
			skill, version := tagVersion(tag)
			out = append(out, source.Release{Kind: source.Tag, Name: tag, Skill: skill, Version: version, Commit: ref.Commit(a.id.String())})
		} else if branch, ok := strings.CutPrefix(a.name, "refs/heads/"); ok {
			out = append(out, source.Release{Kind: source.Branch, Name: branch, Commit: ref.Commit(a.id.String()), Default: a.name == head})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return cmp.Or(cmp.Compare(out[j].Kind, out[i].Kind), cmp.Compare(out[i].Name, out[j].Name)) < 0
	})
	return slices.CompactFunc(out, func(a, b source.Release) bool { return a.Kind == b.Kind && a.Name == b.Name })
}

// defaultBranch returns the ref that HEAD stands for. A server of the first
// protocols may not say; then it is main, master or the first branch at the same commit.
func defaultBranch(refs []advert) string {
	var at plumbing.Hash
	for _, a := range refs {
		if a.name == "HEAD" {
			if a.symref != "" {
				return a.symref
			}
			at = a.id
		}
	}
	best := ""
	for _, a := range refs {
		if !strings.HasPrefix(a.name, "refs/heads/") || a.id != at {
			continue
		}
		if a.name == "refs/heads/main" || best == "" || a.name == "refs/heads/master" && best != "refs/heads/main" {
			best = a.name
		}
	}
	return best
}

// tagVersion reads v1.2.3, 1.2.3, and name-v1.2.3, name--v1.2.3, name@1.2.3 (or
// name@v1.2.3), which are versions of one skill. Both results are "" for other tags.
func tagVersion(tag string) (skill, version string) {
	if v, ok := strictVersion(tag); ok {
		return "", v
	}
	if name, rest, ok := strings.Cut(tag, "@"); ok {
		if v, ok := strictVersion(rest); ok && isSkillName(name) {
			return name, v
		}
		return "", ""
	}
	for i := range len(tag) {
		if !strings.HasPrefix(tag[i:], "-v") {
			continue
		}
		// The first that fits: a pre-release may hold "-v" too.
		if v, ok := strictVersion(tag[i+1:]); ok {
			if name := strings.TrimSuffix(tag[:i], "-"); isSkillName(name) {
				return name, v
			}
		}
	}
	return "", ""
}

func strictVersion(s string) (string, bool) {
	s = strings.TrimPrefix(s, "v")
	_, err := semver.StrictNewVersion(s)
	return s, err == nil
}

func isSkillName(s string) bool { return s != "" && !strings.Contains(s, "/") }
