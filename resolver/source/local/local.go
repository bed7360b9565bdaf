// Package local reads skills from folders and archives of this machine.
//
//   - A folder with a SKILL.md is that skill; in any other folder skills are
//     looked for as in a repository ([source.Discover]).
//   - An archive is a zip, tar.gz or tar by its content; its name (.skill, .zip,
//     .tgz, …) does not count. If everything in it is below one directory, paths
//     start there.
//   - Links are handed over as their text and never followed to directories;
//     nothing outside the folder can be read through one.
//   - There are no versions: what is there now is the one release. An archive is
//     locked by the digest of its bytes (Artifact), a folder by its tree alone.
package local

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// A Source is the [source.Source] of refs of kind Local.
type Source struct {
	Dir string // the directory of the manifest, which relative refs start from

	// Show is the path of a ref as errors have it, for refs that are typed elsewhere than in the manifest. Nil leaves it as it is.
	Show func(refPath string) string
}

var _ source.Source = (*Source)(nil)

// Versions returns the one Release of a folder or archive. It has a version if the
// place is one skill whose metadata.version is a semantic version.
// A missing place is a Misuse.
func (s *Source) Versions(ctx context.Context, r ref.Ref) ([]source.Release, error) {
	found, err := s.Skills(ctx, r, source.Release{}, nil)
	if err != nil {
		return nil, err
	}
	release := source.Release{Kind: source.Folder}
	if len(found) == 1 {
		release.Version = found[0].Lock.Version
	}
	return []source.Release{release}, nil
}

// Skills lists the skills of the place, sorted by rank and path, whatever at and names say.
// A skill is called what its frontmatter says, or as its directory where that is silent.
func (s *Source) Skills(ctx context.Context, r ref.Ref, _ source.Release, _ []string) ([]source.Found, error) {
	p, err := s.open(r.Path, diag.Misuse)
	if err != nil {
		return nil, err
	}
	defer p.close()
	texts, err := p.skillFiles(ctx)
	if err != nil {
		return nil, explain(s.shown(r.Path), err)
	}
	artifact, err := p.artifact()
	if err != nil {
		return nil, explain(s.shown(r.Path), err)
	}
	var found []source.Found
	dirs, _ := source.Discover(skillPaths(texts), nil)
	for _, d := range dirs {
		f := describe(texts[path.Join(d.Path, skill.FileName)])
		f.Rank = d.Rank
		f.Lock.Source, f.Lock.URL, f.Lock.Path, f.Lock.Artifact = "local", r.Path, d.Path, artifact
		if f.Lock.Name == "" {
			f.Lock.Name = directoryName(s.path(r.Path), d.Path)
		}
		found = append(found, f)
	}
	return found, nil
}

// Fetch streams the skill to sink as it is now. An archive that has not the locked Artifact
// is refused with the code E_DIGEST before sink sees anything.
func (s *Source) Fetch(ctx context.Context, l lock.Skill, sink bundle.Sink) error {
	if l.Path != "" {
		if err := bundle.CheckPath(l.Path); err != nil {
			return err
		}
	}
	p, err := s.open(l.URL, diag.Failed)
	if err != nil {
		return err
	}
	defer p.close()
	artifact, err := p.artifact()
	if err != nil {
		return explain(l.URL, err)
	}
	if l.Artifact != "" && l.Artifact != artifact {
		return diag.New(diag.Refused, source.CodeDigest, "%s is not what was locked: its digest is %s, not %s",
			diag.Printable(l.URL), orFolder(artifact), diag.Printable(string(l.Artifact))).
			Hint("to take it as it is now: skl update %s", l.Name)
	}
	err = p.stream(l.Path, source.Canceling(ctx, sink))
	if l.Path != "" && l.Tree != "" && errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.Refused, source.CodeDigest, "%s has no directory %s, which is locked", diag.Printable(l.URL), diag.Printable(l.Path)).
			Hint("to take it as it is now: skl update %s", l.Name)
	}
	return explain(l.URL, err)
}

func orFolder(artifact ref.Digest) string {
	if artifact == "" {
		return "that of a folder"
	}
	return string(artifact)
}

// shown is the path of a ref in errors.
func (s *Source) shown(refPath string) string {
	if s.Show != nil {
		refPath = s.Show(refPath)
	}
	return diag.Printable(refPath)
}

// path returns where a ref's path is on this system.
func (s *Source) path(refPath string) string {
	p := filepath.FromSlash(refPath)
	if filepath.IsAbs(p) || strings.HasPrefix(refPath, "/") {
		return filepath.Clean(p)
	}
	return filepath.Join(s.Dir, p)
}

// skillPaths returns the paths of SKILL.md files; only the one at the root, if it is there.
func skillPaths(texts map[string]text) []string {
	if _, ok := texts[skill.FileName]; ok {
		return []string{skill.FileName}
	}
	paths := make([]string, 0, len(texts))
	for p := range texts {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// A text is what is kept of a SKILL.md.
type text struct {
	doc *skill.Document
	err error // why it could not be read
}

// readText reads the SKILL.md at p beside its SKILL.json, nil if there is none.
func readText(p string, src, sidecar []byte) text {
	doc, err := skill.ReadWith(src, sidecar)
	if e, ok := errors.AsType[*diag.Error](err); ok {
		e.Where.File = path.Join(path.Dir(p), e.Where.File)
	}
	return text{doc, err}
}

func describe(t text) source.Found {
	if t.err != nil {
		return source.Found{Invalid: t.err}
	}
	f := source.Found{Lock: lock.Skill{Name: t.doc.Name}, Description: t.doc.Description}
	if v, err := semver.StrictNewVersion(strings.TrimPrefix(t.doc.Version, "v")); err == nil {
		f.Lock.Version = v.String()
	}
	return f
}

// directoryName is the name of a skill whose SKILL.md gives none: that of its folder, or
// of the archive without its suffixes.
func directoryName(place, dir string) string {
	if dir != "" {
		return path.Base(dir)
	}
	name := filepath.Base(place)
	for _, suffix := range []string{".skill", ".zip", ".tgz", ".tar.gz", ".tar"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			return base
		}
	}
	return name
}

// explain names the place in errors that do not say what is wrong with a bundle.
func explain(refPath string, err error) error {
	if _, ok := errors.AsType[*diag.Error](err); ok || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := "unreadable"
	if errors.Is(err, fs.ErrNotExist) {
		code = source.CodePath
	}
	e := diag.New(diag.Failed, code, "reading %s: %w", diag.Printable(refPath), err)
	if errors.Is(err, fs.ErrPermission) {
		return e.Hint("see whose it is: ls -l %s", diag.Quote(refPath))
	}
	return e.Hint("try again; if something writes there meanwhile, copy the folder of the skill first")
}
