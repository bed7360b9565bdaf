package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// spots are the files and directories that programs act on by themselves: when a directory is opened, entered or trusted, at a
// commit, checkout or push, or when they start for something else. What a line names is never written by the tools of files, nor by
// programs, in whatever directory. The agents' own come besides, from Config.Agents.
//
// The line is drawn there: what runs only because somebody builds, tests or starts the project is its code, and may be written
// (Makefile, package.json, conftest.py, Dockerfile, setup.py), and so is what is read as data (.env, .editorconfig).
//
// Those that start with ! are kept from being made, where nothing is, by a stand-in while a program runs. The others are then
// looked at afterwards, and put back: a stand-in would be among the texts that *.md means to every program, or be read by an
// editor that has the directory open, or fill a listing with names that nobody knows. One that starts with * is the end of a name.
var spots = strings.Fields(`
AGENT.md AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md CRUSH.md GEMINI.md QWEN.md .rules .roomodes .roorules
.cursorrules .windsurfrules .clinerules .goosehints .aider.conf.yml .continuerc.json
!.mcp.json !.claude !.cursor !.codex !.gemini !.opencode opencode.json opencode.jsonc .agent
!.agents/skills .agents/rules .agents/agents .agents/commands .agents/hooks .agents/plugins .agents/mcp.json
.windsurf .cline .roo .kiro .factory .goose .qwen .amazonq .aiassistant .augment .augment-guidelines .cody .kilocodemodes .firebender
replit.md crush.json .crush.json .aider.model.settings.yml .vibe .amp
!.github/copilot-instructions.md !.github/hooks !.github/skills .github/instructions .github/prompts .github/chatmodes .github/agents

skl.toml skl.lock policy.toml .corteza .skl .agents/.skl .github/.skl

!.github/workflows !.github/actions !.circleci !.buildkite !.woodpecker !.gitea/workflows !.forgejo/workflows
.gitlab-ci.yml .travis.yml .drone.yml .drone.star .drone.jsonnet .woodpecker.yml .woodpecker.yaml .cirrus.yml .cirrus.star
azure-pipelines.yml azure-pipelines.yaml .azure-pipelines .azuredevops bitbucket-pipelines.yml appveyor.yml .appveyor.yml
Jenkinsfile .teamcity .semaphore .build.yml .builds buildspec.yml cloudbuild.yaml codefresh.yml .codefresh .tekton .harness
bamboo-specs .zuul.yaml .zuul.d zuul.yaml codemagic.yaml wercker.yml .lgtm.yml .sourcehut.yml .github/CODEOWNERS CODEOWNERS .prow.yaml .vela.yml .onedev-buildspec.yml .scrutinizer.yml screwdriver.yaml .readthedocs.yaml .readthedocs.yml

.vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode/mcp.json .vscode/c_cpp_properties.json .vscode/cmake-kits.json
*.code-workspace *.sublime-project .devcontainer .devcontainer.json .gitpod.yml .gitpod.Dockerfile devfile.yaml .devfile.yaml
.codesandbox .stackblitzrc .replit replit.nix .idx .idea .zed .fleet .vs .helix .kateproject omnisharp.json .neoconf.json
.exrc .vimrc .lvimrc .vim .nvimrc .nvim.lua .lazy.lua .dir-locals.el .dir-locals-2.el .gdbinit .lldbinit

!.husky .githooks .gitmodules .pre-commit-config.yaml .pre-commit-config.yml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml
lefthook-local.yml .lefthook-local.yml .lefthook lefthook.toml .lefthook.toml lefthook.json .lefthook.json .config/lefthook.yml
.overcommit.yml .git-hooks .hooks prek.toml
simple-git-hooks.json .simple-git-hooks.json simple-git-hooks.js .simple-git-hooks.js .simple-git-hooks.cjs
.hgrc .bazelrc .hg/hgrc .hg/hgrc-not-shared .jj/repo/config.toml .sl/config .bzr/branch/branch.conf

!.envrc !.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zprofile .zshenv .zlogin .zlogout .kshrc .cshrc .tcshrc .login
.bash_aliases .xprofile .xinitrc .xsession .xsessionrc .pam_environment .gitconfig .config/git .config/fish .config/autostart
.config/systemd .config/nvim .ssh .emacs .emacs.d
mise.toml .mise.toml mise.local.toml .mise.local.toml .mise mise/config.toml .config/mise .config/mise.toml .rtx.toml .tool-versions
.autoenv .autoenv.zsh .autoenv_leave.zsh .autoenv.leave .direnv .shadowenv.d .flox .prototools rust-toolchain rust-toolchain.toml devbox.json

.Rprofile .Renviron .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs bunfig.toml sitecustomize.py usercustomize.py
.yarn/releases .yarn/plugins .RData .iex.exs .ghci .ocamlinit .erlang .byebugrc .rdbgrc
jupyter_server_config.py jupyter_notebook_config.py jupyter_lab_config.py
.pdbrc .irbrc .pryrc .cargo/config .cargo/config.toml .mvn .bundle/config
`)

// spotPaths are the spots, and what agents have besides, in a directory: kept where nothing is, or seen to afterwards.
func (c *core) spotPaths() (kept, seen []string) {
	for _, s := range spots {
		if path, ok := strings.CutPrefix(s, "!"); ok {
			kept = append(kept, path)
		} else {
			seen = append(seen, s)
		}
	}
	for _, s := range c.config.Agents {
		if !slices.Contains(kept, s) {
			seen = append(seen, s)
		}
	}
	return kept, seen
}

// marks are the spots by their last names, as seenAs has them.
type marks struct {
	byName map[string][][]string // the names of each, from the top down
	ending []string
}

func newMarks(agents []string) marks {
	m := marks{byName: map[string][][]string{}}
	for _, s := range slices.Concat(spots, agents) {
		s = strings.ToLower(strings.TrimPrefix(s, "!"))
		if end, ok := strings.CutPrefix(s, "*"); ok {
			m.ending = append(m.ending, end)
			continue
		}
		names := strings.Split(s, "/")
		last := names[len(names)-1]
		m.byName[last] = append(m.byName[last], names)
	}
	return m
}

// ends reports whether the path of name in dir, with slashes, ends in one of the spots.
func (m *marks) ends(dir, name string) bool {
	last := seenAs(name)
	if slices.ContainsFunc(m.ending, func(end string) bool { return strings.HasSuffix(last, end) }) {
		return true
	}
	spots := m.byName[last]
	if len(spots) == 0 {
		return false
	}
	names := append(strings.Split(dir, "/"), name)
	for i := range names {
		names[i] = seenAs(names[i])
	}
	return slices.ContainsFunc(spots, func(s []string) bool {
		return len(s) <= len(names) && slices.Equal(s, names[len(names)-len(s):])
	})
}

// Spots gives a function that reports whether programs, or the agents whose files are named, act by themselves on a path, whatever
// directory it is relative to, or on one above it.
func Spots(agents []string) func(rel string) bool {
	m := newMarks(agents)
	return m.hold
}

// hold reports whether a path below the working directory is one of the spots, or below one, in whatever directory.
func (m *marks) hold(rel string) bool {
	for i := range len(rel) + 1 {
		if (i == len(rel) || rel[i] == '/') && m.ends(path.Dir(rel[:i]), path.Base(rel[:i])) {
			return true
		}
	}
	return false
}

// seenAs is what some file system takes name for: without regard to case, to characters that are not seen, to a
// stream, and to blanks and dots at the end.
func seenAs(name string) string {
	name, _, _ = strings.Cut(name, ":")
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || r < ' ' }) {
		return strings.TrimRight(strings.ToLower(name), " .")
	}
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || diag.Invisible(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	return strings.TrimRight(name, " .")
}

// inWork is the path of a spot in the working directory.
func (c *core) inWork(spot string) string {
	return filepath.Join(c.work.real, filepath.FromSlash(spot))
}
