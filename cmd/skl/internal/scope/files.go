package scope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/spell"
)

// Files are the manifest and lock of the scope.
type Files struct {
	Manifest     *manifest.Manifest
	Lock         *lock.Lock
	ManifestText []byte // as read
	LockText     []byte
	HasManifest  bool
	HasLock      bool
	ManifestPath string
	LockPath     string

	Merged []Merged // what was decided of files with the markers of a merge; see LoadUnmerged
}

// accessible refuses a scope whose files are someone else's, or whose root leads out of it.
//
//go:noinline
func (sc *Scope) accessible() error {
	if sc.Foreign != nil {
		return sc.Foreign
	}
	return sc.inside(sc.Root)
}

// Load reads skl.toml and skl.lock. Files that are not there are empty ones.
// A lock that cannot be read gives an error and everything else.
func (sc *Scope) Load() (*Files, error) {
	return sc.load(manifest.Parse, func(src []byte, file string, _ *manifest.Manifest) (*lock.Lock, error) { return lock.Parse(src, file) })
}

// load is Load with these readers.
func (sc *Scope) load(readManifest func(src []byte, file string) (*manifest.Manifest, error), readLock func(src []byte, file string, m *manifest.Manifest) (*lock.Lock, error)) (*Files, error) {
	if err := sc.accessible(); err != nil {
		return nil, err
	}
	f := &Files{ManifestPath: filepath.Join(sc.Base, "skl.toml"), LockPath: filepath.Join(sc.Base, "skl.lock")}
	src, err := sc.Site.Dir.ReadFile(f.ManifestPath, manifest.MaxBytes)
	switch {
	case err == nil:
		f.HasManifest, f.ManifestText = true, src
		if f.Manifest, err = readManifest(src, sc.Short(f.ManifestPath)); err != nil {
			return nil, err
		}
		sc.tellFindings(f.Manifest.Warnings)
	case errors.Is(err, fs.ErrNotExist):
		f.Manifest = manifest.New()
	default:
		return nil, err
	}
	src, err = sc.Site.Dir.ReadFile(f.LockPath, lock.MaxBytes)
	switch {
	case err == nil:
		f.HasLock, f.LockText = true, src
		f.Lock, err = readLock(src, sc.Short(f.LockPath), f.Manifest)
	case errors.Is(err, fs.ErrNotExist):
		f.Lock, err = &lock.Lock{}, nil
	}
	if rootErr := sc.SetRoots(f.Manifest, f.Lock); rootErr != nil {
		return nil, rootErr
	}
	return f, err
}

// mostTold is how many findings of one file are told one by one.
const mostTold = 10

// tellFindings tells what is wrong with a configuration file and stops nothing, each once.
func (sc *Scope) tellFindings(findings []diag.Finding) {
	told := 0
	for _, f := range findings {
		line := f.Sentence()
		if sc.told[line] {
			continue
		}
		if told++; told <= mostTold {
			sc.Tell.Warn("%s", line)
		}
		sc.told[line] = true
	}
	if told > mostTold {
		sc.Tell.Warn("%s: and %s more of this kind", findings[0].File, diag.Count(told-mostTold, "finding"))
	}
}

// Changed reports whether the files are not as they were when f was loaded.
func (sc *Scope) Changed(f *Files) bool {
	m, merr := sc.Site.Dir.ReadFile(f.ManifestPath, manifest.MaxBytes)
	l, lerr := sc.Site.Dir.ReadFile(f.LockPath, lock.MaxBytes)
	return (merr == nil) != f.HasManifest || (lerr == nil) != f.HasLock || !bytes.Equal(m, f.ManifestText) || !bytes.Equal(l, f.LockText)
}

// Begin takes the lock of the scope for a command that writes, and settles an
// install that was interrupted. The returned func gives the lock back. A dry run takes no
// lock and settles nothing, so it refuses if there is something to settle.
func (sc *Scope) Begin(ctx context.Context, dry bool) (end func(), err error) {
	if dry {
		return func() {}, sc.Settled()
	}
	if err := sc.accessible(); err != nil {
		return nil, err
	}
	if sc.Kind == hosts.User {
		if err := sc.MkdirPrivate(sc.Base); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{sc.Dirs.Data, sc.Dirs.Cache, sc.Dirs.State} {
		if err := sc.narrow(dir); err != nil {
			return nil, err
		}
	}
	end, err = durable.Lock(ctx, sc.Base, func() { sc.Tell.Note("waiting for another skl in %s", sc.Short(sc.Base)) })
	if err != nil {
		return nil, err
	}
	outcome, err := sc.recover()
	if err != nil {
		end()
		return nil, err
	}
	sc.tellRecovery(outcome)
	return end, nil
}

// tellRecovery says what became of an interrupted install.
func (sc *Scope) tellRecovery(r install.Recovery) {
	if r.Result == install.Clean {
		return
	}
	sc.Tell.Note("an interrupted install was %s", string(r.Result))
	for _, path := range r.Kept {
		sc.Tell.Note("edited since: kept in %s", sc.Short(path))
	}
	if len(r.Left) > 0 {
		sc.Tell.Note("not taken back, because what that install had put aside is gone: %s", sc.few(r.Left))
	}
	if len(r.Lost) > 0 {
		sc.Tell.Note("gone, until skl ci or skl install brings back what skl.lock names: %s", sc.few(r.Lost))
	}
}

// few are the first of paths in one line, and how many more there are.
func (sc *Scope) few(paths []string) string {
	var out []string
	for _, path := range paths[:min(len(paths), 10)] {
		out = append(out, sc.Short(path))
	}
	if more := len(paths) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// Edit is begin and then load: what a command needs that changes the files.
func (sc *Scope) Edit(ctx context.Context, dry bool) (f *Files, end func(), err error) {
	if end, err = sc.Begin(ctx, dry); err != nil {
		return nil, nil, err
	}
	if f, err = sc.Load(); err == nil {
		err = sc.CheckLocal(f)
	}
	if err == nil {
		err = sc.CheckHosts(f.Manifest) // before it is edited, so that the place in the file is right
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return f, end, nil
}

// recover settles an install of this user that was interrupted here. In a project that the user
// denied nothing is settled.
func (sc *Scope) recover() (install.Recovery, error) {
	if sc.Kind == hosts.Project && sc.Site.Interrupted() {
		t, err := sc.ReadTrust()
		if err != nil {
			return install.Recovery{}, err
		}
		if trusted, decided := t.Projects[sc.Project]; decided && !trusted {
			return install.Recovery{}, diag.New(diag.Refused, "E_JOURNAL", "an install in %s was interrupted, and the project is denied since", sc.Short(sc.Project)).
				Hint("skl trust allow %s", sc.Project)
		}
	}
	return install.Recover(sc.Site)
}

// Settled refuses with exit 3 if an interrupted install is found, and with exit 4 if the root
// brings a journal along. Commands that only read call it.
func (sc *Scope) Settled() error {
	if err := sc.accessible(); err != nil {
		return err
	}
	if err := sc.Site.CheckPlanted(); err != nil {
		return err
	}
	if sc.Site.Interrupted() {
		return diag.New(diag.Unmet, "interrupted_install", "an earlier install in %s was interrupted", sc.Short(sc.Root)).
			Hint("skl install")
	}
	return nil
}

// Legible refuses texts of skl.toml and skl.lock that could not be read again: nothing may write one. Nil is a file that is not written.
func (sc *Scope) Legible(toml, locked []byte) error {
	_, err := manifest.Parse(toml, "skl.toml")
	if err == nil && locked != nil {
		_, err = lock.Parse(locked, "skl.lock")
	}
	if err == nil && (len(toml) > manifest.MaxBytes || len(locked) > lock.MaxBytes) {
		err = errors.New("it is too large")
	}
	if err != nil {
		return diag.New(diag.Failed, "illegible", "the new file could not be read again, so nothing was changed: %w", err).
			Hint("leave out what that is about, and report it: it should have been held")
	}
	return nil
}

// WriteManifest writes skl.toml as it was edited.
//
//go:noinline
func (sc *Scope) WriteManifest(f *Files) error { return sc.WriteManifestText(f, f.Manifest.Bytes()) }

// WriteManifestText writes skl.toml with another text.
func (sc *Scope) WriteManifestText(f *Files, text []byte) error {
	if err := sc.Legible(text, nil); err != nil {
		return err
	}
	return sc.Site.Dir.WriteFile(f.ManifestPath, text, 0o644)
}

// WriteLockFile writes skl.lock.
func (sc *Scope) WriteLockFile(f *Files, text []byte) error {
	return sc.Site.Dir.WriteFile(f.LockPath, text, 0o644)
}

// AllWants is what the manifest of f asks for, and then what its lock has besides, since other skills require it.
func AllWants(f *Files) ([]resolver.Named, error) {
	all, err := resolver.Wants(f.Manifest)
	if err != nil {
		return nil, err
	}
	return resolver.Required(all, f.Lock)
}

// Has reports whether f is about a skill: its manifest names it, or its lock has it because others require it.
func (f *Files) Has(name string) bool {
	s, locked := f.Lock.Skill(name)
	_, ok := f.Manifest.Skill(name)
	return ok || locked && len(s.RequiredBy) > 0
}

// StaleNames are the names of entries and wants that do not fit each other.
func StaleNames(f *Files) ([]string, error) {
	all, err := resolver.Wants(f.Manifest)
	if err != nil {
		return nil, err
	}
	return resolver.Stale(all, f.Lock), nil
}

// NotInManifest refuses a name that skl.toml does not have.
func (sc *Scope) NotInManifest(name string, f *Files) error {
	var names []string
	for _, s := range f.Manifest.Skills {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	e := diag.New(diag.Misuse, "unknown_skill", "%s has no skill called %q", sc.Short(f.ManifestPath), name)
	if e.Candidates = spell.Nearest(name, names, 5); len(e.Candidates) == 0 {
		return e.Hint("skl list")
	}
	return e.Hint("did you mean %s?", e.Candidates[0])
}
