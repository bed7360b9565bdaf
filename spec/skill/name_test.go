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
		{"pdf", "pdf-1", false},
		{"p\u0430y", "pay", false}, // a Cyrillic letter is another name
	} {
		if got := NameKey(c.a) == NameKey(c.b); got != c.same {
			t.Errorf("NameKey(%q) == NameKey(%q) is %v: %q, %q", c.a, c.b, got, NameKey(c.a), NameKey(c.b))
		}
	}
}

func FuzzNameKey(f *testing.F) {
	for _, s := range []string{"pdf", "Straße", "ΐ", "İ", "ﬃ", "\u0345"} {
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
