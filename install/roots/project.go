package roots

import (
	"os"
	"path/filepath"
)

// FindProject returns the top directory of the project that cwd is in and
// what makes it one: "skl.toml" in the nearest directory that has it, else
// ".git" at the top of a git work tree. Both are "" outside a project; a home
// directory that is a repository is no project. Paths are absolute and clean.
func FindProject(cwd, home string) (dir, evidence string) {
	for _, evidence := range []string{"skl.toml", ".git"} {
		for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
			if dir != home && hasProjectFile(dir, evidence) {
				return dir, evidence
			}
			if dir == home || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", ""
}

// hasProjectFile accepts a regular skl.toml, and a .git directory or the file
// that stands for one in work trees and submodules.
func hasProjectFile(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && (info.Mode().IsRegular() || name == ".git" && info.IsDir())
}
