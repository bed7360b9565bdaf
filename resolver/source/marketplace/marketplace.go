// Package marketplace reads plugin marketplaces: files named marketplace.json that
// agent programs publish bundles of skills, commands and hooks with. A plugin leads to
// a place in a repository, and to the skills there; skl takes nothing else of it.
//
// The shape is that of Claude Code's and Copilot's marketplaces, which Codex and
// Cursor share; unknown keys are ignored. A plugin that this package cannot use
// is listed with the reason, so that it does not hide the others.
//
// Everything here comes from strangers. Names and addresses go through spec/ref;
// paths stay inside their repository; a marketplace read from a server cannot
// lead to files of this machine or to plain http; nothing is executed.
package marketplace

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

const (
	MaxBytes   = 4 << 20 // bytes of a marketplace.json or plugin.json
	MaxPlugins = 2_000   // in one marketplace
	MaxSkills  = 1_000   // paths that one plugin names
)

// Paths are the places where a repository keeps its marketplace.json, in the order they are tried.
func Paths() []string {
	return []string{
		".claude-plugin/marketplace.json",
		".github/plugin/marketplace.json",
		".agents/plugins/marketplace.json",
		".cursor-plugin/marketplace.json",
	}
}

// Files reads files of one commit of one repository.
type Files interface {
	// ReadFile returns the file at a slash path from the root of the repository.
	// A file that is not there is an error that is [fs.ErrNotExist].
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// ReadDir returns the names in the directory at a slash path, "" for the root, sorted; those of directories end in a
	// slash. A directory that is not there is an error that is [fs.ErrNotExist].
	ReadDir(ctx context.Context, path string) ([]string, error)
	// ReadLink returns the text of the link at a slash path, below no other link. What is there and is none, or is not there, is
	// an error that is [fs.ErrNotExist].
	ReadLink(ctx context.Context, path string) (string, error)
}

// A Marketplace is one marketplace.json.
type Marketplace struct {
	Name        string // fits into market:NAME/plugin
	Description string
	Plugins     []Plugin
}

// A Plugin is one entry of a marketplace.
type Plugin struct {
	Name        string // fits into market:NAME/plugin, unless Invalid is set
	Description string
	Version     string // a label of its author; says nothing about commits
	Source      Source
	Invalid     error // why the plugin cannot be used, nil if it can

	skills []string // paths below the plugin's root; nil if the entry names none
	needs  []Need   // that the entry names
	strict bool     // plugin.json counts too
}

// Load reads the marketplace of a repository, whose root is dir: the first of Paths
// that is there. Its error has code no_marketplace if there is none.
func Load(ctx context.Context, files Files, dir string) (Marketplace, error) {
	for _, p := range Paths() {
		src, err := files.ReadFile(ctx, join(dir, p))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Marketplace{}, err
		}
		m, err := Parse(src)
		return m, diag.Prefixed(err, p)
	}
	return Marketplace{}, diag.New(diag.Failed, "no_marketplace", "the repository has no marketplace.json").
		Hint("it is looked for at %s", strings.Join(Paths(), ", "))
}

//go:noinline
func invalid(format string, args ...any) *diag.Error {
	return diag.New(diag.Failed, "marketplace_invalid", format, args...)
}

// Parse reads a marketplace.json.
func Parse(src []byte) (Marketplace, error) {
	top, err := object(src)
	if err != nil {
		return Marketplace{}, invalid("not a marketplace: %w", err)
	}
	m := Marketplace{Name: str(top["name"]), Description: str(top["description"])}
	if !isName(m.Name) {
		return Marketplace{}, invalid("a marketplace cannot be called %q: names use letters, digits, \".\", \"_\" and \"-\"", m.Name)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(top["plugins"], &entries); err != nil {
		return Marketplace{}, invalid("marketplace %s has no list of plugins", m.Name)
	}
	if len(entries) > MaxPlugins {
		return Marketplace{}, invalid("marketplace %s has more than %d plugins", m.Name, MaxPlugins)
	}
	root := ""
	if metadata, err := object(top["metadata"]); err == nil {
		if m.Description == "" {
			m.Description = str(metadata["description"])
		}
		if root, err = inside("", str(metadata["pluginRoot"])); err != nil {
			return Marketplace{}, invalid("pluginRoot of marketplace %s: %w", m.Name, err)
		}
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		p := plugin(entry, root)
		if p.Invalid == nil && seen[p.Name] {
			p.Invalid = invalid("marketplace %s has two plugins called %s", m.Name, p.Name)
		}
		seen[p.Name] = true
		m.Plugins = append(m.Plugins, p)
	}
	return m, nil
}

func plugin(src []byte, root string) Plugin {
	entry, err := object(src)
	if err != nil {
		return Plugin{Invalid: invalid("a plugin is not an object")}
	}
	p := Plugin{Name: str(entry["name"]), Description: str(entry["description"]), Version: str(entry["version"])}
	p.strict = string(entry["strict"]) != "false"
	if !isName(p.Name) {
		p.Invalid = invalid("a plugin cannot be called %q: names use letters, digits, \".\", \"_\" and \"-\"", p.Name)
		return p
	}
	if p.Source, err = parseSource(entry["source"], root); err == nil {
		p.skills, err = paths(entry["skills"], false)
	}
	if err == nil {
		p.needs, err = needs(entry["dependencies"])
	}
	p.Invalid = diag.Prefixed(err, "plugin "+p.Name)
	return p
}

// Plugin returns the plugin of name, if it can be used. Its error has code
// unknown_plugin, with the names there are, or says why it cannot.
func (m Marketplace) Plugin(name string) (Plugin, error) {
	var names []string
	for _, p := range m.Plugins {
		if p.Name == name {
			return p, p.Invalid
		}
		if p.Invalid == nil {
			names = append(names, p.Name)
		}
	}
	e := diag.New(diag.Misuse, "unknown_plugin", "marketplace %s has no plugin %q", m.Name, name)
	for _, n := range names {
		if len(e.Candidates) < 10 && (strings.Contains(n, name) || strings.Contains(name, n)) {
			e.Candidates = append(e.Candidates, n)
		}
	}
	return Plugin{}, e
}

// object reads a JSON object by its exact keys. Of a key that is there twice the last counts, as
// in JavaScript.
func object(src []byte) (map[string]json.RawMessage, error) {
	if len(src) > MaxBytes {
		return nil, errors.New("it has more than 4 MiB")
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(src, &m); err != nil || m == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return m, nil
}

// str is a JSON string, "" for anything else.
//
//go:noinline
func str(src json.RawMessage) string {
	var s string
	if json.Unmarshal(src, &s) != nil {
		return ""
	}
	return s
}

// isName reports whether s can stand for a marketplace or plugin in a ref.
func isName(s string) bool {
	r, err := ref.Parse("market:" + s + "/x")
	return err == nil && r.Host == s && r.Path == ""
}

// paths reads a string or a list of strings: directories inside a plugin. nil means
// that there is none. Dotted ones have to begin with "./".
func paths(src json.RawMessage, dotted bool) ([]string, error) {
	if len(src) == 0 || string(src) == "null" {
		return nil, nil
	}
	var list []string
	if s := str(src); s != "" {
		list = []string{s}
	} else if json.Unmarshal(src, &list) != nil {
		return nil, invalid("skills is neither a path nor a list of paths")
	}
	if len(list) > MaxSkills {
		return nil, invalid("it names more than %d skills", MaxSkills)
	}
	var clean []string
	for _, s := range list {
		p, err := inside("", s)
		if err == nil && dotted && s != "." && !strings.HasPrefix(s, "./") {
			err = invalid("%q does not begin with ./", s)
		}
		if err != nil {
			return nil, invalid("skills: %w", err)
		}
		clean = append(clean, p)
	}
	return clean, nil
}

// inside is the directory s below root, without "./" and a final slash; "" is the
// root of the repository.
func inside(root, s string) (string, error) {
	var out []string
	for _, e := range strings.Split(s, "/") {
		if e == "" || e == "." {
			continue
		}
		if e == ".." || e[0] == '-' || strings.ContainsAny(e, `\:@#`) || diag.Printable(e) != e {
			return "", invalid("%q is not a path inside the repository", s)
		}
		out = append(out, e)
	}
	if strings.HasPrefix(s, "/") || len(s) > 1024 {
		return "", invalid("%q is not a path inside the repository", s)
	}
	return join(root, strings.Join(out, "/")), nil
}

// join puts two clean paths together; "" is the root.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "/" + b
}
