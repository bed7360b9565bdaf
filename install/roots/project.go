package roots

import (
	"os"
	"path/filepath"
)

// FindProject returns the top directory of the project that cwd is in and what makes it
// one: "skl.toml" or ".git", whichever is nearer; skl.toml where both are. It never looks
// beyond the first .git, so that a file further up cannot take over a repository. Both are ""
// outside a project; a home directory that is a repository is no project. Paths are
// absolute and clean. Whose the project is, install.CheckOwner tells.
func FindProject(cwd, home string) (dir, evidence string) {
	for dir := filepath.Clean(cwd); dir != home; dir = filepath.Dir(dir) {
		for _, evidence := range []string{"skl.toml", ".git"} {
			if hasProjectFile(dir, evidence) {
				return dir, evidence
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", ""
}

// hasProjectFile accepts a .git directory, the file that stands for one in work trees and
// submodules, and a skl.toml that is a file or a link: where the link leads is checked when it is read.
func hasProjectFile(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return false
	}
	return info.Mode().IsRegular() || info.Mode()&os.ModeSymlink != 0 || name == ".git" && info.IsDir()
}
