package resolver

import (
	"errors"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/spell"
)

// Pick chooses the release that version means among releases, for the skill of
// that name if it has version tags of its own, else among the tags of the whole
// place. Kind restricts how version is read; "" tries tag, branch, full commit and
// range in this order, and with no version the highest stable version, then
// the default branch.
func Pick(releases []source.Release, skill, version string, kind lock.RefKind) (source.Release, lock.RefKind, error) {
	r, picked, err := pick(releases, skill, version, kind)
	if last, ok := newest(releases, skill); ok && errors.Is(err, diag.Code(source.CodeNoVersion)) {
		if e, ok := diag.Own(err); ok && len(e.Hints) == 0 {
			err = e.Hint("the newest version is %s", last.Version)
		}
	}
	return r, picked, err
}

// pick is Pick, without the newest version in the error of one that nothing matches.
func pick(releases []source.Release, skill, version string, kind lock.RefKind) (source.Release, lock.RefKind, error) {
	if len(releases) == 1 && releases[0].Kind == source.Folder {
		return releases[0], "", nil
	}
	if version == "" {
		return pickDefault(releases, skill)
	}
	tries := []struct {
		kind lock.RefKind
		pick func() (source.Release, bool)
	}{
		{lock.Tag, func() (source.Release, bool) { return pickTag(releases, skill, version) }},
		{lock.Branch, func() (source.Release, bool) { return named(releases, source.Branch, version) }},
		{lock.Commit, func() (source.Release, bool) {
			commit, ok := ref.ParseCommit(version)
			return source.Release{Kind: source.Commit, Commit: commit}, ok
		}},
	}
	for _, try := range tries {
		if kind != "" && kind != try.kind {
			continue
		}
		if r, ok := try.pick(); ok {
			return r, try.kind, nil
		}
	}
	if kind == "" || kind == lock.Range {
		if r, ok, err := pickRange(releases, skill, version); ok || err != nil {
			return r, lock.Range, err
		}
	}
	return source.Release{}, "", notFound(releases, skill, version)
}

func pickDefault(releases []source.Release, skill string) (source.Release, lock.RefKind, error) {
	if r, ok, _ := pickRange(releases, skill, "*"); ok {
		return r, lock.Range, nil
	}
	for _, r := range releases {
		if r.Default {
			return r, lock.Default, nil
		}
	}
	return source.Release{}, "", diag.New(diag.Failed, source.CodeNoRelease, "it has no version tag and no default branch").
		Hint("name a branch, tag or commit behind \"@\"")
}

// pickTag finds the tag version; "1.2.3" also means v1.2.3 and name-v1.2.3.
func pickTag(releases []source.Release, skill, version string) (source.Release, bool) {
	if r, ok := named(releases, source.Tag, version); ok {
		return r, true
	}
	for _, r := range versionTags(releases, skill) {
		if r.Version == version || "v"+r.Version == version {
			return r, true
		}
	}
	return source.Release{}, false
}

func named(releases []source.Release, kind source.Kind, name string) (source.Release, bool) {
	i := slices.IndexFunc(releases, func(r source.Release) bool { return r.Kind == kind && r.Name == name })
	if i < 0 {
		return source.Release{}, false
	}
	return releases[i], true
}

// pickRange finds the highest version in the range. A version with a pre-release part is
// only taken if the range names one.
func pickRange(releases []source.Release, skill, text string) (best source.Release, ok bool, err error) {
	c, err := semver.NewConstraint(text)
	if err != nil {
		return source.Release{}, false, nil // not a range: the caller says what was looked for
	}
	var bestVersion *semver.Version
	for _, r := range versionTags(releases, skill) {
		v, err := semver.StrictNewVersion(r.Version)
		if err != nil || !c.Check(v) {
			continue
		}
		if bestVersion == nil || v.GreaterThan(bestVersion) {
			best, bestVersion = r, v
		}
	}
	return best, bestVersion != nil, nil
}

// versionTags are the tags of the skill itself if there are any, else those of the place.
func versionTags(releases []source.Release, skill string) []source.Release {
	var own, shared []source.Release
	for _, r := range releases {
		switch {
		case r.Kind != source.Tag || r.Version == "":
		case r.Skill == "":
			shared = append(shared, r)
		case r.Skill == skill:
			own = append(own, r)
		}
	}
	if len(own) > 0 {
		return own
	}
	return shared
}

func notFound(releases []source.Release, skill, version string) error {
	var near []string
	for _, r := range releases {
		near = append(near, r.Name)
	}
	e := diag.New(diag.Misuse, source.CodeNoVersion, "no tag, branch, commit or version matches %q", version)
	if isHex(version) && len(version) >= 7 && len(version) < 40 {
		return e.Hint("no commit that a branch or tag leads to begins so; any other needs all 40 digits")
	}
	_, err := semver.NewConstraint(version)
	if e.Candidates = spell.Nearest(version, near, 5); err != nil && len(e.Candidates) > 0 {
		return e.Hint("did you mean %s?", strings.Join(e.Candidates, ", "))
	}
	e.Candidates = nil
	if len(versionTags(releases, skill)) == 0 {
		return e.Hint("it has no version tags; name a branch or a commit")
	}
	return e
}

// newest is the highest version, a stable one if there is any.
func newest(releases []source.Release, skill string) (source.Release, bool) {
	r, ok, _ := pickRange(releases, skill, "*")
	if !ok {
		r, ok, _ = pickRange(releases, skill, "*-0")
	}
	return r, ok
}

func compare(a, b string) int {
	va, erra := semver.StrictNewVersion(a)
	vb, errb := semver.StrictNewVersion(b)
	if erra != nil || errb != nil {
		return strings.Compare(a, b)
	}
	return va.Compare(vb)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// Written is the version that the manifest gets for a release that was picked
// from asked: a range around what was chosen by default, exactly what was asked for
// otherwise. With pin it is the chosen version, commit or tag alone.
func Written(kind lock.RefKind, asked, version string, commit ref.Commit, pin bool) (string, lock.RefKind) {
	switch {
	case kind == lock.Range && pin:
		return "=" + version, lock.Range
	case pin && (kind == lock.Branch || kind == lock.Default):
		return string(commit), lock.Commit
	case kind == lock.Range && asked == "":
		return "^" + version, lock.Range
	case kind == lock.Tag && isVersionTag(asked, version):
		return "=" + version, lock.Range
	}
	return asked, kind
}

func isVersionTag(tag, version string) bool {
	return version != "" && (tag == version || tag == "v"+version)
}

// Satisfies reports whether the locked release is what a want for version and
// kind could still mean, so that a re-lock may keep it.
func Satisfies(s lock.Skill, version string, kind lock.RefKind) bool {
	switch kind {
	case lock.Range:
		c, err := semver.NewConstraint(version)
		if err != nil {
			return false
		}
		v, err := semver.StrictNewVersion(s.Version)
		return err == nil && c.Check(v)
	case lock.Commit:
		return string(s.Commit) == version
	case lock.Tag, lock.Branch:
		if r, err := ref.Parse(s.Ref); err == nil && r.Kind == ref.OCI {
			return s.RefKind == kind && r.Version == version && r.Digest == ""
		}
		return s.RefKind == kind && strings.HasSuffix(s.Ref, "@"+version)
	}
	return version == "" && (s.RefKind == lock.Default || s.RefKind == "")
}
