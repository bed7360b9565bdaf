package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/packages"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author/skillify"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
)

// A SkillifyRequest asks for a skill of a package's documentation.
type SkillifyRequest struct {
	Package  string // r:NAME, go:MODULE[@VERSION] or npm:NAME of an installed package, or a folder or archive of sources
	Output   string // the folder of skills it is put in, or its own; "" is below the data directory
	TopLevel bool   // the keys of corteza.skill/v1 at top level
	Version  string // of skl
	DryRun   bool

	Prose
}

// A Prose is whether a model writes the prose of the overview, and which.
type Prose struct {
	Summarize bool
	Model     string // "" is that of the configuration
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
	Summary   *Summarized       `json:"summary,omitempty"`
	Findings  []content.Finding `json:"findings"` // what skl audit finds in it: text of the package
}

// Skillify makes a skill of the documentation of a package. Nothing of the package is run.
func (a *Author) Skillify(ctx context.Context, q SkillifyRequest) (Skillified, error) {
	if q.Package == "" {
		return Skillified{}, diag.New(diag.Misuse, "usage", "name a package").Hint("%s", packages.Forms)
	}
	src, err := packages.Open(a.Scope, q.Package)
	if err != nil {
		return Skillified{}, err
	}
	s, p, summary, err := a.made(ctx, src, skillify.Options{Version: q.Version, TopLevel: q.TopLevel}, q.Prose)
	if err != nil {
		return Skillified{}, err
	}
	out := Skillified{Name: s.Name, Path: a.skillifiedPath(s, q.Output), Ecosystem: p.Ecosystem, Package: p.Name, Version: p.Version, From: src.From, Stamp: s.Origin.Map(),
		Report: s.Report, Summary: summary, Findings: auditOf(s)}
	return a.putSkill(s, out, q.DryRun)
}

// made is the skill of a package.
func (a *Author) made(ctx context.Context, src *packages.Source, o skillify.Options, prose Prose) (s *skillify.Skill, p *pkgdoc.Package, summary *Summarized, err error) {
	if p, err = src.Read(); err == nil {
		skillify.Withhold(p) // before a model reads it, too
		err = ctx.Err()
	}
	if err == nil && prose.Summarize && len(p.Skills) == 0 {
		if summary, err = a.summarize(ctx, p, prose.Model); err == nil {
			o.Summary = &summary.Summary
		}
	}
	if err != nil {
		return nil, nil, nil, err
	}
	o.Integrity = src.Integrity(p.Version)
	s, err = skillify.Make(p, o)
	if own := (*skillify.HasSkills)(nil); errors.As(err, &own) {
		err = diag.New(diag.Unmet, "has_skills", "%w", err).Hint("skl install %s", diag.Quote(filepath.Join(src.From, filepath.FromSlash(own.Skills[0]))))
	}
	if bad := (*skillify.Invalid)(nil); errors.As(err, &bad) {
		err = diag.New(diag.Unmet, "invalid_package", "%w", err)
	}
	if err == nil {
		err = sound(s)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return s, p, summary, nil
}

// sound refuses a skill that skl lint would find errors in, those of the audit among them: the texts of a package made it one.
func sound(s *skillify.Skill) error {
	files := bundle.Memory{}
	for _, f := range s.Files {
		files[f.Path] = bundle.MemoryFile{Data: f.Data}
	}
	for _, f := range skill.Lint(files, s.Name, skill.LintOptions{}) {
		if f.Severity == diag.SeverityError {
			return diag.New(diag.Unmet, "findings", "the skill would have an error: %s [%s]", f.Message, f.Rule).At(diag.Position{File: f.File, Line: f.Line})
		}
	}
	for _, f := range auditOf(s) {
		if f.Severity.AtLeast(content.High) { // a name has it, which cannot be left out as text is
			return diag.New(diag.Unmet, "findings", "the skill would have an error: %s: %s [%s]", f.Message, f.Text, f.Rule).At(diag.Position{File: f.File, Line: f.Line})
		}
	}
	return nil
}

// skillifiedPath is the folder of a skill.
func (a *Author) skillifiedPath(s *skillify.Skill, output string) string {
	if output != "" {
		dir := scope.Absolute(a.Scope.Cwd, output)
		if filepath.Base(dir) == s.Name {
			return dir
		}
		return filepath.Join(dir, s.Name)
	}
	return a.generatedPath(s.Name, s.Origin)
}

// generatedPath is the folder of a skill below the data directory.
func (a *Author) generatedPath(name string, o skill.Origin) string {
	return filepath.Join(a.Scope.Dirs.Data, "generated", cmp.Or(o.Ecosystem, "r"), name, safe(o.Version), safe(o.Recipe), name)
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
	return append([]content.Finding{}, treeOfFiles(s.All()).Findings()...)
}

// putSkill writes a skill to its folder, all files or none. A folder that holds something else is refused.
func (a *Author) putSkill(s *skillify.Skill, out Skillified, dry bool) (Skillified, error) {
	there := scope.Exists(out.Path)
	if there {
		now, err := trees.Read(scope.FilesIn(out.Path))
		if err == nil && maps.EqualFunc(now, treeOfFiles(s.All()), func(a, b trees.File) bool { return a.Kind == b.Kind && bytes.Equal(a.Data, b.Data) }) {
			out.State = "unchanged"
			if !dry {
				a.keepBase(s)
			}
			return out, nil
		}
	}
	switch {
	case there:
		return Skillified{}, diag.New(diag.Refused, "exists", "%s is there and holds something else", a.Scope.Short(out.Path)).
			Hint("if it was made of this package: skl skillify --update %s", diag.Quote(a.Scope.Short(out.Path))).Hint("else name another folder: -o DIR")
	case dry:
		out.State = "would_write"
		return out, nil
	}
	at, err := a.Scope.PlaceFor(filepath.Dir(out.Path))
	if err != nil {
		return Skillified{}, err
	}
	defer at.Close()
	if err := writeFolder(at, out.Path, s.Files); err != nil {
		return Skillified{}, err
	}
	a.keepBase(s)
	out.State = "written"
	return out, nil
}

// writeFolder writes a folder that is not there: all its files or none.
func writeFolder(at *within.Dir, dir string, files []skillify.File) error {
	return at.MakeFolder(dir, func(staged string) error {
		for _, f := range files {
			name := filepath.Join(staged, filepath.FromSlash(f.Path))
			if _, err := at.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			perm := fs.FileMode(0o644)
			if f.Executable {
				perm = 0o755
			}
			if err := at.Create(name, f.Data, perm); err != nil {
				return err
			}
		}
		return nil
	})
}
