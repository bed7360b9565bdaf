package scope

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/needs"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// Discover searches all roots for the enabled and detected hosts, or for the ones given.
func (sc *Scope) Discover(ctx context.Context, hostIDs []string) (roots.Listing, error) {
	hostIDs, err := ExpandHosts(hostIDs)
	if err != nil {
		return roots.Listing{}, err
	}
	f, err := sc.Load()
	if err != nil && f == nil {
		return roots.Listing{}, err
	}
	if err != nil {
		sc.tellUnread(err)
	}
	cfg := sc.searched(f, hostIDs)
	if f.Manifest != nil {
		if err := sc.CheckHosts(f.Manifest); err != nil && hostIDs == nil {
			sc.tellUnread(err)
		}
		for _, s := range f.Manifest.Skills {
			path, _ := sc.Site.Place(s.Name)
			cfg.Named = append(cfg.Named, path)
		}
		for _, a := range f.Manifest.Acks {
			cfg.Acks = append(cfg.Acks, roots.Ack{Code: a.Code, Name: a.Name, Winner: bundle.Digest(a.Winner), Loser: bundle.Digest(a.Loser)})
		}
	}
	if cfg.ProjectTrusted, err = sc.Trusted(); err != nil {
		return roots.Listing{}, err
	}
	if cfg.Linked, err = sc.LinkedFolders(); err != nil {
		return roots.Listing{}, err
	}
	if sc.Signed != nil {
		cfg.Signed = sc.Signed(f.Lock)
	}
	cfg.Caches, cfg.System, cfg.Gate, cfg.Own = roots.CachesIn(sc.Dirs.Cache), skills.FS(), sc.Gate, sc.Own
	return roots.Discover(ctx, cfg)
}

// tellUnread tells, once, of a lock that cannot be read where a command goes on without it, with what mends it.
func (sc *Scope) tellUnread(err error) {
	text := err.Error()
	if e, ok := errors.AsType[*diag.Error](err); ok && len(e.Hints) > 0 {
		text += "; " + e.Hints[0]
	}
	if !sc.told[text] {
		sc.told[text] = true
		sc.Tell.Warn("%s", text)
	}
}

// Searched are the directories in which skl looks for skills or keeps them, from here, disabled ones too.
func (sc *Scope) Searched() ([]string, error) {
	f, err := sc.Load()
	if err != nil && f == nil {
		return nil, err
	}
	dirs := append(sc.Site.All(), sc.searched(f, nil).Paths()...)
	for _, dir := range slices.Clone(dirs) {
		dirs = append(dirs, roots.Aside(dir))
	}
	return dirs, nil
}

// searched says where skills are looked for: for the enabled and detected hosts, or for the ones given.
func (sc *Scope) searched(f *Files, hostIDs []string) roots.Config {
	if hostIDs == nil {
		hostIDs = sc.EnabledHosts(f)
	}
	extra := append([]string{}, sc.options.ExtraRoots...)
	extra = append(extra, filepath.SplitList(sc.Getenv("SKL_SKILLS_PATH"))...)
	for i := range extra {
		extra[i] = Absolute(sc.WorkingDir, extra[i])
	}
	project, user := sc.searches(f)
	return roots.Config{
		Project: sc.Project, Cwd: sc.Cwd, Home: sc.Home, ManagedDir: sc.InMachine("skills"), EnforcedDir: sc.InMachine("enforced", "skills"),
		ProjectSearch: project, UserSearch: user,
		ExtraRoots: slices.DeleteFunc(extra, func(s string) bool { return s == "" }),
		Hosts:      hostIDs, Getenv: sc.Getenv,
	}
}

// Packages are the places where what a skill in dir needs is looked for.
func (sc *Scope) Packages(dir string) needs.Places {
	return needs.Places{Dirs: []string{sc.Cwd, dir}, Home: cmp.Or(sc.Getenv("HOME"), sc.Getenv("USERPROFILE")), Getenv: sc.Getenv}
}

// Copies finds the copies of a name, or refuses with near names.
func Copies(l roots.Listing, name string) ([]roots.Record, error) {
	if found := l.Lookup(name); len(found) > 0 {
		return found, nil
	}
	var names []string
	for _, r := range l.Skills {
		names = append(names, r.Name)
	}
	e := diag.New(diag.Misuse, "unknown_skill", "no skill called %q is installed", name)
	if e.Candidates = spell.Nearest(name, names, 5); len(e.Candidates) > 0 {
		return nil, e.Hint("did you mean %s?", e.Candidates[0])
	}
	short, _, _ := strings.Cut(name, "@")
	if short == "" || strings.HasPrefix(short, "-") {
		return nil, e.Hint("skl list")
	}
	return nil, e.Hint("to find one: skl search %s", diag.Quote(short))
}

// FilesOf is the content of a copy, which may be one that comes with skl.
func FilesOf(r roots.Record) (fs.FS, error) {
	if name, ok := strings.CutPrefix(r.Path, "skl:"); ok {
		return fs.Sub(skills.FS(), name)
	}
	for _, x := range r.Warnings {
		if x.Code == "W_SYMLINK_ESCAPE" {
			return nil, diag.New(diag.Refused, "E_ROOT_ESCAPE", "%s is a link that leads out of the project; it is not read", r.Qualified).
				Hint("name the folder that it leads to")
		}
	}
	return FilesIn(r.Path), nil
}

// FilesIn gives read access to a directory whose content someone else made: no link in it leads out.
func FilesIn(dir string) fs.FS {
	return roots.FS(durable.GuessModes(withoutGit{within.FS(dir)}), dir)
}

// withoutGit is the files of a directory without those of a .git at its top, which no digest of a skill has: what a person agreed to would
// change with them, and nobody would see it. The entry .git itself is listed.
type withoutGit struct{ fs.FS }

// check says that what lies in .git, by a name that some disk takes for it, is not there.
func (w withoutGit) check(op, name string) error {
	if top, _, _ := strings.Cut(name, "/"); bundle.Means(top, ".git") {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

func (w withoutGit) Open(name string) (fs.File, error) {
	if err := w.check("open", name); err != nil {
		return nil, err
	}
	return w.FS.Open(name)
}

func (w withoutGit) Stat(name string) (fs.FileInfo, error) {
	if err := w.check("stat", name); err != nil {
		return nil, err
	}
	return fs.Stat(w.FS, name)
}

func (w withoutGit) ReadFile(name string) ([]byte, error) {
	if err := w.check("read", name); err != nil {
		return nil, err
	}
	return fs.ReadFile(w.FS, name)
}

func (w withoutGit) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := w.check("read", name); err != nil {
		return nil, err
	}
	return fs.ReadDir(w.FS, name)
}

func (w withoutGit) Lstat(name string) (fs.FileInfo, error) {
	if err := w.check("stat", name); err != nil {
		return nil, err
	}
	return fs.Lstat(w.FS, name)
}

func (w withoutGit) ReadLink(name string) (string, error) {
	if err := w.check("read", name); err != nil {
		return "", err
	}
	return fs.ReadLink(w.FS, name)
}

// ReadIn reads the file name, a slash path, of a directory whose content someone else made.
func ReadIn(dir, name string) ([]byte, error) {
	d, err := within.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadFile(filepath.Join(dir, filepath.FromSlash(name)), MaxEdited)
}

// PlaceFor makes the directory that something new is put in, and returns what writes there. Below the working directory, whose content may
// be a stranger's, no link leads out of it; elsewhere links are the person's own. The caller closes it.
func (sc *Scope) PlaceFor(parent string) (*within.Dir, error) {
	if Below(sc.Dirs.Data, parent) || Below(sc.Dirs.Cache, parent) {
		return within.Anywhere(), sc.MkdirPrivate(parent)
	}
	at, err := sc.WriterTo(parent)
	if err != nil {
		return nil, err
	}
	if _, err := at.MkdirAll(parent, 0o755); err != nil {
		at.Close()
		return nil, err
	}
	return at, nil
}

// WriterTo is what writes to a directory. Below the working directory no link leads out of that. The caller closes it.
func (sc *Scope) WriterTo(dir string) (*within.Dir, error) {
	if Below(sc.Cwd, dir) {
		return within.Open(sc.Cwd)
	}
	return within.Anywhere(), nil
}

// WriteIn replaces or makes the file name, a slash path, of a directory whose content someone else
// made, and the directories above it.
func WriteIn(dir, name string, text []byte) error {
	d, err := within.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := d.Replaceable(path); err != nil {
		return err
	}
	if _, err := d.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return d.WriteFile(path, text, 0o644)
}

// MaxEdited bounds a file of the project's that skl writes a block into, in bytes.
const MaxEdited = 16 << 20
