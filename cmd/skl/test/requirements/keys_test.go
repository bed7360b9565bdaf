package requirements

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// keyHosts are the agents of the table, and where each finds a skill of the project.
var keyHosts = [][2]string{
	{"claude-code", ".claude/skills"}, {"codex", ".agents/skills"}, {"github-copilot", ".agents/skills"}, {"gemini-cli", ".agents/skills"}, {"opencode", ".agents/skills"},
}

// TestKeys runs the table of testdata/keys: for every key of the specification what becomes of it in a tree, in prose, installed for each
// of five agents, and over MCP. Its README has the form. A key that the specification has and the table has not fails, as does a cell
// that checks nothing. What needs the agents themselves is measured by other tests, which must have run and passed.
func TestKeys(t *testing.T) {
	long.Slow(t)
	dir := t.TempDir()
	var files []string
	needs := map[string]bool{}
	for _, key := range specificationKeys(t) {
		name := strings.NewReplacer("…", "", "-", "_").Replace(key)
		script, err := keyScript(filepath.Join("testdata", "keys", strings.TrimSuffix(name, "_")+".txtar"), needs)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		file := filepath.Join(dir, strings.TrimSuffix(name, "_")+".txtar")
		harness.WriteFile(t, file, script)
		files = append(files, file)
	}
	if all, _ := filepath.Glob("testdata/keys/*.txtar"); len(all) != len(files) && !t.Failed() {
		t.Errorf("%d files in testdata/keys for %d keys", len(all), len(files))
	}
	for need := range needs {
		e, err := readEvidence(need)
		at := evidenceAt{os.DirFS(harness.Repository)}
		if err == nil {
			err = at.find(e)
		}
		if err == nil {
			e, err = at.place(e)
		}
		if err != nil {
			t.Error(err)
		}
		t.Attr("needs", e.test())
	}
	testscript.Run(t, harness.ScriptParams(t, files))
}

// specificationKeys are the keys in the tables of sections 1.2 and 3 of the specification; "other" is any that is not there.
func specificationKeys(t *testing.T) (keys []string) {
	text, err := os.ReadFile(filepath.Join(harness.Repository, "spec", "corteza.skill-v1.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\| (?:`([^`]+)`|(other)) \\|")
	for _, section := range []string{"### 1.2 Base keys\n", "## 3. Keys\n"} {
		_, rest, ok := strings.Cut(string(text), "\n"+section)
		rest, _, _ = strings.Cut(rest, "\n#")
		found := 0
		for line := range strings.Lines(rest) {
			if m := row.FindStringSubmatch(line); m != nil {
				keys = append(keys, m[1]+m[2])
				found++
			}
		}
		if !ok || found < 5 {
			t.Fatalf("%d keys in %s", found, section)
		}
	}
	return keys
}

var (
	cellHead  = regexp.MustCompile(`^# ([a-z-]+): (enforced|handed on|said): \S.*$`)
	cellCheck = regexp.MustCompile(`^(!? ?(stdout|stderr|cmp|grep|exists)|exits|model asked|model never|\{given\}) ?`)
	cellNeeds = regexp.MustCompile(`^# measured by (\S+ \S+)$`)
)

// keyScript makes a script of the row in file: the skills tree and prose, with the key in their frontmatter, installed for all agents,
// and a cell for each column. Tests that a cell names are added to needs.
func keyScript(file string, needs map[string]bool) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	a := txtar.Parse(data)
	cells, order, column := map[string]string{}, []string{""}, ""
	for line := range strings.Lines(string(a.Comment)) {
		if m := cellHead.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			column = m[1]
			if slices.Contains(order, column) {
				return "", fmt.Errorf("two cells %s", column)
			}
			order = append(order, column)
		} else if strings.HasPrefix(line, "# ") && column != "" && !cellNeeds.MatchString(strings.TrimSpace(line)) {
			return "", fmt.Errorf("%q is no head of a cell", strings.TrimSpace(line))
		}
		cells[column] += line
	}
	var columns []string
	for _, h := range keyHosts {
		columns = append(columns, h[0])
	}
	columns = append([]string{"tree", "prose"}, append(columns, "mcp")...)
	for _, name := range order[1:] {
		if name != "hosts" && !slices.Contains(columns, name) {
			return "", fmt.Errorf("there is no column %s", name)
		}
	}
	var out bytes.Buffer
	out.WriteString(cells[""])
	if !strings.Contains(cells[""], "skl install") {
		out.WriteString("skl install ./tree ./prose --host claude-code --host codex --host github-copilot --host gemini-cli --host opencode\ncp stderr $WORK/installed\n")
	}
	for _, name := range columns {
		cell, ok := cells[name]
		for _, h := range keyHosts {
			if h[0] == name && !ok {
				cell, ok = strings.Replace(cells["hosts"], "# hosts:", "# {host}:", 1), cells["hosts"] != ""
			}
			if h[0] == name {
				cell = strings.NewReplacer("{given}", "skl list --json\nstdout '\"host\": \"{host}\"'\ncmp {root}/prose/SKILL.md prose/SKILL.md", "{host}", h[0], "{root}", h[1]).Replace(cell)
				cell = strings.NewReplacer("{host}", h[0], "{root}", h[1]).Replace(cell)
			}
		}
		cell = strings.ReplaceAll(cell, "{ask}", "stdin $WORK/requests\nexec skl mcp --tools skills,run --allow-run")
		checks := 0
		for line := range strings.Lines(cell) {
			if cellCheck.MatchString(line) {
				checks++
			}
			if m := cellNeeds.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				needs[m[1]] = true
			}
		}
		if !ok || checks == 0 {
			return "", fmt.Errorf("the cell %s is silent", name)
		}
		out.WriteString(cell)
	}
	b := txtar.Archive{Comment: out.Bytes()}
	front, base := "", "name: {name}\ndescription: Counts zebras. Use when asked.\n"
	for _, f := range a.Files {
		switch f.Name {
		case "front":
			front = string(f.Data)
		case "base":
			base = string(f.Data)
		default:
			b.Files = append(b.Files, f)
		}
	}
	for name, body := range map[string]string{"tree": "## Tree\n\n* Do it >> done\n\n## Response: done\n", "prose": "Do it.\n"} {
		text := "---\n" + strings.ReplaceAll(base+front, "{name}", name) + "---\n\n" + body
		b.Files = append(b.Files, txtar.File{Name: "project/" + name + "/SKILL.md", Data: []byte(text)})
	}
	b.Files = append(b.Files, txtar.File{Name: "requests", Data: []byte(keyRequests)})
	return string(txtar.Format(&b)), nil
}

// keyRequests ask a server for MCP: 2 searches, 3 reads, 4 and 5 run what was installed.
const keyRequests = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"skill_search","arguments":{"task":"count zebras"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"skill_read","arguments":{"name":"prose"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"skill_run","arguments":{"skill":"prose"}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"skill_run","arguments":{"skill":"tree"}}}
`

// A row that has no cell for a column, a cell that checks nothing, or one for no column, is refused.
func TestKeyRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.txtar")
	whole := "# A key.\n\n# tree: enforced: it holds\nstdout 'a'\n\n# prose: said: so\nexits 3 skl run ./prose\n\n# codex: said: so\n# measured by cmd/skl/test/agents TestClientsHonour/{host}\nstderr '{host}'\n\n# hosts: handed on: with it\n{given}\n\n# mcp: said: so\n{ask}\n! stdout 'b'\n-- front --\nx: 1\n"
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"stdout 'a'\n", "skl list\n", "the cell tree is silent"},
		{"# mcp: said: so\n", "", "the cell mcp is silent"},
		{"# hosts: handed on: with it\n{given}\n", "", "the cell claude-code is silent"},
		{"# codex: said: so", "# codx: said: so", "there is no column codx"},
		{"# mcp: said: so", "# mcp: ignored: so", "is no head of a cell"},
		{"# mcp: said: so", "# prose: said: so", "two cells prose"},
	} {
		needs := map[string]bool{}
		harness.WriteFile(t, file, strings.Replace(whole, c.old, c.new, 1))
		script, err := keyScript(file, needs)
		if c.want == "" {
			if err != nil || !needs["cmd/skl/test/agents TestClientsHonour/codex"] || !strings.Contains(script, "cmp .claude/skills/prose/SKILL.md") || !strings.Contains(script, "name: tree\n") {
				t.Errorf("%v %v\n%s", err, needs, script)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
