package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	for _, script := range []string{"install/testdata/script/install_tag", "install/testdata/script/publish_installed", "registry/testdata/script/publish_again",
		"registry/testdata/script/registry_token_lost", "registry/testdata/script/registry_log"} {
		path := filepath.Join(top, "cmd", "skl", "test", filepath.FromSlash(script)+".txtar")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const cli, harness = "cmd/skl; cmd/skl/internal/cli; ", "cmd/skl/test/documents -short; cmd/skl/test/harness -short; "
	short := "cmd/skl/test/documents -short; cmd/skl/test/install -short; cmd/skl/test/registry -short; cmd/skl/test/requirements -short"
	for _, c := range []struct{ files, want string }{
		{"", ""},
		{"spec/alone/x.go", "spec/alone"},
		{"spec/alone/testdata/deep/x.txt", "spec/alone"},
		{"spec/a/x.go", "cmd/skl -short; cmd/skl/internal/cli -short; " + strings.Replace(short, "; cmd/skl/test/install", "; cmd/skl/test/harness -short; cmd/skl/test/install", 1) + "; registry -short; spec/a; spec/b"},
		{"registry/x.go", "cmd/skl -short; cmd/skl/internal/cli; cmd/skl/test/documents -short; cmd/skl/test/harness -short; cmd/skl/test/install -short; cmd/skl/test/registry; cmd/skl/test/requirements -short; registry"},
		{"cmd/skl/internal/cli/publish.go", cli + harness + "cmd/skl/test/install -run=^TestScripts$/^(publish_); cmd/skl/test/install -short; " +
			"cmd/skl/test/registry -run=^TestScripts$/^(publish_); cmd/skl/test/registry -short; cmd/skl/test/requirements -short"},
		{"cmd/skl/internal/cli/registry_token.go cmd/skl/internal/cli/installflags_test.go", cli + harness + "cmd/skl/test/install -run=^TestScripts$/^(install_); cmd/skl/test/install -short; " +
			"cmd/skl/test/registry -run=^TestScripts$/^(registry_token_); cmd/skl/test/registry -short; cmd/skl/test/requirements -short"},
		{"cmd/skl/internal/cli/app.go", cli + harness + "cmd/skl/test/install -short; cmd/skl/test/registry -short; cmd/skl/test/requirements -short"},
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

// The areas are folders of this project, and what belongs to them is there.
func TestAreas(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	for dir, folder := range areas {
		for _, path := range []string{dir, commandLine + folder} {
			if info, err := os.Stat(filepath.Join(top, filepath.FromSlash(path))); err != nil || !info.IsDir() {
				t.Errorf("%s → %s: there is no folder %s", dir, folder, path)
			}
		}
	}
}

// Output of go list that is not JSON is an error.
func TestRead(t *testing.T) {
	if _, err := read(strings.NewReader(`{"ImportPath":"a"}` + "\nwarning")); err == nil {
		t.Error("no error")
	}
}

// A test that reads a page of the project runs where that page changes.
func TestReaders(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	page := regexp.MustCompile(`"(?:\.\./)+([a-z/.-]+\.md)"`)
	found := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return cmp.Or(err, fs.SkipDir)
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		dir, _ := filepath.Rel(root, filepath.Dir(name))
		dir = filepath.ToSlash(dir)
		for _, m := range page.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				continue
			}
			if found++; !slices.Contains(pages, dir) && !slices.Contains(readers[m[1]], dir) {
				t.Errorf("%s reads %s, and readers does not say so", name, m[1])
			}
		}
		return err
	})
	if err != nil || found < 3 {
		t.Errorf("%d found, %v", found, err)
	}
}
