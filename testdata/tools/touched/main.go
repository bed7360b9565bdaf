// Touched says which tests a change can break: those of packages that it changes or that import them, and the short form of those
// that are built from them in any other way.
//
//	touched FILE… <PACKAGES
//
// FILES are what changed, relative to the module; PACKAGES is what "go list -test -json=ImportPath,Dir,Imports,Deps,ForTest" prints
// of the module, with its packages below testdata. Each line of the output is what "go test" is given: a package, and after a tab a flag that restricts its tests. A
// file that is in no package, such as a page, is one of what the tests in pages read.
//
// Nearly every package is in the program, and so below all tests of the command line. Of these, a package is run as a whole if
// its own files, those of the harness, or a package of its area changed, and else in its short form. Besides, the scripts of a command are run
// where a file of the command line is named after it.
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

// areas are the folders below commandLine whose tests show what a package does. What is not named belongs to none.
var areas = map[string]string{
	"install": "install", "resolver": "install", "spec/lock": "install", "spec/manifest": "install", "spec/ref": "install", "spec/bundle": "install",
	"cmd/skl/internal/apply": "install", "cmd/skl/internal/inspect": "install",
	"spec/attest": "trust", "spec/policy": "trust",
	"registry": "registry", "cmd/skl/internal/ship": "registry", "cmd/skl/internal/admin": "registry", "cmd/skl/internal/account": "registry",
	"runtime": "run", "index": "run", "spec/tree": "run", "spec/skill": "run", "cmd/skl/internal/session": "run", "cmd/skl/internal/evaluate": "run",
	"cmd/skl/internal/form": "run", "cmd/skl/internal/author": "run", "cmd/skl/internal/search": "run",
	"cmd/skl/internal/guide": "documents", "cmd/skl/internal/man": "documents", "cmd/skl/internal/codes": "documents", "cmd/skl/internal/demo": "documents",
	"cmd/skl/internal/mcp": "agents",
}

// pages have the tests that read files of the project which are in no package.
var pages = []string{"cmd/skl", "cmd/skl/test/documents", "cmd/skl/test/requirements"}

// readers have the tests that read one page besides.
var readers = map[string][]string{"spec/canopy-tree.md": {"runtime/skills"}, "spec/trust-boundaries.md": {"cmd/skl/test/hostile"}}

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
	var words []string           // files of the command line
	for _, file := range files {
		file = filepath.ToSlash(file)
		if file == "go.mod" || file == "go.sum" {
			changed = maps.Clone(dirs)
			break
		}
		if name, ok := strings.CutPrefix(file, commands); ok && strings.HasSuffix(name, ".go") {
			words = append(words, strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test"))
		}
		dir := path.Dir(file)
		for dir != "." && !dirs[dir] {
			dir = path.Dir(dir)
		}
		if dirs[dir] {
			changed[dir] = true
			continue
		}
		for _, dir := range slices.Concat(pages, readers[file]) {
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
		folder, ends := strings.CutPrefix(dir, commandLine)
		switch {
		case changed[dir], !ends && importers[name], ends && (changed[harness] || ofArea(folder, changed)):
			lines = append(lines, name)
			continue
		}
		lines = append(lines, name+"\t-short")
		if found := scriptsOf(words, filepath.Join(p.Dir, "testdata", "script")); ends && len(found) > 0 {
			lines = append(lines, name+"\t-run=^TestScripts$/^("+strings.Join(found, "|")+")")
		}
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

// ofArea says that a package whose area is folder changed. A file of the command line is of no area: see scriptsOf.
func ofArea(folder string, changed map[string]bool) bool {
	for dir := range changed {
		if area(dir) == folder {
			return true
		}
	}
	return false
}

// scriptsOf are the beginnings of the names of scripts in dir that show the commands which files of the command line are named after:
// registry_token.go is shown by registry_token_…, runflags.go by run_….
func scriptsOf(files []string, dir string) (found []string) {
	scripts, _ := filepath.Glob(filepath.Join(dir, "*.txtar"))
	for _, file := range files {
		begins := func(word string) bool {
			return slices.ContainsFunc(scripts, func(script string) bool { return strings.HasPrefix(filepath.Base(script), word+"_") })
		}
		word := file
		for word != "" && !begins(word) {
			word = word[:len(word)-1]
		}
		if word != "" {
			found = append(found, word+"_")
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
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
