//go:build unix

package hostile

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// Where a file belongs there may stand a pipe, which never answers, or a link to a device, which never
// ends. Each command says so, or does without the file; none hangs, panics or fills the memory.
func TestIrregularFiles(t *testing.T) {
	long.Slow(t)
	bin := filepath.Join(t.TempDir(), "skl")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
	}
	const skill = ".agents/skills/pdf/"
	everywhere := []string{"list --all", "status", "doctor", "lint ."}
	places := []struct {
		file     string
		commands []string
		refused  []string // these name the file, and are exit 4 for what is not a directory
	}{
		{"skl.toml", []string{"search pdf", "lint ."}, []string{"list", "status", "ci", "install", "update", "check", "verify", "init -y", "run pdf --dry-run", "which pdf"}},
		{"skl.lock", []string{"lint .", "list"}, []string{"ci", "install", "verify", "outdated", "why pdf", "remove pdf"}},
		{".gitignore", everywhere, []string{"init -y --no-vendor"}},
		{".gitattributes", everywhere, []string{"init -y"}},
		{"CLAUDE.md", everywhere, []string{"activate --host claude-code"}},
		{skill + "SKILL.md", append(everywhere, "verify", "read pdf", "run pdf --dry-run", "run "+skill+" --dry-run", "index", "query text", "audit", "update", "publish "+skill+" a/b@1.0.0 --dry-run"),
			[]string{"convert " + skill + " --to tree"}},
		{skill + "extra.md", append(everywhere, "verify", "read pdf extra.md", "digest "+skill, "pack "+skill+" -o ../out.tgz", "query text"), nil},
		{skill + "skl.toml", append(everywhere, "digest "+skill, "publish "+skill+" --dry-run"), nil},
		{skill + "scripts", append(everywhere, "audit", "run pdf --dry-run"), nil},
		{".agents/skills/.skl/pdf.json", append(everywhere, "verify", "ci", "remove pdf --dry-run"), nil},
		{".agents/skills/other/SKILL.md", append(everywhere, "search pdf", "run other --dry-run", "mcp"), nil},
		{".claude-plugin/marketplace.json", append(everywhere, "install . --list"), nil},
		{".claude-plugin/plugin.json", append(everywhere, "install . --list"), nil},
		{"go.mod", append(everywhere, "audit"), nil},
	}
	for name, plant := range kinds {
		for _, p := range places {
			t.Run(name+" "+p.file, func(t *testing.T) {
				dir := t.TempDir()
				plantSkill(t, bin, dir)
				at := filepath.Join(dir, "project", p.file)
				if err := os.RemoveAll(at); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := plant(at); err != nil {
					t.Fatal(err)
				}
				for _, command := range slices.Concat(p.commands, p.refused) {
					status, said := runBounded(t, bin, dir, command)
					if name == "directory" || !slices.Contains(p.refused, command) {
						continue
					}
					if status != 4 || !strings.Contains(said, filepath.Base(p.file)) {
						t.Errorf("skl %s: exit %d, want 4 with the name of the file: %s", command, status, said)
					}
					if info, err := os.Lstat(at); err != nil || info.Mode().IsRegular() {
						t.Fatalf("skl %s replaced what was there (%v)", command, err)
					}
				}
			})
		}
	}
}

// TestIrregularPackages makes skills of packages in which a file is none: nothing waits, and the rest is made where that is not the one that says what is public.
func TestIrregularPackages(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "skl")
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, bin)
	}
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, text string) {
		t.Helper()
		at := filepath.Join(dir, "project", filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			err = os.WriteFile(at, []byte(text), 0o644)
		} else {
			err = syscall.Mkfifo(at, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("r/DESCRIPTION", "Package: rr\nVersion: 1.0\nTitle: R\n")
	write("unknown/DESCRIPTION", "Package: unknown\nVersion: 1.0\n")
	write("go/go.mod", "module example.com/m\n")
	write("go/b.go", "package m\n\nfunc B() {}\n")
	write("npm/package.json", `{"name": "npm", "version": "1.0.0"}`)
	for _, file := range []string{"unknown/NAMESPACE", "r/man/a.Rd", "r/R/a.R", "r/vignettes/a.Rmd", "go/a.go", "go/README.md", "go/LICENSE", "npm/index.d.ts", "npm/README.md", "bare/DESCRIPTION", "archive.tar.gz"} {
		write(file, "")
	}
	for arg, want := range map[string]int{"r": 0, "go": 0, "npm": 0, "bare": 2, "unknown": 3, "archive.tar.gz": 2} {
		if status, said := runBounded(t, bin, dir, "skillify ./"+arg+" --dry-run"); status != want {
			t.Errorf("%s: exit %d, want %d: %s", arg, status, want, said)
		}
	}
}

// plantSkill makes a project in dir/project with one installed skill.
func plantSkill(t *testing.T, bin, dir string) {
	t.Helper()
	src := filepath.Join(dir, "project", "src", "pdf")
	for _, d := range []string{src, filepath.Join(dir, "home"), filepath.Join(dir, "project", ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := "---\nname: pdf\ndescription: reads PDF files\n---\n# PDF\ntext\n"
	if err := os.WriteFile(filepath.Join(src, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, said := runBounded(t, bin, dir, "install ./src/pdf --host claude-code"); status != 0 {
		t.Fatalf("install: exit %d: %s", status, said)
	}
}

// runBounded runs skl with little time and memory, and returns its exit status and what it said on stderr.
func runBounded(t *testing.T, bin, dir, command string) (status int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, strings.Fields(command)...)
	cmd.Dir = filepath.Join(dir, "project")
	home := filepath.Join(dir, "home")
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "GOMEMLIMIT=512MiB", "XDG_CACHE_HOME=" + home + "/cache"}
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("skl %s hangs", command)
	}
	if err != nil {
		status = cmd.ProcessState.ExitCode()
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > 1<<20 {
		t.Errorf("skl %s took %d kB of memory", command, usage.Maxrss)
	}
	if status < 0 || strings.Contains(out.String(), "goroutine ") {
		t.Errorf("skl %s: exit %d: %s", command, status, out.String())
	}
	return status, out.String()
}
