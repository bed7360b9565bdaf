package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/testdata/long"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func makeDir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// plant writes files below dir, by slashed path.
func plant(t testing.TB, dir string, texts map[string]string) {
	t.Helper()
	for path, text := range texts {
		path = filepath.Join(dir, filepath.FromSlash(path))
		makeDir(t, filepath.Dir(path))
		write(t, path, text)
	}
}

func walkAll(t testing.TB, w *files.Walker) files.List {
	t.Helper()
	list, err := w.Walk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func pathsOf(list []files.File) []string {
	paths := make([]string, 0, len(list))
	for _, f := range list {
		paths = append(paths, f.Path)
	}
	return paths
}

// quiet is an environment without a user's configuration of git.
func quiet(name string) string {
	if name == "GIT_CONFIG_NOSYSTEM" {
		return "1"
	}
	return ""
}

const (
	head     = "ref: refs/heads/main\n"
	cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n# made by a tool\n"
)

// Each case is a tree, what a walk of it finds, and the directories it enters.
func TestWalk(t *testing.T) {
	for _, test := range []struct {
		name  string
		tree  map[string]string // paths outside of the root begin with ../
		extra []string
		want  []string
		dirs  []string
	}{
		{
			name: "hidden files are found",
			tree: map[string]string{"a.go": "", ".editorconfig": "", ".github/ci.yml": ""},
			want: []string{".editorconfig", ".github/ci.yml", "a.go"},
			dirs: []string{"", ".github"},
		},
		{
			name: "sorted in byte order, not directory by directory",
			tree: map[string]string{"a/b": "", "a.b": "", "a-b/c": "", "B": ""},
			want: []string{"B", "a-b/c", "a.b", "a/b"},
			dirs: []string{"", "a", "a-b"},
		},
		{
			name: "directories of tools are not entered",
			tree: map[string]string{".git/HEAD": head, ".hg/x": "", "node_modules/m/i.js": "", "src/__pycache__/a.pyc": "", "venv/x": "", "vendor/v.go": "", "build/out": ""},
			want: []string{"build/out", "vendor/v.go"},
			dirs: []string{"", "build", "src", "vendor"},
		},
		{
			name: "a cache is known by its tag, and only by a true one",
			tree: map[string]string{"target/CACHEDIR.TAG": cacheTag, "target/x.o": "", "other/CACHEDIR.TAG": "no\n", "CACHEDIR.TAG": cacheTag},
			want: []string{"CACHEDIR.TAG", "other/CACHEDIR.TAG"},
			dirs: []string{"", "other"},
		},
		{
			name: "without .git, .gitignore files count and the parents' do not",
			tree: map[string]string{"../.gitignore": "*\n", ".gitignore": "*.o\n", "a.o": "", "a.c": "", "d/.gitignore": "!a.o\n", "d/a.o": ""},
			want: []string{".gitignore", "a.c", "d/.gitignore", "d/a.o"},
			dirs: []string{"", "d"},
		},
		{
			name: "a root inside a repository goes by the rules above it, even if one ignores it",
			tree: map[string]string{"../.git/HEAD": head, "../.gitignore": "/root/\n/root/gen\n*.log\n", "../.git/info/exclude": "root/mine\n", "gen/a": "", "mine": "", "x.log": "", "y": ""},
			want: []string{"y"},
			dirs: []string{""},
		},
		{
			name: "what is below an ignored directory cannot come back",
			tree: map[string]string{".gitignore": "out/\n!out/keep\n*.x\n!keep.x\n", "out/keep": "", "keep.x": "", "a.x": ""},
			want: []string{".gitignore", "keep.x"},
			dirs: []string{""},
		},
		{
			name: "a repository inside goes by its own rules",
			tree: map[string]string{".git/HEAD": head, ".gitignore": "*.o\n", "a.o": "", "sub/.git/HEAD": head, "sub/.git/info/exclude": "*.c\n", "sub/a.o": "", "sub/a.c": ""},
			want: []string{".gitignore", "sub/a.o"},
			dirs: []string{"", "sub"},
		},
		{
			name: "a .git without HEAD is not a repository",
			tree: map[string]string{".git/config": "", ".git/info/exclude": "a\n", "a": ""},
			want: []string{"a"},
			dirs: []string{""},
		},
		{
			name: "a worktree has the exclude file of its repository",
			tree: map[string]string{
				".git":                               "gitdir: ../main/.git/worktrees/w\n",
				"../main/.git/worktrees/w/HEAD":      head,
				"../main/.git/worktrees/w/commondir": "../..\n",
				"../main/.git/info/exclude":          "*.o\n",
				"a.o":                                "", "a.c": "",
			},
			want: []string{"a.c"},
			dirs: []string{""},
		},
		{
			name:  "more patterns win over all others",
			tree:  map[string]string{".gitignore": "*.o\n!d/\n", "a.o": "", "b.o": "", "d/x": "", "e/d/y": ""},
			extra: []string{"!a.o", "/d"},
			want:  []string{".gitignore", "a.o", "e/d/y"},
			dirs:  []string{"", "e", "e/d"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			makeDir(t, root)
			plant(t, root, test.tree)
			w := &files.Walker{Root: root, Extra: test.extra, Getenv: quiet}
			list := walkAll(t, w)
			if got := pathsOf(list.Files); !slices.Equal(got, test.want) {
				t.Errorf("files %q, want %q", got, test.want)
			}
			if !slices.Equal(list.Dirs, test.dirs) {
				t.Errorf("directories %q, want %q", list.Dirs, test.dirs)
			}
			for path := range test.tree {
				if strings.HasPrefix(path, "../") {
					continue
				}
				if got, want := w.Ignored(path, false), !slices.Contains(test.want, path); got != want {
					t.Errorf("Ignored(%q) = %v, the walk says %v", path, got, want)
				}
			}
		})
	}
}

func TestStampOf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "12345")
	when := time.Unix(1_000_000_000, 123_456_700)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	got := files.StampOf(info)
	if got.Size != 5 || got.MTime != when.UnixNano() {
		t.Errorf("stamp %+v of 5 bytes of %d", got, when.UnixNano())
	}
	if runtime.GOOS != "windows" && (got.Inode == 0 || time.Since(time.Unix(0, got.CTime)).Abs() > time.Hour) {
		t.Errorf("stamp %+v has no inode or a wrong ctime", got)
	}
	list := walkAll(t, &files.Walker{Root: dir, Getenv: quiet})
	if len(list.Files) != 1 || list.Files[0].Stamp != got {
		t.Errorf("the walk says %+v, StampOf %+v", list.Files, got)
	}
	// Same size and time, another file in its place: rename over.
	write(t, path+"2", "54321")
	if err := errors.Join(os.Chtimes(path+"2", when, when), os.Rename(path+"2", path)); err != nil {
		t.Fatal(err)
	}
	if again := walkAll(t, &files.Walker{Root: dir, Getenv: quiet}).Files[0].Stamp; runtime.GOOS != "windows" && again == got {
		t.Errorf("the stamp %+v is that of the file before", again)
	}
}

func TestWalkTooLarge(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"fits": files.MaxFileBytes, "large": files.MaxFileBytes + 1} {
		write(t, filepath.Join(dir, name), "")
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Fatal(err)
		}
	}
	list := walkAll(t, &files.Walker{Root: dir, Getenv: quiet})
	if got := pathsOf(list.Files); !slices.Equal(got, []string{"fits"}) {
		t.Errorf("files %q", got)
	}
	if got := pathsOf(list.TooLarge); !slices.Equal(got, []string{"large"}) {
		t.Errorf("too large %q", got)
	}
}

func TestWalkFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	if list, err := (&files.Walker{Root: filepath.Join(dir, "none")}).Walk(t.Context()); !errors.Is(err, fs.ErrNotExist) || list.Files != nil {
		t.Errorf("a missing root: %v, %v", list, err)
	}
	if _, err := (&files.Walker{Root: filepath.Join(dir, "file")}).Walk(t.Context()); err == nil {
		t.Error("a file as root is walked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := (&files.Walker{Root: dir}).Walk(ctx); !errors.Is(err, context.Canceled) || list.Files != nil {
		t.Errorf("after cancel: %v, %v", list, err)
	}
}

// 2,000 directories in each other are walked. Where a path is more than the system takes in one call, that is reported, once.
func TestWalkDeep(t *testing.T) {
	long.Slow(t)
	if runtime.GOOS != "linux" {
		t.Skip("paths are shorter")
	}
	const depth = 2200 // with a slash each, more than the 4,096 bytes of a path
	root := filepath.Join(t.TempDir(), "r")
	makeDir(t, root)
	at, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		next, err := func() (*os.Root, error) {
			defer at.Close()
			if err := at.Mkdir("d", 0o755); err != nil {
				return nil, err
			}
			return at.OpenRoot("d")
		}()
		if err != nil {
			t.Fatal(err)
		}
		at = next
	}
	at.Close()
	list := walkAll(t, &files.Walker{Root: root, Getenv: quiet})
	if want := (4095-len(root))/2 + 1; len(list.Dirs) != want || len(list.Unreadable) != 1 {
		t.Errorf("%d directories, want %d, unreadable %d", len(list.Dirs), want, len(list.Unreadable))
	}
}

// A tree that is deleted while it is walked is as far as it was found.
func TestWalkDuringRemoval(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		plant(t, root, map[string]string{fmt.Sprintf("d%d/e/f", i): "", fmt.Sprintf("d%d/g", i): ""})
	}
	var removal sync.WaitGroup
	removal.Go(func() {
		for i := range 200 {
			_ = os.RemoveAll(filepath.Join(root, fmt.Sprintf("d%d", i)))
		}
	})
	w := &files.Walker{Root: root, Getenv: quiet}
	for range 20 {
		if list := walkAll(t, w); len(list.Unreadable) > 0 {
			t.Errorf("unreadable: %q", list.Unreadable)
		}
	}
	removal.Wait()
	if list := walkAll(t, w); len(list.Files) > 0 || len(list.Dirs) != 1 {
		t.Errorf("found %v after the removal", list)
	}
}

// Ignored sees rules that change between two calls, wherever they are.
func TestIgnoredFollowsRules(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "repo", "root")
	home := filepath.Join(dir, "home")
	plant(t, root, map[string]string{"../.git/HEAD": head, "a/b/c.x": ""})
	makeDir(t, home)
	w := &files.Walker{Root: root, Getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return quiet(name)
	}}
	check := func(after string, want bool) {
		t.Helper()
		if got := w.Ignored("a/b/c.x", false); got != want {
			t.Errorf("after %s: %v", after, got)
		}
	}
	check("nothing", false)
	for _, step := range []struct {
		path, text string
		want       bool
	}{
		{"repo/root/a/b/.gitignore", "*.x\n", true},
		{"repo/root/a/b/.gitignore", "\n", false},
		{"repo/root/.gitignore", "b\n", true},
		{"repo/root/.gitignore", "", false},
		{"repo/.gitignore", "/root/a/**/c.*\n", true},
		{"repo/.gitignore", "#", false},
		{"repo/.git/info/exclude", "/root/a", true},
		{"repo/.git/info/exclude", "/a", false},
		{"home/.config/git/ignore", "*.x", true},
		{"home/.gitconfig", "[core]\nexcludesFile = ~/none\n", false},
		{"repo/.git/config", "[core]\nexcludesFile = mine\n", false},
		{"repo/mine", "c.x\n", true},
		{"repo/.git/config", "[include]\n\tpath = \"more\"\n", false},
		{"repo/.git/more", "[core]\n\tignorecase\n\texcludesFile = \"mine\" ; again\n", true},
		{"repo/mine", "C.X", true},
		{"repo/.git/more", "[core]\nignorecase = no\nexcludesFile=mine\n", false},
		{"repo/root/a/CACHEDIR.TAG", cacheTag, true},
		{"repo/root/a/CACHEDIR.TAG", "", false},
	} {
		plant(t, dir, map[string]string{step.path: step.text})
		check(fmt.Sprintf("%q in %s", step.text, step.path), step.want)
	}
}

func TestIgnoredRefusesWhatCannotBeListed(t *testing.T) {
	w := &files.Walker{Root: t.TempDir(), Getenv: quiet}
	for path, want := range map[string]bool{
		"": false, ".": false, "a": false, "a/b": false,
		"../a": true, "/a": true, "a//b": true, "a/../b": true, "a/": true, "a\nb": true, "a\x00": true, "\xff": true, "ä\xff": true,
		".git": true, "a/.git": true, ".git/HEAD": true, "node_modules/a": true, "venv": false,
	} {
		if got := w.Ignored(path, false); got != want {
			t.Errorf("Ignored(%q) = %v", path, got)
		}
	}
	if !w.Ignored("venv", true) {
		t.Error("the directory venv is walked")
	}
}

func ExampleWalker_Walk() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{".gitignore": "*.o\n", "main.c": "int main;", "main.o": "\x7fELF"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	w := &files.Walker{Root: dir}
	list, err := w.Walk(context.Background())
	if err != nil {
		panic(err)
	}
	for _, f := range list.Files {
		fmt.Println(f.Path, f.Stamp.Size)
	}
	fmt.Println(w.Ignored("lib/util.o", false))
	// Output:
	// .gitignore 4
	// main.c 9
	// true
}
