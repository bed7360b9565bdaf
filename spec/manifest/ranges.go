package manifest

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// numbers are the versions that a range is written with, some without their last parts.
var numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+){0,2}`)

// maxNumbers bounds the versions of a range that is compared.
const maxNumbers = 32

// Within reports whether every release in the range a is in the range b. False also stands for ranges that cannot be compared: those that name
// a version before a release, and such with very many versions.
//
// Where a range begins or ends is a version that it is written with, or the next one in one of its parts. Between two of these either
// everything is in a range or nothing, so one version of each gap decides.
func Within(a, b string) bool {
	ca, err := semver.NewConstraint(a)
	if err != nil || preRelease(a) {
		return false
	}
	cb, err := semver.NewConstraint(b)
	if err != nil || preRelease(b) {
		return false
	}
	ends, ok := bounds(a + " " + b)
	if !ok {
		return false
	}
	for _, v := range ends {
		for _, sample := range []*semver.Version{v, next(v.IncPatch())} {
			if ca.Check(sample) && !cb.Check(sample) {
				return false
			}
		}
	}
	return true
}

// preRelease reports whether a range names a version before a release: a "-" that no blanks surround.
func preRelease(text string) bool {
	return strings.ContainsAny(strings.ReplaceAll(text, " - ", " "), "-+")
}

// bounds are the versions at which a range with these numbers can begin or end.
func bounds(text string) (out []*semver.Version, ok bool) {
	found := numbers.FindAllString(text, maxNumbers+1)
	if len(found) > maxNumbers {
		return nil, false
	}
	out = append(out, semver.New(0, 0, 0, "", ""))
	for _, s := range found {
		var part [3]uint64
		for i, digits := range strings.Split(s, ".") {
			n, err := strconv.ParseUint(digits, 10, 32)
			if err != nil {
				return nil, false
			}
			part[i] = n
		}
		v := semver.New(part[0], part[1], part[2], "", "")
		patch := v.IncPatch()
		out = append(out, v, &patch, next(v.IncMinor()), next(v.IncMajor()))
	}
	return out, true
}

func next(v semver.Version) *semver.Version { return &v }
