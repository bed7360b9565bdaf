package files_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/testdata/long"
)

// Random trees with random patterns have the files and the ignored paths that git says.
func TestGitAgrees(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	trees := long.Of(6, 60, 320)
	kept, left := 0, 0
	for seed := range trees {
		g := &grower{rand: rand.New(rand.NewPCG(uint64(seed), 5)), git: git, base: t.TempDir()}
		g.grow(t)
		root := g.root
		if seed%3 == 0 {
			root = g.someDir()
		}
		w := &files.Walker{Root: root, Getenv: g.getenv}
		walked := pathsOf(walkAll(t, w).Files)
		if want := g.listed(t, root); !slices.Equal(walked, want) && !g.rootIgnored(t, root) {
			t.Fatalf("seed %d, root %s:\nwalked %q\n   git %q\n%s", seed, root[len(g.root):], walked, want, g.describe())
		}
		if root != g.root {
			continue // git knows that root itself is ignored, and we do not ask
		}
		var ignored map[string]bool
		if seed%4 == 1 {
			ignored = g.checked(t, "-C", root)
		}
		for path, dir := range g.paths {
			got := w.Ignored(path, dir)
			if want := ignored[path]; ignored != nil && got != want {
				t.Fatalf("seed %d: Ignored(%q, %v) = %v, git says %v\n%s", seed, path, dir, got, want, g.describe())
			}
			if !dir && got == slices.Contains(walked, path) {
				t.Fatalf("seed %d: Ignored(%q) = %v, the walk says otherwise\n%s", seed, path, got, g.describe())
			}
			if got {
				left++
			} else {
				kept++
			}
		}
	}
	t.Logf("%d paths kept, %d left out", kept, left)
	if long.All() && (left < 1000 || kept < 1000) {
		t.Errorf("the trees are too one-sided to show anything: %d kept, %d left out", kept, left)
	}
}

// A grower makes one repository.
type grower struct {
	rand  *rand.Rand
	git   string
	base  string
	root  string
	home  string
	paths map[string]bool // relative to root; true for directories
	rules map[string]string
}

func (g *grower) getenv(name string) string {
	switch name {
	case "HOME":
		return g.home
	case "GIT_CONFIG_NOSYSTEM":
		return "1"
	}
	return ""
}

var growNames = []string{"a", "b", "ab", "abc", "A", "a.o", "b.o", "foo", "foobar", "bar", "x y", "x ", "#c", "!d", `e\f`, "[g]", "h*", "-", "ä", "a]", ".hid", "doc.txt", "lib9", "a1", "\tq", "z?"}

func (g *grower) name() string { return growNames[g.rand.IntN(len(growNames))] }

func (g *grower) grow(t *testing.T) {
	g.root, g.home = filepath.Join(g.base, "r"), filepath.Join(g.base, "home")
	g.paths, g.rules = map[string]bool{}, map[string]string{}
	fold := g.rand.IntN(8) == 0
	for _, dir := range []string{"objects", "refs", "info"} {
		makeDir(t, filepath.Join(g.root, ".git", dir))
	}
	write(t, filepath.Join(g.root, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(g.root, ".git", "config"), fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n\tignorecase = %v\n", fold))
	for range 6 + g.rand.IntN(30) {
		var parts []string
		for range 1 + g.rand.IntN(4) {
			parts = append(parts, g.name())
		}
		g.put(t, strings.Join(parts, "/"))
	}
	dirs := []string{""}
	for path, dir := range g.paths {
		if dir {
			dirs = append(dirs, path)
		}
	}
	slices.Sort(dirs)
	for i, dir := range dirs {
		if i == 0 || g.rand.IntN(4) == 0 {
			g.rule(t, filepath.Join(dir, ".gitignore"))
			g.paths[filepath.ToSlash(filepath.Join(dir, ".gitignore"))] = false
		}
	}
	if g.rand.IntN(2) == 0 {
		g.rule(t, ".git/info/exclude")
	}
	switch g.rand.IntN(3) {
	case 0:
		g.rule(t, "../home/.config/git/ignore")
	case 1:
		g.rule(t, "../home/mine")
		write(t, filepath.Join(g.home, ".gitconfig"), "[user]\n\tname = \"A # B\" ; c\n[Core] ExcludesFile = ~/mine # mine\n")
	}
}

// put makes a file and its directories, unless one of them is a file already.
func (g *grower) put(t *testing.T, path string) {
	for i := range path {
		if path[i] == '/' {
			if dir, ok := g.paths[path[:i]]; ok && !dir {
				return
			}
		}
	}
	if _, ok := g.paths[path]; ok {
		return
	}
	for i := range path {
		if path[i] == '/' {
			g.paths[path[:i]] = true
		}
	}
	g.paths[path] = false
	makeDir(t, filepath.Dir(filepath.Join(g.root, path)))
	if g.rand.IntN(20) == 0 {
		makeDir(t, filepath.Join(g.root, path))
		g.paths[path] = true
		return
	}
	write(t, filepath.Join(g.root, path), "")
}

func (g *grower) rule(t *testing.T, path string) {
	var b strings.Builder
	if g.rand.IntN(10) == 0 {
		b.WriteString("\ufeff")
	}
	for i := range 1 + g.rand.IntN(7) {
		if i > 0 {
			b.WriteString([]string{"\n", "\r\n", "\n\n", "\n# a\n"}[g.rand.IntN(4)])
		}
		b.WriteString(g.pattern())
	}
	if g.rand.IntN(3) > 0 {
		b.WriteString("\n")
	}
	makeDir(t, filepath.Dir(filepath.Join(g.root, path)))
	write(t, filepath.Join(g.root, path), b.String())
	g.rules[path] = b.String()
}

func (g *grower) pattern() string {
	pick := func(of ...string) string { return of[g.rand.IntN(len(of))] }
	var b strings.Builder
	if g.rand.IntN(4) == 0 {
		b.WriteString("!")
	}
	if g.rand.IntN(5) == 0 {
		b.WriteString("/")
	}
	for i := range 1 + g.rand.IntN(3) {
		if i > 0 {
			b.WriteString(pick("/", "/", "/", "/", `\/`, "//"))
		}
		switch g.rand.IntN(3) {
		case 0:
			b.WriteString(g.name())
			continue
		case 1:
			b.WriteString(pick("*", "**", "?", "*.o", "foo*", "*b*", "a**", "**b", "***", "*a*b*"))
			continue
		}
		for range 1 + g.rand.IntN(4) {
			b.WriteString(pick("a", "b", "o", ".", "f", "fo", "*", "**", "?", `\a`, `\*`, `\[`, " ", `\ `, `\\`, "A", "-",
				"[a-c]", "[!a]", "[^b-z]", "[]a]", "[!]a]", "[a-]", "[-a]", `[\]a]`, `[a\-c]`, "[[:alpha:]]", "[![:digit:][:space:]]",
				"[[:upper:]x]", "[[:nope:]]", "[[:alpha]", "[[:punct:]]", "[a", "[z-a]", "[/]", "[a-c-e]", "[[]", "[+--]", `[\`))
		}
	}
	b.WriteString(pick("", "", "", "", "/", "/", "/*", "/**", "/**/", " ", "  ", `\ `, `\`, "\t", "!"))
	return b.String()
}

func (g *grower) describe() string {
	var b strings.Builder
	for path, text := range g.rules {
		fmt.Fprintf(&b, "%s: %q\n", path, text)
	}
	return b.String()
}

// someDir returns a directory of the repository.
func (g *grower) someDir() string {
	dirs := []string{""}
	for path, dir := range g.paths {
		if dir {
			dirs = append(dirs, path)
		}
	}
	slices.Sort(dirs)
	return filepath.Join(g.root, dirs[g.rand.IntN(len(dirs))])
}

func (g *grower) run(t *testing.T, stdin string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(g.git, args...)
	cmd.Env = []string{"HOME=" + g.home, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1 is check-ignore with nothing to say
		t.Fatalf("git %q: %v: %s", args, err, &errs)
	}
	list := strings.Split(string(out), "\x00")
	return list[:len(list)-1]
}

func (g *grower) listed(t *testing.T, root string) []string {
	list := g.run(t, "", "-C", root, "ls-files", "-co", "--exclude-standard", "-z")
	slices.Sort(list)
	return list
}

func (g *grower) checked(t *testing.T, args ...string) map[string]bool {
	var in strings.Builder
	for path := range g.paths {
		in.WriteString(path + "\x00")
	}
	out := map[string]bool{}
	for _, path := range g.run(t, in.String(), append(args, "check-ignore", "-z", "--stdin", "--no-index")...) {
		out[path] = true
	}
	return out
}

// rootIgnored says that git would list nothing below root, which is not what a walk of it should do.
func (g *grower) rootIgnored(t *testing.T, root string) bool {
	rel, _ := filepath.Rel(g.root, root)
	return rel != "." && g.checked(t, "-C", g.root)[filepath.ToSlash(rel)]
}
