package git

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/resolver/source"
)

// Bounds of plugin manifests.
const (
	maxManifests    = 200
	maxManifestSize = 1 << 20 // bytes
)

// A plugin is a group of skills that a manifest (plugin.json) describes.
type plugin struct {
	name   string
	root   string   // directory of the plugin, "" is the repository
	skills []string // directories that the manifest lists, from the repository's root
}

// pluginRoot returns the directory of the plugin that a manifest at p describes. Manifests
// are at the top of the repository or of a directory of plugins/, there also in
// .claude-plugin or .github/plugin.
func pluginRoot(p string) (root string, ok bool) {
	dir := path.Dir(p)
	if dir == "." {
		return "", true
	}
	for _, place := range []string{".claude-plugin", ".github/plugin"} {
		if dir == place {
			return "", true
		}
		if d, found := strings.CutSuffix(dir, "/"+place); found {
			dir = d
			break
		}
	}
	parent, _ := path.Split(dir)
	return dir, parent == "plugins/"
}

// readPlugin reads a manifest's "name" and "skills": directories relative to
// the plugin, one or a list. A manifest that cannot be read says nothing.
func readPlugin(p string, src []byte) (plugin, bool) {
	root, ok := pluginRoot(p)
	if !ok || len(src) > maxManifestSize {
		return plugin{}, false
	}
	var m struct {
		Name   string          `json:"name"`
		Skills json.RawMessage `json:"skills"`
	}
	if json.Unmarshal(src, &m) != nil {
		return plugin{}, false
	}
	var list []string
	var one string
	if json.Unmarshal(m.Skills, &one) == nil && one != "" {
		list = []string{one}
	} else if json.Unmarshal(m.Skills, &list) != nil {
		list = nil
	}
	out := plugin{name: m.Name, root: root}
	for _, s := range list {
		dir := path.Join(root, strings.ReplaceAll(s, `\`, "/"))
		if dir == "." {
			dir = ""
		}
		if dir == ".." || strings.HasPrefix(dir, "../") || path.IsAbs(s) || len(out.skills) == source.MaxSkills {
			continue
		}
		out.skills = append(out.skills, dir)
	}
	return out, m.Name != ""
}

// holds reports whether dir is one of the plugin's skills: listed, below a listed directory, or in skills/ of the plugin.
func (p plugin) holds(dir string) bool {
	return below(dir, path.Join(p.root, "skills")) || slices.ContainsFunc(p.skills, func(s string) bool { return dir == s || below(dir, s) })
}

func below(dir, top string) bool { return top == "" || strings.HasPrefix(dir, top+"/") }

// manifestsAbove returns the manifests of plugins that a directory of dirs lies in.
func (f *finder) manifestsAbove(dirs []source.Dir) []file {
	var out []file
	for _, m := range f.manifests {
		root, _ := pluginRoot(m.path)
		if slices.ContainsFunc(dirs, func(d source.Dir) bool { return below(d.Path, root) }) {
			out = append(out, m)
		}
	}
	return out
}
