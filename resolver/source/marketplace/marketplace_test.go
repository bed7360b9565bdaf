package marketplace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

const (
	sha    = "0123456789abcdef0123456789abcdef01234567"
	commit = "89abcdef0123456789abcdef0123456789abcdef"
)

// tree is a repository as path → content; "-> x" is a link to x.
type tree map[string]string

func (f tree) ReadFile(_ context.Context, path string) ([]byte, error) {
	if text, ok := f[path]; ok && !strings.HasPrefix(text, "-> ") {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("reading %s: %w", path, fs.ErrNotExist)
}

func (f tree) ReadLink(_ context.Context, path string) (string, error) {
	if to, ok := strings.CutPrefix(f[path], "-> "); ok {
		return to, nil
	}
	return "", fmt.Errorf("reading %s: %w", path, fs.ErrNotExist)
}

func (f tree) ReadDir(_ context.Context, dir string) ([]string, error) {
	var names []string
	for file := range f {
		rest, ok := strings.CutPrefix(file, dir+"/")
		if dir == "" {
			rest, ok = file, true
		}
		if name, below, deep := strings.Cut(rest, "/"); ok {
			names = append(names, name+map[bool]string{true: "/"}[deep && below != ""])
		}
	}
	slices.Sort(names)
	if names == nil {
		return nil, fmt.Errorf("reading %s: %w", dir, fs.ErrNotExist)
	}
	return slices.Compact(names), nil
}

// one is a marketplace with one plugin that has this source.
func one(t *testing.T, metadata, source string) Plugin {
	t.Helper()
	m, err := Parse([]byte(`{"name": "tools", "metadata": ` + metadata + `, "plugins": [{"name": "p", "source": ` + source + `}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return m.Plugins[0]
}

func TestPlace(t *testing.T) {
	base := ref.Ref{Kind: ref.Git, URL: "https://git.example/acme/tools.git"}
	inner := ref.Ref{Kind: ref.Git, URL: "https://git.example/acme/tools.git", Path: "sub"}
	local := ref.Ref{Kind: ref.Local, Path: "../tools"}
	const none, root = `{}`, `{"pluginRoot": "./plugins"}`
	tests := []struct {
		metadata, source string
		base             ref.Ref
		want             string // of Place.Ref
		commit           string
	}{
		{none, `"./"`, base, "git+https://git.example/acme/tools.git@" + commit, commit},
		{none, `"."`, base, "git+https://git.example/acme/tools.git@" + commit, commit},
		{none, `"./plugins/x/"`, base, "git+https://git.example/acme/tools.git//plugins/x@" + commit, commit},
		{none, `"plugins/x"`, inner, "git+https://git.example/acme/tools.git//sub/plugins/x@" + commit, commit},
		{root, `"x"`, base, "git+https://git.example/acme/tools.git//plugins/x@" + commit, commit},
		{root, `"./x"`, base, "git+https://git.example/acme/tools.git//x@" + commit, commit},
		{none, `"./x"`, local, "../tools/x", ""},
		{none, `"./"`, local, "../tools", ""},
		{none, `{"source": "local", "path": "./x"}`, base, "git+https://git.example/acme/tools.git//x@" + commit, commit},
		{none, `{"source": "github", "repo": "o/r"}`, base, "github:o/r", ""},
		{none, `{"source": "github", "repo": "o/r", "path": "./a/b/", "ref": "v1"}`, base, "github:o/r//a/b@v1", ""},
		{none, `{"source": "github", "repo": "o/r", "ref": "v1", "sha": "` + sha + `"}`, base, "github:o/r@" + sha, sha},
		{none, `{"source": "url", "url": "https://h.example/r.git", "ref": "main"}`, base, "git+https://h.example/r.git@main", ""},
		{none, `{"source": "url", "url": "git@h.example:o/r.git", "path": "x"}`, base, "git+ssh://git@h.example/o/r.git//x", ""},
		{none, `{"source": "git-subdir", "url": "https://h.example/r", "path": "a", "sha": "` + sha + `"}`, base, "git+https://h.example/r//a@" + sha, sha},
		{none, `{"source": "git-subdir", "url": "o/r", "path": "a"}`, base, "github:o/r//a", ""},
		{none, `{"source": "url", "url": "file:///srv/r.git"}`, local, "git+file:///srv/r.git", ""},
	}
	for _, tt := range tests {
		at := commit
		if tt.base.Kind == ref.Local {
			at = ""
		}
		got, err := one(t, tt.metadata, tt.source).Place(tt.base, ref.Commit(at), inward)
		if err != nil || got.Ref.String() != tt.want || got.Commit != ref.Commit(tt.commit) {
			t.Errorf("%s %s: %s (%s), %v; want %s (%s)", tt.metadata, tt.source, got.Ref, got.Commit, err, tt.want, tt.commit)
		}
	}
}

func TestSourceRefused(t *testing.T) {
	base := ref.Ref{Kind: ref.Git, URL: "https://git.example/acme/tools.git"}
	for source, code := range map[string]string{
		`"../x"`: "marketplace_invalid", `"./a/../../x"`: "marketplace_invalid", `"/etc"`: "marketplace_invalid",
		`"C:\\x"`: "marketplace_invalid", `"./-x"`: "marketplace_invalid", `"./a\u001b[2J"`: "marketplace_invalid",
		`null`: "marketplace_invalid", `7`: "marketplace_invalid", `""`: "marketplace_invalid",
		`{"source": "npm", "package": "x"}`:                                          "unsupported_source",
		`{"source": "archive", "url": "https://h.example/x.zip"}`:                    "unsupported_source",
		`{"source": "command", "command": "touch x"}`:                                "unsupported_source",
		`{"source": "pip"}`:                                                          "unsupported_source",
		`{"source": "ftp"}`:                                                          "unsupported_source",
		`{"SOURCE": "github", "repo": "o/r"}`:                                        "unsupported_source",
		`{"source": "github", "repo": "o"}`:                                          "marketplace_invalid",
		`{"source": "github", "repo": "o/r/x"}`:                                      "marketplace_invalid",
		`{"source": "github", "repo": "o/r@x"}`:                                      "marketplace_invalid",
		`{"source": "github", "repo": "--x/r"}`:                                      "marketplace_invalid",
		`{"source": "github", "repo": "o/r", "path": "../x"}`:                        "marketplace_invalid",
		`{"source": "github", "repo": "o/r", "ref": "--upload-pack=x"}`:              "marketplace_invalid",
		`{"source": "github", "repo": "o/r", "ref": "a#b"}`:                          "marketplace_invalid",
		`{"source": "github", "repo": "o/r", "sha": "abc"}`:                          "marketplace_invalid",
		`{"source": "github", "repo": "o/r", "sha": "` + strings.ToUpper(sha) + `"}`: "marketplace_invalid",
		`{"source": "url", "url": "ext::sh -c touch% x"}`:                            "marketplace_invalid",
		`{"source": "url", "url": "https://u:p@h.example/r.git"}`:                    "marketplace_invalid",
		`{"source": "url", "url": "https://h.example/r.git#x"}`:                      "marketplace_invalid",
		`{"source": "url", "url": "-o@h.example:r"}`:                                 "marketplace_invalid",
		`{"source": "url", "url": "git@-oProxyCommand=x:r"}`:                         "marketplace_invalid",
		`{"source": "url", "url": "file:///etc/r.git"}`:                              "marketplace_invalid",
		`{"source": "url", "url": "http://127.0.0.1/r.git"}`:                         "marketplace_invalid",
	} {
		place, err := one(t, "{}", source).Place(base, commit, inward)
		if place != (Place{}) || !errors.Is(err, diag.Code(code)) || !strings.Contains(err.Error(), "plugin p") {
			t.Errorf("%s: %+v, %v; want %s", source, place, err, code)
		}
	}
}

func TestParse(t *testing.T) {
	m, err := Parse([]byte(`{"name": "tools", "owner": {"name": "acme"}, "metadata": {"description": "d"}, "new": 1, "plugins": [
		{"name": "a", "source": "./a", "description": "A", "version": "1"},
		{"name": "a", "source": "./b"},
		{"name": "../x", "source": "./b"},
		{"name": "npm", "source": {"source": "npm"}},
		"nothing"]}`))
	if err != nil || m.Name != "tools" || m.Description != "d" || len(m.Plugins) != 5 {
		t.Fatalf("%+v, %v", m, err)
	}
	for i, p := range m.Plugins {
		if (p.Invalid == nil) != (i == 0) {
			t.Errorf("plugin %d is %+v", i, p)
		}
	}
	if p, err := m.Plugin("a"); err != nil || p.Description != "A" || p.Version != "1" {
		t.Errorf("a is %+v, %v", p, err)
	}
	if _, err := m.Plugin("npm"); !errors.Is(err, diag.Code("unsupported_source")) {
		t.Errorf("npm: %v", err)
	}
	_, err = m.Plugin("aa")
	if e, ok := err.(*diag.Error); !ok || e.Code != "unknown_plugin" || !slices.Equal(e.Candidates, []string{"a"}) {
		t.Errorf("aa: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, src := range map[string]string{
		"nothing": "", "a list": "[]", "no name": `{"plugins": []}`, "no plugins": `{"name": "x"}`,
		"a name that is a path": `{"name": "a/b", "plugins": []}`, "a name that looks like an option": `{"name": "-a", "plugins": []}`,
		"a name with an override": `{"name": "a\u202eb", "plugins": []}`,
		"a plugin root outside":   `{"name": "a", "metadata": {"pluginRoot": "../.."}, "plugins": []}`,
		"too many plugins":        `{"name": "a", "plugins": [` + strings.Repeat("1,", MaxPlugins) + `1]}`,
		"too many bytes":          `{"name": "a", "plugins": []}` + strings.Repeat(" ", MaxBytes),
	} {
		if m, err := Parse([]byte(src)); m.Name != "" || m.Plugins != nil || !errors.Is(err, diag.Code("marketplace_invalid")) || len(err.Error()) > 200 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestLoad(t *testing.T) {
	files := tree{
		"sub/.github/plugin/marketplace.json":         `{"name": "copilot", "plugins": []}`,
		"sub/.cursor-plugin/marketplace.json":         `{"name": "cursor", "plugins": []}`,
		"broken/.claude-plugin/marketplace.json":      `{`,
		"broken/.agents/plugins/marketplace.json":     `{"name": "codex", "plugins": []}`,
		"unrelated/.claude-plugin/marketplace.json.x": `{}`,
	}
	if m, err := Load(t.Context(), files, "sub"); err != nil || m.Name != "copilot" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Load(t.Context(), files, "broken"); !errors.Is(err, diag.Code("marketplace_invalid")) || !strings.Contains(err.Error(), ".claude-plugin/") {
		t.Errorf("a broken file is passed over: %v", err)
	}
	if _, err := Load(t.Context(), files, "unrelated"); !errors.Is(err, diag.Code("no_marketplace")) {
		t.Errorf("no marketplace: %v", err)
	}
}

// TestSkills selects the directories that belong to the plugin at plugins/p.
func TestSkills(t *testing.T) {
	dirs := []string{"", "plugins/p", "plugins/p/skills/a", "plugins/p/skills/group/b", "plugins/p/extra/c", "plugins/p/extra/d", "skills/e", "skills/f"}
	tests := []struct {
		name, entry, manifest string
		want                  []string
	}{
		{"nothing is named", ``, ``, []string{"plugins/p", "plugins/p/skills/a", "plugins/p/skills/group/b"}},
		{"the entry names a skill", `, "skills": "./extra/c"`, ``, []string{"plugins/p/extra/c"}},
		{"the entry names a folder of skills", `, "skills": ["extra/"]`, ``, []string{"plugins/p/extra/c", "plugins/p/extra/d"}},
		{"an empty list is none", `, "skills": []`, `{"skills": []}`, []string{"plugins/p", "plugins/p/skills/a", "plugins/p/skills/group/b"}},
		{"the manifest names the usual folder", ``, `{"skills": "./skills"}`, []string{"plugins/p/skills/a", "plugins/p/skills/group/b"}},
		{"Claude's adds to the usual", ``, `{"skills": ["./extra/c"]}`, []string{"plugins/p/skills/a", "plugins/p/skills/group/b", "plugins/p/extra/c"}},
		{"Claude's adds the root", ``, `{"skills": ["./"]}`, []string{"plugins/p", "plugins/p/skills/a", "plugins/p/skills/group/b"}},
		{"both do", `, "skills": ["./skills/a"]`, `{"skills": "./extra/d"}`, []string{"plugins/p/skills/a", "plugins/p/extra/d"}},
		{"the manifest does not count", `, "strict": false, "skills": ["./skills/a"]`, `{"skills": "./extra/d"}`, []string{"plugins/p/skills/a"}},
		{"shared skills of the repository", `, "skills": []`, `{"extensions": {"com.github.awesome-copilot": {"skills": ["./skills/e/"]}}}`,
			[]string{"plugins/p/skills/a", "plugins/p/skills/group/b", "skills/e"}},
		{"another's manifest names one", `other`, `{"skills": ["extra/c"]}`, []string{"plugins/p/extra/c"}},
		{"another's names the root", `other`, `{"skills": "./"}`, []string{"plugins/p"}},
		{"another's names a folder", `other`, `{"skills": "./extra"}`, []string{"plugins/p/extra/c", "plugins/p/extra/d"}},
		{"another's names the usual folder", `other`, `{"skills": "./skills"}`, []string{"plugins/p/skills/a", "plugins/p/skills/group/b"}},
		{"another's shares", `other`, `{"extensions": {"com.github.awesome-copilot": {"skills": ["./skills/e/"]}}}`, []string{"skills/e"}},
	}
	for _, tt := range tests {
		file := "plugins/p/.claude-plugin/plugin.json"
		if tt.entry == "other" {
			file, tt.entry = "plugins/p/plugin.json", ""
		}
		m, err := Parse([]byte(`{"name": "m", "plugins": [{"name": "p", "source": "./plugins/p"` + tt.entry + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		files := tree{}
		for _, dir := range dirs {
			files[join(dir, "SKILL.md")] = "x"
		}
		if tt.manifest != "" {
			files[file] = tt.manifest
		}
		s, err := m.Plugins[0].Skills(t.Context(), files, "plugins/p")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var got []string
		for _, dir := range dirs {
			if s.Has(dir) {
				got = append(got, dir)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Links among a plugin's skills stand for what they lead to in the repository.
func TestSkillsLinks(t *testing.T) {
	m, _ := Parse([]byte(`{"name": "m", "plugins": [{"name": "p", "source": "./p"}]}`))
	files := tree{
		"shared/a/SKILL.md": "a", "shared/group/b/SKILL.md": "b", "p/skills/own/SKILL.md": "c",
		"p/skills/a": "-> ../../shared/a", "p/skills/group": "-> ../../shared/group", "p/skills/through": "-> ../way/a", "p/way": "-> ../shared",
		"p/skills/up": "-> ../../../x", "p/skills/abs": "-> /shared/a", "p/skills/turn": "-> turn",
	}
	s, err := m.Plugins[0].Skills(t.Context(), files, "p")
	if err != nil || !s.Has("shared/a") || !s.Has("p/skills/own") || s.Has("shared/group/b") || s.Has("x") || s.Has("shared") {
		t.Errorf("%+v, %v", s, err)
	}
	if want := []string{"p/skills/a", "p/skills/through"}; !slices.Equal(s.Links, want) {
		t.Errorf("links %q, want %q", s.Links, want)
	}
	passed := map[string]string{}
	for _, p := range s.Passed {
		passed[p.Path] = p.Reason
	}
	want := map[string]string{"p/skills/group": "a link to ../../shared/group, where there is no skill", "p/skills/up": errOut.Error(),
		"p/skills/abs": errOut.Error(), "p/skills/turn": errCircle.Error()}
	if !maps.Equal(passed, want) {
		t.Errorf("passed over %q", passed)
	}
	whole := tree{"shared/a/SKILL.md": "a", "p/skills": "-> ../shared"}
	if s, err := m.Plugins[0].Skills(t.Context(), whole, "p"); err != nil || !s.Has("shared/a") || s.Has("p/skills/a") {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSkillsRefused(t *testing.T) {
	m, _ := Parse([]byte(`{"name": "m", "plugins": [{"name": "p", "source": "./"}, {"name": "q", "source": "./", "skills": ["../x"]}]}`))
	for _, manifest := range []string{`{`, `{"skills": ["../x"]}`, `{"skills": 1}`, `{"extensions": {"com.github.awesome-copilot": {"skills": ["/etc"]}}}`} {
		if s, err := m.Plugins[0].Skills(t.Context(), tree{"plugin.json": manifest}, ""); s.Paths != nil || !errors.Is(err, diag.Code("marketplace_invalid")) {
			t.Errorf("%s: %+v, %v", manifest, s, err)
		}
	}
	if s, err := m.Plugins[1].Skills(t.Context(), tree{}, ""); s.Paths != nil || err == nil {
		t.Errorf("q: %+v, %v", s, err)
	}
}

// Agent Plugins: skills are the folders in skills/, which no key and no link moves.
func TestAgentPlugins(t *testing.T) {
	const ok = `"$schema": "` + openSchema + `", "name": "p"`
	files := tree{
		"p/SKILL.md": "r", "p/skills/SKILL.md": "s", "p/skills/a/SKILL.md": "a", "p/skills/group/b/SKILL.md": "b", "p/extra/c/SKILL.md": "c", "skills/e/SKILL.md": "e",
		"p/skills/in": "-> ../extra/c", "p/skills/out": "-> ../../skills/e", "p/.claude-plugin/plugin.json": `{"skills": "./extra"}`,
		"link/plugin.json": "-> ../p/plugin.json", "link/skills/a/SKILL.md": "a",
	}
	tests := []struct{ entry, manifest, want string }{
		{``, `{` + ok + `, "version": "1.2.0"}`, "p/extra/c p/skills/a"},
		{`, "strict": false`, `{` + ok + `}`, "p/extra/c p/skills/a"},
		{`, "skills": ["./skills/a"]`, `{` + ok + `}`, "p/skills/a"},
		{``, `{` + ok + `, "skills": "./extra", "dependencies": ["x"]}`, "p/extra/c p/skills/a key dependencies key skills"},
		{``, `{` + ok + `, "extensions": 7}`, "p/extra/c p/skills/a key extensions"},
		{``, `{` + ok + `, "extensions": {"com.github.awesome-copilot": {"skills": ["./skills/e"]}}}`, "p/extra/c p/skills/a skills/e"},
		{``, `{"$schema": "https://json.example/other.json", "skills": ["./extra/c"]}`, ""},
		{``, `{"$schema": "` + openSchemas + `1.1.0/plugin.schema.json", "name": "p"}`, "error is not known"},
		{``, `{"$schema": "` + openSchema + `"}`, "error cannot be called"},
		{``, `{"$schema": "` + openSchema + `", "name": "a--b"}`, "error cannot be called"},
		{``, `{` + ok + `, "name": "p"}`, "error twice"},
		{``, `{` + ok + `, "version": 1}`, "error version is not a string"},
		{``, `{` + ok + `, "license": null}`, "error license is not a string"},
		{``, `{` + ok + `, "keywords": ["a", 1]}`, "error keywords"},
		{``, `{` + ok + `, "author": {"nick": "x"}}`, "error unknown key"},
		{`, "skills": ["./extra/c"]`, `{` + ok + `}`, "error its marketplace names"},
	}
	for _, tt := range tests {
		m, err := Parse([]byte(`{"name": "m", "plugins": [{"name": "p", "source": "./p"` + tt.entry + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		files["p/plugin.json"] = tt.manifest
		s, err := m.Plugins[0].Skills(t.Context(), files, "p")
		if want, fails := strings.CutPrefix(tt.want, "error "); fails {
			if !errors.Is(err, diag.Code("marketplace_invalid")) || !strings.Contains(err.Error(), "p/plugin.json: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", tt.manifest, err)
			}
			continue
		}
		var got []string
		for _, dir := range []string{"p", "p/extra/c", "p/skills", "p/skills/a", "p/skills/group/b", "skills/e"} {
			if s.Has(dir) {
				got = append(got, dir)
			}
		}
		for _, passed := range s.Passed {
			if key, ok := strings.CutPrefix(passed.Reason, "its key "); ok {
				got = append(got, "key "+strings.Fields(key)[0])
			}
		}
		if strings.Contains(tt.manifest, "json.example") {
			if s.open || !s.Has("p/extra/c") {
				t.Errorf("%s is taken for an Agent Plugin", tt.manifest)
			}
			continue
		}
		if text := strings.Join(got, " "); err != nil || text != tt.want {
			t.Errorf("%s %s: %q, want %q, %v", tt.entry, tt.manifest, text, tt.want, err)
		}
	}
	m, _ := Parse([]byte(`{"name": "m", "plugins": [{"name": "l", "source": "./link"}]}`))
	if s, err := m.Plugins[0].Skills(t.Context(), files, "link"); err == nil || !strings.Contains(err.Error(), "leads out of the plugin") {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestPinIsChecked(t *testing.T) {
	p := Place{Ref: ref.Ref{Kind: ref.Forge, Host: "github", Owner: "o", Repo: "r"}, Commit: sha}
	if err := p.Check(sha); err != nil {
		t.Error(err)
	}
	err := p.Check(commit)
	if diag.ClassOf(err) != diag.Refused || !errors.Is(err, diag.Code("E_COMMIT")) || !strings.Contains(err.Error(), sha) || !strings.Contains(err.Error(), commit) {
		t.Errorf("%v", err)
	}
	if err := (Place{}).Check(commit); err != nil {
		t.Errorf("without a pin: %v", err)
	}
}

// bare is a repository on disk, read with git.
type bare string

func (b bare) ReadFile(ctx context.Context, path string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", "--git-dir", string(b), "cat-file", "blob", "HEAD:"+path)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return out, nil
}

func (b bare) ReadDir(ctx context.Context, dir string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "git", "--git-dir", string(b), "ls-tree", "HEAD:"+dir).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		kind, name, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		names = append(names, name+map[bool]string{true: "/"}[strings.Contains(kind, " tree ")])
	}
	slices.Sort(names)
	return names, nil
}

func (b bare) ReadLink(context.Context, string) (string, error) { return "", fs.ErrNotExist }

// dirs are the directories with a SKILL.md.
func (b bare) dirs(t *testing.T) []string {
	out, err := exec.Command("git", "--git-dir", string(b), "ls-tree", "-r", "--name-only", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for line := range bytes.Lines(out) {
		if path := strings.TrimSpace(string(line)); filepath.Base(path) == "SKILL.md" {
			dirs = append(dirs, strings.TrimSuffix(strings.TrimSuffix(path, "SKILL.md"), "/"))
		}
	}
	return dirs
}

// clonedData makes a repository of a bundle among the shared test data.
func clonedData(t *testing.T, name string) bare {
	t.Helper()
	dir, _ := os.Getwd()
	for ; ; dir = filepath.Dir(dir) {
		data := filepath.Join(dir, "shared", "data", name)
		if _, err := os.Stat(data); err == nil {
			to := filepath.Join(t.TempDir(), "r.git")
			if out, err := exec.Command("git", "clone", "-q", "--bare", "-b", "main", data, to).CombinedOutput(); err != nil {
				t.Skipf("git cannot clone %s: %v %s", name, err, out)
			}
			return bare(to)
		}
		if dir == filepath.Dir(dir) {
			t.Skipf("shared/data/%s is not there", name)
		}
	}
}

// A real marketplace: 130 plugins, of which 92 are beside it, and 64 of those name skills.
func TestRealMarketplace(t *testing.T) {
	repo := clonedData(t, "awesome-copilot.bundle")
	m, err := Load(t.Context(), repo, "")
	if err != nil || len(m.Plugins) != 130 {
		t.Fatalf("%d plugins, %v", len(m.Plugins), err)
	}
	dirs := repo.dirs(t)
	base := ref.Ref{Kind: ref.Forge, Host: "github", Owner: "github", Repo: "awesome-copilot"}
	beside, named, without := 0, 0, 0
	for _, p := range m.Plugins {
		place, err := p.Place(base, commit, inward)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if place.Ref.Repo != base.Repo {
			continue
		}
		beside++
		s, err := p.Skills(t.Context(), repo, place.Ref.Path)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		found := 0
		for _, dir := range dirs {
			if s.Has(dir) {
				found++
			}
		}
		switch {
		case s.Named && found == len(s.Paths):
			named++
		case !s.Named && found == 0:
			without++
			if e := s.None(p.Name).(*diag.Error); e.Code != "no_skill" || !strings.Contains(e.Message, p.Name) {
				t.Errorf("%s: %v", p.Name, e)
			}
		default:
			t.Errorf("%s: %d of %d skills found", p.Name, found, len(s.Paths))
		}
	}
	if beside != 92 || named != 64 || without != 28 {
		t.Errorf("%d plugins beside the marketplace, %d name skills, %d have none", beside, named, without)
	}
}

func TestRealSinglePlugin(t *testing.T) {
	repo := clonedData(t, "superpowers.bundle")
	m, err := Load(t.Context(), repo, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Plugin("superpowers")
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Skills(t.Context(), repo, "")
	if err != nil || !s.Has("skills/brainstorming") || s.Named {
		t.Errorf("%+v, %v", s, err)
	}
}

// Whatever a marketplace says, its plugins have names that fit into refs, and places that
// ref.Parse accepts, inside the repository.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name": "a", "metadata": {"pluginRoot": "p"}, "plugins": [{"name": "b", "source": "c", "skills": "./d"}]}`))
	f.Add([]byte(`{"name": "a", "plugins": [{"name": "b", "source": {"source": "url", "url": "git@h:o/r", "ref": "x", "path": "y"}}]}`))
	f.Add([]byte(`{"name": "a", "plugins": [{"name": "b", "source": {"source": "github", "repo": "o/r", "sha": "` + sha + `"}}]}`))
	base := ref.Ref{Kind: ref.Git, URL: "https://git.example/acme/tools.git"}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := Parse(src)
		if err != nil {
			return
		}
		for _, p := range m.Plugins {
			place, err := p.Place(base, commit, inward)
			if err != nil {
				if place != (Place{}) {
					t.Fatalf("%q: an error and %+v", src, place)
				}
				continue
			}
			if _, err := ref.Parse("market:" + m.Name + "/" + p.Name); err != nil {
				t.Fatalf("%q: plugin %q: %v", src, p.Name, err)
			}
			if again, err := ref.Parse(place.Ref.String()); err != nil || again != place.Ref {
				t.Fatalf("%q: place %+v is read as %+v, %v", src, place.Ref, again, err)
			}
			s, err := p.Skills(t.Context(), tree{"plugin.json": string(src)}, "")
			for _, dir := range s.Paths {
				if err != nil || dir != "" && !fs.ValidPath(dir) {
					t.Fatalf("%q: skills at %q, %v", src, dir, err)
				}
			}
		}
	})
}

func ExampleParse() {
	m, _ := Parse([]byte(`{"name": "tools", "plugins": [
		{"name": "pdf", "source": "./plugins/pdf"},
		{"name": "ocr", "source": {"source": "github", "repo": "acme/ocr", "ref": "v1.2.0"}}]}`))
	base, _ := ref.Parse("github:acme/tools")
	for _, p := range m.Plugins {
		place, _ := p.Place(base, "0123456789abcdef0123456789abcdef01234567", inward)
		fmt.Println(p.Name, place.Ref)
	}
	// Output:
	// pdf github:acme/tools//plugins/pdf@0123456789abcdef0123456789abcdef01234567
	// ocr github:acme/ocr@v1.2.0
}

// inward is what a user has who configured no host.
func inward(r ref.Ref) bool { return ref.InwardURL(r.URL) }
