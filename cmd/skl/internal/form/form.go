// Package form looks after the form of skills that are worked on: it lints them, lays out their trees and converts them
// from one form to another. It writes files of the skill alone, and follows no link out of it.
package form

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// A Linter works on skills in folders of a scope.
type Linter struct {
	Scope  *scope.Scope
	Beside map[string]fs.FS // by folder: what skills there hold, or shall hold, for those that require them
}

// dirs finds the skills below the given paths; by default below skills/, the
// canonical root, or the working directory itself.
func (l *Linter) dirs(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var dirs []string
	for _, arg := range args {
		top := scope.Absolute(l.Scope.Cwd, arg)
		if l.Scope.Project != "" && scope.Below(l.Scope.Project, top) && !scope.Holds(l.Scope.Project, top) {
			return nil, diag.New(diag.Refused, "E_ROOT_ESCAPE", "%s leads out of the project, to %s", arg, scope.Resolved(top)).Hint("name the folder itself")
		}
		if filepath.Base(top) == skill.FileName {
			top = filepath.Dir(top)
		}
		if scope.Exists(filepath.Join(top, skill.FileName)) {
			dirs = append(dirs, top)
			continue
		}
		info, err := os.Stat(top)
		if err != nil || !info.IsDir() {
			return nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder with skills", arg).
				Hint("name a folder that holds SKILL.md, or one with such folders in it")
		}
		below, err := skillsBelow(top)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			if hasOtherManifest(top) {
				dirs = append(dirs, top)
				continue
			}
			return nil, diag.New(diag.Misuse, "no_skill", "there is no SKILL.md in %s or below", arg).Hint("skl new NAME starts a skill")
		}
		dirs = append(dirs, below...)
	}
	return dirs, nil
}

// copies are the installed copies among dirs, which stay as they are. One that the arguments name is refused.
func (l *Linter) copies(args, dirs []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, dir := range dirs {
		if err := l.Scope.TakeBack(dir); err != nil {
			return nil, err
		}
		err := l.Scope.InstalledCopy(dir)
		if err == nil {
			continue
		}
		for _, arg := range args {
			if top := scope.Absolute(l.Scope.Cwd, arg); top == dir || top == filepath.Join(dir, skill.FileName) {
				return nil, err
			}
		}
		out[dir] = true
	}
	switch len(out) {
	case 0:
	case 1:
		for dir := range out {
			l.Scope.Tell.Warn("%s is an installed copy, which the next update replaces: it stays as it is", l.Scope.Short(dir))
		}
	default:
		l.Scope.Tell.Warn("%s, which the next update replaces, stay as they are: skl list names them", diag.Count(len(out), "installed skill"))
	}
	return out, nil
}

// hasOtherManifest reports a folder whose only manifest is called skill.md or SKILL.json, which lint explains.
func hasOtherManifest(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.EqualFold(e.Name(), skill.FileName) || e.Name() == skill.SidecarName && e.Type().IsRegular()
	})
}

func skillsBelow(top string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == ".skl"):
			return filepath.SkipDir
		case d.Name() == skill.FileName:
			rel, err := filepath.Rel(top, path)
			files = append(files, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	var dirs []string
	found, _ := source.Discover(files, nil)
	for _, d := range found {
		dirs = append(dirs, filepath.Join(top, filepath.FromSlash(d.Path)))
	}
	return dirs, err
}
