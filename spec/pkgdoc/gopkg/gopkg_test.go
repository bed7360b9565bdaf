package gopkg

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/pkgdoc"
)

var update = flag.Bool("update", false, "write the golden files")

// module is the files of an archive; it may not lie unpacked here, where the go command would take it for a part of this module.
func module(t testing.TB, name string) bundle.Memory {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := bundle.Memory{}
	for _, f := range a.Files {
		m[f.Name] = bundle.MemoryFile{Data: f.Data}
	}
	return m
}

// TestReadAs names a module without go.mod; where that file is, it counts.
func TestReadAs(t *testing.T) {
	old := bundle.Memory{"queue.go": bundle.MemoryFile{Data: []byte("// Package queue holds jobs.\npackage queue\n\n// Push adds a job.\nfunc Push() {}\n")}}
	p, err := ReadAs(old, "example.com/old/queue", "v2.0.0+incompatible")
	if err != nil || p.Name != "example.com/old/queue" || p.Version != "2.0.0+incompatible" || p.Count() != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := ReadAs(old, "", "v2.0.0"); p != nil || !errors.Is(err, ErrNoModule) {
		t.Errorf("no name: %+v, %v", p, err)
	}
	old["go.mod"] = bundle.MemoryFile{Data: []byte("module example.com/new/queue\n")}
	if p, err := ReadAs(old, "example.com/old/queue", "v2.0.0"); err != nil || p.Name != "example.com/new/queue" {
		t.Errorf("with go.mod: %+v, %v", p, err)
	}
}

// TestBag reads a module that has a bit of everything.
func TestBag(t *testing.T) {
	p, err := Read(module(t, "testdata/bag.txtar"), "v1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/bag.json"
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("%s differs: go test -run TestBag -update, and look at the difference", golden)
	}
}

func TestRefusals(t *testing.T) {
	if _, err := Read(bundle.Memory{"a.go": {Data: []byte("package a")}}, "v1"); !errors.Is(err, ErrNoModule) {
		t.Error(err)
	}
	if _, err := Read(bundle.Memory{"go.mod": {Data: []byte("go 1.22\n")}}, "v1"); !errors.Is(err, ErrNoModule) {
		t.Error(err)
	}
	deep := bundle.Memory{"go.mod": {Data: []byte("module m\n")}, "a.go": {Data: []byte("package a\nvar A = " + strings.Repeat("(", 200_000))}, "b.go": {Data: []byte("package a\nfunc B() {}\n")},
		"c.go": {Data: []byte("package a\nfunc C( {")}}
	p, err := Read(deep, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Notes) != 2 || p.Count() != 1 {
		t.Errorf("%d symbols, notes %q", p.Count(), p.Notes)
	}
	if _, err := Read(bundle.Memory{"go.mod": {Data: []byte("module m\n")}, "a.go": {Data: make([]byte, pkgdoc.MaxFile+1)}}, "v1"); !errors.Is(err, pkgdoc.ErrTooLarge) {
		t.Error(err)
	}
}

// TestDevel installs the command of a module without a version as the go command takes it.
func TestDevel(t *testing.T) {
	m := bundle.Memory{"go.mod": {Data: []byte("module example.com/m\n")}, "cmd/tool/main.go": {Data: []byte("// Tool does it.\npackage main\n\nfunc main() {}\n")}}
	for version, want := range map[string]string{pkgdoc.Devel: "go install example.com/m/cmd/tool@latest", "v1.2.0": "go install example.com/m/cmd/tool@v1.2.0"} {
		p, err := Read(m, version)
		if err != nil || len(p.Pages) != 1 || p.Pages[0].Symbols[0].Signature != want {
			t.Errorf("%s: %+v, %v; want %s", version, p, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      bool
	}{
		{"a.go", "package a", true},
		{"a_linux.go", "package a", true},
		{"a_windows.go", "package a", false},
		{"a_linux_arm64.go", "package a", false},
		{"a_linux_amd64.go", "package a", true},
		{"a_windows_amd64.go", "package a", false},
		{"a_windows_test.go", "package a", false},
		{"linux.go", "package a", true},
		{"windows.go", "package a", true},
		{"a.go", "//go:build windows\n\npackage a", false},
		{"a.go", "// text\n\n//go:build !windows && (linux || darwin)\npackage a", true},
		{"a.go", "//go:build cgo\n\npackage a", false},
		{"a.go", "//go:build ignore\n\npackage a", false},
		{"a.go", "//go:build go1.20\n\npackage a", true},
		{"a.go", "package a\n//go:build windows", true},
	} {
		if got := matches(c.name, []byte(c.src)); got != c.want {
			t.Errorf("%s %q: %v", c.name, c.src, got)
		}
	}
}

// TestAgainstGo compares the names of modules that this one needs with what "go doc" says of their packages.
func TestAgainstGo(t *testing.T) {
	program, err := exec.LookPath("go")
	if err != nil {
		t.Skip("skipped: the go command is not installed")
	}
	names, missing := 0, 0
	declared := regexp.MustCompile(`(?m)^(?:func|type|const|var) (\w+)`)
	for _, mod := range []string{"github.com/yuin/goldmark", "golang.org/x/mod", "github.com/Masterminds/semver/v3"} {
		dir, err := exec.Command(program, "list", "-m", "-f", "{{.Dir}}", mod).Output()
		if err != nil || strings.TrimSpace(string(dir)) == "" { // no package here needs it but in tests, or nothing was built yet
			t.Skipf("skipped: %s is not on this machine: go mod download %[1]s (%v)", mod, err)
		}
		p, err := Read(os.DirFS(strings.TrimSpace(string(dir))), "v0.0.0")
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Pages {
			page := &p.Pages[i]
			if len(page.Symbols) == 0 || page.Symbols[0].Kind == pkgdoc.Command {
				continue
			}
			cmd := exec.Command(program, "doc", "-short", strings.TrimSuffix(mod+"/"+page.File, "/."))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v: %s", page.ID, err, out)
				continue
			}
			for _, m := range declared.FindAllStringSubmatch(strings.ReplaceAll(string(out), "\n    ", "\n"), -1) {
				names++
				if !slices.ContainsFunc(page.Symbols, func(s pkgdoc.Symbol) bool { return s.ID == page.ID+"."+m[1] }) {
					missing++
					t.Errorf("%s.%s is missing", page.ID, m[1])
				}
			}
		}
	}
	t.Logf("%d names, %d missing", names, missing)
	if names < 300 {
		t.Errorf("%d names", names)
	}
}

func BenchmarkRead(b *testing.B) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		b.Skip("skipped: the module is not on this machine")
	}
	var fsys fs.FS = os.DirFS(filepath.Clean(strings.TrimSpace(string(dir))))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(fsys, "v0.0.0"); err != nil {
			b.Fatal(err)
		}
	}
}
