package hostile

import (
	"bufio"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/testdata/long"
)

// A projectFile is a file, or a kind of file, that skl opens below a project.
type projectFile struct {
	path string // a pattern as in spec/glob
	only string // the commands that open it; "" is any
}

// projectFiles are all, as spec/trust-boundaries.md has them.
var projectFiles = sync.OnceValue(func() (list []projectFile) {
	page, err := os.ReadFile("../../../../spec/trust-boundaries.md")
	if err != nil {
		panic(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Files of a project\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:`([^`]+)`|any command) \\|").FindAllStringSubmatch(table, -1) {
		list = append(list, projectFile{row[1], row[2]})
	}
	return list
})

// honestText is what a file of projectFiles may well say, where clones of hostile ones are made of it.
var honestText = map[string]string{
	"skl.toml": "[skills]\n", "skl.lock": "version = 1\n", "policy.toml": "version = 1\n", ".agents/skills/.skl/good.json": "{}\n", ".gitignore": "*.log\n",
	".claude/settings.json": `{"skillOverrides": {"good": "off"}}`, "opencode.json": `{"permission": {"skill": {"good": "deny"}}}`,
	".gitattributes": "* text\n", "CLAUDE.md": "# Mine\n", "main.go": "hello\n",
	".agents/skills/good/SKILL.md": skillText, ".agents/.skl/skills/disabled/good/SKILL.md": skillText, "skills/good/SKILL.md": skillText,
}

const skillText = "---\nname: good\ndescription: Is good.\n---\n"

// made are files of skl's own that are opened while they are written: they have names that are drawn.
var made = []string{"{,**/}.skl-*", ".agents/.skl/skills/stage-*{,/**}"}

// allCommands are those of the program, with what to run of each in a clone; NAME and PATH are as in a deed. A text that begins with a # says
// why there is nothing to run.
var allCommands = map[string][]string{
	"author": {"author improve ./PATH", "author scaffold fresh", "author refactor .agents/skills"}, "digest": {"digest ./PATH"}, "audit": {"audit", "audit ./PATH"}, "pack": {"pack ./PATH -o ../evil.tar.gz --dry-run"}, "skillify": {"skillify ./PATH --dry-run", "skillify . --dry-run"}, "convert": {"convert ./PATH --to v1 --dry-run"},
	"publish": {"publish ./PATH acme/evil@1.0.0 --dry-run"}, "policy": {"policy show", "policy test", "policy explain NAME"}, "source": {"source list"},
	"cache": {"cache dir", "cache gc --dry-run"}, "new": {"new fresh --dry-run"}, "expand": {"expand h000000000000000000000000"}, "test": {"test ./PATH --dry-run", "test ./PATH --allow run,external"}, "run": {"run ./PATH --allow run,filesystem,external"},
	"runs": {"runs"}, "version": {"version"}, "schema": {"schema list"}, "enable": {"enable NAME"}, "lock": {"lock --dry-run"},
	"sign": {"# a release of a registry"}, "attest": {"# a release of a registry"}, "yank": {"# a release of a registry"}, "deprecate": {"# a release of a registry"},
	"login": {"# the user's own credentials"}, "logout": {"# the user's own credentials"}, "registry": {"# a registry's own directory"}, "key": {"# files that a person names"},
	"resume": {"# a run of the user's"}, "trace": {"# a run of the user's"}, "quickstart": {"# a folder of its own"}, "help": {"help all"},
}

// openCall is a line of strace -y about a file that is opened: the directory, the name and the flags.
var openCall = regexp.MustCompile(`^\d+ +open(?:at2?)?\((?:(AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)", ([^)]*)\)? = (-?\d+)(?:<([^>]*)>)?`)

// openedFiles are the files below the clone that a trace has, as far as they are no directories: those that were opened, and those that
// were not there. Paths are relative to the clone.
func (w *world) openedFiles(trace string) (out []string) {
	f, err := os.Open(trace)
	if err != nil {
		w.t.Fatal("strace wrote nothing: ", err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		m := openCall.FindStringSubmatch(scan.Text())
		if m == nil {
			continue
		}
		path := m[3]
		switch {
		case m[6] != "":
			path = m[6]
		case !filepath.IsAbs(path) && m[2] != "":
			path = filepath.Join(m[2], path)
		case !filepath.IsAbs(path):
			path = filepath.Join(w.cwd, path)
		}
		rel, err := filepath.Rel(w.clone, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." || strings.Contains(m[4], "O_DIRECTORY") || strings.Contains(m[4], "O_PATH") {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		out = append(out, filepath.ToSlash(rel))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// matches reports whether one of patterns means path.
func matches(t *testing.T, path string, patterns ...string) bool {
	t.Helper()
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		g, err := glob.Parse(pattern)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		return g.Match(path)
	})
}

// full adds to a clone one of everything that somebody might think skl reads, so that whatever it does read is there.
func full(p *planter) {
	for name := range strings.FieldsSeq(`AGENTS.md CLAUDE.md GEMINI.md .github/copilot-instructions.md .gitattributes .gitignore .gitmodules policy.toml apm.yml apm.lock.yaml
		.claude/settings.json .claude/settings.local.json .codex/config.toml opencode.json .opencode/opencode.json .gemini/settings.json .mcp.json .claude-plugin/marketplace.json
		.github/plugin/marketplace.json .claude-plugin/plugin.json package.json DESCRIPTION go.mod pyproject.toml requirements.txt skills/own/SKILL.md .cursor/skills/c/SKILL.md
		config.toml registry.toml .skl/config.toml .skl/state.json .agents/skl.toml .agents/skills/.skl/stat.cache .agents/.skl/skills/journal skills.json skills-lock.json .skill-lock.json
		CACHEDIR.TAG .ignore .rgignore .sklignore allowed_signers .well-known/agent-skills/index.json .env .netrc vendor/x.go`) {
		if _, there := p.files[name]; !there {
			p.file(name, "# x\n")
		}
	}
	for name := range strings.FieldsSeq("agents/openai.yaml tests/first/case.json tests/a.sh skl.toml apm.yml .skillignore .gitignore references/a.md skl.sig skill.oms.sig plugin.json package.json Makefile") {
		p.file(".agents/skills/evil/"+name, "x: 1\n")
	}
	p.file(".agents/skills/evil/skl.toml", "[skills]\n")
	p.file(".agents/skills/evil/tests/first/case.json", "{\"arguments\": \"\", \"want\": {}}\n")
	p.file(".agents/skills/gated/SKILL.md", "---\nname: gated\ndescription: Needs a module.\nskill_format: corteza.skill/v1\nlibrary_depends:\n  - name: example.com/m\n    ecosystem: go\n---\nText.\n")
	p.evil("\n## Tree\n\n* bind x = \"1\"\n")
}

// TestProjectFiles holds that the table of files is whole: every command is run in a clone, and opens nothing there that the table does not have
// for it.
func TestProjectFiles(t *testing.T) {
	long.Slow(t)
	tracer := findTracer(t)
	if tracer == "" {
		t.Skip("skipped: needs strace")
	}
	if len(projectFiles()) < 12 {
		t.Fatalf("%d rows were read", len(projectFiles()))
	}
	w := raise(t, clone{name: "files", plant: full}, newHonest(t), newTrap(t), tracer)
	w.opens, w.commands = true, new(atomic.Int64)
	ran, met := map[string]bool{}, map[string]bool{}
	do := func(d deed) {
		t.Helper()
		command, _, _ := strings.Cut(d.args, " ")
		ran[command] = true
		end := w.run(w.words(d), d)
		if strings.Contains(end.stderr, "unknown flag") || strings.Contains(end.stderr, "needs -o") {
			t.Errorf("skl %s is no command line: %s", d.args, end.stderr)
		}
		for _, path := range end.opened {
			row := slices.IndexFunc(projectFiles(), func(f projectFile) bool {
				return (f.only == "" || slices.Contains(strings.Fields(f.only), command)) && matches(t, path, f.path)
			})
			switch {
			case row >= 0:
				met[projectFiles()[row].path] = true
			case !matches(t, path, made...):
				t.Errorf("skl %s opens %s, which spec/trust-boundaries.md does not have: what may it decide, and what holds that?", d.args, path)
			}
		}
	}
	for _, d := range looks {
		do(d)
	}
	for _, lines := range allCommands {
		for _, args := range lines {
			if !strings.HasPrefix(args, "#") {
				do(deed{args: args})
			}
		}
	}
	for _, w.skill = range []string{"evil", "good"} {
		for _, d := range acts {
			w.reset()
			do(d)
		}
		w.reset()
		for _, d := range trusted {
			do(d)
		}
	}
	for _, f := range projectFiles() {
		if !met[f.path] {
			t.Errorf("nothing opens %s, which spec/trust-boundaries.md has", f.path)
		}
	}
	text, err := exec.Command(w.skl, "help", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^  ([a-z]+)  `).FindAllStringSubmatch(string(text), -1)
	if len(commands) < 40 {
		t.Fatalf("%d commands in skl help all", len(commands))
	}
	for _, m := range commands {
		if name := m[1]; !ran[name] && allCommands[name] == nil {
			t.Errorf("skl %s is run in no clone: add it to looks, acts or allCommands", name)
		}
	}
}

// values are the hostile contents of a file that skl reads.
func values(p *planter, name, honest string) map[string]func() {
	return map[string]func(){
		"is empty":                         func() { p.file(name, "") },
		"is binary":                        func() { p.file(name, "\x00\xff\xfe\x1b[2J\x1b]0;x\x07"+strings.Repeat("\x80", 4096)) },
		"is deep":                          func() { p.file(name, strings.Repeat("[", 200_000)+strings.Repeat("{\"a\":", 1000)) },
		"is long":                          func() { p.file(name, honest+strings.Repeat("# "+strings.Repeat("x", 1<<20)+"\n", 12)) },
		"has odd lines":                    func() { p.file(name, "\ufeff"+strings.ReplaceAll(honest, "\n", "\r")+"\u2028\u202e\x1b[31m") },
		"is a directory":                   func() { p.file(name+"/x", "x\n") },
		"is a link to a key":               func() { p.link(name, p.home(".ssh/id_ed25519")) },
		"is a relative link to a secret":   func() { p.link(name, strings.Repeat("../", strings.Count(name, "/")+2)+"home/.netrc") },
		"is a link to itself":              func() { p.link(name, path.Base(name)) },
		"is a link to a device":            func() { p.link(name, "/dev/zero") },
		"lies below a link to the home":    func() { p.link(path.Dir(name), p.home("")) },
		"lies below a link to a neighbour": func() { p.link(path.Dir(name), strings.Repeat("../", strings.Count(name, "/"))+"../sibling") },
	}
}

// projected are the clones of a hostile value of each file of projectFiles.
func projected() (out []clone) {
	for _, f := range projectFiles() {
		name := example(f.path)
		text, ok := honestText[name]
		if !ok {
			continue // of git itself
		}
		var kinds []string
		for kind := range values(nil, name, text) {
			if strings.HasPrefix(kind, "lies below") && !strings.Contains(name, "/") {
				continue
			}
			kinds = append(kinds, kind)
		}
		slices.Sort(kinds)
		for _, kind := range kinds {
			out = append(out, clone{name: name + " " + kind, plant: func(p *planter) { values(p, name, text)[kind]() }})
		}
	}
	return out
}

// example is a file that a pattern of projectFiles means.
func example(pattern string) string {
	pattern = regexp.MustCompile(`\{,?([^,}]*)[^}]*\}`).ReplaceAllString(pattern, "$1")
	pattern = strings.ReplaceAll(pattern, "*/**", "good/SKILL.md")
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "**", "main.go"), "*", "good")
}
