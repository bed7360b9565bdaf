// Touched says which tests a change can break: those of packages that it changes or that import them, and the short form of those
// that are built from them in any other way.
//
//	touched FILE… <PACKAGES
//
// FILES are what changed, relative to the module; PACKAGES is what "go list -test -json=ImportPath,Dir,Imports,Deps,ForTest ./..." prints
// in the module. Each line of the output is what "go test" is given: a package, and after a tab a flag that restricts its tests. A
// file that is in no package, such as a page, is one of what the tests in pages read.
//
// Nearly every package is in the program, and so below all tests of the command line. Of these, a package is run as a whole if
// its own files or those of the harness changed. The scripts of an area are run where a change is of that area, those of a command where
// a file of the command line has its name; the rest in their short form.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	packages, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "touched:", err)
		os.Exit(1)
	}
	for _, line := range touched(packages, os.Args[1:]) {
		fmt.Println(line)
	}
}

const (
	commandLine = "cmd/skl/test/" // has the tests of the whole program
	harness     = "cmd/skl/test/harness"
	commands    = "cmd/skl/internal/cli/" // a file of it is named after its command
)

// areas are the folders below commandLine whose scripts show what a package does. What is not named is in all of them.
var areas = map[string]string{
	"install": "install", "resolver": "install", "spec/lock": "install", "spec/manifest": "install", "spec/ref": "install", "spec/bundle": "install",
	"cmd/skl/internal/apply": "install", "cmd/skl/internal/inspect": "install",
	"spec/attest": "trust", "spec/policy": "trust", "install/trust": "trust",
	"registry": "registry", "cmd/skl/internal/ship": "registry", "cmd/skl/internal/admin": "registry", "cmd/skl/internal/account": "registry",
	"runtime": "run", "index": "run", "spec/tree": "run", "spec/skill": "run", "cmd/skl/internal/session": "run", "cmd/skl/internal/evaluate": "run",
	"cmd/skl/internal/form": "run", "cmd/skl/internal/author": "run", "cmd/skl/internal/search": "run",
	"cmd/skl/internal/guide": "documents", "cmd/skl/internal/man": "documents", "cmd/skl/internal/codes": "documents", "cmd/skl/internal/demo": "documents",
	"cmd/skl/internal/mcp": "agents",
}

// pages have the tests that read files of the project which are in no package.
var pages = []string{"cmd/skl", "cmd/skl/test/documents", "cmd/skl/test/requirements"}

// A pkg is a package of the module, or the program of its tests, as go list has it.
type pkg struct {
	ImportPath, Dir, ForTest string
	Imports, Deps            []string
}

// read reads what go list prints.
func read(r io.Reader) (all []pkg, err error) {
	for dec := json.NewDecoder(r); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// touched are the lines for changed files.
func touched(packages []pkg, files []string) (lines []string) {
	root, dirs := module(packages)
	if root == "" {
		return nil
	}
	changed := map[string]bool{} // directories of packages
	words := map[string]bool{}   // first words of commands
	for _, file := range files {
		file = filepath.ToSlash(file)
		if file == "go.mod" || file == "go.sum" {
			changed = maps.Clone(dirs)
			break
		}
		if name, ok := strings.CutPrefix(file, commands); ok && strings.HasSuffix(name, ".go") {
			words[strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test")] = true
		}
		dir := path.Dir(file)
		for dir != "." && !dirs[dir] {
			dir = path.Dir(dir)
		}
		if dirs[dir] {
			changed[dir] = true
			continue
		}
		for _, dir := range pages {
			changed[dir] = dirs[dir]
		}
	}
	uses := func(paths []string) bool {
		return slices.ContainsFunc(paths, func(dep string) bool {
			dep, _, _ = strings.Cut(dep, " ") // "a [b.test]" is a, as it is built for the tests of b
			return changed[strings.TrimPrefix(dep, root+"/")]
		})
	}
	importers := map[string]bool{}
	for _, p := range packages {
		if uses(p.Imports) {
			name, _, _ := strings.Cut(p.ImportPath, " ")
			importers[name], importers[p.ForTest] = true, true
		}
	}
	for _, p := range packages {
		name, ok := strings.CutSuffix(p.ImportPath, ".test")
		dir := strings.TrimPrefix(name, root+"/")
		if !ok || !changed[dir] && !uses(p.Deps) {
			continue
		}
		line := name
		if flag := restrict(dir, changed, words); flag != "" {
			line += "\t" + flag
		} else if !changed[dir] && !importers[name] && !strings.HasPrefix(dir, commandLine) {
			line += "\t-short"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// module is the path of the module, and the directories of its packages.
func module(packages []pkg) (root string, dirs map[string]bool) {
	dirs = map[string]bool{}
	top := ""
	for _, p := range packages {
		if p.Dir != "" && p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") && (root == "" || len(p.ImportPath) < len(root)) {
			root, top = p.ImportPath, p.Dir
		}
	}
	for !isFile(filepath.Join(top, "go.mod")) && filepath.Dir(top) != top {
		root, top = path.Dir(root), filepath.Dir(top)
	}
	for _, p := range packages {
		if dir, err := filepath.Rel(top, p.Dir); err == nil && p.Dir != "" {
			dirs[filepath.ToSlash(dir)] = true
		}
	}
	return root, dirs
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// restrict is the flag for the tests of a package, "" for all of them.
func restrict(dir string, changed, words map[string]bool) string {
	folder, ok := strings.CutPrefix(dir, commandLine)
	if !ok || changed[dir] || changed[harness] {
		return ""
	}
	for c := range changed {
		if c+"/" != commands && area(c) == folder {
			return ""
		}
	}
	if len(words) > 0 && slices.Contains([]string{"install", "trust", "registry", "run"}, folder) {
		return "-run=^TestScripts$/^(" + strings.Join(slices.Sorted(maps.Keys(words)), "|") + ")"
	}
	return "-short"
}

// area is that of the longest directory that has one.
func area(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if a := areas[dir]; a != "" {
			return a
		}
	}
	return ""
}
