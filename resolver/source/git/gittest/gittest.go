// Package gittest makes real git repositories and serves them over smart HTTP,
// for tests.
//
// Repositories are made by the git program with a scrubbed environment: no
// configuration of the machine or the user takes part, and authors and dates
// are fixed, so equal calls make equal commit ids. Tests that need git begin with
// [Need]; most functions here call it.
package gittest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Need skips the test if there is no git program. With SKL_TEST_REQUIRE=all in
// the environment the test fails instead.
func Need(t testing.TB) (program string) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		Skip(t, "git is not installed")
	}
	return program
}

// Skip skips the test, or fails it with SKL_TEST_REQUIRE=all in the environment.
func Skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("SKL_TEST_REQUIRE") == "all" {
		t.Fatalf("%s, and SKL_TEST_REQUIRE=all wants no test skipped", why)
	}
	t.Skipf("skipped: %s", why)
}

// Environ is an environment for git that depends on nothing but PATH. home is its HOME.
func Environ(home string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	if root := os.Getenv("SystemRoot"); root != "" {
		env = append(env, "SystemRoot="+root, "USERPROFILE="+home)
	}
	return env
}

// Git runs git with args in dir and returns what it prints, without the last newline.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return strings.TrimSuffix(string(Bytes(t, dir, nil, args...)), "\n")
}

// Input is Git with bytes on its standard input.
func Input(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	return strings.TrimSuffix(string(Bytes(t, dir, stdin, args...)), "\n")
}

// Bytes is Input with exactly what git prints.
func Bytes(t testing.TB, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	if dir == "" {
		t.Fatalf("git %s: no directory is given, and it would run in the repository of the tests", strings.Join(args, " "))
	}
	cmd := exec.Command(Need(t), args...)
	cmd.Dir = dir
	cmd.Env = Environ(filepath.Join(dir, "no-home"))
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// Init makes an empty bare repository called name.git in the test's temporary
// directory, with branch main, and returns its directory.
func Init(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name+".git")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	Git(t, dir, "init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--initial-branch=main", ".")
	return dir
}

// Files are the files of a commit by path. As in "ls -F", the end of a key says
// what it is: "run.sh*" is executable, "doc@" a link with its target as value,
// and "lib=" a submodule with its commit as value.
type Files map[string]string

// Commit puts files on top of the branch main of the bare repository dir and
// returns the id of the commit. Files of earlier commits stay. The n-th commit
// is made n minutes after 2023-11-14 22:13:20 UTC.
func Commit(t testing.TB, dir string, files Files) string {
	t.Helper()
	return CommitTo(t, dir, "main", files)
}

// CommitTo is Commit for any branch; a new one starts without a parent.
func CommitTo(t testing.TB, dir, branch string, files Files) string {
	t.Helper()
	var b bytes.Buffer
	when, from := 1700000000, ""
	if Git(t, dir, "for-each-ref", "refs/heads/"+branch) != "" {
		from = "from refs/heads/" + branch + "^0\n"
		var n int
		fmt.Sscan(Git(t, dir, "rev-list", "--count", "refs/heads/"+branch), &n)
		when += 60 * n
	}
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter Test <test@example.com> %d +0000\ndata 4\ntest\n%s", branch, when, from)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content, mode := files[name], "100644"
		switch name[len(name)-1] {
		case '*':
			mode = "100755"
		case '@':
			mode = "120000"
		case '=':
			fmt.Fprintf(&b, "M 160000 %s %s\n", content, name[:len(name)-1])
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, strings.TrimRight(name, "*@"), len(content), content)
	}
	Input(t, dir, b.Bytes(), "fast-import", "--quiet", "--date-format=raw")
	return Git(t, dir, "rev-parse", "refs/heads/"+branch)
}

// FromBundle clones the bundle file as a bare repository name.git and returns its directory.
func FromBundle(t testing.TB, file string) string {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(file), ".bundle")
	dir := t.TempDir()
	Git(t, dir, "clone", "--quiet", "--bare", "--template=", "--", file, name+".git")
	return filepath.Join(dir, name+".git")
}

// Shared returns the path of a file of the shared data: a directory shared/data
// beside one of the working directory's ancestors. Without it the test is skipped.
func Shared(t testing.TB, file string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		p := filepath.Join(filepath.Dir(dir), "shared", "data", file)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skipf("skipped: %s is not in shared/data beside the repository", file)
	return ""
}
