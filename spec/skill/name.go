package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"
)

// MaxNameLength is the longest name, in code points after NFKC.
// agentskills spec, "name": 1-64 characters.
const MaxNameLength = 64

// CheckName reports whether name may be read from a SKILL.md in a directory
// called dir. It is the rule of the format's reference validator: surrounding
// space does not count; after NFKC at most 64 code points, lower case, letters
// and digits of any script and single hyphens inside, and equal to dir. What is not seen, such as a filler of Hangul, is no letter.
// An empty dir is not compared.
//
// Its errors are *diag.Error with a rule id as code: SPEC-NAME-MISSING,
// SPEC-NAME-LENGTH, SPEC-NAME-CHARS or SPEC-NAME-DIR.
func CheckName(name, dir string) error {
	s := nfkc(strings.TrimSpace(name))
	if s == "" {
		return nameError(RuleNameMissing, "the skill has no name")
	}
	if n := utf8.RuneCountInString(s); n > MaxNameLength {
		return nameError(RuleNameLength, "name is %d characters long, at most %d are allowed", n, MaxNameLength)
	}
	switch {
	case s != strings.ToLower(s):
		return nameError(RuleNameChars, "name \"%s\" is not lower case", diag.Printable(s)).Meant(strings.ToLower(s))
	case s[0] == '-' || s[len(s)-1] == '-':
		return nameError(RuleNameChars, "name \"%s\" starts or ends with a hyphen", diag.Printable(s))
	case strings.Contains(s, "--"):
		return nameError(RuleNameChars, "name \"%s\" holds two hyphens in a row", diag.Printable(s))
	}
	for _, r := range s {
		if r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) || diag.Invisible(r) {
			return nameError(RuleNameChars, "name \"%s\" holds \"%s\", only letters, digits and hyphens are allowed", diag.Printable(s), diag.Printable(string(r)))
		}
	}
	if dir != "" && nfkc(dir) != s {
		return nameError(RuleNameDir, "name \"%s\" differs from its directory \"%s\"", diag.Printable(s), diag.Printable(dir)).Meant(s, dir)
	}
	return nil
}

// CheckPublishName reports whether name can be published, locked and aliased:
// ASCII a-z, 0-9 and single hyphens inside, at most 64 bytes, and no name that
// Windows keeps for a device.
//
// Its errors are *diag.Error with a rule id as code: SPEC-NAME-MISSING,
// SPEC-NAME-LENGTH, SPEC-NAME-CHARS, SPEC-NAME-ASCII or SPEC-NAME-DEVICE.
func CheckPublishName(name string) error {
	if name != strings.TrimSpace(name) {
		return nameError(RuleNameChars, "name \"%s\" starts or ends with a space", diag.Printable(name))
	}
	if err := CheckName(name, ""); err != nil {
		return err
	}
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return nameError(RuleNameASCII, "name \"%s\" holds characters other than a-z, 0-9 and hyphens, and cannot be published", diag.Printable(name))
		}
	}
	if isDevice(name) {
		return nameError(RuleNameDevice, "name \"%s\" is a device on Windows", name)
	}
	return nil
}

// NameKey is the identity of a name: two skills whose keys are equal are the
// same skill to a person and to a file system that ignores case. It is NFKC
// and case folding, with ß as ss.
func NameKey(name string) string {
	if isLowerASCII(name) {
		return name
	}
	return nfkc(bundle.Fold(nfkc(name)))
}

// nfkc replaces invalid UTF-8 byte by byte first: behind it, norm leaves letters as they are.
func nfkc(s string) string {
	return norm.NFKC.String(strings.Map(func(r rune) rune { return r }, s))
}

// Skeleton is what a name looks like: two names with one skeleton are taken for each other, though they may differ. It is that of
// UTS 39, of the name's [NameKey] without what nobody sees in it. It is for comparing, not for showing.
func Skeleton(name string) string {
	seen := strings.Map(func(r rune) rune {
		if diag.Invisible(r) {
			return -1
		}
		return r
	}, name) // first: a joiner between a letter and its accent keeps them apart
	return strings.ToLower(confusable.Skeleton(NameKey(seen)))
}

func nameError(rule, format string, args ...any) *diag.Error {
	return diag.New(diag.Unmet, rule, format, args...)
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// isDevice reports whether Windows opens a device when asked for the file name.
func isDevice(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	if len(name) != 4 || name[3] < '1' || name[3] > '9' {
		return false
	}
	return name[:3] == "com" || name[:3] == "lpt"
}

// Respell is the name that is nearest to one, of those that [CheckPublishName] allows; "" if nothing of it is left.
func Respell(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(nfkc(name))) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r): // the accent of the letter before it
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.Trim(b.String()[:min(b.Len(), MaxNameLength)], "-")
	if CheckPublishName(out) != nil {
		return ""
	}
	return out
}
