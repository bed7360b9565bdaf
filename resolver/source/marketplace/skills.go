package marketplace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
)

// A Selection says which skills of a repository belong to a plugin.
type Selection struct {
	Named  bool            // the plugin names its skills; else they are where skills usually are
	Paths  []string        // directories from the root of the repository, sorted: skills, or folders of skills
	Near   []string        // the last parts of Paths, where each is one skill and there are no others
	Links  []string        // that lead to skills of the plugin
	Passed []source.Passed // links among its skills that lead to none

	Needs   []Need // other plugins, by its entry and its manifest
	Version string // its manifest's, or else its entry's

	root  string
	open  bool // it is one of Agent Plugins
	parts []part
	other []string // parts of the plugin that are no skills
	names []string // in its directory
	gone  bool     // the directory is not there
}

// A part is a place of a plugin's skills, from the root of the repository.
type part struct {
	dir    string
	self   bool // it can be a skill
	levels int  // below it that skills can be on; deep is any
}

const deep = 1 << 10

func (p part) has(dir string) bool {
	if dir == p.dir {
		return p.self
	}
	rest, below := strings.CutPrefix(dir, p.dir+"/")
	if p.dir == "" {
		rest, below = dir, true
	}
	return below && strings.Count(rest, "/") < p.levels
}

// extension is the key of a plugin.json under which one repository names skills that
// several plugins share, by paths from the root of the repository.
const extension = "com.github.awesome-copilot"

// A dialect is how one client reads the key skills of the manifest at a place below a plugin's root.
type dialect struct {
	file   string
	dotted bool // paths begin with "./"
	adds   bool // they are besides skills/, not instead
}

// dialects are the places of a plugin's own manifest, in the order they are tried.
func dialects() []dialect {
	return []dialect{{".claude-plugin/plugin.json", true, true}, {file: "plugin.json"}, {file: ".github/plugin/plugin.json"}, {file: ".cursor-plugin/plugin.json"}}
}

// Skills says which skills p has. root is the directory of the plugin and files its
// repository: the Ref.Path of its Place, at the commit that is used.
//
// Skills that the entry or the plugin's manifest name are the plugin's, and no others, except that Claude's manifest adds to those
// below <root>/skills. Where nothing is named, they are those below <root>/skills, or the root itself if it is one. A path that is
// named is one skill, or a folder of skills; <root>/skills by its name is what it is without. A link among them stands for the skill of the
// repository that it leads to. Those of Agent Plugins have their skills in the folders of <root>/skills.
func (p Plugin) Skills(ctx context.Context, files Files, root string) (Selection, error) {
	if p.Invalid != nil {
		return Selection{}, p.Invalid
	}
	s := Selection{root: root, Version: p.Version, Needs: slices.Clone(p.needs)}
	for _, dir := range p.skills {
		s.Paths = append(s.Paths, join(root, dir))
	}
	adds, err := false, error(nil)
	if s.open, err = p.open(ctx, files, &s); err == nil && p.strict && !s.open {
		adds, err = p.manifest(ctx, files, &s)
	}
	if err != nil {
		return Selection{}, err
	}
	s.divide(p.skills == nil && (adds || s.open))
	if err := s.follow(ctx, files); err != nil {
		return Selection{}, err
	}
	return s, s.look(ctx, files)
}

// divide makes parts of what is named, and of where skills usually are if that adds to it, or nothing is named.
func (s *Selection) divide(adds bool) {
	slices.Sort(s.Paths)
	s.Paths = slices.Compact(s.Paths)
	s.Named = len(s.Paths) > 0
	usual := part{join(s.root, "skills"), true, deep}
	if s.open {
		usual.self, usual.levels = false, 1
	}
	for _, dir := range s.Paths {
		if dir == usual.dir {
			s.parts = append(s.parts, usual)
		} else {
			s.parts = append(s.parts, part{dir, true, 1})
		}
	}
	if !s.Named && !s.open {
		s.parts = append(s.parts, part{dir: s.root, self: true})
	}
	if !s.Named || adds && !slices.Contains(s.Paths, usual.dir) {
		s.parts = append(s.parts, usual)
	}
	if !s.Named {
		s.Paths = []string{usual.dir}
	}
}

// usual are the parts of a plugin that agents find by their names, without a manifest.
var usual = map[string]string{"agents/": "agents", "commands/": "commands", "hooks/": "hooks", "output-styles/": "output styles",
	".mcp.json": "mcpServers", ".lsp.json": "lspServers"}

// shownNames is how many names of a plugin's directory are told when nothing else is known of it.
const shownNames = 8

// look notes what lies in the plugin's directory besides skills: what agents know, or else the names of all.
func (s *Selection) look(ctx context.Context, files Files) error {
	names, err := files.ReadDir(ctx, s.root)
	if errors.Is(err, fs.ErrNotExist) {
		s.gone = true
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if kind, ok := usual[name]; ok && !slices.Contains(s.other, kind) {
			s.other = append(s.other, kind)
		}
	}
	slices.Sort(s.other)
	s.names = names
	return nil
}

// manifest adds what the plugin's own manifest says, if it has one. It reports whether skills that it names add to the usual ones.
func (p Plugin) manifest(ctx context.Context, files Files, s *Selection) (adds bool, err error) {
	for _, d := range dialects() {
		file := join(s.root, d.file)
		src, err := files.ReadFile(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			if err = s.read(src, d); err != nil {
				err = invalid("plugin %s: %s: %w", p.Name, file, err)
			}
		}
		return d.adds, err
	}
	return false, nil
}

func (s *Selection) read(src []byte, d dialect) error {
	top, err := object(src)
	if err != nil {
		return err
	}
	below, err := paths(top["skills"], d.dotted)
	if err != nil {
		return err
	}
	for _, dir := range below {
		s.Paths = append(s.Paths, join(s.root, dir))
	}
	others, err := needs(top["dependencies"])
	if err != nil {
		return err
	}
	s.Needs, s.Version = append(s.Needs, others...), cmp.Or(str(top["version"]), s.Version)
	for _, kind := range []string{"agents", "commands", "hooks", "lspServers", "mcpServers"} {
		if top[kind] != nil {
			s.other = append(s.other, kind)
		}
	}
	return s.shared(top)
}

// shared takes in what a manifest says of parts that several plugins of its repository share.
func (s *Selection) shared(top map[string]json.RawMessage) error {
	shared := map[string]json.RawMessage{}
	if extensions, err := object(top["extensions"]); err == nil {
		if own, err := object(extensions[extension]); err == nil {
			shared = own
		}
	}
	above, err := paths(shared["skills"], false)
	if err != nil {
		return err
	}
	s.Paths = append(s.Paths, above...)
	for _, kind := range []string{"agents", "commands", "extensions", "hooks", "lspServers", "mcpServers"} {
		if shared[kind] != nil && !slices.Contains(s.other, kind) {
			s.other = append(s.other, kind)
		}
	}
	return nil
}

// Has reports whether the skill in dir, a path from the root of the repository,
// belongs to the plugin.
func (s Selection) Has(dir string) bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.has(dir) })
}

// Around reports whether dir is where the plugin's skills are looked for.
func (s Selection) Around(dir string) bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.levels > 0 && p.dir == dir }) || s.Has(dir)
}

// parent is the directory above dir, with "" for the root and no parent for the root itself.
func parent(dir string) string {
	switch up := path.Dir(dir); {
	case dir == "":
		return "/"
	case up == ".":
		return ""
	default:
		return up
	}
}

// None is the error of a plugin in which no skill was found, with code no_skill. It
// says what the plugin has instead.
func (s Selection) None(plugin string) error {
	where := "below " + join(s.root, "skills")
	if s.Named {
		where = "at " + strings.Join(s.Paths, ", ")
	}
	e := diag.New(diag.Misuse, source.CodeNoSkill, "plugin %s has no skills %s", plugin, where)
	switch {
	case s.gone:
		e.Hint("its directory %s is not there: its marketplace leads nowhere", cmp.Or(s.root, "."))
	case len(s.other) > 0:
		e.Hint("it has %s, which skl does not install", strings.Join(s.other, ", "))
	case len(s.names) > shownNames:
		e.Hint("its directory holds %s and %d more", strings.Join(s.names[:shownNames], ", "), len(s.names)-shownNames)
	case len(s.names) > 0:
		e.Hint("its directory holds %s", strings.Join(s.names, ", "))
	default:
		e.Hint("its directory is empty")
	}
	return e
}
