package hosts

import (
	"errors"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

var errSkillsConfig = errors.New("skills.config is not what Codex takes: entries with a name, or the path of a SKILL.md, and enabled")

// codex: the user's file alone; a project's has no effect.
func (s *switches) codex() {
	s.budget = codexBudget(s.env, nil)
	for _, file := range s.env.own("${CODEX_HOME:-~/.codex}/config.toml") {
		text, ok := s.settings(file)
		if !ok {
			continue
		}
		var top map[string]any
		err := toml.Unmarshal(text, &top)
		if err == nil {
			s.budget = codexBudget(s.env, top)
			s.rules, err = codexRules(s.env, file.path, top)
		}
		if err != nil {
			s.fail(file.path, err)
		}
	}
}

func codexRules(env Env, file string, top map[string]any) (rules []switchRule, err error) {
	skills, ok := top["skills"].(map[string]any)
	if !ok {
		if top["skills"] != nil {
			return nil, errSkillsConfig
		}
		return nil, nil
	}
	entries, ok := skills["config"].([]any)
	if !ok && skills["config"] != nil {
		return nil, errSkillsConfig
	}
	for _, e := range entries {
		entry, ok := e.(map[string]any)
		enabled, said := entry["enabled"].(bool)
		name, named := entry["name"].(string)
		path, placed := entry["path"].(string)
		if len(rules) == maxSwitches {
			return nil, errManySwitches
		}
		if !ok || !said || !named && entry["name"] != nil || !placed && entry["path"] != nil {
			return nil, errSkillsConfig
		}
		if named == placed || name+path == "" {
			continue // it passes by what names both, or nothing
		}
		r := switchRule{name: name, off: !enabled, at: Switch{file, 0, "skills.config, name = " + quoted(name)}}
		if placed {
			r.at.Text = "skills.config, path = " + quoted(path)
			if path = env.Expand(path); !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(file), path)
			}
			r.path = path
		}
		rules = append(rules, r)
	}
	return rules, nil
}
