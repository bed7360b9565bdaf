package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// settingsOf is a machine with these files, which the project's reader has too.
func settingsOf(getenv, files map[string]string) Env {
	env := machine(getenv)
	env.ReadFile = func(path string) ([]byte, error) {
		if text, ok := files[filepath.ToSlash(path)]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	env.ReadProject = env.ReadFile
	return env
}

// TestOff reads the settings of agents, for a skill pdf in the project and one called notes there: what does not load is named with the
// file and line that says so; a name with ? is of an agent whose settings could not be read.
func TestOff(t *testing.T) {
	type files = map[string]string
	const user, project, local = "/home/u/.claude/settings.json", "/home/u/p/.claude/settings.json", "/home/u/p/.claude/settings.local.json"
	const codex, copilot, gemini, workspace = "/home/u/.codex/config.toml", "/home/u/.copilot/settings.json", "/home/u/.gemini/settings.json", "/home/u/p/.gemini/settings.json"
	const trusted, global, oc = "/home/u/.gemini/trustedFolders.json", "/home/u/.config/opencode/opencode.json", "/home/u/p/opencode.json"
	sub := map[string]string{"cwd": "/home/u/p/sub"}
	for _, tt := range []struct {
		name, host string
		env        map[string]string
		files      files
		want       string
	}{
		{"nothing", "claude-code", nil, nil, ""},
		{"off", "claude-code", nil, files{user: "{\n\"skillOverrides\": {\n\"pdf\": \"off\"}}"}, "pdf " + user + ":3"},
		{"for people only", "claude-code", nil, files{project: `{"skillOverrides": {"pdf": "user-invocable-only"}}`}, "pdf " + project + ":1"},
		{"a bare name is listed", "claude-code", nil, files{user: `{"skillOverrides": {"pdf": "name-only"}}`}, ""},
		{"local over project over user", "claude-code", nil, files{user: `{"skillOverrides": {"pdf": "off", "notes": "on"}}`, project: `{"skillOverrides": {"pdf": "on", "notes": "on"}}`, local: `{"skillOverrides": {"notes": "off"}}`}, "notes " + local + ":1"},
		{"the user's, where the project says nothing of it", "claude-code", nil, files{user: `{"skillOverrides": {"pdf": "off"}}`, project: `{"skillOverrides": {"notes": "on"}}`}, "pdf " + user + ":1"},
		{"started below, that folder's settings and the local ones of the top", "claude-code", sub, files{project: `{"skillOverrides": {"pdf": "off"}}`, "/home/u/p/sub/.claude/settings.json": `{"skillOverrides": {"notes": "off"}}`, local: `{"skillOverrides": {"pdf": "off"}}`}, "pdf " + local + ":1 notes /home/u/p/sub/.claude/settings.json:1"},
		{"a denial to start it leaves it listed", "claude-code", nil, files{user: `{"permissions": {"deny": ["Skill(pdf)"]}}`}, ""},
		{"another case", "claude-code", nil, files{user: `{"skillOverrides": {"PDF": "off"}, "SkillOverrides": {"pdf": "off"}}`}, ""},
		{"a moved directory", "claude-code", map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, files{"/c/settings.json": `{"skillOverrides": {"pdf": "off"}}`}, "pdf /c/settings.json:1"},
		{"a key twice", "claude-code", nil, files{user: `{"skillOverrides": {"pdf": "off", "pdf": "on"}}`}, ""},
		{"damaged", "claude-code", nil, files{user: `{"skillOverrides": {"pdf": "off"}}`, local: "{"}, "pdf " + user + ":1 ?" + local},
		{"a comment is damage there", "claude-code", nil, files{user: "{} // mine"}, "?" + user},
		{"a mode that is none", "claude-code", nil, files{user: `{"skillOverrides": {"notes": "off", "pdf": "never"}}`}, "?" + user},
		{"a value that is none", "claude-code", nil, files{user: `{"skillOverrides": ["pdf"]}`}, "?" + user},
		{"no object", "claude-code", nil, files{user: `[]`}, "?" + user},
		{"more after it", "claude-code", nil, files{user: `{} {}`}, "?" + user},
		{"empty", "claude-code", nil, files{user: " \n"}, ""},
		{"a mark at the start", "claude-code", nil, files{user: "\xef\xbb\xbf{\"skillOverrides\": {\"pdf\": \"off\"}}"}, "pdf " + user + ":1"},

		{"a name", "codex", nil, files{codex: "[[skills.config]]\nname = \"pdf\"\nenabled = false\n"}, "pdf " + codex},
		{"a path", "codex", nil, files{codex: "[[skills.config]]\npath = \"/home/u/p/.agents/skills/pdf/SKILL.md\"\nenabled = false\n"}, "pdf " + codex},
		{"a path below ~", "codex", nil, files{codex: "[[skills.config]]\npath = \"~/p/.agents/skills/pdf/SKILL.md\"\nenabled = false\n"}, "pdf " + codex},
		{"a path through a link", "codex", nil, files{codex: "[[skills.config]]\npath = \"/link/pdf/SKILL.md\"\nenabled = false\n"}, "pdf " + codex},
		{"a folder does nothing", "codex", nil, files{codex: "[[skills.config]]\npath = \"/home/u/p/.agents/skills/pdf\"\nenabled = false\n"}, ""},
		{"on", "codex", nil, files{codex: "[[skills.config]]\nname = \"pdf\"\nenabled = true\n"}, ""},
		{"the last holds", "codex", nil, files{codex: "[[skills.config]]\npath = \"/home/u/p/.agents/skills/pdf/SKILL.md\"\nenabled = false\n[[skills.config]]\nname = \"pdf\"\nenabled = true\n"}, ""},
		{"a project's file has no effect", "codex", nil, files{"/home/u/p/.codex/config.toml": "[[skills.config]]\nname = \"pdf\"\nenabled = false\n"}, ""},
		{"a moved directory", "codex", map[string]string{"CODEX_HOME": "/c"}, files{"/c/config.toml": "[[skills.config]]\nname = \"pdf\"\nenabled = false\n"}, "pdf /c/config.toml"},
		{"damaged", "codex", nil, files{codex: "[[skills"}, "?" + codex},
		{"both a name and a path", "codex", nil, files{codex: "[[skills.config]]\nname = \"pdf\"\npath = \"/x/SKILL.md\"\nenabled = false\n"}, ""},
		{"one that names nothing, and the next", "codex", nil, files{codex: "[[skills.config]]\nname = \"\"\nenabled = false\n[[skills.config]]\nname = \"pdf\"\nenabled = false\n"}, "pdf " + codex},
		{"a path beside the file", "codex", nil, files{codex: "[[skills.config]]\npath = \"../p/.agents/skills/pdf/SKILL.md\"\nenabled = false\n"}, "pdf " + codex},
		{"a name of another kind", "codex", nil, files{codex: "[[skills.config]]\nname = 7\nenabled = false\n"}, "?" + codex},
		{"another case", "codex", nil, files{codex: "[[skills.config]]\nname = \"PDF\"\nenabled = false\n"}, ""},
		{"nothing said", "codex", nil, files{codex: "[[skills.config]]\nname = \"pdf\"\n"}, "?" + codex},
		{"another shape", "codex", nil, files{codex: "[skills]\nconfig = \"pdf\"\n"}, "?" + codex},
		{"another key", "codex", nil, files{codex: "[skills.bundled]\nenabled = true\n"}, ""},

		{"disabled", "github-copilot", nil, files{copilot: "// written by copilot\n{\"disabledSkills\": [\"x\",\n\"pdf\"]}"}, "pdf " + copilot + ":3"},
		{"null", "github-copilot", nil, files{copilot: `{"disabledSkills": null}`}, ""},
		{"another shape", "github-copilot", nil, files{copilot: `{"disabledSkills": {"pdf": true}}`}, "?" + copilot},
		{"an element of another kind", "github-copilot", nil, files{copilot: `{"disabledSkills": ["pdf", 7]}`}, "?" + copilot},

		{"disabled, in another case", "gemini-cli", nil, files{trusted: `{"/home/u/p": "TRUST_FOLDER"}`, gemini: `{"skills": {"disabled": ["PDF"]}} // mine`}, "pdf " + gemini + ":1"},
		{"all files count", "gemini-cli", nil, files{trusted: `{"/home/u/p": "TRUST_FOLDER"}`, gemini: `{"skills": {"disabled": ["pdf"]}}`, workspace: `{"skills": {"disabled": ["notes"]}}`}, "pdf " + gemini + ":1 notes " + workspace + ":1"},
		{"a folder without trust", "gemini-cli", nil, files{workspace: `{"skills": {"disabled": ["notes"]}}`}, ""},
		{"without trust, the user's", "gemini-cli", nil, files{gemini: `{"skills": {"disabled": ["notes"]}}`}, "notes " + gemini + ":1"},
		{"another shape", "gemini-cli", nil, files{trusted: `{"/home/u/p": "TRUST_FOLDER"}`, workspace: `{"skills": 7}`}, "?" + workspace},
		{"a comma too much is damage there", "gemini-cli", nil, files{gemini: `{"skills": {"disabled": ["pdf",]}}`}, "?" + gemini},

		{"denied", "opencode", nil, files{oc: "{\n// mine\n\"permission\": {\"skill\": {\"pdf\": \"deny\",},},}"}, "pdf " + oc + ":3"},
		{"asked for", "opencode", nil, files{oc: `{"permission": {"skill": {"pdf": "ask"}}}`}, ""},
		{"a pattern", "opencode", nil, files{oc: `{"permission": {"skill": {"p?*": "deny"}}}`}, "pdf " + oc + ":1"},
		{"the last match", "opencode", nil, files{oc: `{"permission": {"skill": {"*": "deny", "pdf": "allow"}}}`}, "notes " + oc + ":1"},
		{"the last match, the other way round", "opencode", nil, files{oc: `{"permission": {"skill": {"pdf": "allow", "*": "deny"}}}`}, "pdf " + oc + ":1 notes " + oc + ":1"},
		{"all skills", "opencode", nil, files{oc: `{"permission": {"skill": "deny"}}`}, "pdf " + oc + ":1 notes " + oc + ":1"},
		{"everything", "opencode", nil, files{oc: `{"permission": "deny"}`}, "pdf " + oc + ":1 notes " + oc + ":1"},
		{"everything but skills", "opencode", nil, files{oc: `{"permission": {"*": "deny", "skill": "allow"}}`}, ""},
		{"an order that versions read differently", "opencode", nil, files{oc: `{"permission": {"skill": {"pdf": "deny"}, "*": "allow"}}`}, "pdf " + oc + ":1 ?" + oc},
		{"other tools", "opencode", nil, files{oc: `{"permission": {"bash": "deny", "edit": {"*": "deny"}}}`}, ""},
		{"the project's over the user's, which keeps its place", "opencode", nil, files{global: `{"permission": {"skill": {"pdf": "deny", "notes": "deny"}}}`, oc: `{"permission": {"skill": {"notes": "allow"}}}`}, "pdf " + global + ":1"},
		{"a word over patterns", "opencode", nil, files{global: `{"permission": {"skill": {"pdf": "deny"}}}`, oc: `{"permission": {"skill": "allow"}}`}, ""},
		{"patterns over a word", "opencode", nil, files{global: `{"permission": {"skill": "deny"}}`, oc: `{"permission": {"skill": {"pdf": "deny"}}}`}, "pdf " + oc + ":1"},
		{"started below, the nearer over the farther", "opencode", sub, files{oc: `{"permission": {"skill": {"pdf": "deny", "notes": "deny"}}}`, "/home/u/p/sub/opencode.json": `{"permission": {"skill": {"pdf": "allow"}}}`}, "notes " + oc + ":1"},
		{"the folder's own", "opencode", nil, files{"/home/u/p/.opencode/opencode.jsonc": `{"permission": {"skill": {"pdf": "deny"}}}`}, "pdf /home/u/p/.opencode/opencode.jsonc:1"},
		{"a file that a variable names", "opencode", map[string]string{"OPENCODE_CONFIG": "/o.json"}, files{"/o.json": `{"permission": {"skill": {"pdf": "deny"}}}`}, "pdf /o.json:1"},
		{"an action that is none", "opencode", nil, files{oc: `{"permission": {"skill": {"pdf": "never"}}}`}, "?" + oc},
		{"another shape", "opencode", nil, files{oc: `{"permission": ["skill"]}`}, "?" + oc},
		{"two commas", "opencode", nil, files{oc: `{"permission": {},, }`}, "?" + oc},
		{"a comma and nothing", "opencode", nil, files{oc: `{,}`}, "?" + oc},

		{"not measured", "cursor", nil, files{"/home/u/.cursor/settings.json": `{"disabledSkills": ["pdf"]}`}, ""},
	} {
		h, _ := Find(tt.host)
		env := settingsOf(tt.env, tt.files)
		if cwd := tt.env["cwd"]; cwd != "" {
			env.Cwd = filepath.FromSlash(cwd)
		}
		env.Real = func(path string) (string, error) {
			return filepath.FromSlash(strings.Replace(filepath.ToSlash(path), "/link", "/home/u/p/.agents/skills", 1)), nil
		}
		reader := h.Reader(env)
		root := filepath.FromSlash("/home/u/p/" + h.ProjectReads[0])
		var got []string
		for _, name := range []string{"pdf", "notes"} {
			c := Copy{Places: []Place{{Root: root, Rel: name}}, Dir: filepath.Join(root, name), Name: name}
			off := reader.Off(c)
			if use := reader.Use([]Copy{c})[0]; (use == Off) != (off != nil) {
				t.Errorf("%s, %s: %s is %s, and switched off by %v", tt.host, tt.name, name, use, off)
			}
			if off == nil {
				continue
			}
			at := name + " " + filepath.ToSlash(off.File)
			if off.Line > 0 {
				at += fmt.Sprintf(":%d", off.Line)
			}
			got = append(got, at)
		}
		for _, u := range reader.Unclear() {
			got = append(got, "?"+filepath.ToSlash(u.File))
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s, %s: %q, want %q; %v", tt.host, tt.name, got, tt.want, reader.Unclear())
		}
	}
}

// Of several copies one may be off: the others are what they would be without it.
func TestOffBesideOthers(t *testing.T) {
	codex, _ := Find("codex")
	place := func(root string) Copy {
		dir := filepath.FromSlash("/home/u/" + root)
		return Copy{Places: []Place{{Root: dir, Rel: "pdf"}}, Dir: filepath.Join(dir, "pdf"), Name: "pdf", Tree: root}
	}
	copies := []Copy{place("p/.agents/skills"), place(".agents/skills"), place("p/elsewhere")}
	env := settingsOf(nil, map[string]string{"/home/u/.codex/config.toml": "[[skills.config]]\npath = \"/home/u/p/.agents/skills/pdf/SKILL.md\"\nenabled = false\n"})
	if got := strings.Join(Use(codex, env, copies), " "); got != "off loads unread" {
		t.Errorf("by path: %s", got)
	}
	claude, _ := Find("claude-code")
	env = settingsOf(nil, map[string]string{"/home/u/.claude/settings.json": `{"skillOverrides": {"pdf": "off"}}`})
	copies = []Copy{place("p/.claude/skills"), place(".claude/skills")}
	if got := strings.Join(Use(claude, env, copies), " "); got != "off off" {
		t.Errorf("by name: %s", got)
	}
	copilot, _ := Find("github-copilot")
	env = settingsOf(nil, map[string]string{"/home/u/.copilot/settings.json": `{"disabledSkills": ["a"]}`})
	root := filepath.FromSlash("/home/u/p/.github/skills")
	named := Copy{Places: []Place{{Root: root, Rel: "a"}, {Root: root, Rel: "b"}}, Front: "---\ndescription: D.\n---\n", Tree: "t"}
	if got := Use(copilot, env, []Copy{named})[0]; got != Unstable {
		t.Errorf("off by one of its names: %s", got)
	}
}

// Settings that cannot be had, or are too much, are told; a project's are read as a project's alone.
func TestOffUnreadable(t *testing.T) {
	codex, _ := Find("codex")
	env := machine(nil)
	env.ReadFile = func(string) ([]byte, error) { return nil, errors.New("permission denied\x1b[31m") }
	if got := codex.Reader(env).Unclear(); len(got) != 1 || !strings.Contains(got[0].Why, "permission denied") || strings.Contains(got[0].Why, "\x1b") {
		t.Errorf("denied: %q", got)
	}
	for _, text := range []string{"# " + strings.Repeat("x", maxSettings), strings.Repeat("[[skills.config]]\nname = \"x\"\nenabled = true\n", maxSwitches+1)} {
		env = settingsOf(nil, map[string]string{"/home/u/.codex/config.toml": text})
		if got := codex.Reader(env).Unclear(); len(got) != 1 {
			t.Errorf("%d bytes: %q", len(text), got)
		}
	}
	for _, text := range []string{`{"disabledSkills": [` + strings.Repeat(`"x",`, maxSwitches) + `"x"]}`} {
		copilot, _ := Find("github-copilot")
		env = settingsOf(nil, map[string]string{"/home/u/.copilot/settings.json": text})
		if got := copilot.Reader(env).Unclear(); len(got) != 1 {
			t.Errorf("%d bytes: %q", len(text), got)
		}
	}
	claude, _ := Find("claude-code")
	env = settingsOf(nil, nil)
	env.ReadFile = func(path string) ([]byte, error) {
		if strings.HasPrefix(filepath.ToSlash(path), "/home/u/p/") {
			t.Errorf("%s was read as the user's", path)
		}
		return nil, fs.ErrNotExist
	}
	var read []string
	env.ReadProject = func(path string) ([]byte, error) {
		read = append(read, filepath.Base(path))
		return nil, errors.New("a link that leads out")
	}
	if got := claude.Reader(env).Unclear(); len(got) != 2 || strings.Join(read, " ") != "settings.json settings.local.json" {
		t.Errorf("read %q: %q", read, got)
	}
}

// The settings that KeepFrom tells people to write are read back as off.
func TestOffAsKeptFrom(t *testing.T) {
	for id, file := range map[string]string{"claude-code": "/home/u/p/.claude/settings.json", "codex": "/home/u/.codex/config.toml", "gemini-cli": "/home/u/.gemini/settings.json", "opencode": "/home/u/p/opencode.json"} {
		h, _ := Find(id)
		root := filepath.FromSlash("/home/u/p/" + h.ProjectReads[0])
		c := Copy{Places: []Place{{Root: root, Rel: "pdf"}}, Dir: filepath.Join(root, "pdf"), Name: "pdf"}
		for _, people := range []bool{false, true} {
			s, ok := h.KeepFrom("pdf", c.Dir, people)
			if got := Use(h, settingsOf(nil, map[string]string{file: s.Text}), []Copy{c})[0]; !ok || got != Off {
				t.Errorf("%s with %s: %s", id, s.Text, got)
			}
		}
	}
}

func TestMatchGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"*", "x", true}, {"a*c", "abbc", true}, {"a*c", "abb", false}, {"a?c", "abc", true}, {"a?", "a", false}, {"", "", true}, {"", "a", false},
		{"*b*", "abc", true}, {"a.c", "abc", false}, {"*ab", "aab", true}, {"**", "x", true}, {"é?", "éa", true},
	} {
		if got := matchGlob(tt.pattern, tt.text); got != tt.want {
			t.Errorf("matchGlob(%q, %q) = %v", tt.pattern, tt.text, got)
		}
	}
}

// Settings of any text are read or told, and what they switch off is on a line of them.
func FuzzSwitches(f *testing.F) {
	f.Add(`{"skillOverrides": {"pdf": "off"}, "disabledSkills": ["pdf"], "skills": {"disabled": ["pdf"]}, "permission": {"skill": {"p*": "deny"}}}`)
	f.Add("[[skills.config]]\nname = \"pdf\"\nenabled = false\n")
	f.Add("{\"permission\": {\"*\": \"ask\", \"skill\": \"deny\",},}")
	f.Add("{\"a\": [,]}")
	f.Add("\xef\xbb\xbf{\"a\\u0000\": \"\xff\"}")
	f.Fuzz(func(t *testing.T, text string) {
		env := machine(nil)
		env.ReadFile = func(string) ([]byte, error) { return []byte(text), nil }
		env.ReadProject = env.ReadFile
		for _, id := range []string{"claude-code", "codex", "github-copilot", "gemini-cli", "opencode"} {
			h, _ := Find(id)
			root := filepath.FromSlash("/home/u/p/" + h.ProjectReads[0])
			off := h.Reader(env).Off(Copy{Places: []Place{{Root: root, Rel: "pdf"}}, Dir: filepath.Join(root, "pdf"), Name: "pdf"})
			if off != nil && (off.File == "" || off.Text == "" || off.Line > 1+strings.Count(text, "\n")) {
				t.Errorf("%s: %+v", id, off)
			}
		}
	})
}
