package audit

import (
	"path"
	"strings"
)

// Manifests name the packages that a package manager installs for a skill: npm install and pip install -r say no more than the folder. All that
// they name counts, whether a text of the skill installs it or not, for who follows the skill does.

// manifests are files of configuration, their package manager, and the keys that packages are below.
const manifests = `
package.json npm dependencies devdependencies optionaldependencies peerdependencies overrides resolutions
deno.json npm imports scopes
deno.jsonc npm imports scopes
import_map.json npm imports scopes
composer.json composer require requiredev
pyproject.toml pip dependencies optionaldependencies requires dependencygroups devdependencies
pipfile pip packages devpackages
cargo.toml cargo dependencies devdependencies builddependencies
environment.yml conda dependencies
environment.yaml conda dependencies
`

// manifestOf is the package manager of a manifest, and its keys; "" for other files.
func manifestOf(name string) (manager, keys string) {
	_, rest, ok := strings.Cut(manifests, "\n"+strings.ToLower(path.Base(name))+" ")
	if !ok {
		return "", ""
	}
	rest, _, _ = strings.Cut(rest, "\n")
	manager, keys, _ = strings.Cut(rest, " ")
	return manager, " " + keys + " "
}

// manifest notes the packages of a manifest.
func (c config) manifest(n *node, manager, keys string) {
	for i := range n.items {
		c.manifest(&n.items[i], manager, keys)
	}
	for i := range n.fields {
		f := &n.fields[i]
		if has(keys, strings.ToLower(bare.Replace(f.key))) {
			c.packages(&f.value, manager)
		} else {
			c.manifest(&f.value, manager, keys)
		}
	}
}

// packages notes the packages below a key: a list of them, a map from names to versions, or a map from groups to such.
func (c config) packages(n *node, manager string) {
	for i := range n.items {
		switch item := &n.items[i]; {
		case item.scalar:
			c.requirement(manager, item.text, item.line)
		default: // conda has {pip: [...]}
			for k := range item.fields {
				if f := &item.fields[k]; f.key == "pip" {
					c.packages(&f.value, "pip")
				}
			}
		}
	}
	for i := range n.fields {
		f := &n.fields[i]
		v := &f.value
		switch {
		case len(v.items) > 0 && v.items[0].scalar && manager == "pip": // a group
			c.packages(v, manager)
		case strings.HasPrefix(f.key, "http") || strings.HasSuffix(f.key, "/") && len(v.fields) > 0: // a scope of an import map
			c.packages(v, manager)
		default:
			local := c.version(manager, v)
			for k := range v.items {
				local = c.version(manager, &v.items[k]) && local
			}
			if !local {
				c.named(manager, f.key, f.line)
			}
		}
	}
}

// named notes a package, except for what is part of the language.
func (c config) named(manager, name string, line int) {
	if name == "" || name == "." || manager == "pip" && name == "python" || manager == "composer" && (name == "php" || strings.HasPrefix(name, "ext-")) {
		return
	}
	c.pack(manager, name, line)
}

// version notes where a package comes from that is not its registry, and reports whether nothing is to be installed under its name.
func (c config) version(manager string, v *node) (local bool) {
	for i := range v.fields {
		switch f := &v.fields[i]; f.key {
		case "path":
			local = true
		case "package":
			c.pack(manager, f.value.text, f.line)
			local = true
		default:
			c.net(f.value.text, false, f.line)
			if f.value.scalar && strings.HasPrefix(f.value.text, "npm:") || len(f.value.fields) > 0 {
				c.version(manager, &f.value)
			}
		}
	}
	if !v.scalar {
		return local
	}
	scheme, rest, ok := strings.Cut(v.text, ":")
	switch {
	case !ok:
		if owner, repo, ok := strings.Cut(v.text, "/"); ok && manager == "npm" && owner != "" && owner[0] != '.' && owner[0] != '@' && repo != "" {
			c.add(Net, "github.com", v.line)
		}
		return strings.HasPrefix(v.text, ".") || strings.HasPrefix(v.text, "/")
	case scheme == "npm" || scheme == "jsr":
		rest = strings.TrimPrefix(rest, "/")
		if i := strings.LastIndexByte(rest, '/'); i > 0 && (rest[0] != '@' || strings.Count(rest, "/") > 1) {
			rest = rest[:i] // a part of it
		}
		c.pack(scheme, rest, v.line)
		return true
	case scheme == "github" || scheme == "gitlab" || scheme == "bitbucket":
		c.add(Net, map[string]string{"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}[scheme], v.line)
		return false
	case scheme == "file" || scheme == "link" || scheme == "workspace" || scheme == "portal" || scheme == "node":
		return true
	}
	c.net(v.text, false, v.line)
	return false
}

// requirement is a line of requirements.txt, or an item of a list like it.
func (a *auditor) requirement(manager, text string, line int) {
	if i := strings.IndexByte(text, hole); i >= 0 {
		a.add(Package, manager+":*", line)
		return
	}
	for _, m := range references.get().FindAllStringSubmatch(text, -1) {
		a.env(m[1], line)
	}
	text = strings.TrimSpace(text)
	switch a.net(text, false, line); {
	case strings.Contains(text, "${"):
		a.add(Package, manager+":*", line)
	case !strings.Contains(text, "://") && archived.get().MatchString(text):
		if own := a.owns(text); own != "" {
			a.ask(own, opaque)
		}
	case strings.Contains(text, "://") && !required.get().MatchString(text):
		a.add(Package, manager+":"+repository(text), line)
	default:
		a.pack(manager, strings.TrimRight(required.get().FindString(text), " \t[(=<>!~@;,#"), line)
	}
}

// repository is the address of a package without who logs in there, its revision and what stands behind it.
func repository(text string) string {
	text, _, _ = strings.Cut(text, "#")
	scheme, rest, _ := strings.Cut(strings.Fields(text + " .")[0], "://")
	host, way, _ := strings.Cut(rest, "/")
	way, _, _ = strings.Cut(way, "@")
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + way
}

// archived is a path of the project, or of an archive in it.
var archived = pattern{text: `^[./]|\.(?:whl|tar\.gz|zip)$`}

// required is the name that a requirement begins with.
var required = pattern{text: `^[A-Za-z0-9][\w.-]*(?:::[\w.-]+)?[ \t]*(?:$|[\[(=<>!~@;,#])`}

// requirements reads a list of packages for pip, or go.mod.
func (a *auditor) requirements(src string, line int) {
	lines := linesOf(src)
	block := ""
	for i := 0; i < len(lines); i++ {
		at := line + i
		var text string
		text, i = logical(lines, i)
		text = strings.TrimSpace(strings.ReplaceAll(text, "\\\n", " "))
		if strings.EqualFold(path.Ext(a.path), ".mod") {
			block = a.goModule(text, block, at)
			continue
		}
		text, _, _ = strings.Cut(text, " #")
		if text == "" || text[0] == '#' {
			continue
		}
		if text[0] != '-' {
			if required.get().MatchString(text) || strings.ContainsAny(text, "/$") && !strings.Contains(text, " ") || strings.Contains(text, "://") {
				a.requirement("pip", text, at)
			}
			continue
		}
		option, val, _ := strings.Cut(text, " ")
		if key, v, ok := strings.Cut(option, "="); ok {
			option, val = key, v
		} else if len(option) > 2 && option[1] != '-' {
			option, val = option[:2], option[2:]
		}
		switch val = strings.TrimSpace(val); option {
		case "-r", "--requirement":
			if own := a.owns(val); own != "" {
				a.ask(own, listing)
			}
			a.net(val, false, at)
		case "-e", "--editable":
			a.requirement("pip", val, at)
		case "--trusted-host":
			a.net(val, true, at)
		default:
			if !a.net(val, false, at) && strings.Contains(val, "${") {
				a.add(Net, holeText, at)
			}
		}
	}
}

// goModule reads a line of go.mod, and returns the block that it stands in.
func (a *auditor) goModule(text, block string, line int) string {
	text, _, _ = strings.Cut(text, "//")
	words := strings.Fields(text)
	if len(words) == 0 {
		return block
	}
	verb := block
	switch {
	case words[0] == ")":
		return ""
	case len(words) > 1 && words[1] == "(":
		return words[0]
	case block == "":
		verb, words = words[0], words[1:]
	}
	if verb == "replace" {
		for len(words) > 0 && words[0] != "=>" {
			words = words[1:]
		}
		words = words[min(1, len(words)):]
	}
	if len(words) > 0 && has(" require replace tool ", verb) && words[0][0] != '.' && words[0][0] != '/' {
		a.pack("go", words[0], line)
	}
	return block
}
