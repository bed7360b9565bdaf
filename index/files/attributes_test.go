package files_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/testdata/long"
)

var attrNames = []string{"text", "eol", "ident", "filter", "working-tree-encoding", "diff", "merge", "x.y"}

// place writes a file, and makes the directories above it.
func place(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
}

// Of random trees Attributes says what git check-attr says.
func TestAttributesAreGits(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	found := 0
	for seed := range long.Of(10, 60, 600) {
		r := rand.New(rand.NewPCG(uint64(seed), 23))
		base := t.TempDir()
		root := filepath.Join(base, "repo")
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		var all []string
		for range 25 {
			p := pick("", "a/", "a/b/", "c/", "a/b/d/", ".agents/skills/pdf/") + pick("x", "y.md", "Z.MD", "aa", "b c", "é.txt", "z.sh", "!n", "#h", "q[1]")
			all = append(all, p)
			place(t, filepath.Join(root, p), "text")
		}
		place(t, filepath.Join(base, "config", "git", "none"), "")
		line := func() string {
			var b strings.Builder
			b.WriteString(pick("", "", " ", "\t"))
			b.WriteString(pick("*", "*.md", "x", "a/", "a/**", "**/x", "/x", "a/b/*", "/.agents/skills/**", `"b c"`, `"\303\251.txt"`, "é.*", "[x-z]*", "!x", `\!n`, `"#h"`, "#h", "a", "*.MD", `q\[1\]`,
				"[attr]mine", "[attr]other", "[attr] spaced", "[attr]-bad", `"unclosed`, `"bad\q"`, "b?c", "**/b/**", "a/x"))
			for range r.IntN(4) {
				b.WriteString(pick(" ", "  ", "\t") + pick("", "", "-", "!") + pick("text", "eol", "ident", "filter", "binary", "mine", "other", "spaced", "x.y", "text=auto", "eol=crlf", "filter=lfs", "diff=", "-", "ü"))
			}
			return b.String() + pick("", "", "\r", " ")
		}
		for _, at := range []string{"", "a", "a/b", ".agents/skills/pdf", "../config/git", ".git/info"} {
			if r.IntN(3) == 0 && at != "" {
				continue
			}
			var lines []string
			for range r.IntN(6) {
				lines = append(lines, line())
			}
			name := ".gitattributes"
			if strings.HasSuffix(at, "git") || strings.HasSuffix(at, "info") {
				name = "attributes"
			}
			place(t, filepath.Join(root, at, name), strings.Join(lines, "\n")+pick("", "\n"))
		}
		env := []string{"HOME=" + base, "XDG_CONFIG_HOME=" + filepath.Join(base, "config"), "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
		run := func(in string, args ...string) string {
			t.Helper()
			cmd := exec.Command(git, args...)
			cmd.Dir, cmd.Env, cmd.Stdin = root, env, strings.NewReader(in)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("git %q: %v", args, err)
			}
			return string(out)
		}
		run("", "init", "-q")
		if r.IntN(2) == 0 {
			run("", "config", "core.ignoreCase", "true")
		}
		want := map[string]string{}
		out := strings.Split(run(strings.Join(all, "\x00")+"\x00", append([]string{"check-attr", "-z", "--stdin"}, attrNames...)...), "\x00")
		for ; len(out) >= 3; out = out[3:] {
			if out[2] != "unspecified" {
				want[out[0]+" "+out[1]] = out[2]
			}
		}
		k := &files.Tracker{Getenv: func(name string) string {
			for _, e := range env {
				if v, ok := strings.CutPrefix(e, name+"="); ok {
					return v
				}
			}
			return ""
		}}
		got, err := k.Attributes(root, all, attrNames)
		if err != nil {
			t.Fatal(err)
		}
		describe := func() (text string) {
			for _, at := range []string{".git/info/attributes", "a/b/.gitattributes", "a/.gitattributes", ".agents/skills/pdf/.gitattributes", ".gitattributes", "../config/git/attributes"} {
				b, _ := os.ReadFile(filepath.Join(root, at))
				text += fmt.Sprintf("%s:\n%s\n", at, b)
			}
			return text
		}
		seen := map[string]bool{}
		for _, a := range got {
			key := a.Path + " " + a.Name
			if seen[key] = true; want[key] != a.Value {
				t.Fatalf("seed %d: %s is %q by %s:%d %q, git says %q\n%s", seed, key, a.Value, a.File, a.Line, a.Pattern, want[key], describe())
			}
			found++
		}
		for key, value := range want {
			if !seen[key] {
				t.Fatalf("seed %d: git says that %s is %q\n%s", seed, key, value, describe())
			}
		}
	}
	if found == 0 {
		t.Error("no tree has an attribute")
	}
}
