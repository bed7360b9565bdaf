package marketplace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
)

// Agent Plugins 1.0.0 (agentplugins/agent-plugins-spec): a plugin.json at the plugin's root, which says so by its $schema. Nothing
// overrides it, and its skills are the folders in skills/, which no key moves. The namespace of extensions that names shared skills is
// read there too.
const (
	openSchemas = "https://agent-plugins.org/schemas/"
	openSchema  = openSchemas + "1.0.0/plugin.schema.json"
	openFile    = "plugin.json"
)

var openName = regexp.MustCompile(`^[a-z0-9.-]{0,63}[a-z0-9]$`)

// open reads the manifest at the plugin's root, if it is one of Agent Plugins.
func (p Plugin) open(ctx context.Context, files Files, s *Selection) (bool, error) {
	file := join(s.root, openFile)
	at, err := real(ctx, files, file)
	if leads(err) || err == nil && !s.within(at) {
		return false, invalid("plugin %s: %s is a link that leads out of the plugin", p.Name, file)
	}
	if err != nil {
		return false, err
	}
	src, err := files.ReadFile(ctx, at)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	top, err := object(src)
	if err != nil || !strings.HasPrefix(str(top["$schema"]), openSchemas) {
		return false, nil // of another dialect, in which a mistake is told
	}
	ignored, err := checkOpen(src, top)
	if err == nil {
		err = s.readOpen(p, top)
	}
	if err != nil {
		return false, invalid("plugin %s: %s: %w", p.Name, file, err)
	}
	for _, key := range ignored {
		s.Passed = append(s.Passed, source.Passed{Path: file, Reason: "its key " + diag.Printable(key) + " means nothing in Agent Plugins 1.0.0"})
	}
	return true, nil
}

// within reports whether a path is in the plugin's directory.
func (s *Selection) within(at string) bool {
	return s.root == "" || at == s.root || strings.HasPrefix(at, s.root+"/")
}

// readOpen takes in what a checked manifest says, and checks that the marketplace names no skills elsewhere.
func (s *Selection) readOpen(p Plugin, top map[string]json.RawMessage) error {
	usual := join(s.root, "skills")
	for _, dir := range s.Paths {
		if dir != usual && parent(dir) != usual {
			return invalid("its marketplace names %s, and its skills are the folders in %s", dir, usual)
		}
	}
	s.Version = cmp.Or(str(top["version"]), p.Version)
	return s.shared(top)
}

// checkOpen checks a manifest of Agent Plugins. It returns the keys that mean nothing, sorted.
func checkOpen(src []byte, top map[string]json.RawMessage) (ignored []string, err error) {
	if key := twice(src); key != "" {
		return nil, invalid("it has the key %q twice", key)
	}
	if schema := str(top["$schema"]); schema != openSchema {
		return nil, invalid("its $schema %q is not known, only %s", schema, openSchema)
	}
	if name := str(top["name"]); !openName.MatchString(name) || strings.Contains(name, "--") || strings.Contains(name, "..") {
		return nil, invalid("it cannot be called %q: names use a-z, 0-9, \".\" and \"-\"", name)
	}
	for _, key := range slices.Sorted(maps.Keys(top)) {
		value := top[key]
		switch key {
		case "$schema", "name":
		case "version", "description", "homepage", "repository", "license":
			if value[0] != '"' {
				return nil, invalid("%s is not a string", key)
			}
		case "keywords":
			var list []*string
			if json.Unmarshal(value, &list) != nil || list == nil || slices.Contains(list, nil) {
				return nil, invalid("keywords is not a list of strings")
			}
		case "author":
			if err := checkAuthor(value); err != nil {
				return nil, err
			}
		case "extensions":
			if value[0] != '{' {
				ignored = append(ignored, key)
			}
		default:
			ignored = append(ignored, key)
		}
	}
	return ignored[:min(len(ignored), shownNames)], nil
}

func checkAuthor(src json.RawMessage) error {
	author, err := object(src)
	if err != nil {
		return invalid("author is not an object")
	}
	for _, key := range slices.Sorted(maps.Keys(author)) {
		if key != "name" && key != "email" && key != "url" {
			return invalid("author has an unknown key %q", key)
		}
		if author[key][0] != '"' {
			return invalid("author: %s is not a string", key)
		}
	}
	return nil
}

// twice is the first key that a JSON object has a second time; "" if there is none.
func twice(src []byte) string {
	dec := json.NewDecoder(bytes.NewReader(src))
	seen := map[string]bool{}
	if _, err := dec.Token(); err != nil {
		return ""
	}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return ""
		}
		if seen[name] {
			return name
		}
		seen[name] = true
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return ""
		}
	}
	return ""
}
