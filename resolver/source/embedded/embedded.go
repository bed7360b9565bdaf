// Package embedded reads the skills that come with skl itself, refs of kind [ref.Embedded].
//
//   - The skills are directories of a file system that the caller gives: one SKILL.md
//     each, whose name is that of its directory. Files below it are the bundle.
//   - A skill has exactly one version, its metadata.version. Which one depends on the skl
//     that is asked; the lock says which bytes are meant.
//   - Fetch gives the locked tree or nothing: another skl has another copy, and then it refuses
//     with the code E_DIGEST before its sink sees anything.
//
// Nothing here reads from outside of that file system, so all of it works without a network.
package embedded

import (
	"context"
	"io/fs"
	"path"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// A Source is the [source.Source] of the skills in FS, which is never written to.
// It holds no state and is safe for concurrent use.
type Source struct {
	FS fs.FS // a directory for each skill
}

var _ source.Source = (*Source)(nil)

// Versions returns the one release of the skill that r names. Without a name it is the
// release of all of them, with the highest of their versions; then r cannot ask for one.
// A name that does not come with skl is a Misuse with near refs as candidates.
func (s *Source) Versions(ctx context.Context, r ref.Ref) ([]source.Release, error) {
	if r.Skill == "" && r.Version != "" {
		return nil, diag.New(diag.Misuse, "invalid_ref", "%s: each skill that comes with skl has a version of its own", r).
			Hint("name the skill: %sNAME@%s", r.WithoutVersion(), r.Version)
	}
	found, err := s.Skills(ctx, r, source.Release{}, nil)
	if err != nil {
		return nil, err
	}
	newest := semver.MustParse("0.0.0")
	for _, f := range found {
		if f.Invalid != nil && r.Skill != "" {
			return nil, f.Invalid
		}
		if v, err := semver.StrictNewVersion(f.Lock.Version); err == nil && v.GreaterThan(newest) {
			newest = v
		}
	}
	return []source.Release{{Kind: source.Tag, Name: newest.String(), Version: newest.String(), Default: true}}, nil
}

// Skills lists the skill that r names, else those of names, else all of them, sorted by name.
// There are no commits: a release that is one is a Misuse, as is a name that does not come with skl.
func (s *Source) Skills(ctx context.Context, r ref.Ref, at source.Release, names []string) ([]source.Found, error) {
	if at.Commit != "" {
		return nil, diag.New(diag.Misuse, source.CodeNoVersion, "%s: skills that come with skl have versions, no commits", r.WithoutVersion())
	}
	have, err := s.names()
	if err != nil {
		return nil, err
	}
	asked := have
	switch {
	case r.Skill != "":
		asked = []string{r.Skill}
	case len(names) > 0:
		asked = names
	}
	var found []source.Found
	for _, name := range asked {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !slices.Contains(have, name) {
			return nil, unknown(name, have)
		}
		found = append(found, s.describe(name))
	}
	return found, nil
}

// names are the skills, sorted.
func (s *Source) names() ([]string, error) {
	files, err := fs.Glob(s.FS, "*/"+skill.FileName)
	for i, file := range files {
		files[i] = path.Dir(file)
	}
	slices.Sort(files)
	return files, err
}

// unknown refuses a name with the refs that may have been meant, or some of those there are.
func unknown(name string, have []string) error {
	e := diag.New(diag.Misuse, source.CodeNoSuchSkill, "no skill called %q comes with skl", name)
	near := spell.Nearest(name, have, 5)
	shown := near
	if len(near) == 0 {
		shown = have[:min(5, len(have))]
	}
	for _, other := range shown {
		e.Candidates = append(e.Candidates, ref.Ref{Kind: ref.Embedded, Skill: other}.String())
	}
	if len(near) > 0 {
		return e.Hint("did you mean %s?", e.Candidates[0])
	}
	return e.Hint("skl install -l %s lists those that do", ref.Ref{Kind: ref.Embedded})
}

// describe reads the SKILL.md of a skill that is there.
func (s *Source) describe(name string) source.Found {
	f := source.Found{Rank: source.RankSkills, Lock: lock.Skill{Name: name, Source: "embedded", Path: name}}
	file := path.Join(name, skill.FileName)
	src, err := fs.ReadFile(s.FS, file)
	if err != nil {
		f.Invalid = err
		return f
	}
	doc, err := skill.Read(src)
	if err != nil {
		f.Invalid = err
		return f
	}
	f.Description = doc.Description
	if err := skill.CheckName(doc.Name, name); err != nil {
		f.Invalid = err
		return f
	}
	v, err := semver.StrictNewVersion(doc.Version)
	if err != nil {
		f.Invalid = diag.New(diag.Failed, source.CodeNoRelease, "%s has the version %q, which is not a semantic one", file, diag.Printable(doc.Version))
		return f
	}
	f.Lock.Version = v.String()
	return f
}

// Fetch streams the skill l to sink. If l has a tree, it is that of the copy here, or Fetch
// refuses with the code E_DIGEST.
func (s *Source) Fetch(ctx context.Context, l lock.Skill, sink bundle.Sink) error {
	have, err := s.names()
	if err != nil {
		return err
	}
	if !slices.Contains(have, l.Path) {
		e := diag.New(diag.Failed, source.CodeNoSuchSkill, "no skill called %q comes with this skl", diag.Printable(l.Path))
		return e.Hint("use the skl that wrote the lock, or: skl remove %s", l.Name)
	}
	dir, err := fs.Sub(s.FS, l.Path)
	if err != nil {
		return err
	}
	if err := matches(l, dir, s.describe(l.Path).Lock.Version); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return bundle.FromFS(dir, sink)
}

// matches refuses the copy in dir if it is not the tree that l names.
func matches(l lock.Skill, dir fs.FS, version string) error {
	if l.Tree == "" {
		return nil
	}
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := bundle.FromFS(dir, guard); err != nil {
		return err
	}
	sum, err := guard.Close()
	if err != nil || sum.Tree == l.Tree {
		return err
	}
	e := diag.New(diag.Refused, source.CodeDigest, "this skl comes with %s %s, locked is %s %s", version, sum.Tree, diag.Printable(l.Version), l.Tree)
	have, herr := semver.StrictNewVersion(version)
	locked, lerr := semver.StrictNewVersion(l.Version)
	if herr == nil && lerr == nil && locked.GreaterThan(have) {
		return e.Hint("a newer skl wrote the lock: update skl") // what it locked is not in this one
	}
	return e.Hint("to take the copy of this skl: skl update %s", l.Name)
}
