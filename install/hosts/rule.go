package hosts

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/skill"
)

// A Setting is how a person keeps a skill from the model of one host without a change to the skill.
type Setting struct {
	File string `json:"file,omitempty"` // of the host's settings, as people name it; "" if Text is a command to type
	Text string `json:"text"`           // what belongs there
}

// KeepFrom returns the setting that keeps the skill in dir, an absolute path, from h's model. Each was seen to work in the host that it
// is for; ok is false where none is known. With people, Claude Code's leaves the command /NAME to them; the others take the skill away.
func (h Host) KeepFrom(name, dir string, people bool) (s Setting, ok bool) {
	quoted, err := json.Marshal(name)
	if err != nil {
		return Setting{}, false
	}
	switch h.ID {
	case "claude-code":
		mode := "off"
		if people {
			mode = "user-invocable-only"
		}
		return Setting{".claude/settings.json", `{"skillOverrides": {` + string(quoted) + `: "` + mode + `"}}`}, true
	case "codex":
		file, err := json.Marshal(path.Join(filepath.ToSlash(dir), "SKILL.md"))
		return Setting{"~/.codex/config.toml", "[[skills.config]]\npath = " + string(file) + "\nenabled = false"}, err == nil
	case "gemini-cli":
		return Setting{"~/.gemini/settings.json", `{"skills": {"disabled": [` + string(quoted) + `]}}`}, true
	case "opencode":
		return Setting{"opencode.json", `{"permission": {"skill": {` + string(quoted) + `: "deny"}}}`}, true
	case "github-copilot":
		return Setting{"", "copilot skill disable '" + strings.ReplaceAll(name, "'", `'\''`) + "'"}, true
	}
	return Setting{}, false
}

// Expresses reports whether a key that h keeps can say one of limits, which are those of package skill: then a skill converted for h
// has it.
func (h Host) Expresses(limits []string) bool {
	return slices.ContainsFunc(limits, func(limit string) bool {
		switch limit, _, _ := strings.Cut(limit, ":"); limit {
		case "model_invocation":
			return slices.Contains(h.Honours, skill.KeyNoModel) || slices.Contains(h.Honours, skill.KeyNoImplicit)
		case "tools.deny":
			return slices.Contains(h.Honours, skill.KeyNoTools)
		}
		return false
	})
}
