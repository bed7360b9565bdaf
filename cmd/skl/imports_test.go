package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/skl-project/skl/"

// leaves are packages that every area but spec may import. They import no skl
// package but spec; install/durable not even that.
var leaves = []string{"install/durable", "registry/client/origin", "registry/gate"}

// mayImport is the map of the areas. A package may import what is in its own
// area, spec, the leaves, and at or below what is named here for it or for a directory above it.
var mayImport = map[string]string{
	"spec":                  "",
	"resolver":              "",
	"resolver/source":       "registry/client",
	"install":               "",
	"registry":              "index/rank",
	"registry/registrytest": "testdata/long",
	"runtime":               "",
	"index":                 "",
	"index/skillsearch":     "install/roots",
	"cmd":                   "spec resolver registry install runtime index",
	"cmd/skl/test":          "testdata/long",
}

// mustNotImport are packages, of the standard library and ours, that what is below a directory stays away from.
var mustNotImport = map[string]string{
	"spec":                  "os os/exec net/http net",
	"cmd/skl/internal/plan": "os os/exec net/http net cmd install registry resolver/source/git",
}

// TestImports compares the imports of the product's own code, for each platform
// it is built for, with the map.
func TestImports(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		packages := listPackages(t, system)
		if len(packages) < 10 {
			t.Fatalf("go list found only %d packages", len(packages))
		}
		for from, imports := range packages {
			for _, to := range imports {
				if why := forbidden(from, to); why != "" {
					t.Errorf("%s imports %s: %s", from, to, why)
				}
			}
		}
	}
}

// listPackages returns the direct imports of every package of the module, without
// those of tests. Paths in the module are relative to it.
func listPackages(t *testing.T, system string) map[string][]string {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := make(map[string][]string)
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, module)] = p.Imports
	}
}

// forbidden says why the package from, a path in the module, may not import to; "" if it may.
func forbidden(from, to string) string {
	area := top(from)
	if _, known := mayImport[area]; !known {
		return "the map has no area " + area
	}
	to, own := strings.CutPrefix(to, module)
	switch {
	case shuns(from, to) != "":
		return shuns(from, to) + " takes files and streams, it does not open them"
	case !own:
		return ""
	case slices.ContainsFunc(leaves, func(leaf string) bool { return within(from, leaf) && !within(to, leaf) }):
		if top(to) == "spec" && !within(from, "install/durable") {
			return ""
		}
		return from + " is a leaf"
	case source(from) != "" && source(to) != "" && source(from) != source(to):
		return "sources never import each other"
	case top(to) == "cmd" && area != "cmd":
		return "nothing imports cmd"
	case area == top(to), area != "spec" && (top(to) == "spec" || slices.Contains(leaves, to)):
		return ""
	}
	for dir, allowed := range mayImport {
		if within(from, dir) && slices.ContainsFunc(strings.Fields(allowed), func(a string) bool { return within(to, a) }) {
			return ""
		}
	}
	return fmt.Sprintf("%s may import %q, spec and the leaves", area, mayImport[area])
}

// shuns is the directory of mustNotImport around from that stays away from to, "" if there is none.
func shuns(from, to string) string {
	for dir, packages := range mustNotImport {
		if within(from, dir) && slices.ContainsFunc(strings.Fields(packages), func(p string) bool { return to == p || strings.Contains(dir, "/") && within(to, p) }) {
			return dir
		}
	}
	return ""
}

// top is the first element of a path.
func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// within reports whether path is dir or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// source is the name of the source that a package belongs to, "" if it belongs to none.
func source(path string) string {
	rest, ok := strings.CutPrefix(path, "resolver/source/")
	if !ok {
		return ""
	}
	return top(rest)
}

// The map itself: a row is "from to", and "no" where the arrow is refused.
func TestForbidden(t *testing.T) {
	for row := range strings.Lines(`
		cmd/skl/internal/cli install/roots
		cmd/skl              net/http
		install/store        spec/bundle
		install              install/durable
		install              registry/client/origin
		install              resolver               no
		install/roots        install/hosts
		install              cmd/skl/internal/ui    no
		install/durable      spec/diag              no
		install/durable      os
		registry/client/origin spec/diag
		registry/client/origin registry/client      no
		registry/client/origin net/http
		resolver             spec/ref
		resolver             install/store          no
		resolver             registry/client        no
		resolver/source/oci  registry/client
		resolver/source/oci  registry/blob          no
		resolver/source/git  registry/client/origin
		resolver/source/git  resolver/source
		resolver/source/git  resolver/source/local  no
		resolver/source/git/gittest resolver/source/git
		registry             index/rank
		registry             index/store            no
		index/skillsearch    install/roots
		index                install/roots          no
		runtime/run          spec/tree
		runtime/run          install                no
		spec/skill           spec/diag
		spec/skill           io/fs
		spec/skill           os                     no
		spec/skill           net/http               no
		spec/skill           install/durable        no
		tools                spec/diag              no
		cmd/skl/internal/plan resolver
		cmd/skl/internal/plan spec/lock
		cmd/skl/internal/plan os                    no
		cmd/skl/internal/plan install/roots         no
		cmd/skl/internal/plan cmd/skl/internal/scope no
	`) {
		fields := strings.Fields(row)
		if len(fields) < 2 {
			continue
		}
		to := fields[1]
		if _, own := mayImport[top(to)]; own {
			to = module + to
		}
		why := forbidden(fields[0], to)
		if refused := len(fields) == 3; refused != (why != "") {
			t.Errorf("%s: %q", strings.TrimSpace(row), why)
		}
	}
}
