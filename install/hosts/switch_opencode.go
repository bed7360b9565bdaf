package hosts

import (
	"path/filepath"
	"slices"
)

// A permission is an entry below "permission" of OpenCode: a word for everything of a kind, or words for patterns.
type permission struct {
	kind  string
	whole bool // a word for everything
	rules []switchRule
}

// opencode: files are merged, the nearer over the farther, and entries keep the place where they were first. The last pattern that
// matches a skill holds.
func (s *switches) opencode() {
	var all []permission
	s.each(s.env.opencodeFiles(), trailingJSON, func(file string, top object) error {
		m, ok := top.member("permission")
		if !ok {
			return nil
		}
		found, err := permissionsOf(file, m)
		if err == nil {
			all = mergePermissions(all, found)
		}
		return err
	})
	// A kind with a * is weaker than "skill": newer versions take it first, older ones in the order of the file. Where that matters, it is not known.
	var order, sorted []switchRule
	for _, p := range all {
		order = append(order, p.rules...)
	}
	for _, exact := range []bool{false, true} {
		for _, p := range all {
			if (p.kind == "skill") == exact {
				sorted = append(sorted, p.rules...)
			}
		}
	}
	s.rules = sorted
	if last := len(order) - 1; last >= 0 && order[last].at != sorted[last].at {
		s.unclear = append(s.unclear, Unclear{order[last].at.File, "in permission, an entry for several tools follows skill, which versions of OpenCode take differently"})
	}
}

// opencodeFiles are those that are merged, the farthest first.
func (e Env) opencodeFiles() (files []settingsFile) {
	for _, path := range []string{"${XDG_CONFIG_HOME:-~/.config}/opencode/config.json", "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json",
		"${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc", "${OPENCODE_CONFIG}"} {
		files = append(files, e.own(path)...)
	}
	if e.Project != "" {
		levels := Levels(e.Project, e.Cwd)
		slices.Reverse(levels)
		for _, below := range []string{"", ".opencode"} {
			for _, dir := range levels {
				files = append(files, settingsFile{filepath.Join(dir, below, "opencode.json"), true}, settingsFile{filepath.Join(dir, below, "opencode.jsonc"), true})
			}
		}
	}
	return append(append(files, e.own("~/.opencode/opencode.json")...), e.own("~/.opencode/opencode.jsonc")...)
}

// permissionsOf are the entries that are about skills.
func permissionsOf(file string, m member) (out []permission, err error) {
	one := func(kind, pattern string, from member, action string) (switchRule, error) {
		if !slices.Contains([]string{"allow", "ask", "deny"}, action) {
			return switchRule{}, from.unknown("permission")
		}
		text := "permission"
		if kind != "" {
			text += "." + kind
		}
		return switchRule{name: pattern, isGlob: true, off: action == "deny", at: Switch{file, from.line(), text + ", " + quoted(pattern) + ": " + quoted(action)}}, nil
	}
	if action, err := m.text(); err == nil {
		r, err := one("", "*", m, action)
		return []permission{{"*", true, []switchRule{r}}}, err
	}
	kinds, err := m.object()
	if err != nil {
		return nil, m.unknown("permission")
	}
	for _, k := range kinds {
		if !matchGlob(k.key, "skill") {
			continue
		}
		p := permission{kind: k.key}
		if action, err := k.text(); err == nil {
			r, err := one(k.key, "*", k, action)
			if err != nil {
				return nil, err
			}
			p.rules, p.whole = []switchRule{r}, true
		} else {
			patterns, err := k.object()
			if err != nil {
				return nil, k.unknown("permission")
			}
			for _, m := range patterns {
				action, _ := m.text()
				r, err := one(k.key, m.key, m, action)
				if err != nil {
					return nil, err
				}
				if p.rules = append(p.rules, r); len(p.rules) > maxSwitches {
					return nil, errManySwitches
				}
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// mergePermissions puts those of a nearer file over those of farther ones.
func mergePermissions(all, nearer []permission) []permission {
	for _, p := range nearer {
		i := slices.IndexFunc(all, func(a permission) bool { return a.kind == p.kind })
		if i < 0 {
			all = append(all, p)
			continue
		}
		if p.whole || all[i].whole {
			all[i].whole, all[i].rules = p.whole, p.rules
			continue
		}
		rules := slices.Clone(all[i].rules)
		for _, r := range p.rules {
			if n := slices.IndexFunc(rules, func(o switchRule) bool { return o.name == r.name }); n >= 0 {
				rules[n] = r
			} else {
				rules = append(rules, r)
			}
		}
		all[i].rules = rules
	}
	return all
}
