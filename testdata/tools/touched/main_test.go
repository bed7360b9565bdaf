package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTouched is a module of a few packages: a is imported by b, b by the program, whose tests are in cmd/skl/test.
func TestTouched(t *testing.T) {
	top := t.TempDir()
	if err := os.WriteFile(filepath.Join(top, "go.mod"), []byte("module example.org/m\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	add := func(path, of, imports, deps string) {
		quoted := func(s string) string {
			var all []string
			for _, one := range strings.Fields(s) {
				all = append(all, `"example.org/m/`+one+`"`)
			}
			return "[" + strings.Join(all, ",") + "]"
		}
		dir := filepath.ToSlash(filepath.Join(top, strings.TrimSuffix(path, ".test")))
		if of != "" {
			of = "example.org/m/" + of
		}
		list.WriteString(`{"ImportPath":"example.org/m/` + path + `","Dir":"` + dir + `","ForTest":"` + of + `","Imports":` + quoted(imports) + `,"Deps":` + quoted(deps) + "}\n")
	}
	for _, p := range [][3]string{ // a package, its imports, and what it is built from
		{"spec/a", "", ""}, {"spec/b", "spec/a", "spec/a"}, {"spec/alone", "", ""}, {"registry", "spec/b", "spec/a spec/b"},
		{"cmd/skl/internal/cli", "registry", "registry spec/a spec/b"}, {"cmd/skl", "cmd/skl/internal/cli", "cmd/skl/internal/cli registry spec/a spec/b"},
		{"cmd/skl/test/harness", "cmd/skl/internal/cli", "cmd/skl/internal/cli registry spec/a spec/b"},
	} {
		add(p[0], "", p[1], p[2])
		add(p[0]+".test", "", p[0], p[0]+" "+p[2])
	}
	for _, folder := range []string{"install", "registry", "documents", "requirements"} {
		add("cmd/skl/test/"+folder+".test", "", "cmd/skl/test/"+folder, "cmd/skl/test/harness cmd/skl/internal/cli registry spec/a spec/b cmd/skl/test/"+folder)
		add("cmd/skl/test/"+folder, "", "", "")
		add("cmd/skl/test/"+folder+" [example.org/m/cmd/skl/test/"+folder+".test]", "cmd/skl/test/"+folder, "cmd/skl/test/harness", "")
	}
	packages, err := read(strings.NewReader(list.String()))
	if err != nil {
		t.Fatal(err)
	}
	short := "cmd/skl/test/documents -short; cmd/skl/test/install -short; cmd/skl/test/registry -short; cmd/skl/test/requirements -short"
	for _, c := range []struct{ files, want string }{
		{"", ""},
		{"spec/alone/x.go", "spec/alone"},
		{"spec/alone/testdata/deep/x.txt", "spec/alone"},
		{"spec/a/x.go", "cmd/skl -short; cmd/skl/internal/cli -short; " + strings.Replace(short, "; cmd/skl/test/install", "; cmd/skl/test/harness -short; cmd/skl/test/install", 1) + "; registry -short; spec/a; spec/b"},
		{"registry/x.go", "cmd/skl -short; cmd/skl/internal/cli; cmd/skl/test/documents -short; cmd/skl/test/harness -short; cmd/skl/test/install -short; cmd/skl/test/registry; cmd/skl/test/requirements -short; registry"},
		{"cmd/skl/internal/cli/publish.go", "cmd/skl; cmd/skl/internal/cli; cmd/skl/test/documents -short; cmd/skl/test/harness -short; cmd/skl/test/install -run=^TestScripts$/^(publish); " +
			"cmd/skl/test/registry -run=^TestScripts$/^(publish); cmd/skl/test/requirements -short"},
		{"cmd/skl/test/install/testdata/script/x.txtar", "cmd/skl/test/install"},
		{"cmd/skl/test/harness/x.go", "cmd/skl/test/documents; cmd/skl/test/harness; cmd/skl/test/install; cmd/skl/test/registry; cmd/skl/test/requirements"},
		{"README.md", "cmd/skl; cmd/skl/test/documents; cmd/skl/test/requirements"},
		{"go.sum", "cmd/skl; cmd/skl/internal/cli; cmd/skl/test/documents; cmd/skl/test/harness; cmd/skl/test/install; cmd/skl/test/registry; cmd/skl/test/requirements; registry; spec/a; spec/alone; spec/b"},
	} {
		lines := touched(packages, strings.Fields(c.files))
		got := strings.ReplaceAll(strings.ReplaceAll(strings.Join(lines, "; "), "example.org/m/", ""), "\t", " ")
		if want := strings.Split(c.want, "; "); !slices.Equal(strings.Split(got, "; "), want) {
			t.Errorf("%q:\ngot  %s\nwant %s", c.files, got, c.want)
		}
	}
}

// What go list prints and is no JSON is an error.
func TestRead(t *testing.T) {
	if _, err := read(strings.NewReader(`{"ImportPath":"a"}` + "\nwarning")); err == nil {
		t.Error("no error")
	}
}
