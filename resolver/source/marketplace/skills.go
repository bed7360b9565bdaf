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
	Named bool     // the plugin names its skills; else they are where skills usually are
	Paths []string // directories from the root of the repository, sorted: skills, or folders of skills

	root  string
	other []string // parts of the plugin that are no skills
	names []string // in its directory
	gone  bool     // the directory is not there
}

// extension is the key of a plugin.json under which one repository names skills that
// several plugins share, by paths from the root of the repository.
const extension = "com.github.awesome-copilot"

// manifests are the places of a plugin's own manifest below its root, in the order they are tried.
func manifests() []string {
	return []string{".claude-plugin/plugin.json", "plugin.json", ".github/plugin/plugin.json", ".cursor-plugin/plugin.json"}
}

// Skills says which skills p has. root is the directory of the plugin and files its
// repository: the Ref.Path of its Place, at the commit that is used.
//
// Skills that the entry or the plugin's manifest name are the plugin's, and no others.
// Where neither does, they are those below <root>/skills, or the root itself if it is one.
func (p Plugin) Skills(ctx context.Context, files Files, root string) (Selection, error) {
	if p.Invalid != nil {
		return Selection{}, p.Invalid
	}
	s := Selection{root: root}
	for _, dir := range p.skills {
		s.Paths = append(s.Paths, join(root, dir))
	}
	s.Named = p.skills != nil
	if p.strict {
		if err := p.manifest(ctx, files, &s); err != nil {
			return Selection{}, err
		}
	}
	if !s.Named {
		s.Paths = []string{join(root, "skills")}
	}
	slices.Sort(s.Paths)
	s.Paths = slices.Compact(s.Paths)
	return s, s.look(ctx, files)
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

// manifest adds what the plugin's own manifest says, if it has one.
func (p Plugin) manifest(ctx context.Context, files Files, s *Selection) error {
	for _, file := range manifests() {
		file = join(s.root, file)
		src, err := files.ReadFile(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := s.read(src); err != nil {
			return invalid("plugin %s: %s: %w", p.Name, file, err)
		}
		return nil
	}
	return nil
}

func (s *Selection) read(src []byte) error {
	top, err := object(src)
	if err != nil {
		return err
	}
	below, err := paths(top["skills"])
	if err != nil {
		return err
	}
	for _, dir := range below {
		s.Paths = append(s.Paths, join(s.root, dir))
	}
	shared := map[string]json.RawMessage{}
	if extensions, err := object(top["extensions"]); err == nil {
		if own, err := object(extensions[extension]); err == nil {
			shared = own
		}
	}
	above, err := paths(shared["skills"])
	if err != nil {
		return err
	}
	s.Paths = append(s.Paths, above...)
	s.Named = s.Named || below != nil || above != nil
	for _, kind := range []string{"agents", "commands", "extensions", "hooks", "lspServers", "mcpServers"} {
		if top[kind] != nil && kind != "extensions" || shared[kind] != nil {
			s.other = append(s.other, kind)
		}
	}
	return nil
}

// Has reports whether the skill in dir, a path from the root of the repository,
// belongs to the plugin.
func (s Selection) Has(dir string) bool {
	for _, p := range s.Paths {
		if dir == p || s.Named && parent(dir) == p {
			return true
		}
		if !s.Named && strings.HasPrefix(dir, p+"/") {
			return true
		}
	}
	return !s.Named && dir == s.root
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
