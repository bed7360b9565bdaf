package ship

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// A draft is a skill that is about to be published.
type draft struct {
	dir             string
	namespace, name string
	version         string
	input           oci.Input
	built           *oci.Built
	needs           []resolver.Need
	files           blobs // what is published
}

// draft reads what is to be published, and holds it against the rules of lint.
func (s *Shipper) draft(ctx context.Context, dir, asked string) (*draft, error) {
	d := &draft{dir: scope.Absolute(s.Scope.Cwd, dir), files: blobs{}}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder", dir)
	}
	// The root stays open while files are read from it; the process ends with the command.
	d.input.Files = roots.FS(durable.RootFS(root), d.dir)
	text, err := fs.ReadFile(d.input.Files, skill.FileName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_skill", "there is no SKILL.md in %s", dir).Hint("skl new NAME")
	}
	own, err := s.ownManifest(d)
	if err != nil {
		return nil, err
	}
	doc, err := skill.ReadWith(text, skill.SidecarIn(d.input.Files, "."))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := d.identify(dir, asked, own.Package, doc); err != nil {
		return nil, err
	}
	if err := s.publishable(d); err != nil {
		return nil, err
	}
	text, _ = fs.ReadFile(d.input.Files, resolver.OwnManifest)
	apm, _ := fs.ReadFile(d.input.Files, resolver.APMManifest)
	if d.needs, err = resolver.Needs(text, apm, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for i := range d.needs {
		n := &d.needs[i]
		if n.Placed() {
			d.input.Requires = append(d.input.Requires, n.Want.Ref.String())
		} else {
			s.Scope.Tell.Warn("%s needs %s (%s), and does not say where others find it, so it is not installed with it", d.name, n.Name, n.File)
		}
	}
	d.input.Version = d.version
	if err := bundle.FromFS(d.input.Files, d.files); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	s.provenance(ctx, d)
	return d, nil
}

// ownManifest is the skl.toml in the skill's own folder, empty if there is none.
func (s *Shipper) ownManifest(d *draft) (*manifest.Manifest, error) {
	text, err := fs.ReadFile(d.input.Files, resolver.OwnManifest)
	if err != nil {
		return manifest.New(), nil
	}
	return manifest.Parse(text, s.Scope.Short(filepath.Join(d.dir, "skl.toml")))
}

// identify decides name and version: the argument, else [package], else metadata.version.
func (d *draft) identify(dir, asked string, own manifest.Package, doc *skill.Document) error {
	name, dir := own.Name, diag.Quote(dir)
	if asked != "" {
		r, err := ref.Parse(asked)
		if err != nil {
			return err
		}
		if r.Kind != ref.Name || r.Path != "" || r.Skill != "" {
			return diag.New(diag.Misuse, "invalid_ref", "%s is not NS/NAME@VERSION", asked).Hint("skl publish %s acme/%s@1.0.0", dir, doc.Name)
		}
		name, d.version = r.Owner+"/"+r.Repo, r.Version
	}
	d.version = cmp.Or(d.version, own.Version, doc.Version)
	if name == "" {
		return diag.New(diag.Misuse, "no_name", "under which namespace is %s to be published?", doc.Name).
			Hint("skl publish %s NS/%s@%s", dir, doc.Name, cmp.Or(d.version, "VERSION")).Hint("or in its skl.toml: [package] name = \"NS/%s\"", doc.Name)
	}
	d.namespace, d.name, _ = strings.Cut(name, "/")
	switch {
	case d.name != doc.Name:
		return diag.New(diag.Misuse, "invalid_name", "the skill in SKILL.md is called %q, so it cannot be published as %s", diag.Printable(doc.Name), name).
			Hint("skl publish %s %s/%s@%s", dir, d.namespace, doc.Name, cmp.Or(d.version, "VERSION"))
	case d.version == "":
		return diag.New(diag.Misuse, "no_version", "which version of %s is this?", name).
			Hint("skl publish %s %s@1.0.0", dir, name).Hint("or in its skl.toml: [package] version = \"1.0.0\"")
	}
	_, err := oci.Tag(d.version)
	return err
}

// publishable refuses what lint calls an error for a publish, and a tree that cannot run, with all findings (exit 3).
func (s *Shipper) publishable(d *draft) error {
	var bad []diag.Finding
	if t, err := tree.Load(d.input.Files, d.name); err == nil {
		bad = slices.DeleteFunc(check.Check(t), func(f diag.Finding) bool { return !check.Blocking(f) })
	}
	for _, f := range skill.Lint(d.input.Files, d.name, skill.LintOptions{Publish: true}) {
		if f.Severity == diag.SeverityError {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	e := diag.New(diag.Unmet, "findings", "%s cannot be published: %s", d.name, bad[0].Message)
	e.Where = diag.Position{File: s.Scope.Short(filepath.Join(d.dir, filepath.FromSlash(bad[0].File))), Line: bad[0].Line, Column: bad[0].Column}
	for _, f := range bad {
		e.Candidates = append(e.Candidates, fmt.Sprintf("%s  %s  %s", diag.Position{File: f.File, Line: f.Line, Column: f.Column}, f.Rule, f.Message))
	}
	return e.Hint("skl lint %s", s.Scope.Short(d.dir))
}

// provenance adds when and from where, as far as the environment or the repository around the folder says it. Both
// depend on the commit alone, so that a second publish makes the same digest. No program is run: the folder may be somebody else's.
func (s *Shipper) provenance(ctx context.Context, d *draft) {
	if text := s.Scope.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		if sec, err := strconv.ParseInt(text, 10, 64); err == nil {
			d.input.Created = time.Unix(sec, 0)
		}
	}
	w, err := git.OpenWorkTree(d.dir)
	if errors.Is(err, git.ErrNoWorkTree) {
		return
	}
	var commit string
	var when time.Time
	if err == nil {
		commit, when, err = w.LastCommit(ctx)
	}
	var same bool
	if err == nil && commit != "" {
		same, err = d.files.committed(ctx, w)
	}
	if err != nil {
		s.Scope.Tell.Warn("the release does not say which commit it is: %s", diag.Clip(err.Error(), 300))
		return
	}
	if !same {
		return // no commit has what is published
	}
	if d.input.Created.IsZero() {
		d.input.Created = when
	}
	d.input.Annotations = map[string]string{v1.AnnotationRevision: commit}
	if url := w.Origin(); strings.HasPrefix(url, "https://") && !strings.Contains(url, "@") {
		d.input.Annotations[v1.AnnotationSource] = strings.TrimSuffix(url, ".git")
	}
}

// blobs are the files of a folder as git would keep them, by path.
type blobs map[string]git.Kept

// committed reports whether HEAD has all of b as they are, and no others but such as are not published.
func (b blobs) committed(ctx context.Context, w *git.WorkTree) (bool, error) {
	kept, err := w.Committed(ctx)
	maps.DeleteFunc(kept, func(path string, _ git.Kept) bool { return bundle.Residue(path) })
	return maps.Equal(b, kept), err
}

func (b blobs) File(path string, executable bool, _ int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	mode := uint32(0o100644)
	if executable {
		mode = 0o100755
	}
	b[path] = git.Kept{Mode: mode, ID: git.BlobID(data)}
	return err
}

func (b blobs) Link(path, target string) error {
	b[path] = git.Kept{Mode: 0o120000, ID: git.BlobID([]byte(target))}
	return nil
}
