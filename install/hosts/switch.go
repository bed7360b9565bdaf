package hosts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/skl-project/skl/spec/diag"
)

// A Switch is what keeps a skill from a host's model: an entry in the host's own settings.
type Switch struct {
	File string `json:"file"`           // absolute
	Line int    `json:"line,omitempty"` // from 1; 0 where the format does not give it
	Text string `json:"text"`           // the entry: skillOverrides, "pdf": "off"
}

// An Unclear is a file of a host's settings that could not be read, so that nobody knows what it switches off.
type Unclear struct {
	File string // absolute
	Why  string
}

// A switchRule is an entry that switches skills off, or on again. Of those that match a skill the last holds.
type switchRule struct {
	name    string // of the skill, as the host calls it; "" if the rule is about a path
	path    string // of a SKILL.md
	anyCase bool   // of name
	isGlob  bool   // name has * and ?
	off     bool
	at      Switch
}

// A settingsFile is one that a host reads.
type settingsFile struct {
	path      string
	isProject bool // somebody else may have written it
}

// maxSettings bounds a file of settings, in bytes; maxSwitches the entries of one that are about skills; maxShown what people are shown of a text of
// one, in bytes: no name and no sentence is as long.
const (
	maxSettings = 1 << 20
	maxShown    = 200
	maxSwitches = 10_000
)

var (
	errLargeSettings = errors.New("it is larger than 1 MiB")
	errManySwitches  = errors.New("it has more than 10,000 entries about skills")
)

// switches are the settings of a host that say which skills it does not load, weakest first.
type switches struct {
	env     Env
	rules   []switchRule
	unclear []Unclear
	budget  *Budget // how much it tells its model of skills; nil if that is not known to be limited
}

// switches reads the settings of h, as its program was measured to. Of hosts that were not, it knows none.
func (h Host) switches(env Env) *switches {
	s := &switches{env: env}
	switch h.ID {
	case "claude-code":
		s.claude()
	case "codex":
		s.codex()
	case "github-copilot":
		s.copilot()
	case "gemini-cli":
		s.gemini(h.FolderTrust(env) == TrustGiven)
	case "opencode":
		s.opencode()
	}
	if s.budget != nil && len(s.unclear) > 0 { // what a file says that could not be read is not known
		s.budget.About = true
	}
	return s
}

// claude: settings are merged name by name, those of the folder over the user's, and over these the local ones of the folder and of the
// project's top. A model is not told of a skill that is off, or for people only. What "permissions" deny, it is told of.
func (s *switches) claude() {
	files := append(s.env.own("${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json"), s.env.inFolder(".claude/settings.json", ".claude/settings.local.json")...)
	if s.env.Project != "" {
		files = append(files, settingsFile{filepath.Join(s.env.Project, ".claude", "settings.local.json"), true})
	}
	var told budgets
	defer func() { s.budget = told.claude(s.env) }()
	s.each(files, strictJSON, func(file string, top object) error {
		overrides, err := top.object("skillOverrides")
		if err != nil {
			return err
		}
		for _, m := range overrides {
			mode, err := m.text()
			if err != nil || !slices.Contains([]string{"on", "name-only", "user-invocable-only", "off"}, mode) {
				return m.unknown("skillOverrides")
			}
			s.rules = append(s.rules, switchRule{name: m.key, off: mode == "off" || mode == "user-invocable-only",
				at: Switch{file, m.line(), "skillOverrides, " + quoted(m.key) + ": " + quoted(mode)}})
		}
		told.claudeSettings(file, top)
		return nil
	})
}

// copilot: the user's settings alone.
func (s *switches) copilot() {
	s.budget = &Budget{Unit: "characters", Limit: copilotLimit, measure: copilotTells, raise: noRaise}
	s.each(s.env.own("~/.copilot/settings.json"), trailingJSON, func(file string, top object) error {
		return s.list(file, top, "disabledSkills", "disabledSkills", false)
	})
}

// gemini: what any of the files disables is disabled. Those of a folder that it was not told to trust it does not read.
func (s *switches) gemini(trusted bool) {
	files := append([]settingsFile{{s.env.geminiSystem(), false}}, s.env.own("${GEMINI_CLI_HOME:-~}/.gemini/settings.json")...)
	if trusted {
		files = append(files, s.env.inFolder(".gemini/settings.json")...)
	}
	s.each(files, commentedJSON, func(file string, top object) error {
		skills, err := top.object("skills")
		if err != nil {
			return err
		}
		return s.list(file, skills, "disabled", "skills.disabled", true)
	})
}

// list takes names of skills that are off from the array called key of o, which people call label.
func (s *switches) list(file string, o object, key, label string, anyCase bool) error {
	m, ok := o.member(key)
	if !ok {
		return nil
	}
	names, err := m.texts()
	if err != nil {
		return m.unknown(label)
	}
	for _, n := range names {
		s.rules = append(s.rules, switchRule{name: n.key, anyCase: anyCase, off: true, at: Switch{file, n.line(), label + ", " + quoted(n.key)}})
	}
	return nil
}

// own is a file of the user's settings, none if it depends on a variable that is not set.
func (e Env) own(path string) []settingsFile {
	if path = e.Expand(path); path == "" || path == "." {
		return nil
	}
	return []settingsFile{{path, false}}
}

// inFolder are files of the folder that the host is started in, none without a project.
func (e Env) inFolder(names ...string) (files []settingsFile) {
	if e.Project == "" {
		return nil
	}
	for _, name := range names {
		files = append(files, settingsFile{filepath.Join(Levels(e.Project, e.Cwd)[0], filepath.FromSlash(name)), true})
	}
	return files
}

// settings reads a file of a host's settings; ok is false if there is none, or it cannot be read, which s keeps.
func (s *switches) settings(file settingsFile) (text []byte, ok bool) {
	read := s.env.ReadFile
	if file.isProject {
		read = s.env.ReadProject
	}
	if read == nil {
		return nil, false
	}
	text, err := read(file.path)
	if err == nil && len(text) > maxSettings {
		err = errLargeSettings
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			s.fail(file.path, err)
		}
		return nil, false
	}
	return text, true
}

func (s *switches) fail(file string, err error) {
	s.unclear = append(s.unclear, Unclear{file, diag.Clip(diag.Printable(err.Error()), maxShown)})
}

// each parses those of files that are there, the weakest first. A file of which take refuses something counts as not read.
func (s *switches) each(files []settingsFile, as dialect, take func(file string, top object) error) {
	var seen []string
	for _, file := range files {
		if slices.Contains(seen, file.path) {
			continue
		}
		seen = append(seen, file.path)
		text, ok := s.settings(file)
		if !ok {
			continue
		}
		before := len(s.rules)
		top, err := parseObject(text, as)
		if err == nil {
			err = take(file.path, top)
		}
		if err == nil && len(s.rules)-before > maxSwitches {
			err = errManySwitches
		}
		if err != nil {
			s.rules = s.rules[:before]
			s.fail(file.path, err)
		}
	}
}

// quoted is a text of a settings file as people are shown it.
func quoted(text string) string { return strconv.Quote(diag.Clip(text, maxShown)) }

// of is what switches a copy off that the host calls name, nil if nothing does.
func (s *switches) of(name string, c Copy) *Switch {
	for _, r := range slices.Backward(s.rules) {
		if !r.matches(name, c, s.env) {
			continue
		}
		if r.off {
			return &r.at
		}
		return nil
	}
	return nil
}

func (r switchRule) matches(name string, c Copy, env Env) bool {
	switch {
	case r.path != "":
		return c.isAt(r.path, env)
	case r.isGlob:
		return matchGlob(r.name, name)
	case r.anyCase:
		return strings.EqualFold(r.name, name)
	}
	return r.name == name
}

// isAt reports whether file is the SKILL.md of the copy, by any of the paths to it.
func (c Copy) isAt(file string, env Env) bool {
	dir, base := filepath.Split(filepath.Clean(file))
	if base != "SKILL.md" {
		return false // a host takes no folder for it
	}
	dirs := []string{filepath.Clean(dir)}
	if env.Real != nil {
		if real, err := env.Real(filepath.Clean(dir)); err == nil {
			dirs = append(dirs, real)
		}
	}
	return slices.Contains(dirs, c.Dir) || slices.ContainsFunc(c.Places, func(p Place) bool {
		return slices.Contains(dirs, filepath.Join(p.Root, filepath.FromSlash(p.Rel)))
	})
}

// matchGlob matches all of text; * is any characters, ? is one.
func matchGlob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, from := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
