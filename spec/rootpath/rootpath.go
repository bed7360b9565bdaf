// Package rootpath is how skl.toml, skl.lock and config.toml write the path of a root: "tools/skills" below the directory
// of the project, "~/skills" below the home directory, or an absolute path. Slashes separate, on every system.
package rootpath

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
)

// Check reports why s cannot be the path of a root. What it accepts has no "..", nothing that means .git or .skl, and does
// not end in a directory that starts with a dot: those are the agents' own, and a skill there would be taken for something else.
func Check(s string) error {
	rest, _ := strings.CutPrefix(s, "~/")
	if !IsLocal(s) && rest == s {
		rest = strings.TrimPrefix(s[len(filepath.VolumeName(s)):], "/")
	}
	if s == "~" || rest == "" || rest == "." {
		return errors.New("it names no directory of its own")
	}
	if err := bundle.CheckPath(rest); err != nil {
		return err
	}
	if err := bundle.CheckPortable(rest); err != nil {
		return err
	}
	if last := path.Base(rest); last[0] == '.' || last[0] == '-' {
		return fmt.Errorf("its last directory, %q, starts with %q", last, last[:1])
	}
	return nil
}

// IsLocal reports whether s is meant below the directory of the project.
func IsLocal(s string) bool {
	return !strings.HasPrefix(s, "~/") && !strings.HasPrefix(s, "/") && !filepath.IsAbs(s)
}

// Resolve is s, which Check accepts, as an absolute path in the form of the system. Both directories are absolute.
func Resolve(s, project, home string) string {
	if rest, ok := strings.CutPrefix(s, "~/"); ok {
		return filepath.Join(home, filepath.FromSlash(rest))
	}
	if IsLocal(s) {
		return filepath.Join(project, filepath.FromSlash(s))
	}
	return filepath.FromSlash(path.Clean(filepath.ToSlash(s)))
}

// Write is the absolute path dir as it is written: below project if that is not "", with "~/" below home, else as it is.
func Write(dir, project, home string) string {
	if rel, err := filepath.Rel(project, dir); project != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(home, dir); home != "" && err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return filepath.ToSlash(dir)
}
