package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author/skillify"
	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/pkgdoc/gopkg"
	"github.com/skl-project/skl/spec/pkgdoc/npmpkg"
	"github.com/skl-project/skl/spec/pkgdoc/rpkg"
	"github.com/skl-project/skl/spec/skill"
)

// A SkillifyRequest asks for a skill of a package's documentation.
type SkillifyRequest struct {
	Package  string // r:NAME, go:MODULE[@VERSION] or npm:NAME of an installed package, or a folder or archive of sources
	Output   string // the folder of skills it is put in, or its own; "" is below the data directory
	TopLevel bool   // the keys of corteza.skill/v1 at top level
	Version  string // of skl
	DryRun   bool
}

// A Skillified is a skill that was made of a package.
type Skillified struct {
	Name      string            `json:"name"`
	Path      string            `json:"path"` // its folder
	Ecosystem string            `json:"ecosystem"`
	Package   string            `json:"package"`
	Version   string            `json:"version"`
	From      string            `json:"from"`  // the folder or archive that was read
	State     string            `json:"state"` // written, unchanged, or would_write
	Stamp     map[string]string `json:"generated_from"`
	Report    skillify.Report   `json:"report"`
	Findings  []content.Finding `json:"findings"` // what skl audit finds in it: text of the package
}

// Skillify makes a skill of the documentation of a package. Nothing of the package is run.
func (a *Author) Skillify(ctx context.Context, q SkillifyRequest) (Skillified, error) {
	if q.Package == "" {
		return Skillified{}, diag.New(diag.Misuse, "usage", "name a package").Hint("%s", packageForms)
	}
	src, err := a.source(q.Package)
	if err != nil {
		return Skillified{}, err
	}
	p, err := src.read()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		e := diag.New(diag.Unmet, "package_unreadable", "%s: %w", diag.Printable(q.Package), err)
		if errors.Is(err, errUnknownPackage) {
			e = e.Hint("%s", packageForms)
		}
		return Skillified{}, e
	}
	s, err := skillify.Make(p, skillify.Options{Version: q.Version, TopLevel: q.TopLevel})
	if own := (*skillify.HasSkills)(nil); errors.As(err, &own) {
		return Skillified{}, diag.New(diag.Unmet, "has_skills", "%w", err).Hint("skl install %s", diag.Quote(filepath.Join(src.from, filepath.FromSlash(own.Skills[0]))))
	}
	if err != nil {
		return Skillified{}, err
	}
	out := Skillified{Name: s.Name, Path: a.skillifiedPath(s, q.Output), Ecosystem: p.Ecosystem, Package: p.Name, Version: p.Version, From: src.from, Stamp: s.Origin.Map(),
		Report: s.Report, Findings: auditOf(s)}
	return a.putSkill(s, out, q.DryRun)
}

// packageForms are the ways to name a package.
const packageForms = "skl skillify r:NAME, of a package of R that is installed    skl skillify go:MODULE    skl skillify npm:NAME    skl skillify ./DIR, of sources"

// A source is the files of a package.
type source struct {
	from    string // its folder or archive
	files   fs.FS
	version string // as who keeps it says: a Go module does not
}

// places are the ecosystems whose installed packages are found by name.
var places = map[string]struct{ name, who string }{"r": {"package of R", "R"}, "go": {"module of Go", "the go command"}, "npm": {"package of npm", "Node"}}

// source opens what a person means by a package: an installed one, a folder or an archive.
func (a *Author) source(name string) (*source, error) {
	kind, pkg, named := strings.Cut(name, ":")
	src := &source{}
	switch {
	case named && places[kind].name != "":
		module, version := pkg, ""
		if at := strings.LastIndexByte(pkg, '@'); at > 0 && kind == "go" {
			module, version = pkg[:at], pkg[at+1:]
		}
		at := a.Scope.Packages(a.Scope.Cwd)
		if src.from = at.At(skill.Dependency{Name: module, Version: version, Ecosystem: kind}); src.from == "" {
			return nil, diag.New(diag.Unmet, "no_package", "there is no %s called %s here", places[kind].name, diag.Printable(pkg)).
				Hint("it is looked for where %s looks, and in %s; the folder of its sources works too", places[kind].who, needs.Variable(kind))
		}
	case named && !scope.Exists(scope.Absolute(a.Scope.Cwd, name)):
		return nil, diag.New(diag.Misuse, "usage", "%s is neither a package that is known nor a folder or archive", diag.Printable(name)).Hint("%s", packageForms)
	default:
		src.from = scope.Absolute(a.Scope.Cwd, name)
	}
	info, err := os.Stat(src.from)
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder or archive", diag.Printable(name)).Hint("%s", packageForms)
	}
	if _, version, _ := strings.Cut(filepath.Base(src.from), "@"); semver.IsValid(version) {
		src.version = version
	}
	switch {
	case info.IsDir():
		src.files = scope.FilesIn(src.from)
		return src, nil
	case !info.Mode().IsRegular():
		return nil, noArchive(src.from)
	}
	src.files, err = unpacked(src.from)
	return src, err
}

// errUnknownPackage is that of a folder that is a package of no ecosystem.
var errUnknownPackage = errors.New("it is a package of neither R, Go nor npm: there is no DESCRIPTION, no go.mod and no package.json")

// read reads a package as what its files say that it is.
func (s *source) read() (*pkgdoc.Package, error) {
	switch in := (pkgdoc.Files{FS: s.files}); {
	case in.Has("DESCRIPTION"):
		return rpkg.Read(s.files)
	case in.Has("go.mod"):
		return gopkg.Read(s.files, cmp.Or(s.version, "devel"))
	case in.Has("package.json"):
		return npmpkg.Read(s.files)
	}
	return nil, errUnknownPackage
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

// skillifiedPath is the folder of a skill.
func (a *Author) skillifiedPath(s *skillify.Skill, output string) string {
	if output != "" {
		dir := scope.Absolute(a.Scope.Cwd, output)
		if filepath.Base(dir) == s.Name {
			return dir
		}
		return filepath.Join(dir, s.Name)
	}
	o := s.Origin
	return filepath.Join(a.Scope.Dirs.Data, "generated", cmp.Or(o.Ecosystem, "r"), s.Name, safe(o.Version), safe(o.Recipe), s.Name)
}

// safe is text of a package as one name of a folder.
func safe(s string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, s), ".-")
}

// auditOf is what an audit finds in a skill.
func auditOf(s *skillify.Skill) []content.Finding {
	return append([]content.Finding{}, treeOf(s).Findings()...)
}

// putSkill writes a skill to its folder, all files or none. A folder that holds something else is refused.
func (a *Author) putSkill(s *skillify.Skill, out Skillified, dry bool) (Skillified, error) {
	there := scope.Exists(out.Path)
	if there {
		now, err := trees.Read(scope.FilesIn(out.Path))
		if err == nil && maps.EqualFunc(now, treeOf(s), func(a, b trees.File) bool { return a.Kind == b.Kind && bytes.Equal(a.Data, b.Data) }) {
			out.State = "unchanged"
			return out, nil
		}
	}
	switch {
	case there:
		return Skillified{}, diag.New(diag.Refused, "exists", "%s is there and holds something else", a.Scope.Short(out.Path)).Hint("name another folder: -o DIR")
	case dry:
		out.State = "would_write"
		return out, nil
	}
	at, err := a.placeFor(filepath.Dir(out.Path))
	if err != nil {
		return Skillified{}, err
	}
	defer at.Close()
	if err := writeFolder(at, out.Path, s.Files); err != nil {
		return Skillified{}, err
	}
	out.State = "written"
	return out, nil
}

// placeFor makes the folder that a skill is put in. Below the working directory, which may be a stranger's, no link leads out of it.
func (a *Author) placeFor(parent string) (*within.Dir, error) {
	if scope.Below(a.Scope.Dirs.Data, parent) {
		return within.Anywhere(), a.Scope.MkdirPrivate(parent)
	}
	at := within.Anywhere()
	if scope.Below(a.Scope.Cwd, parent) {
		var err error
		if at, err = within.Open(a.Scope.Cwd); err != nil {
			return nil, err
		}
	}
	if _, err := at.MkdirAll(parent, 0o755); err != nil {
		at.Close()
		return nil, err
	}
	return at, nil
}

// writeFolder writes a folder that is not there: all its files or none.
func writeFolder(at *within.Dir, dir string, files []skillify.File) error {
	parent := filepath.Dir(dir)
	temp, err := at.MkdirTemp(parent, "."+filepath.Base(dir)+".skl-")
	if err != nil {
		return err
	}
	defer at.RemoveAll(temp)
	staged := filepath.Join(temp, filepath.Base(dir))
	if err := at.Mkdir(staged, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.Join(staged, filepath.FromSlash(f.Path))
		if _, err := at.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := at.Create(name, f.Data, 0o644); err != nil {
			return err
		}
	}
	if err := at.SyncTree(staged); err != nil {
		return err
	}
	if err := at.Rename(staged, dir); err != nil {
		return err
	}
	return at.SyncDir(parent)
}

// treeOf are the files of a skill.
func treeOf(s *skillify.Skill) trees.Tree {
	t := trees.Tree{}
	for _, f := range s.Files {
		t[f.Path] = trees.File{Kind: bundle.Plain, Data: f.Data}
	}
	return t
}
