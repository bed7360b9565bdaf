package hosts

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// machine is an Env whose files are those of paths, all below / on a system with slashes.
func machine(getenv map[string]string, paths ...string) Env {
	files := fstest.MapFS{}
	for _, p := range paths {
		files[strings.TrimPrefix(p, "/")] = &fstest.MapFile{}
	}
	return Env{
		Home: filepath.FromSlash("/home/u"), Project: filepath.FromSlash("/home/u/p"),
		Getenv: func(key string) string { return getenv[key] },
		ReadFile: func(path string) ([]byte, error) {
			if filepath.ToSlash(path) == "/home/u/.gemini/trustedFolders.json" {
				return json.Marshal(map[string]string{filepath.FromSlash("/home/u/p"): "TRUST_FOLDER"})
			}
			return nil, fs.ErrNotExist
		},
		Stat: func(path string) (fs.FileInfo, error) {
			return fs.Stat(files, strings.TrimPrefix(filepath.ToSlash(path), "/"))
		},
	}
}

func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, h := range All() {
		if h.Name == "" || seen[h.ID] {
			t.Errorf("host %q: name %q; ids are unique and have a name", h.ID, h.Name)
		}
		seen[h.ID] = true
		if !slices.Contains(h.ProjectReads, h.ProjectWrite) || h.UserWrite != "" && !slices.Contains(h.UserReads, h.UserWrite) {
			t.Errorf("%s: does not read what is written for it", h.ID)
		}
		for _, p := range slices.Concat(h.ProjectReads, h.Evidence) {
			if !fs.ValidPath(p) {
				t.Errorf("%s: %q is not relative to a project", h.ID, p)
			}
		}
		for _, p := range slices.Concat(h.UserReads, h.Detect) {
			if p[0] != '~' && p[0] != '/' && !strings.HasPrefix(p, "${") {
				t.Errorf("%s: %q is not absolute", h.ID, p)
			}
		}
		if !slices.Contains([]Rule{FirstWins, ListsAll, AnyWins}, h.Rule) {
			t.Errorf("%s: rule %q", h.ID, h.Rule)
		}
	}
}

// The collected table of hosts is wider than what was measured: where it names
// a directory to write, ours does too.
// Every directory with a dot in which an agent looks for its skills, and every file that shows that it is used, is among its
// configuration.
func TestConfiguration(t *testing.T) {
	got := Configuration()
	for _, h := range All() {
		for _, p := range append(slices.Clone(h.ProjectReads), h.Evidence...) {
			if strings.Contains(p, "/") && p[0] != '.' || p == "skills" {
				continue
			}
			if !slices.ContainsFunc(got, func(c string) bool { return p == c || strings.HasPrefix(p, c+"/") }) {
				t.Errorf("%s: %s is not among %q", h.ID, p, got)
			}
		}
	}
	for _, want := range []string{".opencode", "opencode.jsonc", ".corteza", ".factory", ".github/skills", ".agents/skills", ".config/goose", ".codeium", ".vibe"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not there", want)
		}
	}
	for _, open := range []string{"", ".", ".github", ".agents", ".config", ".local", "data", "skills"} {
		if slices.Contains(got, open) {
			t.Errorf("%q is there", open)
		}
	}
}

func TestTableAgreesWithCollectedFacts(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "agent-hosts.csv"))
	if err != nil {
		t.Skip("shared/data/agent-hosts.csv is not beside the repository")
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		h, ok := Find(row[0])
		if !ok || h.Name != row[1] || h.ProjectWrite != row[2] || h.UserWrite != row[3] && !slices.Contains(h.UserReads, row[3]) {
			t.Errorf("%v\n  is in the table as %q %q %q", row, h.Name, h.ProjectWrite, h.UserReads)
		}
		for p := range strings.SplitSeq(row[4], " | ") {
			p = strings.Replace(p, "$APPDATA", "${APPDATA}", 1)
			p = strings.Replace(p, "$FLATPAK_XDG_CONFIG_HOME", "${FLATPAK_XDG_CONFIG_HOME}", 1)
			own, inProject := strings.CutPrefix(p, "./")
			switch {
			case p == "" || p == "never" || h.ID == "eve": // eve's evidence needs a look into package.json
			case inProject && own == "data/skills", inProject && slices.Contains(h.Evidence, own):
			case !inProject && slices.Contains(h.Detect, p):
			default:
				t.Errorf("%s: %q does not detect it", h.ID, p)
			}
		}
	}
	if _, ok := Find("corteza"); !ok || len(rows)-1 != len(All())-1 { // corteza is of the format's own specification, and was not collected
		t.Errorf("table has %d hosts, collected are %d", len(All()), len(rows)-1)
	}
}

func TestSuggest(t *testing.T) {
	for in, want := range map[string]string{
		"claude": "claude-code", "copilot": "github-copilot", "gemini": "gemini-cli", "Claude-Code": "claude-code",
		"cursr": "cursor", "opncode": "opencode", "vibe": "mistral-vibe", "code studio": "codestudio",
	} {
		if got := Suggest(in); len(got) == 0 || got[0] != want {
			t.Errorf("Suggest(%q) = %q, want %q first", in, got, want)
		}
	}
	for _, in := range []string{"", "zzzzzzzz"} {
		if got := Suggest(in); got != nil {
			t.Errorf("Suggest(%q) = %q, want none", in, got)
		}
	}
}

func TestExpand(t *testing.T) {
	tests := []struct{ path, value, want string }{
		{"~/.claude", "", "/home/u/.claude"},
		{"${X:-~/.claude}/skills", "", "/home/u/.claude/skills"},
		{"${X:-~/.claude}/skills", "/opt/c", "/opt/c/skills"},
		{"${X:-~/.claude}/skills", "~/c", "/home/u/c/skills"},
		{"${X:-~/.claude}/skills", "relative", "/home/u/.claude/skills"}, // as the XDG specification has it
		{"${X}/Zed", "", ""},
		{"${X}/Zed", "/opt", "/opt/Zed"},
		{"/etc/codex", "", "/etc/codex"},
	}
	for _, tt := range tests {
		got := machine(map[string]string{"X": tt.value}).Expand(tt.path)
		if filepath.ToSlash(got) != tt.want {
			t.Errorf("Expand(%q) with X=%q = %q, want %q", tt.path, tt.value, got, tt.want)
		}
	}
	if got := (Env{}).Expand("~/.claude"); got != "" {
		t.Errorf("Expand without a home = %q, want nothing", got)
	}
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name   string
		getenv map[string]string
		files  []string
		want   string // id:user|project
	}{
		{"nothing", nil, nil, ""},
		{"the shared directory is evidence of none", nil, []string{"/home/u/p/.agents/skills/x/SKILL.md"}, ""},
		{"home", nil, []string{"/home/u/.claude/x", "/home/u/.copilot/x"}, "claude-code:user github-copilot:user"},
		{"a moved home", map[string]string{"CLAUDE_CONFIG_DIR": "/opt/cc"}, []string{"/opt/cc/x"}, "claude-code:user"},
		{"CLAUDE.md", nil, []string{"/home/u/p/CLAUDE.md"}, "claude-code:CLAUDE.md"},
		{".claude", nil, []string{"/home/u/p/.claude/settings.json"}, "claude-code:.claude"},
		{"Copilot's instructions", nil, []string{"/home/u/p/.github/copilot-instructions.md"}, "github-copilot:.github/copilot-instructions.md"},
		{"any .github is not Copilot", nil, []string{"/home/u/p/.github/workflows/ci.yml"}, ""},
		{"opencode", nil, []string{"/home/u/p/opencode.json"}, "opencode:opencode.json"},
		{"both", nil, []string{"/home/u/.gemini/x", "/home/u/p/GEMINI.md"}, "gemini-cli:user:GEMINI.md"},
	}
	for _, tt := range tests {
		var got []string
		for _, d := range Detect(machine(tt.getenv, tt.files...)) {
			s := d.Host.ID
			if d.User != "" {
				s += ":user"
			}
			if d.Evidence != "" {
				s += ":" + d.Evidence
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: detected %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := Detect(Env{Home: "/home/u"}); got != nil {
		t.Errorf("an Env without Stat detects %v", got)
	}
}

func TestWriteDirs(t *testing.T) {
	tests := []struct {
		host  string
		scope Scope
		files []string
		link  string
	}{
		{"claude-code", Project, nil, "/home/u/p/.claude/skills"},
		{"claude-code", User, nil, "/home/u/.claude/skills"},
		{"github-copilot", Project, nil, ""},
		{"github-copilot", Project, []string{"/home/u/p/.github/workflows/ci.yml"}, ""},
		{"github-copilot", Project, []string{"/home/u/p/.github/skills/x/SKILL.md"}, ""},
		{"github-copilot", Project, []string{"/home/u/p/.github/copilot-instructions.md"}, ""},
		{"github-copilot", User, nil, ""},
		{"codex", Project, nil, ""},
		{"codex", User, nil, ""},
		{"opencode", Project, nil, ""},
		{"opencode", User, nil, ""},
		{"gemini-cli", User, nil, ""},
		{"windsurf", Project, nil, "/home/u/p/.windsurf/skills"},
		{"windsurf", User, nil, "/home/u/.codeium/windsurf/skills"},
		{"eve", User, nil, ""}, // it has no user skills
	}
	for _, tt := range tests {
		h, _ := Find(tt.host)
		canonical, link := WriteDirs(h, machine(nil, tt.files...), tt.scope)
		want := "/home/u/p/.agents/skills"
		if tt.scope == User {
			want = "/home/u/.agents/skills"
		}
		if filepath.ToSlash(canonical) != want || filepath.ToSlash(link) != tt.link {
			t.Errorf("WriteDirs(%s, %s) with %q = %q, %q; want %q, %q", tt.host, tt.scope, tt.files, canonical, link, want, tt.link)
		}
	}
}

func ExampleDetect() {
	env := machine(nil, "/home/u/p/CLAUDE.md", "/home/u/.codex/config.toml")
	for _, d := range Detect(env) {
		canonical, link := WriteDirs(d.Host, env, Project)
		fmt.Printf("%s writes %s, links %q\n", d.Host.ID, filepath.ToSlash(canonical), filepath.ToSlash(link))
	}
	// Output:
	// claude-code writes /home/u/p/.agents/skills, links "/home/u/p/.claude/skills"
	// codex writes /home/u/p/.agents/skills, links ""
}
