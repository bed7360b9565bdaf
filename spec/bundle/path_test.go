package bundle

import (
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/skl-project/skl/spec/diag"
)

// codeOf returns the code of a refusal, "" for nil.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := err.(*diag.Error)
	if !ok {
		t.Fatalf("error %v is a %T, not a *diag.Error", err, err)
	}
	return e.Code
}

func TestCheckPath(t *testing.T) {
	deep := strings.Repeat("d/", MaxDepth-1) + "f"
	tests := []struct{ path, code string }{
		{"SKILL.md", ""},
		{"scripts/run.sh", ""},
		{".gitignore", ""},
		{".github/x.yml", ""},
		{"a b/ü-é-漢.md", ""},
		{"..a/b..", ""},
		{"git~", ""},
		{".agents/skills/x", ""},
		{"agents~x", ""},
		{deep, ""},
		{strings.Repeat("x", MaxPath), ""},

		{"", CodePathEmpty},
		{"a//b", CodePathEmpty},
		{"a/", CodePathEmpty},
		{"/etc/passwd", CodePathAbsolute},
		{"//host/share", CodePathAbsolute},
		{"C:/x", CodePathDrive},
		{"c:x", CodePathDrive},
		{`C:\x`, CodePathDrive},
		{`\\host\share`, CodePathBackslash},
		{`a\..\b`, CodePathBackslash},
		{"..", CodePathTraversal},
		{"../x", CodePathTraversal},
		{"a/../../x", CodePathTraversal},
		{"./a", CodePathTraversal},
		{"a\x00/b", CodePathNUL},
		{"a\nb", CodePathControl},
		{"a\x1b[31m", CodePathControl},
		{"a\u0085b", CodePathControl},
		{"exe\u202egpj.sh", CodePathControl},
		{"a\U000e0041", CodePathControl},
		{"a\xffb", CodePathUTF8},
		{".git/config", CodePathGit},
		{"sub/.GIT", CodePathGit},
		{"sub/.git. ./x", CodePathGit},
		{".git::$INDEX_ALLOCATION/config", CodePathGit},
		{".g\u200cit/config", CodePathGit},
		{"\u200c.git/config", CodePathGit},
		{"GIT~1/config", CodePathGit},
		{"git~10", CodePathGit},
		{".skl/pdf.json", CodePathState},
		{".Agents/skills", CodePathState},
		{"d/" + deep, CodePathDeep},
		{strings.Repeat("x", MaxPath+1), CodePathLong},
	}
	for _, tt := range tests {
		if got := codeOf(t, CheckPath(tt.path)); got != tt.code {
			t.Errorf("CheckPath(%q) = %q, want %q", tt.path, got, tt.code)
		}
	}
}

func TestCheckPortable(t *testing.T) {
	tests := []struct{ path, code string }{
		{"SKILL.md", ""},
		{"console.md", ""},
		{"com10/x", ""},
		{"a.con", ""},
		{strings.Repeat("x/", 119) + "xx", ""},

		{"CON", CodePathReserved},
		{"docs/nul.tar.gz", CodePathReserved},
		{"aux .md", CodePathReserved},
		{"COM1.log", CodePathReserved},
		{"lpt³", CodePathReserved},
		{"a./b", CodePathTrailing},
		{"a /b", CodePathTrailing},
		{"SKILL.md:hidden", CodePathCharacter},
		{"what?", CodePathCharacter},
		{strings.Repeat("x/", 120) + "x", CodePathLong},
	}
	for _, tt := range tests {
		if got := codeOf(t, CheckPortable(tt.path)); got != tt.code {
			t.Errorf("CheckPortable(%q) = %q, want %q", tt.path, got, tt.code)
		}
	}
}

func TestCheckLinkTarget(t *testing.T) {
	tests := []struct{ path, target, code string }{
		{"b.md", "a.md", ""},
		{"docs/b.md", "../a.md", ""},
		{"docs/b.md", "./c/../a.md", ""},

		{"b.md", "../a.md", CodeLinkEscape},
		{"docs/b.md", "../../a.md", CodeLinkEscape},
		{"docs/b.md", "x/../../../a.md", CodeLinkEscape},
		{"b.md", "/etc/passwd", CodeLinkEscape},
		{"b.md", "C:/x", CodeLinkEscape},
		{"b.md", `..\a.md`, CodeLinkTarget},
		{"b.md", "a\x00", CodeLinkTarget},
		{"b.md", "", CodeLinkTarget},
	}
	for _, tt := range tests {
		if got := codeOf(t, CheckLinkTarget(tt.path, tt.target)); got != tt.code {
			t.Errorf("CheckLinkTarget(%q, %q) = %q, want %q", tt.path, tt.target, got, tt.code)
		}
	}
}

func TestResidue(t *testing.T) {
	for _, p := range []string{".DS_Store", "a/.DS_Store", "a/__pycache__/b.cpython-312.pyc", "__pycache__/x.pyc"} {
		if !Residue(p) {
			t.Errorf("Residue(%q) = false", p)
		}
	}
	for _, p := range []string{"SKILL.md", "DS_Store", "a__pycache__/x.pyc", "m.py", "pyc", "m.pyc", "__pycache__", "__pycache__/SKILL.md", "__pycache__/a/x.pyc", "a/__pycache__/b.txt"} {
		if Residue(p) {
			t.Errorf("Residue(%q) = true", p)
		}
	}
}

// Every two runes that x/text/cases folds to one are one for fold, and no others.
func TestFoldIsFullCaseFolding(t *testing.T) {
	full := cases.Fold()
	class := make(map[string]string) // full folding to ours
	inverse := make(map[string]string)
	for r := rune(0); r <= 0x1ffff; r++ {
		if !utf8.ValidRune(r) || unicode.In(r, unicode.Han, unicode.Hangul) || unicode.Is(unicode.Cherokee, r) {
			continue // scripts without case; and one whose small letters x/text/cases leaves as they are
		}
		s := string(r)
		want := norm.NFC.String(full.String(norm.NFD.String(s)))
		want = norm.NFC.String(full.String(norm.NFD.String(want))) // cases folds ypogegrammeni in one more step
		got := Fold(s)
		if had, ok := class[want]; ok && had != got {
			t.Errorf("fold(%q) = %q, but %q for another rune of that folding", s, got, had)
		}
		if had, ok := inverse[got]; ok && had != want {
			t.Errorf("fold(%q) = %q, like a rune that folds to %q", s, got, had)
		}
		class[want], inverse[got] = got, want
	}
}

// Every path that CheckPath accepts is clean, stays below any directory and is kept by file systems as it is.
func FuzzCheckPath(f *testing.F) {
	for _, s := range []string{"SKILL.md", "a/../b", "/x", "C:x", "a//b", ".git", "é/ß", "a\x00", "a/.", "\u200c.git"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		err := CheckPath(p)
		if err != nil {
			codeOf(t, err)
			return
		}
		if path.Clean(p) != p || !strings.HasPrefix(path.Join("/root", p), "/root/") || path.IsAbs(p) {
			t.Errorf("CheckPath(%q) = nil", p)
		}
		if f := Fold(p); Fold(f) != f {
			t.Errorf("fold(%q) = %q, which folds to %q", p, f, Fold(f))
		}
		var n names
		if err := n.add(p, ""); err != nil {
			t.Errorf("add(%q): %v", p, err)
		}
		if codeOf(t, n.add(p, "")) != CodeDuplicate {
			t.Errorf("a second add(%q) is not a duplicate", p)
		}
	})
}
