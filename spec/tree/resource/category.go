package resource

import "strings"

// assetDirs are the directories that stand below assets/ now and stood at the root before.
var assetDirs = [...]Category{Template, Constant, Schema, Checks, Policy, VerifyDoc}

// steps splits a path of the skill at its first directory; ok is false for
// what is outside the skill, or names no file of it.
func steps(path string) (dir, rest string, ok bool) {
	path = strings.Trim(strings.TrimSpace(path), "`")
	for strings.HasPrefix(path, "./") {
		path = path[2:]
	}
	if path == "" || path[0] == '/' || strings.Contains(path, `\`) {
		return "", "", false
	}
	for _, s := range strings.Split(path, "/") {
		if s == ".." {
			return "", "", false
		}
	}
	if dir, rest, ok = strings.Cut(path, "/"); !ok {
		return "", path, true
	}
	return dir, rest, rest != ""
}

// CategoryOf tells the category of a path as a tree writes it, in the present
// and in the legacy layout.
func CategoryOf(path string) Category {
	dir, rest, ok := steps(path)
	if !ok {
		return Project
	}
	switch dir {
	case "":
		if rest == "ops.md" {
			return Reference
		}
		return Project
	case "scripts", "commands":
		return Script
	case "references", "ops":
		return Reference
	case "assets":
		dir, _, _ = strings.Cut(rest, "/")
		if dir == rest {
			return Project
		}
	}
	for _, c := range assetDirs {
		if dir == string(c) {
			return c
		}
	}
	return Project
}

// Mapped returns the other spelling of a path: the legacy one of a present path, the
// present one of a legacy path; "" if there is none.
func Mapped(path string) string {
	dir, rest, ok := steps(path)
	if !ok {
		return ""
	}
	switch dir {
	case "":
		switch rest {
		case "SKILL.md":
			return "skill.md"
		case "skill.md":
			return "SKILL.md"
		case "ops.md":
			return "references/ops.md"
		}
		return ""
	case "scripts":
		return "commands/" + rest
	case "commands":
		return "scripts/" + rest
	case "ops":
		return "references/ops/" + rest
	case "references":
		// Other documents have stood below references/ in both layouts.
		if rest == "ops.md" || strings.HasPrefix(rest, "ops/") && rest != "ops/" {
			return rest
		}
		return ""
	}
	if c := CategoryOf(path); c == Project {
		return ""
	}
	if dir == "assets" {
		return rest
	}
	return "assets/" + dir + "/" + rest
}
