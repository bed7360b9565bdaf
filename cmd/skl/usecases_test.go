package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// useCases are the packages below cmd/skl/internal that know no flags and no terminal: the command line calls them, and
// so do agents, tests and pages.
var useCases = []string{"ask", "keyring", "scope", "plan", "trees", "signature", "apply", "inspect", "search", "form", "session", "evaluate", "ship", "admin", "account", "author", "packages", "demo"}

// TestUseCasesKnowNoTerminal holds that use cases import neither the command line nor what it is made of, and
// that they stand on each other in one direction.
func TestUseCasesKnowNoTerminal(t *testing.T) {
	below := map[string][]string{"ask": {}, "plan": {}, "keyring": {}, "scope": {"ask", "keyring"}, "trees": {"scope"}, "signature": {"packages", "scope", "trees"}, "apply": {"ask", "packages", "plan", "scope", "signature", "trees"},
		"inspect": {"ask", "apply", "scope", "signature", "trees"}, "search": {"ask", "apply", "scope", "signature"}, "form": {"ask", "apply", "scope", "trees"},
		"session": {"ask", "apply", "scope", "signature"}, "evaluate": {"ask", "apply", "scope", "session", "trees"}, "ship": {"ask", "scope"},
		"admin": {"scope", "ship"}, "account": {"ask", "scope"}, "author": {"form", "packages", "scope", "session", "trees"}, "packages": {"scope"}, "demo": {"admin", "scope"}}
	for _, name := range useCases {
		for file, imports := range importsIn(t, filepath.Join("internal", name)) {
			for _, path := range imports {
				own, isOwn := strings.CutPrefix(path, module+"cmd/skl/internal/")
				if strings.Contains(path, "urfave") || strings.HasSuffix(path, "x/term") || isOwn && !slices.Contains(below[name], own) {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
}

// areaImports are the packages of the areas that files of the command line still import, the leaves aside: for types that
// they print, or because the use case behind them is not there yet. The list only gets shorter.
var areaImports = map[string]string{
	"mcp.go":                "runtime/model/mcp",
	"registry_namespace.go": "registry/client/wire",
	"run.go":                "runtime/run runtime/trace",
	"runflags.go":           "runtime/run runtime/tool",
	"runresult.go":          "runtime/run",
	"trace.go":              "runtime/run runtime/trace",
	"update.go":             "install",
}

// TestCommandLineImports compares the imports of the command line with areaImports.
func TestCommandLineImports(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range importsIn(t, "internal/cli") {
		var got []string
		for _, path := range imports {
			own, isOwn := strings.CutPrefix(path, module)
			area, _, _ := strings.Cut(own, "/")
			if isOwn && slices.Contains([]string{"resolver", "install", "registry", "runtime"}, area) && !slices.Contains(leaves, own) {
				got = append(got, own)
			}
		}
		slices.Sort(got)
		name := filepath.Base(file)
		seen[name] = true
		if now := strings.Join(got, " "); now != areaImports[name] {
			t.Errorf("%s imports %q of the areas, the list has %q", name, now, areaImports[name])
		}
	}
	for name := range areaImports {
		if !seen[name] {
			t.Errorf("the list has %s, which is gone", name)
		}
	}
}

// TestReadersAreToldApartOnce: what a command says is a report, and only package report decides for which reader it is rendered. A command may
// ask who reads where that changes what is done: in which format a graph is drawn, where the commands of a demo write, whether a
// picker or progress can be shown.
func TestReadersAreToldApartOnce(t *testing.T) {
	may := map[string]int{"bare.go": 1, "graph.go": 1, "quickstart.go": 1, "run.go": 2}
	asks := regexp.MustCompile(`\bui\.(JSON|Screen|ErrScreen)\b|\bu\.(JSON|Screen|ErrScreen)\b`)
	prints := regexp.MustCompile(`\bw\.ui\.(Print|Rows|Table|Page|Paged|Lines|Warn|Hint|Result)\(`)
	for file := range importsIn(t, "internal/cli") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		if name == "app.go" || name == "mergedriver.go" || name == "completion.go" {
			continue // before there is a command, for git, and for a shell
		}
		if n := len(asks.FindAll(text, -1)); n != may[name] {
			t.Errorf("%s asks %d times who reads, the list has %d", name, n, may[name])
		}
		for _, m := range prints.FindAll(text, -1) {
			t.Errorf("%s prints beside its report: %s", name, m)
		}
	}
}

// TestUseCasesAreTested: a test of its own package calls each use case that the command line calls.
func TestUseCasesAreTested(t *testing.T) {
	text := func(pattern string, tests bool) (all string) {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") != tests {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all += string(data)
		}
		return all
	}
	declared := regexp.MustCompile(`(?m)^func (?:\([a-z]+ \*?[A-Z]\w*\) )?([A-Z]\w*)\(ctx context\.Context`)
	commands, count := text("internal/cli/*.go", false), 0
	for _, name := range useCases {
		own, tests := text("internal/"+name+"/*.go", false), text("internal/"+name+"/*_test.go", true)
		for _, m := range declared.FindAllStringSubmatch(own, -1) {
			if !strings.Contains(commands, "."+m[1]+"(ctx") {
				continue
			}
			count++
			if !strings.Contains(tests, "."+m[1]+"(") {
				t.Errorf("no test of %s calls %s", name, m[1])
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d use cases were found", count)
	}
}

// TestCommandLineSize keeps the command line to flags, calls and printing: what decides belongs in a use case.
func TestCommandLineSize(t *testing.T) {
	lines := 0
	for file := range importsIn(t, "internal/cli") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines > 8000 || lines < 1000 {
		t.Errorf("internal/cli has %d lines, at most 8,000 are wanted", lines)
	}
}

// importsIn returns the imports of each file of a folder, tests aside.
func importsIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", dir, files, err)
	}
	out := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		out[file] = []string{}
		for _, i := range parsed.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			out[file] = append(out[file], path)
		}
	}
	return out
}
