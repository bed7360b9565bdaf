package retrieval

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A repository is one of testdata/repositories.txt.
type repository struct {
	judge         bool
	kind          string // "go", "npm" or "deb"
	name, version string
}

func (r repository) String() string { return r.name + "@" + r.version }

func repositoryList(t testing.TB, judge bool) (list []repository) {
	t.Helper()
	data, err := os.ReadFile("testdata/repositories.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) != 4 || f[0] != "tune" && f[0] != "judge" {
			t.Fatalf("testdata/repositories.txt: %q is not a half, a kind, a name and a version", line)
		}
		if (f[0] == "judge") == judge {
			list = append(list, repository{f[0] == "judge", f[1], f[2], f[3]})
		}
	}
	return list
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

// A library is the repositories of a half, as corpora.
func libraries(t *testing.T, judge bool) (list []*corpus) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: it takes the programs of Debian")
	}
	dir := os.Getenv("SKL_TEST_REPOSITORIES")
	if dir == "" {
		dir = t.TempDir()
	}
	for _, r := range repositoryList(t, judge) {
		files, err := r.fetch(t, dir)
		if err != nil {
			t.Logf("%v is left out: %v", r, err)
			continue
		}
		c := &corpus{name: r.String(), files: map[string][]byte{}}
		for p, data := range files {
			if strings.HasPrefix(p, "usr/share/doc/") || strings.HasPrefix(p, "etc/") {
				continue
			}
			p = strings.TrimPrefix(strings.TrimPrefix(p, "usr/lib/python3/dist-packages/"), "usr/share/cargo/registry/")
			c.files[p] = data
			c.paths = append(c.paths, p)
		}
		c.sort()
		list = append(list, c)
	}
	return list
}
