package auth

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// MaxNamespace is the longest namespace, in bytes.
const MaxNamespace = 39

// CheckNamespace reports whether a namespace can be called name: 1-39 of a-z, 0-9 and single hyphens
// inside, no device of Windows, and not a word that the registry or one of its clients uses for something else.
// Its errors are *diag.Error with the codes invalid_namespace and name_reserved.
func CheckNamespace(name string) error {
	if len(name) > MaxNamespace {
		return diag.New(diag.Misuse, "invalid_namespace", "namespace %.60q is %d bytes long, at most %d are allowed", name, len(name), MaxNamespace)
	}
	if err := skill.CheckPublishName(name); err != nil {
		return diag.New(diag.Misuse, "invalid_namespace", "%q cannot be a namespace: %w", diag.Printable(name), err)
	}
	if reservedNamespace(name) {
		return diag.New(diag.Misuse, "name_reserved", "namespace %q is reserved", name)
	}
	return nil
}

// CheckSkill reports whether a skill can be published as name: a portable name (spec/skill) that is not reserved.
// Its errors are those of skill.CheckPublishName, or have the code name_reserved.
func CheckSkill(name string) error {
	if err := skill.CheckPublishName(name); err != nil {
		return err
	}
	if reservedSkill(name) {
		return diag.New(diag.Misuse, "name_reserved", "skill name %q is reserved", name)
	}
	return nil
}

// CheckRepository accepts the names of repositories as the distribution specification has them: at most 255 bytes
// of parts that are joined by slashes. Which of them are skills is said by CheckNamespace and CheckSkill.
// Its error has the code invalid_name.
func CheckRepository(name string) error {
	bad := diag.New(diag.Misuse, "invalid_name", "%q is not the name of a repository", diag.Printable(name))
	if len(name) == 0 || len(name) > 255 {
		return bad
	}
	for part := range strings.SplitSeq(name, "/") {
		if !repositoryPart(part) {
			return bad
		}
	}
	return nil
}

// repositoryPart reports whether s is [a-z0-9]+ in groups joined by ".", "_", "__" or hyphens.
func repositoryPart(s string) bool {
	alnum := func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
	for i := 0; i < len(s); {
		if !alnum(s[i]) {
			return false
		}
		for i < len(s) && alnum(s[i]) {
			i++
		}
		start := i
		for i < len(s) && !alnum(s[i]) {
			i++
		}
		switch sep := s[start:i]; {
		case i == start && i == len(s):
			return true
		case i == len(s):
			return false
		case sep == "." || sep == "_" || sep == "__" || strings.Trim(sep, "-") == "":
		default:
			return false
		}
	}
	return false
}

// reservedNamespace are first elements of the registry's own paths, marketplace names that a client keeps for
// itself, and names that look official.
func reservedNamespace(name string) bool {
	switch name {
	case "api", "v1", "v2", "v3", "t", "token", "tokens", "login", "logout", "oauth", "oauth2", "auth", "callback",
		"healthz", "readyz", "metrics", "debug", "static", "assets", "well-known", "search", "openapi", "log", "tile", "checkpoint",
		"advisories", "audit", "settings", "account", "accounts", "namespace", "namespaces", "registry", "mcp", "git", "npm", "pip", "uv", "cargo",
		"github", "gh", "gitlab", "codeberg", "docker", "oci", "library", "agent-skills", "skills", "skill", "skills-dir", "inline", "builtin", "synced",
		"skl", "admin", "administrator", "root", "system", "security", "support", "official", "anonymous", "public", "private", "me", "self", "all", "none", "new":
		return true
	}
	return false
}

// reservedSkill are names that mean something else in paths and commands.
func reservedSkill(name string) bool {
	switch name {
	case "skill", "skills", "index", "all", "none", "latest", "new", "blobs", "manifests", "tags", "referrers", "uploads", "builtin", "inline", "synced", "skills-dir":
		return true
	}
	return false
}

// Near reports whether a reader could take a for b. A name is not near to itself. Which names are compared (other
// owners') is the caller's choice.
//
// Near are names that differ in hyphens only, or in letters that look alike (0 and o; 1, l and i; 5 and s; rn
// and m; vv and w), and names of five letters or more that differ by one letter put in, left out or replaced, or two
// neighbours swapped. One other digit is no such difference: v2 and v3 are meant to differ.
func Near(a, b string) bool { return a != b && (oneEdit(a, b) || alike(a, b)) }

// alike reports whether a and b are the same at a short glance. Like oneEdit it allocates nothing,
// because it is asked about every name of a registry.
func alike(a, b string) bool {
	var x, y byte
	for i, j := 0, 0; ; {
		x, i = glance(a, i)
		y, j = glance(b, j)
		if x != y || x == 0 {
			return x == y
		}
	}
}

// glance is the letter that name seems to have at i or after it, 0 at its end, and where the next one starts.
func glance(name string, i int) (seen byte, next int) {
	for i < len(name) && name[i] == '-' {
		i++
	}
	if i >= len(name) {
		return 0, i
	}
	rest := name[i:]
	switch {
	case strings.HasPrefix(rest, "rn"):
		return 'm', i + 2
	case strings.HasPrefix(rest, "vv"):
		return 'w', i + 2
	}
	switch c := rest[0]; c {
	case '0':
		return 'o', i + 1
	case '1', 'i':
		return 'l', i + 1
	case '5':
		return 's', i + 1
	default:
		return c, i + 1
	}
}

// oneEdit reports whether one letter makes a different, or one swap.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(b) < 5 {
		return false
	}
	start := 0
	for start < len(a) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	x, y := a[start:len(a)-end], b[start:len(b)-end]
	switch {
	case len(x) == 0 && len(y) == 1:
		return !digit(y[0])
	case len(x) == 1 && len(y) == 1:
		return !digit(x[0]) || !digit(y[0])
	case len(x) == 2 && len(y) == 2:
		return x[0] == y[1] && x[1] == y[0]
	}
	return false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
