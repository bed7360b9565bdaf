package agents

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/resolver/source/git/gittest"
)

// A layout is a generated project and home with copies of skills in the directories that agents read. Each copy holds a marker of
// its own, in its description and in its body: "Copy c007." and "Body c007.".
type layout struct {
	*harness.Place
	seed   uint64
	random *rand.Rand
	cwd    string
	copies []laid
	marks  int
}

// laid is one copy, or one link or file where a copy could be.
type laid struct{ path, name, kind, mark string }

// Directories in which agents look, or may be thought to look.
var (
	projectRoots = []string{".agents/skills", ".agents/skills", ".claude/skills", ".claude/skills", ".github/skills", ".codex/skills", ".gemini/skills", ".opencode/skills", ".opencode/skill", ".copilot/skills"}
	userRoots    = []string{".agents/skills", ".agents/skills", ".claude/skills", ".claude/skills", ".codex/skills", ".gemini/skills", ".copilot/skills", ".config/opencode/skills", ".config/opencode/skill", ".opencode/skills", ".github/skills"}
	usualNames   = []string{"alpha", "beta", "gamma", "delta-1"}
	rareNames    = []string{"Alpha", "e_psilon", "ze.ta", "été", "a b", "help", "init", "1234", "skills", "-dash", "long-" + strings.Repeat("n", 62), "true"}
)

// Forms of a SKILL.md: NAME, MARK and LONG are replaced.
var headings = []struct{ kind, text string }{
	{"no name", "---\ndescription: Copy MARK.\n---\n"},
	{"no description", "---\nname: NAME\n---\n"},
	{"empty description", "---\nname: NAME\ndescription: \"\"\n---\n"},
	{"null description", "---\nname: NAME\ndescription:\n---\n"},
	{"blank description", "---\nname: NAME\ndescription: \"  \"\n---\n"},
	{"list as description", "---\nname: NAME\ndescription:\n  - Copy MARK.\n  - More.\n---\n"},
	{"number as description", "---\nname: NAME\ndescription: 12\n---\n"},
	{"no front matter", "# NAME\n\nCopy MARK.\n"},
	{"empty front matter", "---\n---\n"},
	{"unclosed front matter", "---\nname: NAME\ndescription: Copy MARK.\n"},
	{"colon in description", "---\nname: NAME\ndescription: Copy MARK. Use it: always.\n---\n"},
	{"broken YAML", "---\nname: NAME\ndescription: [Copy MARK.\n---\n"},
	{"byte order mark", "\ufeff---\nname: NAME\ndescription: Copy MARK.\n---\n"},
	{"CRLF", "---\r\nname: NAME\r\ndescription: Copy MARK.\r\n---\r\n"},
	{"folded description", "---\nname: NAME\ndescription: >-\n  Copy MARK.\n  And more\n  of it.\n---\n"},
	{"literal description", "---\nname: NAME\ndescription: |\n  Copy MARK.\n  And more.\n---\n"},
	{"quoted", "---\n\"name\": 'NAME'\ndescription: \"Copy MARK. \\u00e9\"\n---\n"},
	{"number as name", "---\nname: 77\ndescription: Copy MARK.\n---\n"},
	{"empty name", "---\nname: \"\"\ndescription: Copy MARK.\n---\n"},
	{"name of another case", "---\nname: UPPER\ndescription: Copy MARK.\n---\n"},
	{"name with a space", "---\nname: my NAME\ndescription: Copy MARK.\n---\n"},
	{"name with a colon", "---\nname: \"my:NAME\"\ndescription: Copy MARK.\n---\n"},
	{"name with a slash", "---\nname: my/NAME\ndescription: Copy MARK.\n---\n"},
	{"unknown keys", "---\nname: NAME\ndescription: Copy MARK.\nwhatever: {a: [1, 2], b: ~}\nx-y:\n  - z\n---\n"},
	{"metadata", "---\nname: NAME\ndescription: Copy MARK.\nlicense: MIT\nmetadata:\n  version: 1.2\n  tags: [a, b]\nallowed-tools: Read, Bash(git *)\n---\n"},
	{"metadata is text", "---\nname: NAME\ndescription: Copy MARK.\nmetadata: none\nallowed-tools: 7\n---\n"},
	{"long description", "---\nname: NAME\ndescription: Copy MARK. LONG\n---\n"},
	{"key twice", "---\nname: NAME\nname: NAME\ndescription: Copy MARK.\n---\n"},
	{"tabs", "---\nname:\tNAME\ndescription:\tCopy MARK.\n---\n"},
	{"comments", "---\n# first\nname: NAME # second\ndescription: Copy MARK.\n---\n"},
	{"not for the model", "---\nname: NAME\ndescription: Copy MARK.\ndisable-model-invocation: true\n---\n"},
	{"not for people", "---\nname: NAME\ndescription: Copy MARK.\nuser-invocable: false\n---\n"},
	{"anchor", "---\nname: NAME\ndescription: &a Copy MARK.\n---\n"},
	{"tag", "---\nname: NAME\ndescription: !!str Copy MARK.\n---\n"},
	{"blank line first", "\n---\nname: NAME\ndescription: Copy MARK.\n---\n"},
	{"four dashes", "----\nname: NAME\ndescription: Copy MARK.\n----\n"},
	{"space behind dashes", "--- \nname: NAME\ndescription: Copy MARK.\n--- \n"},
	{"dots at the end", "---\nname: NAME\ndescription: Copy MARK.\n...\n"},
	{"indented", "---\n  name: NAME\n  description: Copy MARK.\n---\n"},
	{"keys of another case", "---\nName: NAME\nDescription: Copy MARK.\n---\n"},
	{"paths", "---\nname: NAME\ndescription: Copy MARK.\npaths: src/**\ncontext: fork\nmodel: inherit\n---\n"},
}

// newLayout makes the layout of that seed, always the same one.
func newLayout(t *testing.T, seed uint64) *layout {
	l := &layout{Place: harness.NewPlace(t), seed: seed, random: rand.New(rand.NewPCG(seed, 14))}
	gittest.Git(t, l.Project, "init", "-q")
	// The clients name real paths.
	for _, dir := range []*string{&l.Project, &l.Home} {
		*dir, _ = filepath.EvalSymlinks(*dir)
	}
	l.cwd = l.Project
	tops := []string{l.Project}
	if l.chance(30) {
		l.cwd = filepath.Join(l.Project, "sub")
		tops = append(tops, l.cwd)
		if l.chance(40) {
			l.cwd = filepath.Join(l.cwd, "deep")
		}
		l.do(os.MkdirAll(l.cwd, 0o755))
	}
	var dirs []string
	for _, top := range tops {
		for range 3 + l.random.IntN(4) {
			dirs = append(dirs, filepath.Join(top, filepath.FromSlash(pick(l, projectRoots))))
		}
	}
	for range 2 + l.random.IntN(4) {
		dirs = append(dirs, filepath.Join(l.Home, filepath.FromSlash(pick(l, userRoots))))
	}
	names := []string{pick(l, usualNames), pick(l, usualNames), pick(l, rareNames), fmt.Sprintf("own-%d", l.random.IntN(9))}
	for i, dir := range dirs {
		if i > 0 && l.chance(8) {
			l.link(dir, dirs[l.random.IntN(i)], "linked root")
			continue
		}
		for range 1 + l.random.IntN(3) {
			l.entry(dir, pick(l, names))
		}
	}
	l.trust()
	return l
}

func pick[T any](l *layout, list []T) T { return list[l.random.IntN(len(list))] }

func (l *layout) chance(percent int) bool { return l.random.IntN(100) < percent }

func (l *layout) do(err error) {
	l.T.Helper()
	if err != nil {
		l.T.Fatal(err)
	}
}

// entry puts something with that name into root.
func (l *layout) entry(root, name string) {
	path := filepath.Join(root, name)
	if _, err := os.Lstat(path); err == nil {
		return
	}
	outside := filepath.Join(filepath.Dir(l.Home), "outside")
	switch l.random.IntN(20) {
	case 0, 1, 2:
		if c := l.earlier(name); c != nil {
			l.link(path, c.path, "link")
			return
		}
	case 3, 4:
		if c := l.earlier(name); c != nil {
			l.do(os.CopyFS(path, os.DirFS(c.path)))
			l.copies = append(l.copies, laid{path, name, "identical copy", l.mark(c.path)})
			return
		}
	case 5:
		l.skill(filepath.Join(outside, name), name, "outside", plainSkill)
		l.link(path, filepath.Join(outside, name), "link out")
		return
	case 6:
		l.link(path, filepath.Join(root, "nowhere"), "broken link")
		return
	case 7:
		l.file(path, "../../.agents/skills/"+name)
		return
	case 8:
		l.skill(filepath.Join(root, "group", name), name, "in a group", plainSkill)
		return
	case 9:
		l.skill(path, name, "with one inside", plainSkill)
		inner := fmt.Sprintf("inner-%d", l.marks) // skl lists none, and warns
		l.skill(filepath.Join(path, inner), inner, "inside a skill", plainSkill)
		return
	case 10:
		l.skill(filepath.Join(root, "dir-"+name), name, "another directory name", plainSkill)
		return
	case 11:
		switch l.random.IntN(5) {
		case 0:
			l.skill(filepath.Join(root, "."+name), name, "hidden directory", plainSkill)
		case 1:
			l.skill(path, name, "link to SKILL.md", plainSkill)
			l.do(os.Rename(filepath.Join(path, "SKILL.md"), filepath.Join(path, "TEXT.md")))
			l.do(os.Symlink("TEXT.md", filepath.Join(path, "SKILL.md")))
		case 2:
			l.skill(path, name, "skill.md", plainSkill)
			l.do(os.Rename(filepath.Join(path, "SKILL.md"), filepath.Join(path, "skill.md")))
		case 3:
			l.do(os.MkdirAll(path, 0o755))
		case 4:
			l.skill(root, "in-root", "SKILL.md in the root", plainSkill) // skl lists none, and warns
		}
		return
	case 12, 13, 14, 15:
		h := pick(l, headings)
		l.skill(path, name, h.kind, h.text)
		return
	}
	l.skill(path, name, "plain", plainSkill)
}

const plainSkill = "---\nname: NAME\ndescription: Copy MARK.\n---\n"

// earlier is a copy that was made before, of that name if there is one.
func (l *layout) earlier(name string) *laid {
	var same, all []*laid
	for i, c := range l.copies {
		if info, err := os.Stat(c.path); err != nil || !info.IsDir() || c.kind == "SKILL.md in the root" || strings.HasSuffix(c.kind, "linked root") {
			continue
		}
		all = append(all, &l.copies[i])
		if c.name == name {
			same = append(same, &l.copies[i])
		}
	}
	switch {
	case len(same) > 0:
		return pick(l, same)
	case len(all) > 0:
		return pick(l, all)
	}
	return nil
}

// mark is the marker in the SKILL.md that path leads to.
func (l *layout) mark(path string) string {
	l.T.Helper()
	real, err := filepath.EvalSymlinks(path)
	l.do(err)
	for _, c := range l.at(real) {
		if c.mark != "" {
			return c.mark
		}
	}
	l.T.Fatalf("nothing was laid in %s", real)
	return ""
}

// skill writes a SKILL.md of that kind with a marker of its own.
func (l *layout) skill(dir, name, kind, text string) {
	l.marks++
	mark := fmt.Sprintf("c%03d", l.marks)
	text = strings.NewReplacer("NAME", name, "UPPER", strings.ToUpper(name), "MARK", mark, "LONG", strings.Repeat("long text ", 120)).Replace(text)
	l.do(os.MkdirAll(dir, 0o755))
	l.do(os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text+"\nBody "+mark+".\n"), 0o644))
	l.copies = append(l.copies, laid{dir, name, kind, mark})
}

// link makes a link at path, a relative one or not, unless something is there.
func (l *layout) link(path, target, kind string) {
	if _, err := os.Lstat(path); err == nil || target == path || strings.HasPrefix(target, path+"/") || strings.HasPrefix(path, target+"/") {
		return
	}
	l.do(os.MkdirAll(filepath.Dir(path), 0o755))
	if l.chance(60) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		l.do(err)
		rel, err := filepath.Rel(dir, target)
		l.do(err)
		target, kind = rel, "relative "+kind
	}
	l.do(os.Symlink(target, path))
	l.copies = append(l.copies, laid{path, filepath.Base(path), kind, ""})
}

func (l *layout) file(path, text string) {
	l.do(os.MkdirAll(filepath.Dir(path), 0o755))
	l.do(os.WriteFile(path, []byte(text), 0o644))
	l.copies = append(l.copies, laid{path, filepath.Base(path), "link as text", ""})
}

// trust writes what the agents and skl remember of their user's trust in the folder.
func (l *layout) trust() {
	folder := pick(l, []string{l.Project, l.Project, l.cwd, filepath.Dir(l.Project)})
	switch l.random.IntN(8) {
	case 0, 1, 2:
		l.write(".gemini/trustedFolders.json", fmt.Sprintf(`{%q: "TRUST_FOLDER"}`, folder))
	case 3:
		l.write(".gemini/trustedFolders.json", fmt.Sprintf(`{%q: "TRUST_PARENT"}`, folder))
	case 4:
		l.write(".gemini/trustedFolders.json", fmt.Sprintf(`{%q: "DO_NOT_TRUST", %q: "TRUST_FOLDER"}`, l.cwd, filepath.Dir(l.Project)))
	case 5:
		l.write(".gemini/settings.json", `{"security": {"folderTrust": {"enabled": false}}} // off`)
	case 6:
		l.write(".gemini/trustedFolders.json", fmt.Sprintf("// by hand\n{%q: \"TRUST_FOLDER\", %q: \"DO_NOT_TRUST\"}", folder, l.Home))
	}
	if level := pick(l, []string{"", "trusted", "untrusted"}); level != "" {
		l.write(".codex/config.toml", fmt.Sprintf("[projects.%q]\ntrust_level = %q\n", folder, level))
	}
	if accepted := pick(l, []string{"", "true", "false"}); accepted != "" {
		l.write(".claude.json", fmt.Sprintf(`{"projects": {%q: {"hasTrustDialogAccepted": %s}}}`, folder, accepted))
	}
	if l.chance(40) {
		l.Must("trust", "allow", l.Project)
	}
}

func (l *layout) write(rel, text string) {
	path := filepath.Join(l.Home, filepath.FromSlash(rel))
	l.do(os.MkdirAll(filepath.Dir(path), 0o755))
	l.do(os.WriteFile(path, []byte(text), 0o600))
}

// kindOf says what the copy in that real directory was made as.
func (l *layout) kindOf(dir string) string {
	var kinds []string
	for _, c := range l.at(dir) {
		if !slices.Contains(kinds, c.kind) {
			kinds = append(kinds, c.kind)
		}
	}
	return strings.Join(kinds, ", ")
}

// is reports whether the copy in that real directory, or one that it is a copy of, was made as kind.
func (l *layout) is(dir, kind string) bool {
	return slices.ContainsFunc(append(l.alike(dir), dir), func(other string) bool {
		return slices.ContainsFunc(l.at(other), func(c laid) bool { return c.kind == kind })
	})
}

// isPath reports whether a path to the copy in that real directory ends in name, which it has if its frontmatter gives none.
func (l *layout) isPath(dir, name string) bool {
	return slices.ContainsFunc(l.at(dir), func(c laid) bool { return filepath.Base(c.path) == name })
}

// describe lists what was laid, for who looks into a disagreement.
func (l *layout) describe() string {
	var b strings.Builder
	for _, c := range l.copies {
		rel, _ := filepath.Rel(filepath.Dir(l.Home), c.path)
		fmt.Fprintf(&b, "\n%s  %s  %s", rel, c.kind, c.mark)
		if target, err := os.Readlink(c.path); err == nil {
			fmt.Fprintf(&b, " -> %s", target)
		}
	}
	return b.String()
}
