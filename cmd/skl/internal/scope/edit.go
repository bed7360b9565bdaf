package scope

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/rootpath"
)

// EditFolder makes the changes of a draft in its folder, all or none. Nothing is changed if a file is not what the draft was made of.
func (sc *Scope) EditFolder(dir string, changes []author.Change) error {
	if len(changes) == 0 {
		return nil
	}
	at, err := sc.WriterTo(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	edits := make([]within.Edit, 0, len(changes))
	for _, c := range changes {
		edits = append(edits, within.Edit{Path: c.Path, Was: c.Was, Now: c.Now, Executable: c.Executable})
	}
	err = at.Edit(dir, sc.editRecords(), edits)
	where := dir
	if e, ok := errors.AsType[*fs.PathError](err); ok && Below(dir, e.Path) {
		where = e.Path
	}
	return install.NotWritable(err, where)
}

// editRecords is where it is recorded which folders are being changed.
func (sc *Scope) editRecords() string { return filepath.Join(sc.Dirs.State, "edits") }

// TakeBack takes back what a change of a folder, or of one in it or above it, left half done because the process was killed, and tells.
func (sc *Scope) TakeBack(dir string) error {
	real := Resolved(dir)
	folders, err := within.TakeBack(sc.editRecords(), func(at string) bool {
		at = Resolved(at)
		return Below(real, at) || Below(at, real)
	})
	for _, at := range folders {
		sc.Tell.Warn("a change of %s was cut off, and is taken back: its files are as they were before", sc.Short(at))
	}
	if errors.Is(err, within.ErrUnsettled) {
		sc.Tell.Warn("%v; if no skl is at work there, look through its files and remove it", err)
		return nil
	}
	return err
}

// InstalledCopy refuses a folder that was installed, by whichever link it is reached, be it disabled: the next update replaces it. It was
// if it has a receipt, or if skl.lock has its name and nothing says that the folder is another one.
func (sc *Scope) InstalledCopy(dir string) error {
	name, real := filepath.Base(dir), Resolved(dir)
	if Below(filepath.Join(sc.Dirs.Data, "store"), real) {
		return diag.New(diag.Refused, "installed_copy", "%s lies in the store, where skills are kept by their digest", sc.Short(real)).Hint("skl list")
	}
	_, err := roots.ReadReceipt(roots.RootOf(dir), name)
	if errors.Is(err, fs.ErrNotExist) && real != dir {
		name = filepath.Base(real)
		_, err = roots.ReadReceipt(roots.RootOf(real), name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		locked, err := sc.isLocked(real)
		if !locked || err != nil {
			return err
		}
	}
	e := diag.New(diag.Refused, "installed_copy", "%s is an installed copy, which the next update replaces", sc.Short(dir))
	if project, _ := roots.Project(filepath.Dir(real), sc.Home); project != "" && project != sc.Project {
		return e.Hint("edit the skill where it comes from, which skl info %s says in %s", diag.Quote(name), diag.Quote(project))
	}
	return e.Hint("edit the skill where it comes from: skl info %s", diag.Quote(name)).Hint("or work on its folder in place: skl install --link DIR")
}

// isLocked reports whether the skl.lock that is for a folder, be it another project's or the user's, has its name, and not as this folder itself.
func (sc *Scope) isLocked(dir string) (bool, error) {
	root, name := roots.RootOf(dir), filepath.Base(dir)
	project, _ := roots.Project(filepath.Dir(dir), sc.Home)
	for _, at := range []struct{ base, top string }{{sc.Base, cmp.Or(sc.Project, sc.Home)}, {project, project}, {sc.Dirs.Config, sc.Home}} {
		if at.base == "" {
			continue
		}
		src, err := within.Anywhere().ReadFile(filepath.Join(at.base, "skl.lock"), lock.MaxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		l, err := lock.Parse(src, sc.Short(filepath.Join(at.base, "skl.lock")))
		if err != nil {
			return false, err
		}
		s, ok := l.Skill(name)
		if !ok || s.Source == "local" && Resolved(Absolute(at.base, s.URL)) == dir {
			continue
		}
		if sc.takes(root, name, at.base, at.top) {
			return true, nil
		}
	}
	return false, nil
}

// takes reports whether a skill is installed to root, by what lies in base, for the directory top: to the skills of an agent there, or where skl.toml says.
func (sc *Scope) takes(root, name, base, top string) bool {
	if agent, err := filepath.Rel(Resolved(top), root); err == nil && filepath.Base(agent) == "skills" && strings.HasPrefix(agent, ".") && filepath.IsLocal(agent) {
		return true
	}
	src, err := within.Anywhere().ReadFile(filepath.Join(base, "skl.toml"), manifest.MaxBytes)
	if err != nil {
		return false
	}
	m, err := manifest.Parse(src, sc.Short(filepath.Join(base, "skl.toml")))
	if err != nil {
		return false // who works there is told of it
	}
	text := m.RootOf(name)
	return text != "" && Resolved(rootpath.Resolve(text, top, sc.Home)) == root
}
