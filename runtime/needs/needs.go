// Package needs finds the language packages that a skill's own code loads (library_depends). It only looks at directories: it
// runs no interpreter and installs nothing. Versions are not compared; [Places.Version] says which is there.
package needs

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Places are where packages are looked for.
type Places struct {
	Dirs   []string // with their parents: the working directory and the skill's; absolute
	Home   string
	Getenv func(string) string
}

// Missing returns those of needs that lie in none of the places.
func (p Places) Missing(needs []skill.Dependency) []skill.Dependency {
	var out []skill.Dependency
	for _, n := range needs {
		if !p.has(n) {
			out = append(out, n)
		}
	}
	return out
}

// Variable is the environment variable that names further libraries of an ecosystem.
func Variable(ecosystem string) string {
	switch ecosystem {
	case "npm":
		return "NODE_PATH"
	case "pypi":
		return "PYTHONPATH"
	case "go":
		return "GOMODCACHE"
	}
	return "R_LIBS"
}

// Names lists packages for a sentence, each with its ecosystem.
func Names(packages []skill.Dependency) string {
	names := make([]string, len(packages))
	for i, d := range packages {
		names[i] = d.Name + " (" + d.Ecosystem + ")"
	}
	return diag.Printable(strings.Join(names, ", "))
}

// plain are names that mean nothing else to a shell or an interpreter.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@._/-]*$`) })

// Install is the usual command that installs a package, "" if its name is none that can stand in one. Versions are left out.
func Install(d skill.Dependency) string {
	if !plain().MatchString(d.Name) {
		return ""
	}
	switch d.Ecosystem {
	case "npm":
		return "npm install " + d.Name
	case "pypi":
		return "pip install " + d.Name
	case "go":
		return "go get " + d.Name
	}
	return `Rscript -e 'install.packages("` + d.Name + `")'`
}

func (p Places) has(n skill.Dependency) bool {
	if !filepath.IsLocal(filepath.FromSlash(n.Name)) || strings.ContainsAny(n.Name, `*?[\`) {
		return false // no name of a package
	}
	return p.find(n) != ""
}

// At is the folder of a package which lies in one of the places, the first that is found; "" if none does. Of a Go module it is that
// of n.Version, if that is set.
func (p Places) At(n skill.Dependency) string {
	if !filepath.IsLocal(filepath.FromSlash(n.Name)) || strings.ContainsAny(n.Name+n.Version, `*?[\`) {
		return ""
	}
	at := p.find(n)
	if at == "" || n.Ecosystem == "go" {
		return at
	}
	return filepath.Dir(at)
}

// Version is that of a package which lies in one of the places, the first that is found; "" if none does, or does not say it.
func (p Places) Version(n skill.Dependency) string {
	if !filepath.IsLocal(filepath.FromSlash(n.Name)) || strings.ContainsAny(n.Name, `*?[\`) {
		return ""
	}
	at := p.find(n)
	base := filepath.Base(at)
	switch n.Ecosystem {
	case "npm":
		return said(at, npmVersion())
	case "pypi":
		_, version, _ := strings.Cut(strings.TrimSuffix(base, filepath.Ext(base)), "-")
		version, _, _ = strings.Cut(version, "-")
		return version
	case "go":
		_, version, _ := strings.Cut(base, "@v")
		return version
	}
	return said(at, rVersion())
}

var (
	npmVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"version"\s*:\s*"([^"]{1,64})"`) })
	rVersion   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^Version:\s*(\S{1,64})`) })
)

// said is what the first kilobytes of a file say by a pattern.
func said(file string, pattern *regexp.Regexp) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	head := make([]byte, 64<<10)
	k, _ := io.ReadFull(f, head)
	if m := pattern.FindSubmatch(head[:k]); m != nil {
		return string(m[1])
	}
	return ""
}

// find is the path by which a package is known to be there.
func (p Places) find(n skill.Dependency) string {
	switch n.Ecosystem {
	case "npm":
		return found(p.modules(), n.Name+"/package.json")
	case "pypi":
		return p.python(n.Name)
	case "go":
		return p.golang(n.Name, n.Version)
	}
	return found(p.libraries(), n.Name+"/DESCRIPTION")
}

// Here are the names of the packages of R or npm that lie in the places, sorted; of others none, whose names are not those of folders.
func (p Places) Here(ecosystem string) (names []string) {
	var patterns []string
	switch ecosystem {
	case "r":
		for _, dir := range p.libraries() {
			patterns = append(patterns, filepath.Join(dir, "*", "DESCRIPTION"))
		}
	case "npm":
		for _, dir := range p.modules() {
			patterns = append(patterns, filepath.Join(dir, "*", "package.json"), filepath.Join(dir, "@*", "*", "package.json"))
		}
	}
	for _, pattern := range patterns {
		for _, file := range glob(pattern) {
			dir := filepath.Dir(file)
			name := filepath.Base(dir)
			if scope := filepath.Base(filepath.Dir(dir)); strings.HasPrefix(scope, "@") {
				name = scope + "/" + name
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// modules are the folders of packages of npm.
func (p Places) modules() []string { return append(p.above("node_modules"), p.list("NODE_PATH")...) }

// libraries are the folders of packages of R, as patterns.
func (p Places) libraries() []string {
	libraries := append(p.list("R_LIBS", "R_LIBS_USER", "R_LIBS_SITE"), p.above("renv/library/*/*/*", "renv/library/*/*")...)
	libraries = append(libraries, "/usr/lib/R/library", "/usr/lib/R/site-library", "/usr/lib64/R/library", "/usr/share/R/library", "/usr/local/lib/R/site-library", "/usr/local/lib/R/library",
		"/opt/R/*/lib/R/library", "/opt/homebrew/lib/R/*/site-library", "/Library/Frameworks/R.framework/Resources/library")
	libraries = append(libraries, p.home("R/*-library/*", "R/*/*", "Library/R/*/*/library", "AppData/Local/R/win-library/*")...)
	if dir := p.Getenv("R_HOME"); dir != "" {
		libraries = append(libraries, filepath.Join(dir, "library"))
	}
	return libraries
}

// separators of names that Python takes for the same.
var separators = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-_.]+`) })

func (p Places) python(name string) string {
	libraries := append(p.list("PYTHONPATH"), p.above(".venv/lib/python3*/site-packages", "venv/lib/python3*/site-packages", ".venv/Lib/site-packages", "venv/Lib/site-packages")...)
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := p.Getenv(variable); dir != "" {
			libraries = append(libraries, filepath.Join(dir, "lib/python3*/site-packages"), filepath.Join(dir, "Lib/site-packages"))
		}
	}
	libraries = append(libraries, "/usr/lib/python3/dist-packages", "/usr/lib/python3*/site-packages", "/usr/lib64/python3*/site-packages", "/usr/local/lib/python3*/site-packages",
		"/usr/local/lib/python3*/dist-packages", "/opt/homebrew/lib/python3*/site-packages")
	libraries = append(libraries, p.home(".local/lib/python3*/site-packages", "Library/Python/3*/lib/python/site-packages", "AppData/Roaming/Python/Python3*/site-packages")...)
	want := strings.ToLower(separators().ReplaceAllString(name, "-"))
	for _, pattern := range libraries {
		for _, dir := range glob(pattern) {
			entries, _ := os.ReadDir(dir) // one that cannot be read holds nothing for a run
			for _, e := range entries {
				ext := filepath.Ext(e.Name())
				base, _, _ := strings.Cut(strings.TrimSuffix(e.Name(), ext), "-")
				if (ext == ".dist-info" || ext == ".egg-info") && strings.ToLower(separators().ReplaceAllString(base, "-")) == want {
					return filepath.Join(dir, e.Name())
				}
			}
		}
	}
	return ""
}

var capitals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Z]`) })

func (p Places) golang(name, version string) string {
	escaped := capitals().ReplaceAllStringFunc(name, func(c string) string { return "!" + strings.ToLower(c) })
	caches := append(p.list("GOMODCACHE"), p.home("go/pkg/mod")...)
	for _, dir := range p.list("GOPATH") {
		caches = append(caches, filepath.Join(dir, "pkg/mod"))
	}
	if !semver.IsValid(version) { // of a skill's needs it is a range, or nothing
		version = p.required(name)
	}
	if version != "" {
		return cmp.Or(found(caches, escaped+"@"+version), found(p.above("vendor"), name))
	}
	best := ""
	for _, cache := range caches {
		for _, dir := range glob(filepath.Join(cache, filepath.FromSlash(escaped)+"@*")) {
			_, version, _ := strings.Cut(filepath.Base(dir), "@")
			if _, was, _ := strings.Cut(filepath.Base(best), "@"); best == "" || semver.Compare(version, was) > 0 {
				best = dir
			}
		}
	}
	return cmp.Or(best, found(p.above("vendor"), name))
}

// required is the version of a Go module that the nearest go.mod requires; "" if it does not.
func (p Places) required(name string) string {
	for _, file := range p.above("go.mod") {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return ""
		}
		mod, err := modfile.ParseLax(file, text, nil)
		if err != nil {
			return ""
		}
		for _, r := range mod.Require {
			if r.Mod.Path == name {
				return r.Mod.Version
			}
		}
		return ""
	}
	return ""
}

// list is the directories of the environment variables.
func (p Places) list(variables ...string) (out []string) {
	for _, v := range variables {
		for _, dir := range filepath.SplitList(p.Getenv(v)) {
			if filepath.IsAbs(dir) {
				out = append(out, dir)
			}
		}
	}
	return out
}

// above is each of names in Dirs and their parents.
func (p Places) above(names ...string) (out []string) {
	for _, dir := range p.Dirs {
		for filepath.IsAbs(dir) {
			for _, name := range names {
				out = append(out, filepath.Join(dir, name))
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return out
}

func (p Places) home(names ...string) (out []string) {
	for _, name := range names {
		if p.Home != "" {
			out = append(out, filepath.Join(p.Home, name))
		}
	}
	return out
}

func glob(pattern string) []string {
	paths, _ := filepath.Glob(pattern) // a pattern that a directory's own name breaks finds nothing
	return paths
}

// found is the last path that file has in the first of libraries that has one: of several versions the newest in most cases.
func found(libraries []string, file string) string {
	for _, library := range libraries {
		if paths := glob(filepath.Join(library, filepath.FromSlash(file))); len(paths) > 0 {
			return paths[len(paths)-1]
		}
	}
	return ""
}
