package serve

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// resolve returns the directory to be searched for a path that an agent gave: absolute, links followed, and inside one of the roots. It
// is the repository that the path lies in, if that is not above the root, else the path itself. An empty path means the only root.
func resolve(path string, roots []string) (string, error) {
	allowed := make([]string, 0, len(roots))
	for _, r := range roots {
		if real, err := filepath.EvalSymlinks(r); err == nil {
			allowed = append(allowed, real)
		}
	}
	if path == "" {
		if len(allowed) == 1 {
			return allowed[0], nil
		}
		return "", diag.New(diag.Misuse, codeInvalid, "path is missing").Meant(allowed...)
	}
	if strings.ContainsRune(path, 0) || len(path) > 4096 {
		return "", diag.New(diag.Misuse, codeInvalid, "path is not a path")
	}
	if !filepath.IsAbs(path) {
		return "", diag.New(diag.Misuse, codeInvalid, "path is not absolute: %s", diag.Printable(path)).Meant(allowed...)
	}
	real, err := filepath.EvalSymlinks(path)
	inside := func(p string) string {
		best := ""
		for _, root := range allowed {
			if within(p, root) && len(root) > len(best) {
				best = root
			}
		}
		return best
	}
	// A path outside is refused in one way, whether it exists or not: a difference would reveal the files there.
	if err != nil {
		if inside(filepath.Clean(path)) != "" {
			return "", diag.New(diag.Misuse, codeInvalid, "there is no directory %s", diag.Printable(path))
		}
		return "", refused(path, allowed)
	}
	root := inside(real)
	if root == "" {
		return "", refused(path, allowed)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", diag.New(diag.Misuse, codeInvalid, "%s is not a directory", diag.Printable(path))
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if _, ok := findGit(dir); ok {
			return dir, nil
		}
		if dir == root || dir == filepath.Dir(dir) {
			break
		}
	}
	return real, nil
}

func refused(path string, allowed []string) error {
	e := diag.New(diag.Refused, codePath, "%s is outside of the directories that may be searched", diag.Printable(path))
	if len(allowed) > 0 {
		e.Hint("use %s", strings.Join(allowed, " or "))
	}
	return e
}

// within says whether p is dir or lies in it; both are clean.
func within(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}
