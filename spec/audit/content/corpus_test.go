package content

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/testdata/corpus"
	"github.com/skl-project/skl/testdata/long"
)

// real is a skill, or the documentation of a package, that nobody takes for malicious.
type real struct {
	name  string
	files []audit.File
}

// shared is a file of the real skills, or skips.
func shared(t testing.TB, name string) string {
	for _, dir := range []string{os.Getenv("SKL_TEST_CORPUS"), filepath.Join("..", "..", "..", "..", "shared", "data"), filepath.Join("..", "..", "..", "..", "..", "shared", "data")} {
		if abs, err := filepath.Abs(filepath.Join(dir, name)); err == nil && dir != "" {
			if _, err := os.Stat(abs); err == nil {
				return abs
			}
		}
	}
	t.Skipf("there is no %s: SKL_TEST_CORPUS names its folder", name)
	return ""
}

// bundled reads all skills of all commits of a git bundle that a tag or a branch names.
func bundled(t testing.TB, name string) (out []real) {
	file := shared(t, name+".bundle")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := filepath.Join(t.TempDir(), name)
	if text, err := exec.Command("git", "clone", "-q", file, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return below(t, os.DirFS(dir), name)
}

// below reads every folder of fsys that holds a SKILL.md.
func below(t testing.TB, fsys fs.FS, prefix string) (out []real) {
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "SKILL.md" {
			return err
		}
		one := real{name: prefix + "/" + path.Dir(p)}
		sub, _ := fs.Sub(fsys, path.Dir(p))
		err = fs.WalkDir(sub, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := fs.ReadFile(sub, p)
			info, _ := d.Info()
			one.files = append(one.files, audit.File{Path: p, Data: data, Executable: info.Mode()&0o100 != 0})
			return err
		})
		out = append(out, one)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documented reads the Markdown of the packages below a folder that this machine has: of a module or a package, its README and docs.
func documented(t testing.TB, root string, depth int) (out []real) {
	byDir := map[string]*real{}
	var names []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.IsDir() {
			if d.Name() == "cache" || d.Name() == ".bin" || d.Name() == "testdata" || d.Name() == "test" {
				return filepath.SkipDir
			}
			return nil
		}
		ext := strings.ToLower(filepath.Ext(p))
		if ext != ".md" && ext != ".rst" && ext != ".markdown" || !d.Type().IsRegular() {
			return nil
		}
		rel, _ := filepath.Rel(root, p)
		parts := strings.Split(filepath.ToSlash(rel), "/")
		n := depth
		if strings.HasPrefix(parts[0], "@") {
			n++
		}
		for i, part := range parts {
			if strings.Contains(part, "@v") {
				n = i + 1
				break
			}
		}
		name := strings.Join(parts[:min(n, len(parts)-1)], "/")
		if depth == 0 {
			name = filepath.Base(root)
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return nil
		}
		if byDir[name] == nil {
			byDir[name] = &real{name: name}
			names = append(names, name)
		}
		byDir[name].files = append(byDir[name].files, audit.File{Path: strings.Join(parts[min(n, len(parts)-1):], "/"), Data: data})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		out = append(out, *byDir[name])
	}
	return out
}

// modules reads the documents of the modules that the project's go.sum files name, so that their content is known
// whatever else the cache holds. SKL_TEST_LONG=every reads the whole cache.
func modules(t testing.TB) (out []real) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("skipped: there is no go, which knows where modules are")
	}
	root := strings.TrimSpace(string(cache))
	if long.Every() {
		return documented(t, root, 3)
	}
	read := map[string]bool{}
	for _, sums := range []string{"../../../go.sum", "../../../testdata/peers/go.sum", "../../../testdata/tools/go.sum"} {
		text, err := os.ReadFile(sums)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) != 3 || strings.HasSuffix(f[1], "/go.mod") {
				continue
			}
			module := capital.ReplaceAllStringFunc(f[0]+"@"+f[1], func(c string) string { return "!" + strings.ToLower(c) })
			if !read[module] {
				read[module] = true
				out = append(out, documented(t, filepath.Join(root, filepath.FromSlash(module)), 0)...)
			}
		}
	}
	return out
}

var capital = regexp.MustCompile("[A-Z]")

// Of real skills and the documentation of real packages none is refused, and at most one in two hundred has a finding of High.
func TestRealSkills(t *testing.T) {
	long.Slow(t)
	home, _ := os.UserHomeDir()
	total, worst := map[string]int{}, map[string]int{} // by kind
	for _, set := range []struct {
		name string
		kind string
		read func(t testing.TB) []real
	}{
		{"awesome-copilot", "skills", func(t testing.TB) []real { return bundled(t, "awesome-copilot") }},
		{"superpowers", "skills", func(t testing.TB) []real { return bundled(t, "superpowers") }},
		{"canopy", "skills", func(t testing.TB) []real { return below(t, corpus.Files(t), "canopy") }},
		{"go", "documents", modules},
		{"npm", "documents", func(t testing.TB) []real {
			return documented(t, filepath.Join(home, ".cache", "skl-ci", "npm", "node_modules"), 1)
		}},
	} {
		t.Run(set.name, func(t *testing.T) {
			all := set.read(t)
			if len(all) == 0 {
				t.Skip("there is nothing to read")
			}
			high := 0
			for _, one := range all {
				r := Scan(one.files)
				if w := r.Worst(); w == High || w == Refuse {
					high++
				}
				for _, f := range r.Findings {
					if line := fmt.Sprintf("%s: %s:%d: %s %s: %s | %s", one.name, f.File, f.Line, f.Severity, f.Rule, f.Message, f.Text); f.Severity == Refuse {
						t.Error(line)
					} else if f.Severity == High || testing.Verbose() {
						t.Log(line)
					}
				}
			}
			t.Logf("%d of %d have a finding of high or refuse", high, len(all))
			total[set.kind] += len(all)
			worst[set.kind] += high
		})
	}
	for kind, n := range total {
		if worst[kind]*200 > n {
			t.Errorf("%s: %d of %d have a finding of high or refuse, which is more than one in 200", kind, worst[kind], n)
		}
	}
}
