// Package author helps whoever writes skills: start one, digest a folder, pack one, tell agents without skl how to read trees.
package author

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// An Author works on skills in the working directory of a scope.
type Author struct {
	Scope *scope.Scope
	Runs  *session.Runs                          // runs the trees of operations; nil runs none
	Model func(spec string) (model.Model, error) // opens a model by what a person calls it, "" by the configuration; nil opens none
}

// Answers that agents give, as models do.
type (
	Edits  = author.Edits
	Design = author.Design
)

// A StartRequest asks for a new skill.
type StartRequest struct {
	Name   string
	Tree   bool // one with a tree, which can be run
	DryRun bool
}

// A Started is a new skill.
type Started struct {
	Name string `json:"name"`
	Path string `json:"path"` // its folder
}

// Start writes a skill that passes lint, in skills or .agents/skills if the working directory has one.
func (a *Author) Start(r StartRequest) (Started, error) {
	dir, err := a.newPlace(r.Name)
	if err != nil {
		return Started{}, err
	}
	text := starter(r.Name)
	if r.Tree {
		text = treeStarter(r.Name)
	}
	p := placed{author.New(r.Name), dir}
	if err := p.Put(skill.FileName, []byte(text), ""); err != nil || r.DryRun {
		return Started{r.Name, dir}, err
	}
	return Started{r.Name, dir}, a.carry(&p)
}

// A Digest is what the tree digest of a folder covers.
type Digest struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// Digest computes the tree digest of a folder.
func (a *Author) Digest(folder string) (Digest, error) {
	dir, root, err := a.open(folder)
	if err != nil {
		return Digest{}, err
	}
	defer root.Close()
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := bundle.FromFS(roots.FS(durable.RootFS(root), dir), guard); err != nil {
		return Digest{}, fmt.Errorf("%s: %w", a.Scope.Short(dir), err)
	}
	sum, err := guard.Close()
	if err != nil {
		return Digest{}, fmt.Errorf("%s: %w", a.Scope.Short(dir), err)
	}
	return Digest{dir, string(sum.Tree), sum.Files, sum.Bytes}, nil
}

// open opens the folder of a skill.
func (a *Author) open(folder string) (string, *os.Root, error) {
	dir := scope.Absolute(a.Scope.Cwd, folder)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder", folder)
	}
	return dir, root, nil
}

// A PackRequest asks for a reproducible archive of a folder.
type PackRequest struct {
	Folder  string
	File    string   // .tar.gz, .tgz, .zip or .skill
	Include []string // files that are packed whatever their names and git say; relative to Folder, with slashes
	DryRun  bool     // pack, and keep nothing
}

// A Packed is an archive.
type Packed struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// Pack writes an archive whose bytes depend on nothing but the folder. It refuses files that nobody means to give away; see [scope.Parcel].
func (a *Author) Pack(r PackRequest) (Packed, error) {
	dir, root, err := a.open(r.Folder)
	if err != nil {
		return Packed{}, err
	}
	defer root.Close()
	pack := bundle.Pack
	switch {
	case strings.HasSuffix(r.File, ".zip"), strings.HasSuffix(r.File, ".skill"):
		pack = bundle.PackZip
	case !strings.HasSuffix(r.File, ".tar.gz") && !strings.HasSuffix(r.File, ".tgz"):
		return Packed{}, diag.New(diag.Misuse, "unknown_format", "%s: archives end in .tar.gz, .tgz, .zip or .skill", r.File)
	}
	files := roots.FS(durable.RootFS(root), dir)
	var all names
	if err := bundle.FromFS(files, &all); err != nil {
		return Packed{}, fmt.Errorf("%s: %w", a.Scope.Short(dir), err)
	}
	if err := a.Scope.Meant(scope.Parcel{
		Dir: dir, Paths: slices.Sorted(slices.Values(all)), Include: r.Include, Fate: "packed for others", Insists: "packs",
		Command: "skl pack " + diag.Quote(a.Scope.Short(dir)) + " -o " + diag.Quote(r.File),
	}); err != nil {
		return Packed{}, err
	}
	path := scope.Absolute(a.Scope.Cwd, r.File)
	sum, err := writeArchive(path, r.DryRun, func(w io.Writer) (bundle.Summary, error) {
		sum, err := pack(w, files)
		if err != nil {
			err = fmt.Errorf("%s: %w", a.Scope.Short(dir), err)
		}
		return sum, err
	})
	if err != nil {
		return Packed{}, err
	}
	return Packed{path, string(sum.Tree), sum.Files, sum.Bytes}, nil
}

// names are the paths of the files of a folder.
type names []string

func (n *names) File(path string, _ bool, _ int64, _ io.Reader) error {
	*n = append(*n, path)
	return nil
}

func (n *names) Link(path, _ string) error {
	*n = append(*n, path)
	return nil
}

// writeArchive puts what pack writes at path, whole or not at all. A dry run only packs.
func writeArchive(path string, dry bool, pack func(io.Writer) (bundle.Summary, error)) (bundle.Summary, error) {
	tmp, err := durable.Stage(path)
	if err != nil {
		return bundle.Summary{}, err
	}
	defer os.Remove(tmp.Name())
	sum, err := pack(tmp)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil && !dry {
		if err = os.Chmod(tmp.Name(), fs.FileMode(0o644)); err == nil {
			err = durable.Rename(tmp.Name(), path)
		}
	}
	return sum, err
}
