package skill

import (
	"errors"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func code(err error) string {
	var e *diag.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestCheckName(t *testing.T) {
	for _, c := range []struct{ name, dir, read, publish string }{
		{"pdf", "pdf", "", ""},
		{"pdf-forms-2", "", "", ""},
		{"pdf", "other", RuleNameDir, ""},
		{"café", "café", "", RuleNameASCII},
		{"cafe\u0301", "caf\u00e9", "", RuleNameASCII}, // composed and decomposed are one name
		{"数据分析", "数据分析", "", RuleNameASCII},
		{"ｐｄｆ", "pdf", "", RuleNameASCII}, // NFKC
		{" pdf ", "pdf", "", RuleNameChars},
		{"PDF", "PDF", RuleNameChars, RuleNameChars},
		{"-pdf", "-pdf", RuleNameChars, RuleNameChars},
		{"pdf-", "pdf-", RuleNameChars, RuleNameChars},
		{"pdf--x", "pdf--x", RuleNameChars, RuleNameChars},
		{"pdf_x", "pdf_x", RuleNameChars, RuleNameChars},
		{"pdf/x", "pdf/x", RuleNameChars, RuleNameChars},
		{"../x", "", RuleNameChars, RuleNameChars},
		{"con", "con", "", RuleNameDevice},
		{"com7", "com7", "", RuleNameDevice},
		{"com0", "com0", "", ""},
		{"", "", RuleNameMissing, RuleNameMissing},
		{strings.Repeat("a", 64), "", "", ""},
		{strings.Repeat("a", 65), "", RuleNameLength, RuleNameLength},
		{strings.Repeat("é", 64), "", "", RuleNameASCII}, // code points count, not bytes
	} {
		if got := code(CheckName(c.name, c.dir)); got != c.read {
			t.Errorf("CheckName(%q, %q) = %q, want %q", c.name, c.dir, got, c.read)
		}
		if got := code(CheckPublishName(c.name)); got != c.publish {
			t.Errorf("CheckPublishName(%q) = %q, want %q", c.name, got, c.publish)
		}
	}
}

func TestNameKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"pdf", "PDF", true},
		{"straße", "STRASSE", true},
		{"cafe\u0301", "CAFÉ", true},
		{"ｐｄｆ", "pdf", true},
		{"ΣΑΣ", "σας", true},
		{"\xf6\u03d4", "\xf6\u03cb", true},
		{"pdf", "pdf-1", false},
		{"p\u0430y", "pay", false}, // a Cyrillic letter is another name
	} {
		if got := NameKey(c.a) == NameKey(c.b); got != c.same {
			t.Errorf("NameKey(%q) == NameKey(%q) is %v: %q, %q", c.a, c.b, got, NameKey(c.a), NameKey(c.b))
		}
	}
}

func FuzzNameKey(f *testing.F) {
	for _, s := range []string{"pdf", "Straße", "ΐ", "İ", "ﬃ", "\u0345", "\xf6\xf6\xf6\xf6\u0390", "\xf6\xf6\xf6\xf6\u03d4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if key := NameKey(s); NameKey(key) != key {
			t.Errorf("NameKey(%q) = %q, whose key is %q", s, key, NameKey(key))
		}
		if CheckPublishName(s) == nil && NameKey(s) != s {
			t.Errorf("publishable name %q has the key %q", s, NameKey(s))
		}
	})
}

// Names with one skeleton look alike: letters of other scripts, digits for letters, width and case.
func TestSkeleton(t *testing.T) {
	for a, b := range map[string]string{"reаd-data": "read-data", "ροst": "post", "сору": "copy", "skіll": "skill", "ｐｄｆ": "pdf", "modern": "modem", "l1": "ll", "𝗽𝗱𝗳": "pdf", "օffice": "office", "ꮓip": "zip", "pԁf": "pdf"} {
		if a == b || Skeleton(a) != Skeleton(b) {
			t.Errorf("Skeleton(%q) = %q, that of %q is %q", a, Skeleton(a), b, Skeleton(b))
		}
	}
	for _, pair := range [][2]string{{"数据分析", "数据"}, {"read-data", "read-date"}, {"pdf", "pdx"}, {"привет", "privet"}} {
		if Skeleton(pair[0]) == Skeleton(pair[1]) {
			t.Errorf("%q looks like %q", pair[0], pair[1])
		}
	}
}

// Nothing that is not seen is in a name, although some of it counts as a letter.
func TestNamesAreSeen(t *testing.T) {
	for _, r := range []rune{0x00ad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x202e, 0x2060, 0x2064, 0x206f, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0x2800, 0x1d159, 0xe0001, 0xe0061, 0xe0100} {
		for _, name := range []string{"pdf" + string(r), "p" + string(r) + "df", string(r) + "pdf"} {
			if CheckName(name, "") == nil {
				t.Errorf("a name with U+%04X is accepted", r)
			}
			if shown := diag.Printable(name); shown == name || strings.ContainsRune(shown, r) {
				t.Errorf("U+%04X is printed as it is: %q", r, shown)
			}
			if Skeleton(name) != "pdf" {
				t.Errorf("a name with U+%04X does not look like pdf: %q", r, Skeleton(name))
			}
		}
	}
	for _, name := range []string{"pdf", "数据分析", "привет", "한국어", "ﬁle", "هدف"} {
		if err := CheckName(name, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRespell(t *testing.T) {
	for name, want := range map[string]string{
		"Omarchy": "omarchy", "my_skill": "my-skill", "ce:review": "ce-review", "pdf": "pdf", " A  B ": "a-b", "Café": "cafe", "--x--": "x",
		"../../etc": "etc", "技能": "", "con": "", "": "", "ﬁle": "file", strings.Repeat("a", 70): strings.Repeat("a", 64), strings.Repeat("a", 63) + "_b": strings.Repeat("a", 63),
	} {
		if got := Respell(name); got != want {
			t.Errorf("Respell(%q) = %q, want %q", name, got, want)
		}
	}
}
