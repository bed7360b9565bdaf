package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

type linkResult struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	To    string   `json:"to"`
	Links []string `json:"links"`
}

// linkFolder makes a skill's own folder the installed copy while its author works
// on it. Nothing is locked or recorded; "skl remove NAME" takes the links away.
func (w *world) linkFolder(ctx context.Context, c *cli.Context, refs []ref.Ref) error {
	if len(refs) != 1 || refs[0].Kind != ref.Local {
		return diag.New(diag.Misuse, "usage", "--link takes one local folder").Hint("skl install --link ./my-skill")
	}
	r := w.rebase(refs[0])
	found, err := w.local.Skills(ctx, r, source.Release{Kind: source.Folder}, nil)
	if err != nil {
		return err
	}
	dir := absolute(w.base, filepath.FromSlash(r.Path))
	if len(found) != 1 || !exists(filepath.Join(dir, "SKILL.md")) {
		return diag.New(diag.Misuse, "no_skill", "%s is not the folder of one skill", w.short(dir)).Hint("name the folder that holds SKILL.md")
	}
	if err := checkName(found[0]); err != nil {
		return err
	}
	f, end, err := w.edit(ctx, c.Bool("dry-run"))
	if err != nil {
		return err
	}
	defer end()
	hostIDs, err := w.targets(f.manifest, c.StringSlice("host"))
	if err != nil {
		return err
	}
	in, err := w.installer(hostIDs, "")
	if err != nil {
		return err
	}
	out := linkResult{Name: found[0].Lock.Name, To: dir, Links: []string{}}
	out.Path = filepath.Join(w.root, out.Name)
	pairs := [][2]string{{out.Path, dir}}
	for _, l := range in.Links {
		out.Links = append(out.Links, filepath.Join(l, out.Name))
		pairs = append(pairs, [2]string{filepath.Join(l, out.Name), out.Path})
	}
	if err := w.makeLinks(pairs, c.Bool("dry-run")); err != nil {
		return err
	}
	if !c.Bool("dry-run") {
		if string(f.manifest.Bytes()) != string(f.manifestText) && len(hostIDs) > 0 { // the choice of agents is kept
			if err := w.writeManifest(f); err != nil {
				return err
			}
		}
		if err := w.trustProject(); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	w.ui.Print("%s %s → %s", ui.Painted(w.ui.Done()), w.short(out.Path), w.short(dir))
	w.ui.Hint("skl remove %s takes the link away and leaves the folder", out.Name)
	return nil
}

// makeLinks creates links {path, target} after it has made sure that none of the paths is taken.
func (w *world) makeLinks(pairs [][2]string, dry bool) error {
	for _, p := range pairs {
		if exists(p[0]) && !leadsTo(p[0], p[1]) {
			return diag.New(diag.Unmet, "in_the_way", "%s exists already", w.short(p[0])).Hint("skl remove %s, or move it away", filepath.Base(p[0]))
		}
	}
	for _, p := range pairs {
		if dry || leadsTo(p[0], p[1]) {
			continue
		}
		if _, err := w.here.Dir.MkdirAll(filepath.Dir(p[0]), 0o755); err != nil {
			return err
		}
		if err := w.here.Dir.Symlink(install.LinkText(p[0], p[1]), p[0]); err != nil {
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
func (w *world) unlink(name string, dry bool) (bool, error) {
	path := filepath.Join(w.root, name)
	info, err := w.here.Dir.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 || filepath.Base(name) != name {
		return false, nil
	}
	if dry {
		return true, nil
	}
	for _, h := range hosts.All() {
		_, dir := hosts.WriteDirs(h, w.hostEnv(), w.scope)
		if link := filepath.Join(dir, name); dir != "" && leadsTo(link, path) {
			if err := w.here.Dir.Remove(link); err != nil {
				return false, err
			}
		}
	}
	return true, w.here.Dir.Remove(path)
}
