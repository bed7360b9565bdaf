package rootpath

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, s := range []string{"skills", ".claude/skills", ".agents/skills", "tools/our skills", "~/skills", "/srv/skills"} {
		if err := Check(s); err != nil {
			t.Errorf("Check(%q) is %v", s, err)
		}
	}
	for _, s := range []string{"", ".", "~", "~/", "/", "..", "../x", "a/../b", "a//b", "./a", "a/", "-x", "a/-x", ".claude", ".git/hooks", "x/.GIT", ".skl/x", "~/..", "~/.ssh", "/srv/../etc", "/etc/.x",
		`a\b`, "a\x1b[2Jb", "a\nb", "con/x", "a/nul", "x ", "C:x", strings.Repeat("a/", 40) + "b"} {
		if err := Check(s); err == nil {
			t.Errorf("Check accepts %q", s)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, test := range [][2]string{{"tools/skills", "/p/tools/skills"}, {"~/skills", "/h/skills"}, {"/srv/skills", "/srv/skills"}} {
		abs := Resolve(test[0], "/p", "/h")
		if filepath.ToSlash(abs) != test[1] || Write(abs, "/p", "/h") != test[0] {
			t.Errorf("Resolve(%q) is %q, and is written %q", test[0], abs, Write(abs, "/p", "/h"))
		}
	}
	if s := Write("/h/p/x", "", "/h"); s != "~/p/x" {
		t.Errorf("without a project /h/p/x is written %q", s)
	}
}

// FuzzCheck: what is accepted stays below the directory that it is joined to, and is written as it was read.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"skills", "~/skills", "/srv/skills", "../x", ".git/x", "a/..", "~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Check(s) != nil {
			return
		}
		abs, below := Resolve(s, "/p", "/h"), "/"
		switch {
		case strings.HasPrefix(s, "~/"):
			below = "/h/"
		case IsLocal(s):
			below = "/p/"
		}
		if slash := filepath.ToSlash(abs); !strings.HasPrefix(slash, below) || slash == below || Resolve(Write(abs, "/p", "/h"), "/p", "/h") != abs {
			t.Fatalf("%q leads to %q", s, abs)
		}
	})
}
