// Package packages opens the language packages that skills are made of, where they lie on this machine, and reads what they say of
// themselves. Nothing of a package runs, and nothing is fetched.
package packages

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/pkgdoc/gopkg"
	"github.com/skl-project/skl/spec/pkgdoc/npmpkg"
	"github.com/skl-project/skl/spec/pkgdoc/rpkg"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// Forms are the ways to name a package.
const Forms = "skl skillify r:NAME, of a package of R that is installed    skl skillify go:MODULE    skl skillify npm:NAME    skl skillify ./DIR, of sources"

// A Source is the files of a package.
type Source struct {
	From    string // its folder or archive
	name    string // as a person named it
	files   fs.FS
	version string // as who keeps it says: a Go module does not
	module  string // of Go, by its place: one older than go.mod does not say it
	locked  needs.Locked
}

// places are the ecosystems whose installed packages are found by name.
var places = map[string]struct{ name, who string }{"r": {"package of R", "R"}, "go": {"module of Go", "the go command"}, "npm": {"package of npm", "Node"}}

// Open opens what a person means by a package: an installed one, a folder or an archive.
func Open(sc *scope.Scope, name string) (*Source, error) {
	kind, pkg, named := strings.Cut(name, ":")
	src := &Source{name: name}
	switch {
	case named && places[kind].name != "" && pkg == "":
		return nil, diag.New(diag.Misuse, "usage", "%s names no %s", diag.Printable(name), places[kind].name).Hint("%s", Forms)
	case named && places[kind].name != "":
		path, version := pkg, ""
		if at := strings.LastIndexByte(pkg, '@'); at > 0 && kind == "go" {
			path, version = pkg[:at], pkg[at+1:]
		}
		if kind == "go" {
			src.module = path
		}
		at, want := sc.Packages(sc.Cwd), skill.Dependency{Name: path, Version: version, Ecosystem: kind}
		src.locked = at.Locked(want)
		if src.From = at.At(want); src.From == "" {
			return nil, diag.New(diag.Misuse, "no_package", "there is no %s called %s here", places[kind].name, diag.Printable(pkg)).
				Meant(meant(kind, pkg, at)...).
				Hint("it is looked for where %s looks, and in %s; the folder of its sources works too", places[kind].who, needs.Variable(kind))
		}
	case named && !scope.Exists(scope.Absolute(sc.Cwd, name)):
		return nil, diag.New(diag.Misuse, "usage", "%s is neither a package that is known nor a folder or archive", diag.Printable(name)).Hint("%s", Forms)
	default:
		src.From = scope.Absolute(sc.Cwd, name)
		src.module = cached(sc, src.From)
	}
	info, err := os.Stat(src.From)
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder or archive", diag.Printable(name)).Hint("%s", Forms)
	}
	if _, version, _ := strings.Cut(filepath.Base(src.From), "@"); semver.IsValid(version) {
		src.version = version
	}
	switch {
	case info.IsDir():
		src.files = scope.FilesIn(src.From)
		return src, nil
	case !info.Mode().IsRegular():
		return nil, noArchive(src.From)
	}
	src.files, err = unpacked(src.From)
	return src, err
}

// cached is the module whose folder in the go command's module cache is dir, "" if it is none. A cache is one of those that are looked in, or
// has the folder of downloads.
func cached(sc *scope.Scope, dir string) string {
	name, version, ok := strings.Cut(filepath.ToSlash(dir), "@")
	if !ok || !semver.IsValid(version) {
		return ""
	}
	for root := filepath.Dir(dir); root != filepath.Dir(root); root = filepath.Dir(root) {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, filepath.ToSlash(root)), "/")
		path, err := module.UnescapePath(rel)
		if err != nil {
			continue
		}
		if scope.Exists(filepath.Join(root, "cache", "download")) || sc.Packages(sc.Cwd).At(skill.Dependency{Name: path, Version: version, Ecosystem: "go"}) == dir {
			return path
		}
	}
	return ""
}

// meant are the packages that are here and are called nearly as what a person wrote, best first.
func meant(kind, name string, at needs.Places) (out []string) {
	for _, near := range spell.Nearest(name, at.Here(kind), 3) {
		out = append(out, kind+":"+near)
	}
	return out
}

// Integrity is what the lock of a project says of the bytes of a package that was opened by its name; "" if it says nothing, or something of
// another version.
func (s *Source) Integrity(version string) string {
	if s.locked.Version != strings.TrimPrefix(version, "v") {
		return ""
	}
	return s.locked.Integrity
}

// Beside says that the lock of a project names another version than the one that is here; "" if it does not.
func (s *Source) Beside(version string) string {
	if v := s.locked.Version; v != "" && v != strings.TrimPrefix(version, "v") {
		return s.locked.File + " names " + diag.Printable(v) + ", and " + diag.Printable(version) + " is installed"
	}
	return ""
}

// Locked is what the lock of a project says of a package.
func Locked(sc *scope.Scope, ecosystem, name string) needs.Locked {
	return sc.Packages(sc.Cwd).Locked(skill.Dependency{Name: name, Ecosystem: ecosystem})
}

// errUnknown is that of a folder that is a package of no ecosystem.
var errUnknown = errors.New("it is a package of neither R, Go nor npm: there is no DESCRIPTION, no go.mod and no package.json")

// errNoGoMod is that of a folder of Go whose module has no name.
var errNoGoMod = errors.New("it has Go files, and no go.mod says which module they are")

// Read reads a package as what its files say that it is.
func (s *Source) Read() (*pkgdoc.Package, error) {
	p, err := s.read()
	if err == nil {
		return p, nil
	}
	if errors.Is(err, errNoGoMod) {
		return nil, diag.New(diag.Misuse, "no_package", "%s: %w", diag.Printable(s.name), err).Hint("go mod init MODULE makes one, in that folder").
			Hint("skl skillify go:MODULE, of a module that go.mod here requires")
	}
	if errors.Is(err, errUnknown) {
		return nil, diag.New(diag.Misuse, "no_package", "%s: %w", diag.Printable(s.name), err).Hint("%s", Forms)
	}
	unreadable := diag.New(diag.Unmet, "package_unreadable", "%s: %w", diag.Printable(s.name), err)
	if errors.Is(err, pkgdoc.ErrTooLarge) && (s.module != "" || (&pkgdoc.Files{FS: s.files}).Has("go.mod")) {
		return nil, unreadable.Hint("go doc MODULE/PACKAGE shows one of its packages")
	}
	return nil, unreadable
}

func (s *Source) read() (*pkgdoc.Package, error) {
	switch in := (pkgdoc.Files{FS: s.files}); {
	case s.module != "":
		return gopkg.ReadAs(s.files, s.module, cmp.Or(s.version, pkgdoc.Devel))
	case in.Has("DESCRIPTION"):
		return rpkg.Read(s.files)
	case in.Has("go.mod"):
		return gopkg.Read(s.files, cmp.Or(s.version, pkgdoc.Devel))
	case in.Has("package.json"):
		return npmpkg.Read(s.files)
	case slices.ContainsFunc(in.List("."), func(name string) bool { return filepath.Ext(name) == ".go" }):
		return nil, errNoGoMod
	}
	return nil, errUnknown
}

// unpacked is an archive in memory.
func unpacked(file string) (bundle.Memory, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, 512)
	n, _ := f.ReadAt(head, 0)
	format := bundle.Detect(head[:n])
	if format == "" {
		return nil, noArchive(file)
	}
	sink := memorySink{files: bundle.Memory{}}
	if _, err := bundle.Unpack(f, info.Size(), format, sink); err != nil {
		return nil, diag.New(diag.Unmet, "package_unreadable", "%s: %w", diag.Printable(filepath.Base(file)), err)
	}
	return sink.files, nil
}

func noArchive(file string) error {
	return diag.New(diag.Misuse, "usage", "%s is no archive that is known: tar.gz, tar and zip are", diag.Printable(filepath.Base(file)))
}

// memorySink keeps regular files; links are no part of what is read.
type memorySink struct{ files bundle.Memory }

func (s memorySink) File(name string, executable bool, _ int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err == nil {
		s.files[name] = bundle.MemoryFile{Data: data, Executable: executable}
	}
	return err
}

func (memorySink) Link(string, string) error { return nil }

// Update is the command that brings a skill, by its name or path, to its package: with --merge where a person edited it, and --from where the
// package has to be named, "" where not.
func Update(skill string, merge bool, from string) string {
	command := "skl skillify --update "
	if merge {
		command += "--merge "
	}
	if command += diag.Quote(skill); from != "" {
		command += " --from " + diag.Quote(from)
	}
	return command
}
