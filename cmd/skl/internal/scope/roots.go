package scope

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/rootpath"
)

// SetRoots takes from a manifest, and from the lock for names that it does not have, which root each skill is installed in, and
// which agents get it.
// Roots that only the lock names, or one from before, are looked at for what was left there. A root out of the project is refused.
func (sc *Scope) SetRoots(m *manifest.Manifest, l *lock.Lock, before ...*lock.Lock) error {
	homes, dirs := map[string]string{}, []string(nil)
	take := func(text string, where diag.Position) (string, error) {
		dir, err := sc.rootDir(text)
		if err != nil {
			return "", diag.Located(err, where)
		}
		for _, known := range append([]string{sc.Root}, dirs...) {
			if within.Same(known, dir) {
				return known, nil // by another name, or through a link: what is in one is in the other
			}
		}
		dirs = append(dirs, dir)
		return dir, nil
	}
	var err error
	if m.Targets.Root != "" {
		if homes[""], err = take(m.Targets.Root, diag.Position{File: sc.Short(filepath.Join(sc.Base, "skl.toml"))}); err != nil {
			return err
		}
	}
	for _, s := range m.Skills {
		if s.Root == "" {
			continue
		}
		if homes[s.Name], err = take(s.Root, m.Where(s.Name)); err != nil {
			return err
		}
	}
	if l == nil {
		l = &lock.Lock{}
	}
	for _, s := range l.Skills {
		dir, err := take(s.Root, diag.Position{File: sc.Short(filepath.Join(sc.Base, "skl.lock"))})
		if err != nil {
			return err
		}
		if _, wanted := m.Skill(s.Name); !wanted {
			homes[s.Name] = dir
		}
	}
	for _, l := range before {
		for _, s := range l.Skills {
			if _, err := take(s.Root, diag.Position{File: sc.Short(filepath.Join(sc.Base, "skl.lock"))}); err != nil {
				return err
			}
		}
	}
	sc.Site.Homes, sc.Site.Roots, sc.only = homes, dirs, map[string][]string{}
	for _, s := range m.Skills {
		if s.Hosts != nil {
			sc.only[s.Name] = s.Hosts
		}
	}
	for _, dir := range dirs {
		if sc.Kind == hosts.User && !slices.Contains(sc.Site.Places, dir) {
			sc.Site.Places = append(sc.Site.Places, dir, roots.Aside(dir))
		}
	}
	return nil
}

// rootDir is the directory of a root as skl.toml and skl.lock write it; "" is the canonical root. In a project it lies in the
// project, elsewhere it does not depend on where skl is started.
func (sc *Scope) rootDir(text string) (string, error) {
	if text == "" {
		return sc.Root, nil
	}
	switch local := rootpath.IsLocal(text); {
	case sc.managed:
		return "", diag.New(diag.Misuse, "root_scope", "root %q: skills of the machine are installed in %s only", text, sc.Root).Hint("take the key out")
	case sc.Kind == hosts.Project && !local:
		return "", diag.New(diag.Refused, "E_ROOT_ESCAPE", "root %q: a project installs skills in its own directory only", text).
			Hint("name a directory of the project, or install for yourself: --scope user")
	case sc.Kind == hosts.User && local:
		return "", diag.New(diag.Misuse, "root_scope", "root %q: skills installed for you need a place that starts with / or ~/", text).Hint(`write it as "~/%s"`, text)
	}
	dir := rootpath.Resolve(text, sc.Project, sc.Home)
	return dir, sc.inside(dir)
}

// RootText is how skl.toml of the scope writes the root at path, which a person wrote from the working directory. Its error says
// why nothing can be installed there.
func (sc *Scope) RootText(path string) (string, error) {
	project := ""
	if sc.Kind == hosts.Project {
		project = sc.Project
	}
	dir := Absolute(sc.WorkingDir, path)
	if real, err := within.Resolve(dir); err == nil {
		dir = real // the project's own path has no links
	}
	if within.Same(dir, sc.Root) {
		return rootpath.Write(sc.Root, project, sc.Home), nil
	}
	text := rootpath.Write(dir, project, sc.Home)
	if err := rootpath.Check(text); err != nil {
		return "", diag.New(diag.Misuse, "root_scope", "%s cannot hold skills: %w", path, err).Hint("name a directory for skills alone, such as tools/skills")
	}
	for at := dir; at != filepath.Dir(at) && at != project && at != sc.Home; at = filepath.Dir(at) {
		if Exists(filepath.Join(at, "SKILL.md")) {
			return "", diag.New(diag.Misuse, "root_scope", "%s cannot hold skills: %s is a skill", path, sc.Short(at)).Hint("name a directory for skills alone, such as tools/skills")
		}
	}
	_, err := sc.rootDir(text)
	return text, err
}

// searches are the further roots of the project and of the user, by the manifests of both scopes and the configuration.
func (sc *Scope) searches(f *Files) (project, user roots.Search) {
	if sc.Project != "" && sc.Foreign == nil {
		if m := sc.manifestOf(hosts.Project, f); m != nil {
			project = sc.searchOf(m, func(text string) (string, bool) {
				return rootpath.Resolve(text, sc.Project, sc.Home), rootpath.IsLocal(text)
			})
		}
	}
	out := func(text string) (string, bool) { return rootpath.Resolve(text, "", sc.Home), !rootpath.IsLocal(text) }
	if m := sc.manifestOf(hosts.User, f); m != nil && sc.Home != "" {
		user = sc.searchOf(m, out)
	}
	for i, list := range [][]string{sc.Config.Before, sc.Config.After} {
		into := []*[]string{&user.Before, &user.After}[i]
		for _, text := range list {
			dir, _ := out(text)
			*into = append(*into, dir)
		}
	}
	return project, user
}

// searchOf are the roots that m names: those it installs in, and its search paths. A path that dir says is not for its scope is
// left out, and that is said.
func (sc *Scope) searchOf(m *manifest.Manifest, dir func(text string) (string, bool)) (out roots.Search) {
	own := []string{m.Targets.Root}
	for _, s := range m.Skills {
		own = append(own, s.Root)
	}
	for _, part := range []struct {
		from []string
		into *[]string
	}{{m.Roots.Before, &out.Before}, {own, &out.Own}, {m.Roots.After, &out.After}} {
		for _, text := range part.from {
			if text == "" {
				continue
			}
			if path, ok := dir(text); !ok {
				sc.warnOnce("root " + text + " of skl.toml is not searched: a project's roots lie in the project, a user's start with / or ~/")
			} else if !slices.Contains(*part.into, path) {
				*part.into = append(*part.into, path)
			}
		}
	}
	return out
}

// manifestOf is the manifest of a scope, nil if it has none or cannot be read. f is that of this one.
func (sc *Scope) manifestOf(kind hosts.Scope, f *Files) *manifest.Manifest {
	if sc.Kind == kind && !sc.managed {
		return f.Manifest
	}
	base := sc.Dirs.Config
	if kind == hosts.Project {
		base = sc.Project
	}
	path := filepath.Join(base, "skl.toml")
	src, err := ReadIn(base, "skl.toml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var m *manifest.Manifest
	if err == nil {
		m, err = manifest.Parse(src, sc.Short(path))
	}
	if err != nil {
		sc.warnOnce("the roots that " + sc.Short(path) + " names are not searched: " + err.Error())
		return nil
	}
	return m
}

// warnOnce warns, of each thing once.
func (sc *Scope) warnOnce(line string) {
	if !sc.told[line] {
		sc.told[line] = true
		sc.Tell.Warn("%s", diag.Printable(line))
	}
}
