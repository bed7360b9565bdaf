package retrieval

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const repositoriesFile = "../../testdata/bench/repositories.txt"

// A repository is one of repositoriesFile.
type repository struct {
	held          bool
	kind          string // "go", "npm", "deb" or "git"
	name, version string
}

func (r repository) String() string { return r.name + "@" + r.version }

// project is the name of what r is a release of, whoever packed it.
func (r repository) project() string {
	name := r.name
	if r.kind == "go" {
		name = regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(name, "")
	}
	name = strings.ToLower(path.Base(name))
	if r.kind == "deb" {
		name = strings.TrimPrefix(name, "python3-")
		if crate, ok := strings.CutPrefix(name, "librust-"); ok {
			name = regexp.MustCompile(`(-[0-9.]+)?-dev$`).ReplaceAllString(crate, "")
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".go"), ".js")
}

// repositoryHalf returns the repositories of one half.
func repositoryHalf(t testing.TB, held bool) (list []repository) {
	t.Helper()
	data, err := os.ReadFile(repositoriesFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) != 4 || f[0] != "tune" && f[0] != "held" {
			t.Fatalf("%s: %q is not a half, a kind, a name and a version", repositoriesFile, line)
		}
		if (f[0] == "held") == held {
			list = append(list, repository{f[0] == "held", f[1], f[2], f[3]})
		}
	}
	return list
}

// Projects to measure on must not be among those tuned on, under another name either.
func TestRepositoryHalves(t *testing.T) {
	tuned := map[string]repository{}
	for _, r := range repositoryHalf(t, false) {
		tuned[r.project()] = r
	}
	held := repositoryHalf(t, true)
	if len(tuned) < 20 || len(held) < 20 {
		t.Fatalf("%d projects to tune on, %d to measure on: too few to say anything", len(tuned), len(held))
	}
	for _, r := range held {
		if other, ok := tuned[r.project()]; ok {
			t.Errorf("%v is held out, and %v is tuned on", r, other)
		}
	}
	for _, c := range []struct {
		a, b repository
		same bool
	}{
		{repository{kind: "go", name: "github.com/a/serde-json/v2"}, repository{kind: "deb", name: "librust-serde-json-1-dev"}, true},
		{repository{kind: "deb", name: "python3-click"}, repository{kind: "git", name: "github.com/pallets/click"}, true},
		{repository{kind: "npm", name: "koa"}, repository{kind: "go", name: "github.com/a/koala"}, false},
	} {
		if (c.a.project() == c.b.project()) != c.same {
			t.Errorf("%v is of %q, %v of %q", c.a, c.a.project(), c.b, c.b.project())
		}
	}
}

// fetch returns the files of a repository, by the client of its kind, which keeps what it fetched in dir.
func (r repository) fetch(t testing.TB, dir string) (map[string][]byte, error) {
	t.Helper()
	var root string
	var err error
	switch r.kind {
	case "go":
		root, err = r.module(t)
	case "npm":
		root, err = r.unpacked(t, dir, strings.NewReplacer("@", "", "/", "-").Replace(r.name)+"-"+r.version+".tgz", []string{"npm", "pack", "--silent", r.name + "@" + r.version})
	case "deb":
		root, err = r.unpacked(t, dir, r.name+"_"+strings.ReplaceAll(r.version, ":", "%3a")+"_*.deb", []string{"apt-get", "download", r.name + "=" + r.version})
	default:
		err = fmt.Errorf("unknown kind %q", r.kind)
	}
	if err != nil {
		return nil, err
	}
	files, err := readTree(root, []string{"."}, isSource)
	if err == nil && len(files) == 0 {
		err = errors.New("there are no files of code")
	}
	return files, err
}

// isSource keeps what people search: code, documentation and configuration.
func isSource(p string) bool {
	if strings.Contains(p, "node_modules/") || strings.HasPrefix(strings.ToLower(path.Base(p)), "changelog") {
		return false
	}
	switch path.Ext(p) {
	case ".go", ".py", ".js", ".cjs", ".mjs", ".ts", ".rs", ".md", ".rst", ".json", ".yaml", ".yml", ".toml", ".html", ".sh":
		return true
	}
	return false
}

func (r repository) module(t testing.TB) (string, error) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module questions\n"), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", r.name+"@"+r.version)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download: %w", err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", err
	}
	return m.Dir, nil
}

// unpacked returns the directory with the files of an archive, which a command puts into its working directory.
func (r repository) unpacked(t testing.TB, dir, archive string, command []string) (string, error) {
	to := filepath.Join(dir, strings.ReplaceAll(r.String(), "/", "+"))
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	find := func() string {
		list, err := filepath.Glob(filepath.Join(dir, archive))
		if err != nil || len(list) == 0 {
			return ""
		}
		return list[0]
	}
	if find() == "" {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %.200s", command[0], err, out)
		}
	}
	name := find()
	if name == "" {
		return "", fmt.Errorf("%s left no %s", command[0], archive)
	}
	part := to + ".part"
	if err := os.MkdirAll(part, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(t.Context(), "tar", "-xzf", name, "-C", part, "--strip-components=1")
	if r.kind == "deb" {
		cmd = exec.CommandContext(t.Context(), "dpkg-deb", "-x", name, part)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpacking %s: %w: %.200s", archive, err, out)
	}
	return to, os.Rename(part, to)
}

// corpusOf makes a corpus of files.
func corpusOf(name string, files map[string][]byte) *corpus {
	c := &corpus{name: name, files: map[string][]byte{}}
	for p, data := range files {
		// Files with instructions for agents are kept from agents in a project that is not trusted, and not from
		// people.
		if strings.HasPrefix(p, "usr/share/doc/") || strings.HasPrefix(p, "etc/") || strings.HasPrefix(p, ".") {
			continue
		}
		p = strings.TrimPrefix(strings.TrimPrefix(p, "usr/lib/python3/dist-packages/"), "usr/share/cargo/registry/")
		c.files[p] = data
		c.paths = append(c.paths, p)
	}
	c.sort()
	return c
}

// cloned returns a git repository as a history, from a bare clone in dir.
func (r repository) cloned(t testing.TB, dir string) (history, error) {
	bare := filepath.Join(dir, strings.ReplaceAll(r.name, "/", "+")+".git")
	if _, err := os.Stat(bare); err != nil {
		cmd := exec.CommandContext(t.Context(), "git", "clone", "-q", "--bare", "https://"+r.name, bare)
		if out, err := cmd.CombinedOutput(); err != nil {
			return history{}, fmt.Errorf("git clone: %w: %.200s", err, out)
		}
	}
	h := history{dir: filepath.Join(t.TempDir(), "clone"), id: r.version}
	git(t, ".", "clone", "-q", "--no-checkout", "--shared", bare, h.dir)
	if out, err := exec.CommandContext(t.Context(), "git", "-C", h.dir, "reset", "-q", "--soft", r.version).CombinedOutput(); err != nil {
		return history{}, fmt.Errorf("it has no commit %s: %w: %.200s", r.version, err, out)
	}
	return h, nil
}
