package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// A LinkRequest asks for the links of a skill's own folder.
type LinkRequest struct {
	Ref    ref.Ref // the folder, local
	As     string  // the name to link it by; "" is its own
	Hosts  []string
	Accept []string // permissions
	DryRun bool
}

// A Linked is a folder that stands in for an installed skill.
type Linked struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	To    string   `json:"to"`
	Links []string `json:"links"`
}

// Link makes a skill's own folder the installed copy while its author works
// on it. Its files are audited as those of any install, each time, since nothing is locked or recorded; Remove takes the links away.
func (a *Applier) Link(ctx context.Context, r LinkRequest) (Linked, error) {
	if err := acceptable(r.Accept, ""); err != nil {
		return Linked{}, err
	}
	at := a.Rebase(r.Ref)
	found, err := a.Scope.Local.Skills(ctx, at, source.Release{Kind: source.Folder}, nil)
	if err != nil {
		return Linked{}, err
	}
	dir := scope.Absolute(a.Scope.Base, filepath.FromSlash(at.Path))
	if len(found) != 1 || !scope.Exists(filepath.Join(dir, "SKILL.md")) {
		return Linked{}, diag.New(diag.Misuse, "no_skill", "%s is not the folder of one skill", a.Scope.Short(dir)).Hint("name the folder that holds SKILL.md")
	}
	name, err := linkName(found[0], &r)
	if err != nil {
		return Linked{}, err
	}
	if err := a.RefuseByPolicy(ctx, found[0].Lock.Name, dir, scope.FilesIn(dir)); err != nil {
		return Linked{}, err
	}
	f, end, err := a.Scope.Edit(ctx, r.DryRun)
	if err != nil {
		return Linked{}, err
	}
	defer end()
	if err := a.auditLinked(f, name, dir, &r); err != nil {
		return Linked{}, err
	}
	hostIDs, err := a.Targets(f.Manifest, r.Hosts)
	if err != nil {
		return Linked{}, err
	}
	in, err := a.Scope.Installer(hostIDs, "")
	if err != nil {
		return Linked{}, err
	}
	out := Linked{Name: name, To: dir, Links: []string{}}
	home := a.Scope.Site.Home(out.Name)
	out.Path = filepath.Join(home, out.Name)
	pairs := [][2]string{{out.Path, dir}}
	for _, l := range in.LinkDirs(out.Name) {
		out.Links = append(out.Links, filepath.Join(l, out.Name))
		pairs = append(pairs, [2]string{filepath.Join(l, out.Name), out.Path})
	}
	if err := a.makeLinks(pairs, r.DryRun); err != nil || r.DryRun {
		return out, err
	}
	if err := a.recordOutside(pairs, dir); err != nil {
		return Linked{}, err
	}
	if string(f.Manifest.Bytes()) != string(f.ManifestText) && len(hostIDs) > 0 { // the choice of agents is kept
		if err := a.Scope.WriteManifest(f); err != nil {
			return Linked{}, err
		}
	}
	return out, a.Scope.TrustProject()
}

// linkName is the name by which a folder is linked.
func linkName(f source.Found, r *LinkRequest) (string, error) {
	if r.As != "" {
		return r.As, checkAs(r.As)
	}
	return f.Lock.Name, checkName(f, r.Ref.String(), fmt.Sprintf("skl install --link %s", r.Ref), func(string) bool { return false })
}

// auditLinked refuses a folder, or asks about it, as a first install of a copy of it would.
func (a *Applier) auditLinked(f *scope.Files, name, dir string, r *LinkRequest) error {
	t, err := trees.Read(scope.FilesIn(dir))
	if err != nil {
		return err
	}
	s := lock.Skill{Name: name}
	wishes, err := highWishes(&s, t.Findings(), func(content.Finding) bool { return false })
	if err != nil {
		return err
	}
	if lines := Says(Front{Text: t[skill.FileName].Data, Sidecar: t.Sidecar()}).Lines; len(lines) > 0 {
		wishes = append([]Wish{{Skill: name, Permission: permLoadCommand, Lines: lines}}, wishes...)
	}
	if err := checkAccept(r.Accept, wishes, nil); err != nil {
		return err
	}
	wishes = slices.DeleteFunc(wishes, func(w Wish) bool { return slices.Contains(r.Accept, w.Permission) })
	if !r.DryRun {
		if len(wishes) == 0 {
			return nil
		}
		old, _ := f.Lock.Skill(name)
		return a.consent(wishes, old.Version, "", r.Accept)
	}
	for _, w := range wishes {
		w.Warn(a.Scope.Tell)
	}
	return nil
}

// recordOutside remembers that the user made these links, if they lead out of the project.
func (a *Applier) recordOutside(pairs [][2]string, dir string) error {
	folder := scope.Resolved(dir)
	if rel, err := filepath.Rel(a.Scope.Project, folder); a.Scope.Kind != hosts.Project || err == nil && filepath.IsLocal(rel) {
		return nil
	}
	var paths []string
	for _, p := range pairs {
		paths = append(paths, p[0])
	}
	return a.Scope.RecordLinks(paths, folder)
}

// clear says how the place of a skill becomes free.
func (a *Applier) clear(name string) string {
	if f, err := a.Scope.Load(); err == nil {
		if _, named := f.Manifest.Skill(name); named {
			return "skl remove " + name + ", or move it away"
		}
	}
	return "move it away, or choose another name for yours"
}

// makeLinks creates links {path, target} after it has made sure that none of the paths is taken.
func (a *Applier) makeLinks(pairs [][2]string, dry bool) error {
	for _, p := range pairs {
		if scope.Exists(p[0]) && !leadsTo(p[0], p[1]) {
			return diag.New(diag.Unmet, "in_the_way", "%s exists already", a.Scope.Short(p[0])).Hint("%s", a.clear(filepath.Base(p[0])))
		}
	}
	for _, p := range pairs {
		if dry || leadsTo(p[0], p[1]) {
			continue
		}
		if _, err := a.Scope.Site.Dir.MkdirAll(filepath.Dir(p[0]), 0o755); err != nil {
			return err
		}
		err := a.Scope.Site.Dir.Junction(p[1], p[0])
		if errors.Is(err, errors.ErrUnsupported) {
			err = a.Scope.Site.Dir.Symlink(install.LinkText(p[0], p[1]), p[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leadsTo reports whether path is a link whose text means target.
func leadsTo(path, target string) bool {
	text, err := os.Readlink(path)
	if err != nil {
		return false
	}
	return install.Target(path, text) == install.Target(path, target)
}

// unlink removes what linkFolder made for a name, and says whether there was something.
func (a *Applier) unlink(name string, dry bool) (bool, error) {
	path := filepath.Join(a.Scope.Site.Home(name), name)
	info, err := a.Scope.Site.Dir.Lstat(path)
	if err != nil || info.Mode()&(os.ModeSymlink|os.ModeIrregular) == 0 || filepath.Base(name) != name {
		return false, nil
	}
	if dry {
		return true, nil
	}
	gone := []string{path}
	for _, h := range hosts.All() {
		_, dir := hosts.WriteDirs(h, a.Scope.HostEnv(), a.Scope.Kind)
		if link := filepath.Join(dir, name); dir != "" && leadsTo(link, path) {
			if err := a.Scope.Site.Dir.Remove(link); err != nil {
				return false, err
			}
			gone = append(gone, link)
		}
	}
	if err := a.Scope.Site.Dir.Remove(path); err != nil {
		return false, err
	}
	var left []string
	for _, link := range gone {
		left = append(left, filepath.Dir(link))
	}
	install.Tidy(&a.Scope.Site, left)
	return true, a.Scope.RecordLinks(gone, "")
}
