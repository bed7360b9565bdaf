package needs_test

import (
	"os"
	"path/filepath"
	"slices"
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

// TestLocked reads what locks say of packages; one that is damaged says nothing.
func TestLocked(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{
		"work/package-lock.json": `{"lockfileVersion":3,"packages":{"":{"name":"x"},"node_modules/@a/b":{"version":"2.1.0","integrity":"sha512-abc=="}}}`,
		"work/go.mod":            "module m\n\nrequire example.com/A v1.9.0\n",
		"work/go.sum":            "example.com/A v1.9.0 h1:aaa=\nexample.com/A v1.9.0/go.mod h1:bbb=\nexample.com/A v2.0.0 h1:ccc=\n",
		"work/renv.lock":         `{"R":{"Version":"4.2"},"Packages":{"glue":{"Package":"glue","Version":"1.6.2"}}}`,
		"bad/package-lock.json":  `{"packages":[`,
		"odd/package-lock.json":  `{"packages":{"node_modules/c":{"version":"1","integrity":"sha512-a\u202e"}}}`,
		"bad/renv.lock":          `[]`,
	} {
		name = filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir, ecosystem, name, version string
		want                          needs.Locked
	}{
		{"work", "npm", "@a/b", "", needs.Locked{Version: "2.1.0", Integrity: "sha512-abc==", File: "package-lock.json"}},
		{"work", "npm", "b", "", needs.Locked{File: "package-lock.json"}},
		{"work", "go", "example.com/A", "", needs.Locked{Version: "1.9.0", Integrity: "h1:aaa=", File: "go.sum"}},
		{"work", "go", "example.com/A", "v2.0.0", needs.Locked{Version: "2.0.0", Integrity: "h1:ccc=", File: "go.sum"}},
		{"work", "go", "example.com/B", "", needs.Locked{}},
		{"work", "r", "glue", "", needs.Locked{Version: "1.6.2", File: "renv.lock"}},
		{"bad", "npm", "@a/b", "", needs.Locked{File: "package-lock.json"}},
		{"odd", "npm", "c", "", needs.Locked{Version: "1", File: "package-lock.json"}},
		{"bad", "r", "glue", "", needs.Locked{File: "renv.lock"}},
		{"work", "pypi", "x", "", needs.Locked{}},
	} {
		p := needs.Places{Dirs: []string{filepath.Join(top, c.dir)}, Getenv: func(string) string { return "" }}
		if got := p.Locked(skill.Dependency{Name: c.name, Version: c.version, Ecosystem: c.ecosystem}); got != c.want {
			t.Errorf("%s %s@%s in %s: %+v, want %+v", c.ecosystem, c.name, c.version, c.dir, got, c.want)
		}
	}
}

// TestHere names what lies in the places, each once.
func TestHere(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"work/node_modules/a/package.json", "work/node_modules/@s/b/package.json", "node_modules/a/package.json", "work/node_modules/none/x", "lib/glue/DESCRIPTION", "lib/no/x"} {
		name = filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := needs.Places{Dirs: []string{filepath.Join(top, "work"), top}, Getenv: func(name string) string {
		return map[string]string{"R_LIBS": filepath.Join(top, "lib")}[name]
	}}
	if got := p.Here("npm"); !slices.Equal(got, []string{"@s/b", "a"}) {
		t.Errorf("npm: %q", got)
	}
	if got := p.Here("r"); !slices.Contains(got, "glue") || slices.Contains(got, "no") {
		t.Errorf("r: %q", got)
	}
	if got := p.Here("go"); got != nil {
		t.Errorf("go: %q", got)
	}
}
