package tool

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// What agents, editors and shells are configured by, and what they then do without asking: names in lower case. Below
// the working directory the tools of files never write them, in whatever directory they are.
func isAgentFile(name string) bool {
	switch name {
	case "claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", ".cursorrules", ".mcp.json",
		".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin":
		return true
	}
	return false
}

func isAgentDir(name string) bool {
	switch name {
	case ".claude", ".cursor", ".codex", ".gemini":
		return true
	}
	return false
}

// isAgentPair is for directories that hold other things too.
func isAgentPair(dir, name string) bool {
	switch dir {
	case ".vscode":
		return name == "tasks.json" || name == "settings.json" || name == "launch.json" || name == "mcp.json"
	case ".github":
		return name == "copilot-instructions.md" || name == "hooks" || name == "skills"
	case ".agents":
		return name == "skills"
	}
	return false
}

// configuresAgents reports whether a path below the working directory belongs to the configuration of agents.
func configuresAgents(rel string) bool {
	names := strings.Split(rel, "/")
	for i := range names {
		names[i] = seenAs(names[i])
		if isAgentDir(names[i]) || isAgentFile(names[i]) || i > 0 && isAgentPair(names[i-1], names[i]) {
			return true
		}
	}
	return false
}

// seenAs is what some file system takes name for: without regard to case, to characters that are not seen, to a
// stream, and to blanks and dots at the end.
func seenAs(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	return strings.TrimRight(name, " .")
}

// isDotGit reports whether some file system takes name for ".git", or has that as its short name.
func isDotGit(name string) bool {
	name = seenAs(name)
	return name == ".git" || name == "git~1"
}

// agentPaths are the places of the working directory itself that programs may not write: what agents, editors, shells, CI
// services and managers of git hooks do without asking. The first list is kept also
// where nothing is. The second is then left open, and looked at when the program has ended: a stand-in would be
// among the texts that *.md means to every program, or be read by an editor that has the directory open, or keep
// out nothing that anybody reads outside of a home.
func agentPaths() (kept, seen []string) {
	return []string{".claude", ".cursor", ".codex", ".gemini", ".mcp.json", ".envrc", ".bashrc", ".agents/skills",
			".github/copilot-instructions.md", ".github/hooks", ".github/skills",
			".github/workflows", ".github/actions", ".circleci", ".buildkite", ".woodpecker", ".gitea/workflows", ".forgejo/workflows", ".husky"},
		[]string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", ".cursorrules",
			".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", ".cirrus.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml",
			"appveyor.yml", "Jenkinsfile", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
			".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json",
			".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin"}
}

// guarded is what programs in the working directory may not change: paths for sandbox.Command.Protect and Watch. all says
// that the directory as a whole belongs to the skill or a protected root.
func (c *core) guarded() (protect, watch []string, all bool) {
	work := c.work.real
	roots := c.config.Protected
	if c.own != nil {
		roots = append([]string{c.own.real}, roots...)
	}
	for _, dir := range roots {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if holds(real, work) {
				return nil, nil, true
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
	kept, seen := agentPaths()
	for _, name := range kept {
		protect = append(protect, filepath.Join(work, filepath.FromSlash(name)))
	}
	for _, name := range seen {
		protect, watch = sortOut(protect, watch, filepath.Join(work, filepath.FromSlash(name)))
	}
	git := filepath.Join(work, ".git")
	if info, err := os.Lstat(git); err == nil && info.Mode().IsRegular() {
		protect = append(protect, git) // the name of the directory, which is outside
	} else {
		left := maxGitDirs
		protect, watch = gitPaths(protect, watch, git, &left)
	}
	slices.Sort(protect)
	slices.Sort(watch)
	return slices.Compact(protect), slices.Compact(watch), false
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
