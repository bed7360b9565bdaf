package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/pelletier/go-toml/v2"
)

// A Trust is what an agent recorded of its user's trust in a folder. It is the agent's own, and apart from skl's.
type Trust string

const (
	TrustGiven   Trust = "given"
	TrustDenied  Trust = "denied"
	TrustUnasked Trust = "unasked" // nothing is recorded: the agent asks at its next start there
	TrustUnknown Trust = "unknown" // its files cannot be read
	TrustNone    Trust = ""        // it keeps none that skl knows of
)

// FolderTrust reads what h recorded of the folder that it is started in, env.Cwd. Claude Code and Codex ask for it and load
// skills all the same; only of hosts with Trust set does it decide whether they read project skills.
func (h Host) FolderTrust(env Env) Trust {
	dir := env.Cwd
	if dir == "" {
		dir = env.Project
	}
	if dir == "" {
		return TrustNone
	}
	switch h.ID {
	case "claude-code":
		return env.claudeTrust(dir)
	case "codex":
		return env.codexTrust(dir)
	case "gemini-cli":
		return env.geminiTrust(dir)
	}
	return TrustNone
}

// claudeTrust: trust in a folder holds for those below it.
func (e Env) claudeTrust(dir string) Trust {
	var file struct {
		Projects map[string]struct {
			Accepted *bool `json:"hasTrustDialogAccepted"`
		} `json:"projects"`
	}
	path := e.Expand("~/.claude.json")
	if moved := e.Expand("${CLAUDE_CONFIG_DIR}/.claude.json"); moved != "" {
		path = moved
	}
	if t := e.read(path, func(text []byte) error { return json.Unmarshal(text, &file) }); t != "" {
		return t
	}
	answer := TrustUnasked
	for _, at := range above(dir) {
		switch p, ok := file.Projects[at]; {
		case !ok || p.Accepted == nil:
		case *p.Accepted:
			return TrustGiven
		case at == dir:
			answer = TrustDenied
		}
	}
	return answer
}

// codexTrust: the folder, then the project's top.
func (e Env) codexTrust(dir string) Trust {
	var file struct {
		Projects map[string]struct {
			Level string `toml:"trust_level"`
		} `toml:"projects"`
	}
	if t := e.read(e.Expand("${CODEX_HOME:-~/.codex}/config.toml"), func(text []byte) error { return toml.Unmarshal(text, &file) }); t != "" {
		return t
	}
	for _, at := range []string{dir, e.Project} {
		switch file.Projects[at].Level {
		case "trusted":
			return TrustGiven
		case "untrusted":
			return TrustDenied
		}
	}
	return TrustUnasked
}

// geminiTrust is decided by two variables, by the setting that turns folder trust off, and by the rule with the longest
// path that holds dir. The system's settings are stronger than the user's.
func (e Env) geminiTrust(dir string) Trust {
	switch {
	case e.variable("GEMINI_CLI_TRUST_WORKSPACE") == "true":
		return TrustGiven
	case e.variable("GEMINI_CLI_TRUST_WORKSPACE") == "false", e.variable("GEMINI_RESTRICTED_MODE") == "true":
		return TrustDenied
	}
	home := e.Expand("${GEMINI_CLI_HOME:-~}/.gemini")
	for _, path := range []string{e.geminiSystem(), filepath.Join(home, "settings.json")} {
		var settings struct {
			Security struct {
				FolderTrust struct {
					Enabled *bool `json:"enabled"`
				} `json:"folderTrust"`
			} `json:"security"`
		}
		switch t := e.read(path, func(text []byte) error { return json.Unmarshal(withoutComments(text), &settings) }); {
		case t == TrustUnknown:
			return t
		case settings.Security.FolderTrust.Enabled == nil:
			continue
		case !*settings.Security.FolderTrust.Enabled:
			return TrustGiven
		}
		break
	}
	path := filepath.Join(home, "trustedFolders.json")
	if moved := e.Expand("${GEMINI_CLI_TRUSTED_FOLDERS_PATH}"); moved != "" && moved != "." {
		path = moved
	}
	var rules map[string]string
	if t := e.read(path, func(text []byte) error { return json.Unmarshal(withoutComments(text), &rules) }); t != "" {
		return t
	}
	answer, longest := TrustUnasked, -1
	for rule, level := range rules {
		at, given := filepath.Clean(rule), level == "TRUST_FOLDER" || level == "TRUST_PARENT"
		if level == "TRUST_PARENT" {
			at = filepath.Dir(at)
		}
		if !given && level != "DO_NOT_TRUST" || !holds(at, dir) || len(rule) <= longest {
			continue
		}
		if longest, answer = len(rule), TrustDenied; given {
			answer = TrustGiven
		}
	}
	return answer
}

func (e Env) geminiSystem() string {
	if path := e.Expand("${GEMINI_CLI_SYSTEM_SETTINGS_PATH}"); path != "" && path != "." {
		return path
	}
	switch runtime.GOOS {
	case "windows":
		return `C:\ProgramData\gemini-cli\settings.json`
	case "darwin":
		return "/Library/Application Support/GeminiCli/settings.json"
	}
	return "/etc/gemini-cli/settings.json"
}

// read parses the file at path. It is TrustUnasked if there is none, TrustUnknown if it cannot be read, "" if it was.
func (e Env) read(path string, parse func([]byte) error) Trust {
	if e.ReadFile == nil || path == "" {
		return TrustUnasked
	}
	text, err := e.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return TrustUnasked
	case err != nil || parse(text) != nil:
		return TrustUnknown
	}
	return ""
}

func (e Env) variable(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// above is dir and the directories above it.
func above(dir string) (dirs []string) {
	for ; ; dir = filepath.Dir(dir) {
		if dirs = append(dirs, dir); dir == filepath.Dir(dir) {
			return dirs
		}
	}
}

// holds reports whether path is dir or below it.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// withoutComments replaces the comments of a JSON file that people edit by blanks.
func withoutComments(text []byte) []byte {
	out := []byte(string(text))
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(out); i++ {
		rest := string(out[i:min(i+2, len(out))])
		switch {
		case out[i] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case rest == "//":
			end := i
			for end < len(out) && out[end] != '\n' {
				end++
			}
			blank(i, end)
			i = end
		case rest == "/*":
			end := len(out)
			if n := bytes.Index(out[i+2:], []byte("*/")); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
			i = end - 1
		}
	}
	return out
}
