package needs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/spec/skill"
)

func TestMissing(t *testing.T) {
	top := t.TempDir()
	for _, file := range []string{"work/node_modules/@a/b/package.json", "work/.venv/lib/python3.12/site-packages/Some_Thing-1.0.dist-info/METADATA",
		"mod/example.com/!upper/x@v1.0.0/go.mod", "rlib/pensar/DESCRIPTION", "secret/package.json"} {
		path := filepath.Join(top, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"GOMODCACHE": filepath.Join(top, "mod"), "R_LIBS": filepath.Join(top, "rlib")}
	p := needs.Places{Dirs: []string{filepath.Join(top, "work/sub")}, Home: filepath.Join(top, "home"), Getenv: func(v string) string { return env[v] }}
	for _, tt := range []struct {
		ecosystem, name string
		there           bool
	}{
		{"npm", "@a/b", true}, {"npm", "b", false}, {"npm", "../../secret", false}, {"npm", "*", false},
		{"pypi", "some-thing", true}, {"pypi", "some.thing", true}, {"pypi", "some", false},
		{"go", "example.com/Upper/x", true}, {"go", "example.com/upper/x", false},
		{"r", "pensar", true}, {"r", "no.such.package", false},
	} {
		missing := p.Missing([]skill.Dependency{{Name: tt.name, Ecosystem: tt.ecosystem}})
		if got := len(missing) == 0; got != tt.there {
			t.Errorf("%s %s: there %v, want %v", tt.ecosystem, tt.name, got, tt.there)
		}
	}
}

// The version of a Go module is that which go.mod requires, else the highest; a version that is named is that or nothing.
func TestGoVersions(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"mod/example.com/!a@v1.9.0", "mod/example.com/!a@v1.10.0", "mod/example.com/!a@v2.0.0-rc.1", "work/sub", "other"} {
		if err := os.MkdirAll(filepath.Join(top, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "work", "go.mod"), []byte("module m\n\nrequire example.com/A v1.9.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(dir, version string) string {
		p := needs.Places{Dirs: []string{filepath.Join(top, dir)}, Getenv: func(v string) string { return map[string]string{"GOMODCACHE": filepath.Join(top, "mod")}[v] }}
		found := p.At(skill.Dependency{Name: "example.com/A", Version: version, Ecosystem: "go"})
		_, v, _ := strings.Cut(filepath.Base(found), "@")
		return v
	}
	for _, c := range [][3]string{{"work/sub", "", "v1.9.0"}, {"other", "", "v2.0.0-rc.1"}, {"work", "v1.10.0", "v1.10.0"}, {"work", "v3.0.0", ""}, {"work", "^1.0", "v1.9.0"}, {"work", "v1.*", ""}} {
		if got := at(c[0], c[1]); got != c[2] {
			t.Errorf("in %s, %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
