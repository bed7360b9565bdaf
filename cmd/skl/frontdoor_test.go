package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// repository is the root of the repository.
var repository = filepath.Join("..", "..")

// TestTopLevel wants the fixed folders and files at the top of the repository, hidden ones aside, and no other.
func TestTopLevel(t *testing.T) {
	allowed := strings.Fields("cmd registry resolver install runtime index spec testdata go.mod go.sum " +
		"README.md LICENSE CHANGELOG.md SECURITY.md CONTRIBUTING.md")
	entries, err := os.ReadDir(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && name != "skl" && name != "dist" && !slices.Contains(allowed, name) {
			t.Errorf("%s does not belong at the top: allowed are %s", name, strings.Join(allowed, " "))
		}
	}
}

// TestReadmeLength keeps the front page a front page: 600 to 900 words, code and tables included.
func TestReadmeLength(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(data))); n < 600 || n > 900 {
		t.Errorf("README.md has %d words, 600 to 900 are wanted: the rest belongs in a guide", n)
	}
}

// TestFrontLinks wants every relative link of the front pages to lead to a file, and every path that
// CONTRIBUTING.md names to be there.
func TestFrontLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	path := regexp.MustCompile("`((?:cmd|registry|resolver|install|runtime|index|spec|testdata)(?:/[a-z_.-]+)*)`")
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "testdata/examples/README.md", "testdata/bench/README.md"} {
		data, err := os.ReadFile(filepath.Join(repository, page))
		if err != nil {
			t.Error(err)
			continue
		}
		found := link.FindAllStringSubmatch(string(data), -1)
		if page == "CONTRIBUTING.md" {
			found = append(found, path.FindAllStringSubmatch(string(data), -1)...)
		}
		for _, m := range found {
			to := filepath.Join(repository, filepath.Dir(page), m[1])
			if strings.HasPrefix(m[0], "`") {
				to = filepath.Join(repository, m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}

// TestContributingMap compares the table of CONTRIBUTING.md with the map that TestImports holds.
func TestContributingMap(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repository, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for area, allowed := range mayImport {
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(area) + "(?:/…|/skl)?` \\|.*\\| ([^|]+) \\|$").FindStringSubmatch(string(data))
		want := "nothing"
		if area == "cmd" {
			want = "all"
		} else if allowed != "" {
			want = "`" + allowed + "`"
		}
		if row == nil || row[1] != want {
			t.Errorf("CONTRIBUTING.md says of %s %q, want %q", area, row, want)
		}
	}
}

// TestContributingWalk compares the walk of CONTRIBUTING.md with the source: each file has what the walk names there, and a step is in the package of
// the step that it hangs from, or in one that this imports.
func TestContributingWalk(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repository, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	step := regexp.MustCompile("(?m)^( *)- `([a-z/_]+\\.go)` `(\\w+)`: ")
	steps := step.FindAllStringSubmatch(string(data), -1)
	if len(steps) < 15 {
		t.Fatalf("the walk has %d steps", len(steps))
	}
	var above []string // packages, by depth
	for _, s := range steps {
		depth, file, name := len(s[1])/2, s[2], s[3]
		text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(file)))
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + name + `\b`).Match(text) {
			t.Errorf("%s has no %s", file, name)
		}
		dir := path.Dir(file)
		if depth > len(above) {
			t.Fatalf("%s %s hangs from nothing", file, name)
		}
		if above = above[:depth]; depth > 0 && above[depth-1] != dir {
			cmd := exec.Command("go", "list", "-deps", "./"+above[depth-1])
			cmd.Dir = repository
			out, err := cmd.CombinedOutput()
			if !slices.Contains(strings.Fields(string(out)), module+dir) {
				t.Errorf("%s is not below %s (%v)", dir, above[depth-1], err)
			}
		}
		above = append(above, dir)
	}
}
