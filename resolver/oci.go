package resolver

import (
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/spell"
)

// pickOCI chooses among the tags of an OCI repository. Without a version it is the highest stable
// version, else the tag "latest". A version that has the form of a tag is that tag and nothing else,
// unless kind says that it is a range, as a manifest can.
//
// The kinds of a lock mean: Range, a version tag chosen by a range or by default; Tag, a tag that
// is no version; Default, "latest" because there was no version; Commit, a digest in the ref.
func pickOCI(releases []source.Release, r ref.Ref, kind lock.RefKind) (source.Release, lock.RefKind, error) {
	version := r.Version
	switch {
	case version == "":
		release, picked, err := pickDefault(releases, "")
		if err != nil {
			err = diag.New(diag.Misuse, source.CodeNoRelease, "it has no tag that is a stable version, and no tag \"latest\"").
				Meant(tagNames(releases, 10)...).Hint("name a tag behind \":\", or a digest behind \"@\"")
		}
		return release, picked, err
	case kind == lock.Tag || kind == "" && ref.IsTag(version):
		if release, ok := named(releases, source.Tag, version); ok {
			return release, lock.Tag, nil
		}
		e := diag.New(diag.Misuse, source.CodeNoVersion, "it has no tag %q", version)
		if release, ok := pickTag(releases, "", version); ok {
			return source.Release{}, "", e.Meant(release.Name).Hint("did you mean :%s?", release.Name)
		}
		if e.Candidates = spell.Nearest(version, tagNames(releases, len(releases)), 5); len(e.Candidates) > 0 {
			return source.Release{}, "", e.Hint("did you mean :%s?", e.Candidates[0])
		}
		return source.Release{}, "", e.Meant(tagNames(releases, 5)...)
	case kind == "" || kind == lock.Range:
		release, ok, err := pickRange(releases, "", version)
		if ok || err != nil {
			return release, lock.Range, err
		}
		e := diag.New(diag.Misuse, source.CodeNoVersion, "no version matches %q", version)
		if _, ok := newest(releases, ""); ok {
			return source.Release{}, "", e
		}
		return source.Release{}, "", e.Meant(tagNames(releases, 5)...).Hint("it has no version tags; name a tag behind \":\"")
	}
	return source.Release{}, "", diag.New(diag.Misuse, source.CodeNoVersion, "OCI registries have tags and digests, no %s", kind).
		Hint("write the digest into the reference: %s", r.WithoutVersion().String()+"@sha256:…")
}

// tagNames are the names of the last n releases: registries list tags in lexical order, and the
// newest version is more often at the end.
func tagNames(releases []source.Release, n int) []string {
	var names []string
	for i := len(releases) - 1; i >= 0 && len(names) < n; i-- {
		names = append(names, releases[i].Name)
	}
	return names
}
