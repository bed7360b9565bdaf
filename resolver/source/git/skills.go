package git

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// maxAhead is the number of files that are fetched before they are asked for.
const maxAhead = 64

// Skills lists the skills of the commit at.Commit, sorted by rank and path. If
// r.Path has a SKILL.md it is the one skill; else they are looked for below it.
// Several may have one name.
//
// With names, directories called so are opened first; the others only if a
// name is still missing. Skills of other names are then left out, and Plugin
// is known only of skills inside the plugin's directory.
func (s *Source) Skills(ctx context.Context, r ref.Ref, at source.Release, names []string) ([]source.Found, error) {
	repo, snap, err := s.open(ctx, r.URL, at.Commit)
	if err != nil {
		return nil, err
	}
	f := finder{repo: repo, snap: snap, ref: r, at: at}
	if err := f.look(); err != nil {
		return nil, err
	}
	found, err := f.find(ctx, names)
	if err != nil {
		return nil, err
	}
	order.Stable(found, func(a, b source.Found) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Lock.Path, b.Lock.Path))
	})
	return found, nil
}

// finder looks for the skills of one snapshot.
type finder struct {
	repo *repo
	snap *snapshot
	ref  ref.Ref
	at   source.Release

	skillFiles map[string]plumbing.Hash // SKILL.md by path
	sidecars   map[string]plumbing.Hash // SKILL.json by directory
	manifests  []file                   // plugin manifests, at most maxManifests
	plugins    []plugin
}

// look lists the SKILL.md files and plugin manifests that matter for ref.Path.
func (f *finder) look() error {
	dir := f.ref.Path
	id, ok, err := f.snap.tree(dir)
	if err != nil {
		return err
	}
	if !ok {
		return diag.New(diag.Misuse, source.CodePath, "%s has no directory %q at commit %.12s",
			show(f.ref.URL), diag.Printable(dir), f.snap.commit).Hint("list its skills with: skl install -l %s", ref.Ref{Kind: ref.Git, URL: f.ref.URL})
	}
	f.skillFiles, f.sidecars = make(map[string]plumbing.Hash), make(map[string]plumbing.Hash)
	alone := false
	base := 0
	if dir != "" {
		base = strings.Count(dir, "/") + 1
	}
	visit := func(e file) {
		switch {
		case e.mode&modeType == modeLink || e.mode&modeType == modeModule:
		case path.Base(e.path) == "SKILL.md":
			f.skillFiles[e.path] = e.id
			alone = alone || dir != "" && e.path == dir+"/SKILL.md"
		case path.Base(e.path) == skill.SidecarName:
			f.sidecars[dirOf(e.path)] = e.id
		case path.Base(e.path) == "plugin.json" && len(f.manifests) < maxManifests:
			if _, ok := pluginRoot(e.path); ok {
				f.manifests = append(f.manifests, e)
			}
		}
	}
	err = f.snap.walk(dir, id, func(p string, depth int) bool {
		switch path.Base(p) {
		case ".git", "node_modules":
			return false
		}
		return base+depth <= source.MaxDepth
	}, visit)
	if alone {
		file := dir + "/SKILL.md"
		f.skillFiles = map[string]plumbing.Hash{file: f.skillFiles[file]}
	}
	return err
}

// find opens the SKILL.md files that can have one of names; all of them for no names.
func (f *finder) find(ctx context.Context, names []string) ([]source.Found, error) {
	if len(names) == 0 || len(f.skillFiles) == 1 {
		return f.open(ctx, f.dirs(), f.manifests)
	}
	var near, far []source.Dir
	for _, d := range f.dirs() {
		if slices.Contains(names, path.Base(d.Path)) {
			near = append(near, d)
		} else {
			far = append(far, d)
		}
	}
	f.ahead(ctx, near)
	found, err := f.open(ctx, near, f.manifestsAbove(near))
	if err != nil || matched(found, names) {
		return found, err
	}
	all, err := f.open(ctx, append(near, far...), f.manifests)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r source.Found) bool {
		return !slices.Contains(names, r.Lock.Name) && !slices.Contains(names, path.Base(r.Lock.Path))
	}), nil
}

// ahead loads all files of dirs, if they are few, together with what open will
// read: whoever asks for a skill by name fetches it next, and so saves a round trip.
// Errors here are dropped, since open or Fetch will meet and report them.
func (f *finder) ahead(ctx context.Context, dirs []source.Dir) {
	all := f.manifestsAbove(dirs)
	for _, d := range dirs {
		files, err := f.snap.files(d.Path)
		if err != nil || len(all)+len(files) > maxAhead {
			return
		}
		all = append(all, files...)
	}
	_, _ = f.repo.load(ctx, f.snap, idsOf(all))
}

// matched reports whether each name is that of a found skill.
func matched(found []source.Found, names []string) bool {
	for _, n := range names {
		if !slices.ContainsFunc(found, func(r source.Found) bool { return r.Lock.Name == n }) {
			return false
		}
	}
	return true
}

// dirs returns the directories that are skills, as far as is known of plugins.
func (f *finder) dirs() []source.Dir {
	paths := make([]string, 0, len(f.skillFiles))
	for p := range f.skillFiles {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	named := f.named()
	dirs, _ := source.Discover(paths, named)
	return dirs
}

// named are the directories that plugin manifests list.
func (f *finder) named() map[string]bool {
	named := make(map[string]bool)
	for _, p := range f.plugins {
		for _, dir := range p.skills {
			named[dir] = true
		}
	}
	return named
}

// open reads the SKILL.md of dirs together with manifests, which may change ranks.
func (f *finder) open(ctx context.Context, dirs []source.Dir, manifests []file) ([]source.Found, error) {
	ids := idsOf(manifests)
	for _, d := range dirs {
		ids = append(ids, f.skillFiles[skillFile(d.Path)])
		if id, ok := f.sidecars[d.Path]; ok {
			ids = append(ids, id)
		}
	}
	blobs, err := f.repo.load(ctx, f.snap, ids)
	if err != nil {
		return nil, err
	}
	f.plugins = nil
	for _, m := range manifests {
		if p, ok := readPlugin(m.path, blobs[m.id]); ok {
			f.plugins = append(f.plugins, p)
		}
	}
	var out []source.Found
	for _, d := range f.dirs() {
		src, ok := blobs[f.skillFiles[skillFile(d.Path)]]
		if !ok || !slices.ContainsFunc(dirs, func(o source.Dir) bool { return o.Path == d.Path }) {
			continue
		}
		var sidecar []byte
		if id, ok := f.sidecars[d.Path]; ok {
			sidecar = blobs[id]
		}
		found := f.describe(d.Path, src, sidecar)
		found.Rank = d.Rank
		out = append(out, found)
	}
	return out, nil
}

func skillFile(dir string) string { return path.Join(dir, "SKILL.md") }

// dirOf is the directory of a path, "" for the top.
func dirOf(p string) string {
	dir, _ := path.Split(p)
	return strings.TrimSuffix(dir, "/")
}

// describe makes a Found of a directory, its SKILL.md, and its SKILL.json, nil if there is none.
func (f *finder) describe(dir string, src, sidecar []byte) source.Found {
	found := source.Found{Lock: lock.Skill{
		Name: path.Base(dir), Source: "git", URL: f.ref.URL, Path: dir, Commit: ref.Commit(f.snap.commit.String()),
	}}
	if dir == "" {
		found.Lock.Name = strings.TrimSuffix(path.Base(f.ref.URL), ".git")
	}
	readFrontmatter(src, sidecar, &found)
	found.Lock.Version = f.version(found.Lock.Name)
	for _, p := range f.plugins {
		if p.holds(dir) {
			found.Plugin = p.name
			break
		}
	}
	return found
}

// version is that of the release, if it is one of this skill, else made of the commit.
func (f *finder) version(name string) string {
	tagSkill, version := f.at.Skill, f.at.Version
	if version == "" && f.at.Kind == source.Tag {
		tagSkill, version = tagVersion(f.at.Name)
	}
	if version != "" && (tagSkill == "" || tagSkill == name) {
		return version
	}
	return f.snap.version()
}

// version is what the commit is called when no tag gives it a version.
func (s *snapshot) version() string {
	return "0.0.0-" + s.when.Format("20060102150405") + "-" + s.commit.String()[:12]
}
