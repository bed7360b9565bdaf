package oci

import (
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// imageSuffix marks the tag of the form that containers mount.
const imageSuffix = "-image"

// Tag is the tag of a semantic version: "+", which tags cannot hold, becomes "_". The version has no
// leading "v", all three numbers, and does not end in "-image".
func Tag(version string) (string, error) {
	v, err := semver.StrictNewVersion(version)
	if err != nil || v.String() != version {
		return "", diag.New(diag.Misuse, "invalid_version", "%s is not a semantic version like 1.4.2", quoted(version))
	}
	tag := strings.Replace(version, "+", "_", 1)
	switch {
	case strings.HasSuffix(tag, imageSuffix):
		return "", diag.New(diag.Misuse, "invalid_version", "version %s ends in %q, which marks images", quoted(version), imageSuffix)
	case !ref.IsTag(tag + imageSuffix):
		return "", diag.New(diag.Misuse, "invalid_version", "version %s is too long for a tag", quoted(version))
	}
	return tag, nil
}

// ImageTag is the tag of the image form of a version.
func ImageTag(version string) (string, error) {
	tag, err := Tag(version)
	if err != nil {
		return "", err
	}
	return tag + imageSuffix, nil
}

// Version is the semantic version that a tag stands for; a leading "v" is left out. ok is false for tags
// that are no version, and for those of the image form of one.
func Version(tag string) (version string, ok bool) {
	text := strings.Replace(strings.TrimPrefix(tag, "v"), "_", "+", 1)
	v, err := semver.StrictNewVersion(text)
	if err != nil || v.String() != text || strings.HasSuffix(tag, imageSuffix) || !ref.IsTag(tag) {
		return "", false
	}
	return text, true
}

// IsReferrersTag reports whether tag is the list of what is attached to a manifest, in
// registries without an interface for that: "sha256-<hex>", or with a suffix of cosign's.
func IsReferrersTag(tag string) bool {
	algorithm, rest, _ := strings.Cut(tag, "-")
	rest, _, _ = strings.Cut(rest, ".")
	_, ok := ref.ParseDigest(algorithm + ":" + rest)
	return ok
}
