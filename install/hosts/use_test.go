package hosts

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each row is one fact about a host. Copies are written ROOT=CONTENT, in a
// project P and a home H; ROOT,ROOT=CONTENT is one directory with a link to
// it, /group/x in a root is a nested directory, "?" a project that the agent was not told to trust.
// sub/ is a directory of the project.
func TestUse(t *testing.T) {
	tests := []struct{ fact, host, copies, want string }{
		{"Claude Code prefers the user's", "claude-code", "P/.claude/skills=a H/.claude/skills=b", "hidden loads"},
		{"Claude Code does not read .agents", "claude-code", "P/.agents/skills=a H/.agents/skills=b", "unread unread"},
		{"Claude Code reads a linked copy", "claude-code", "P/.agents/skills,P/.claude/skills=a", "loads"},
		{"Claude Code, a linked copy and the user's", "claude-code", "P/.agents/skills,P/.claude/skills=a H/.claude/skills=b", "hidden loads"},
		{"Claude Code looks one level deep", "claude-code", "P/.claude/skills/group/x=a", "unread"},
		{"Claude Code goes by the directory's name", "claude-code", "P/.claude/skills/./x=a H/.claude/skills/./y=b", "loads loads"},

		{"Copilot prefers .github to .agents", "github-copilot", "P/.agents/skills=a P/.github/skills=b", "hidden loads"},
		{"Copilot prefers .agents to .claude", "github-copilot", "P/.agents/skills=a P/.claude/skills=b", "loads hidden"},
		{"Copilot also reads .claude", "github-copilot", "P/.claude/skills=a", "loads"},
		{"Copilot does not read the user's .claude", "github-copilot", "H/.claude/skills=a", "unread"},
		{"Gemini, with the user's copy only", "gemini-cli", "P/.agents/skills=a? H/.agents/skills=a", "untrusted loads"},
		{"Copilot prefers ~/.copilot to ~/.agents", "github-copilot", "H/.agents/skills=a H/.copilot/skills=b", "hidden loads"},
		{"Copilot prefers the project", "github-copilot", "P/.claude/skills=a H/.copilot/skills=b", "loads hidden"},

		{"Copilot prefers .github further up", "github-copilot", "sub/.claude/skills=a P/.github/skills=b", "hidden loads"},
		{"Copilot prefers the nearer .github", "github-copilot", "sub/.github/skills=a P/.github/skills=b", "loads hidden"},

		{"Codex shows every copy", "codex", "P/.agents/skills=a H/.agents/skills=b H/.codex/skills=c", "listed listed listed"},
		{"Codex loads a single copy", "codex", "P/.agents/skills=a P/.claude/skills=b", "loads unread"},
		{"Codex reads every directory up to the top", "codex", "sub/.agents/skills=a P/.agents/skills=b", "listed listed"},

		{"Codex, Copilot and Gemini pass by directories with a dot", "codex", "P/.agents/skills/./.x=a", "unread"},
		{"Copilot, a directory with a dot", "github-copilot", "P/.agents/skills/./.x=a", "unread"},
		{"Gemini, a directory with a dot", "gemini-cli", "P/.agents/skills/./.x=a", "unread"},
		{"opencode looks into directories with a dot", "opencode", "P/.agents/skills/./.x=a", "loads"},
		{"opencode, below its own directory", "opencode", "P/.opencode/skill/./.x=a H/.config/opencode/skills/./.x=a H/.claude/skills/./.x=a", "unread unread loads"},
		{"opencode reads .opencode/skill", "opencode", "P/.opencode/skill=a H/.opencode/skills=b", "unstable unstable"},

		{"Gemini prefers the project", "gemini-cli", "P/.agents/skills=a H/.agents/skills=b", "loads hidden"},
		{"Gemini prefers .agents to .gemini", "gemini-cli", "P/.gemini/skills=a P/.agents/skills=b", "hidden loads"},
		{"Gemini needs trust in the folder", "gemini-cli", "P/.agents/skills=a? H/.agents/skills=b", "untrusted loads"},
		{"Gemini in a sub-directory sees the user's", "gemini-cli sub", "P/.agents/skills=a H/.agents/skills=b", "unread loads"},

		{"opencode is not deterministic", "opencode", "P/.agents/skills=a P/.claude/skills=b", "unstable unstable"},
		{"opencode, four roots", "opencode", "P/.agents/skills=a P/.opencode/skills=b P/.claude/skills=c H/.agents/skills=d", "unstable unstable unstable unstable"},
		{"opencode with identical copies is", "opencode", "P/.agents/skills=a P/.claude/skills=a", "loads loads"},
		{"opencode, two paths to one directory", "opencode", "P/.agents/skills,P/.claude/skills=a", "loads"},
		{"opencode does not read Codex's", "opencode", "P/.agents/skills=a H/.codex/skills=b", "loads unread"},

		{"others: the first directory wins", "windsurf", "P/.windsurf/skills=a H/.codeium/windsurf/skills=b P/.agents/skills=c", "loads hidden unread"},
		{"a host that does not ask for trust loads what skl does not trust", "github-copilot", "P/.agents/skills=a?", "loads"},
	}
	root := func(p string) string {
		p = strings.Replace(p, "P/", "/home/u/p/", 1)
		p = strings.Replace(p, "sub/", "/home/u/p/sub/", 1)
		return filepath.FromSlash(strings.Replace(p, "H/", "/home/u/", 1))
	}
	for _, tt := range tests {
		id, cwd, _ := strings.Cut(tt.host, " ")
		h, _ := Find(id)
		env := machine(nil)
		if cwd != "" || strings.Contains(tt.copies, "sub/") {
			env.Cwd = filepath.Clean(root("sub/"))
		}
		var copies []Copy
		for text := range strings.FieldsSeq(tt.copies) {
			paths, content, _ := strings.Cut(text, "=")
			var c Copy
			var doubted bool
			if c.Tree, doubted = strings.CutSuffix(content, "?"); doubted {
				env.ReadFile = nil
			}
			for p := range strings.SplitSeq(paths, ",") {
				place := Place{Root: root(p), Rel: "x"}
				if dir, name, ok := strings.Cut(p, "/group/"); ok {
					place = Place{Root: root(dir), Rel: "group/" + name}
				} else if dir, name, ok := strings.Cut(p, "/./"); ok {
					place = Place{Root: root(dir), Rel: name}
				}
				c.Places = append(c.Places, place)
			}
			copies = append(copies, c)
		}
		if got := strings.Join(Use(h, env, copies), " "); got != tt.want {
			t.Errorf("%s: %s with %s: %s, want %s", tt.fact, tt.host, tt.copies, got, tt.want)
		}
	}
}

// Copies of one name in one directory: each is a list of paths there.
func TestUseInOneRoot(t *testing.T) {
	for _, tt := range []struct{ host, copies, want string }{
		{"github-copilot", "c b", "hidden loads"},
		{"github-copilot", "z group/b", "hidden loads"},
		{"github-copilot", "b,c d", "loads hidden"},
		{"github-copilot", "a,c b", "unstable unstable"},
		{"github-copilot", "a,c b d", "unstable unstable hidden"},
		{"github-copilot", "a,c b,d e,f", "unstable unstable hidden"},
		{"gemini-cli", "c,a b", "loads hidden"},
		{"gemini-cli", "d,c b", "hidden loads"},
		{"codex", "a,c b", "listed listed"},
	} {
		h, _ := Find(tt.host)
		env := machine(nil)
		var copies []Copy
		for i, paths := range strings.Fields(tt.copies) {
			c := Copy{Name: "x", Tree: strconv.Itoa(i)}
			for rel := range strings.SplitSeq(paths, ",") {
				c.Places = append(c.Places, Place{Root: filepath.FromSlash("/home/u/.agents/skills"), Rel: rel})
			}
			copies = append(copies, c)
		}
		if got := strings.Join(Use(h, env, copies), " "); got != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.host, tt.copies, got, tt.want)
		}
		for i := range copies {
			copies[i].Tree = "same"
		}
		if got := Use(h, env, copies); tt.host != "codex" && (slices.Contains(got, Unstable) || !slices.Contains(got, Loads)) {
			t.Errorf("%s with identical %s: %s", tt.host, tt.copies, got)
		}
	}
}

// A copy without a name of its own has that of the path by which Copilot meets it first.
func TestUseOfNamelessCopies(t *testing.T) {
	h, _ := Find("github-copilot")
	root := func(dir string) string { return filepath.FromSlash("/home/u/" + dir + "/skills") }
	nameless := Copy{Places: []Place{{Root: root(".copilot"), Rel: "a"}, {Root: root(".copilot"), Rel: "b"}}, Tree: "1"}
	named := func(name string) Copy {
		return Copy{Places: []Place{{Root: root(".agents"), Rel: "other"}}, Name: name, Tree: "2"}
	}
	for name, want := range map[string]string{"a": "unstable unstable", "b": "unstable unstable", "c": "loads loads"} {
		if got := strings.Join(Use(h, machine(nil), []Copy{nameless, named(name)}), " "); got != want {
			t.Errorf("with one named %s: %s, want %s", name, got, want)
		}
	}
}

func TestUseOfWithheldCopies(t *testing.T) {
	h, _ := Find("claude-code")
	var copies []Copy
	for i, root := range []string{"/home/u/p/sub/.claude/skills", "/home/u/p/.claude/skills", "/home/u/.claude/skills"} {
		copies = append(copies, Copy{Places: []Place{{Root: filepath.FromSlash(root), Rel: "x"}}, Tree: strconv.Itoa(i)})
	}
	env := machine(nil)
	env.Cwd = filepath.FromSlash("/home/u/p/sub")
	for _, tt := range []struct{ withheld, want string }{
		{"", "hidden hidden loads"},
		{"2", "listed hidden loads"},
		{"02", "hidden listed loads"},
		{"01", "hidden hidden loads"},
		{"012", "hidden hidden loads"},
	} {
		for i := range copies {
			copies[i].Withheld = strings.Contains(tt.withheld, copies[i].Tree)
		}
		if got := strings.Join(Use(h, env, copies), " "); got != tt.want {
			t.Errorf("withheld %q: %s, want %s", tt.withheld, got, tt.want)
		}
	}
}

func TestUseOfUnusableCopies(t *testing.T) {
	h, _ := Find("github-copilot")
	env := machine(nil)
	place := []Place{{Root: filepath.FromSlash("/home/u/p/.agents/skills"), Rel: "x"}}
	user := []Place{{Root: filepath.FromSlash("/home/u/.agents/skills"), Rel: "x"}}
	got := Use(h, env, []Copy{{Places: place, Tree: "a", Unusable: true}, {Places: user, Tree: "b"}})
	if strings.Join(got, " ") != "unread loads" {
		t.Errorf("a copy that no host can load hides another: %q", got)
	}
	got = Use(h, env, []Copy{{Places: place}, {Places: user}})
	if strings.Join(got, " ") != "loads hidden" {
		t.Errorf("copies without a digest: %q", got)
	}
	opencode, _ := Find("opencode")
	if got := Use(opencode, env, []Copy{{Places: place}, {Places: user}}); got[0] != Unstable {
		t.Errorf("copies without a digest count as identical: %q", got)
	}
}

// A SKILL.md that is a link, or that lies in a root, and names that only some take for one.
func TestUseOfOddCopies(t *testing.T) {
	project := []Place{{Root: filepath.FromSlash("/home/u/p/.agents/skills"), Rel: "x"}}
	whole := []Place{{Root: filepath.FromSlash("/home/u/p/.agents/skills"), Rel: "x", Whole: true}}
	user := []Place{{Root: filepath.FromSlash("/home/u/.agents/skills"), Rel: "y"}}
	for _, tt := range []struct {
		what, host, want string
		copies           []Copy
	}{
		{"a link as SKILL.md", "codex", "unread", []Copy{{Places: project, Linked: true}}},
		{"a link as SKILL.md", "opencode", "loads", []Copy{{Places: project, Linked: true}}},
		{"a SKILL.md in the root", "github-copilot", "unread loads", []Copy{{Places: whole, Name: "a"}, {Places: user, Name: "a"}}},
		{"a SKILL.md in the root", "codex", "listed listed", []Copy{{Places: whole, Name: "a"}, {Places: user, Name: "a"}}},
		{"no name: that of the directory", "codex", "loads loads", []Copy{{Places: project, Front: "---\ndescription: D.\n---\n"}, {Places: user, Front: "---\ndescription: D.\n---\n"}}},
		{"names in another case", "opencode", "loads loads", []Copy{{Places: project, Name: "A", Front: "---\nname: A\n---\n"}, {Places: user, Name: "a", Tree: "t"}}},
		{"what only one of them can read", "opencode", "unread loads", []Copy{{Places: project, Name: "a", Front: "---\nname: a\ndescription: 7\n---\n"}, {Places: user, Name: "a"}}},
		{"an invalid one, and an agent that was not measured", "amp", "unread", []Copy{{Places: project, Invalid: true, Front: "---\nname: x\n---\n"}}},
	} {
		h, _ := Find(tt.host)
		if got := strings.Join(Use(h, machine(nil), tt.copies), " "); got != tt.want {
			t.Errorf("%s: %s: %s, want %s", tt.what, tt.host, got, tt.want)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, tt := range []struct{ project, cwd, want string }{
		{"/p", "/p/a/b", "/p/a/b /p/a /p"}, {"/p", "/p", "/p"}, {"/p", "", "/p"}, {"/p", "/q/r", "/p"}, {"/", "/a", "/a /"},
	} {
		var got []string
		for _, l := range Levels(filepath.FromSlash(tt.project), filepath.FromSlash(tt.cwd)) {
			got = append(got, filepath.ToSlash(l))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("Levels(%q, %q) = %q, want %q", tt.project, tt.cwd, got, tt.want)
		}
	}
}

func BenchmarkUse(b *testing.B) {
	h, _ := Find("opencode")
	reader := h.Reader(machine(nil))
	copies := []Copy{
		{Places: []Place{{Root: "/home/u/p/.agents/skills", Rel: "x"}, {Root: "/home/u/p/.claude/skills", Rel: "x"}}, Tree: "a"},
		{Places: []Place{{Root: "/home/u/.agents/skills", Rel: "x"}}, Tree: "b"},
	}
	for b.Loop() {
		reader.Use(copies)
	}
}
