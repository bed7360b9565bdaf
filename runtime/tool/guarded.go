package tool

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/sandbox"
)

// isDotGit reports whether some file system takes name for ".git", or has that as its short name.
func isDotGit(name string) bool {
	name = seenAs(name)
	return name == ".git" || name == "git~1"
}

// guarded is what programs in the working directory may not change: paths for sandbox.Command.Protect and Watch, and what finds more
// for Planted. all says that the directory as a whole belongs to the skill or a protected root.
func (c *core) guarded() (protect, watch []string, planted func() []string, all bool) {
	work := c.work.real
	roots := c.config.Protected
	if c.own != nil {
		roots = append([]string{c.own.real}, roots...)
	}
	for _, dir := range roots {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if holds(real, work) {
				return nil, nil, nil, true
			}
			if holds(work, real) {
				protect = append(protect, real)
			}
		}
		// The name too: a link there leads hosts to the skills.
		if rel, ok := c.work.relative(filepath.Clean(dir)); ok && rel != "." {
			protect = append(protect, filepath.Join(work, filepath.FromSlash(rel)))
		}
	}
	kept, seen := c.spotPaths()
	for _, name := range kept {
		protect = append(protect, c.inWork(name))
	}
	for _, name := range seen {
		if end, ok := strings.CutPrefix(name, "*"); ok {
			protect, watch = append(protect, sandbox.Ending(work, end)...), append(watch, c.inWork(name))
			continue
		}
		protect, watch = sortOut(protect, watch, c.inWork(name))
	}
	git := filepath.Join(work, ".git")
	if info, err := os.Lstat(git); err == nil && info.Mode().IsRegular() {
		protect = append(protect, git) // the name of the directory, which is outside
	} else {
		left := maxGitDirs
		protect, watch = gitPaths(protect, watch, git, &left)
	}
	if !c.config.Off { // then nothing is kept or compared
		protect, watch, planted = c.guardNested(protect, watch)
	}
	slices.Sort(protect)
	slices.Sort(watch)
	return slices.Compact(protect), slices.Compact(watch), planted, false
}

// sortOut protects path if it is there, and else has it watched.
func sortOut(protect, watch []string, path string) ([]string, []string) {
	if isThere(path) {
		return append(protect, path), watch
	}
	return protect, append(watch, path)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

const (
	maxGitDirs = 64    // of the working directory, its submodules and its worktrees
	maxLooked  = 5_000 // files on the way to them
)

// gitPaths are the files of a directory of git that say what git runs, or where it finds what says that. git itself
// can go on: index, objects, references and logs are not among them. A file commondir cannot be kept from being made,
// since git believes whatever is there.
func gitPaths(protect, watch []string, git string, left *int) ([]string, []string) {
	if *left--; *left < 0 {
		return protect, watch
	}
	protect = append(protect, filepath.Join(git, "config"), filepath.Join(git, "hooks"))
	for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
		protect, watch = sortOut(protect, watch, filepath.Join(git, name))
	}
	worktrees, _ := os.ReadDir(filepath.Join(git, "worktrees"))
	for _, w := range worktrees {
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			if *left--; *left > 0 {
				protect, watch = sortOut(protect, watch, filepath.Join(git, "worktrees", w.Name(), name))
			}
		}
	}
	return submodulePaths(protect, watch, filepath.Join(git, "modules"), left)
}

// submodulePaths looks for directories of git: the name of a submodule may have slashes.
func submodulePaths(protect, watch []string, dir string, left *int) ([]string, []string) {
	looked := 0
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if looked++; looked > maxLooked {
			return fs.SkipAll
		}
		if d == nil || !d.IsDir() || err != nil {
			return nil
		}
		if *left <= 0 {
			return fs.SkipAll
		}
		if !isThere(filepath.Join(path, "HEAD")) {
			return nil
		}
		protect, watch = gitPaths(protect, watch, path, left)
		return fs.SkipDir
	})
	return protect, watch
}
