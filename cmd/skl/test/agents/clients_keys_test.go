package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/spec/skill"
)

// limits are skills that keep themselves from the model in one way each: what is in the frontmatter, and the key of package skill that
// says so. "" is a key that no agent is known to keep.
var limits = []struct{ name, front, key string }{
	{"plain", "", ""},
	{"switched", "disable-model-invocation: true\n", skill.KeyNoModel},
	{"format", "skill_format: corteza.skill/v1\nmodel_invocation: user-only\n", ""},
	{"portable", "metadata:\n  corteza-skill-format: corteza.skill/v1\n  corteza-model-invocation: user-only\n", ""},
	{"implicit", "", skill.KeyNoImplicit},
	{"ruled", "", "the person's setting"},
}

var limitMark = regexp.MustCompile(`Marker-([a-z]+)-end`)

// TestClientsHonour measures which limits of a skill each agent keeps: it is started with a model that answers nothing,
// and what it tells that model is looked through. The table of hosts says the same. Of the settings by which a person
// keeps a skill away, each works.
func TestClientsHonour(t *testing.T) {
	for _, c := range realClients(t) {
		t.Run(c.host, func(t *testing.T) {
			host, _ := hosts.Find(c.host)
			base := t.TempDir()
			home, dir := filepath.Join(base, "home"), filepath.Join(base, "project")
			root := filepath.Join(dir, ".agents", "skills")
			switch c.host {
			case "claude-code":
				root = filepath.Join(dir, ".claude", "skills")
			case "gemini-cli": // reads those of a project only where it is trusted
				root = filepath.Join(home, ".gemini", "skills")
			}
			for _, l := range limits {
				harness.WriteFile(t, filepath.Join(root, l.name, "SKILL.md"), fmt.Sprintf("---\nname: %s\ndescription: Marker-%[1]s-end. Use when asked.\n%s---\n\nA body.\n", l.name, l.front))
			}
			harness.WriteFile(t, filepath.Join(root, "implicit", "agents", "openai.yaml"), "policy:\n  allow_implicit_invocation: false\n")
			harness.WriteFile(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
			setting, ok := host.KeepFrom("ruled", filepath.Join(root, "ruled"), true)
			if !ok {
				t.Fatal("no setting is known")
			}
			said := c.told(t, home, dir, setting, "hello")
			for _, l := range limits {
				told := slices.ContainsFunc(limitMark.FindAllStringSubmatch(said, -1), func(m []string) bool { return m[1] == l.name })
				if want := !slices.Contains(host.Honours, l.key) && l.name != "ruled"; told != want {
					t.Errorf("%s: the model is told of it: %v, want %v", l.name, told, want)
				}
			}
		})
	}
}

// Of Claude Code's two settings that keep a skill from its model, one leaves /NAME to people and the other leaves it to nobody.
func TestClaudeTakesAway(t *testing.T) {
	for _, c := range realClients(t) {
		if c.host != "claude-code" {
			continue
		}
		host, _ := hosts.Find(c.host)
		for _, people := range []bool{true, false} {
			base := t.TempDir()
			home, dir := filepath.Join(base, "home"), filepath.Join(base, "project")
			ruled := filepath.Join(dir, ".claude", "skills", "ruled")
			harness.WriteFile(t, filepath.Join(ruled, "SKILL.md"), "---\nname: ruled\ndescription: Marker-ruled-end. Use when asked.\n---\n\nThe body of it.\n")
			harness.WriteFile(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
			setting, ok := host.KeepFrom("ruled", ruled, people)
			if !ok {
				t.Fatal("no setting is known")
			}
			if said := c.told(t, home, dir, setting, "hello"); limitMark.MatchString(said) {
				t.Errorf("people %v: the model is told of it", people)
			}
			if said := c.told(t, home, dir, setting, "/ruled"); strings.Contains(said, "The body of it.") != people {
				t.Errorf("people %v: /ruled sends the body to the model: %v", people, !people)
			}
		}
	}
}

// told starts the client in dir with setting and a prompt, and returns all that its model was sent.
func (c realClient) told(t *testing.T, home, dir string, setting hosts.Setting, prompt string) string {
	t.Helper()
	var mu sync.Mutex
	var all strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		for _, text := range texts(nil, body) {
			all.WriteString(text + "\n")
		}
		http.Error(w, `{"error":{"message":"no","type":"invalid_request_error"}}`, http.StatusBadRequest)
	}))
	defer server.Close()
	file := filepath.Join(dir, filepath.FromSlash(setting.File))
	if rest, ok := strings.CutPrefix(setting.File, "~/"); ok {
		file = filepath.Join(home, filepath.FromSlash(rest))
	}
	env, args := []string(nil), []string{"-p", prompt}
	switch c.host {
	case "claude-code":
		harness.WriteFile(t, file, setting.Text)
		env = []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-ant-of-a-test"}
	case "codex":
		harness.WriteFile(t, file, setting.Text)
		out, err := c.run(home, dir, nil, "debug", "prompt-input", prompt)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	case "github-copilot":
		if _, err := c.run(home, dir, nil, strings.Fields(strings.ReplaceAll(strings.TrimPrefix(setting.Text, "copilot "), "'", ""))...); err != nil {
			t.Fatal(err)
		}
		env = []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + server.URL, "COPILOT_PROVIDER_API_KEY=k", "COPILOT_MODEL=gpt-test"}
	case "opencode":
		harness.WriteFile(t, file, merged(t, setting.Text, `{"provider":{"t":{"npm":"@ai-sdk/openai-compatible","name":"t","options":{"baseURL":"`+server.URL+`/v1","apiKey":"k"},"models":{"m":{"name":"m"}}}}}`))
		args = []string{"run", prompt, "--model", "t/m"}
	case "gemini-cli":
		harness.WriteFile(t, file, merged(t, setting.Text, `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`))
		env = []string{"GOOGLE_GEMINI_BASE_URL=" + server.URL, "GEMINI_API_KEY=k", "GEMINI_CLI_TRUST_WORKSPACE=true"}
	}
	out, err := c.run(home, dir, env, args...) // it fails for want of an answer
	mu.Lock()
	defer mu.Unlock()
	if all.Len() == 0 && !strings.HasPrefix(prompt, "/") { // a command that is not there may be answered without a model
		t.Fatalf("the model was sent nothing: %v\n%s", err, out)
	}
	return all.String()
}

// merged is two JSON objects in one.
func merged(t *testing.T, texts ...string) string {
	t.Helper()
	all := map[string]any{}
	for _, text := range texts {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Claude Code keeps the tools from a skill that its disallowed-tools names, while the skill is active, and none that only tools.deny or tools.allow
// of corteza.skill/v1 leave out.
func TestClaudeKeepsTools(t *testing.T) {
	all := realClients(t)
	c := all[slices.IndexFunc(all, func(c realClient) bool { return c.host == "claude-code" })]
	for name, front := range map[string]string{
		"plain":  "",
		"denied": "disallowed-tools: Bash\n",
		"format": "skill_format: corteza.skill/v1\ntools:\n  allow: [read]\n  deny: [bash]\n",
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			home, dir, witness := filepath.Join(base, "home"), filepath.Join(base, "project"), filepath.Join(base, "project", "witness")
			harness.WriteFile(t, filepath.Join(dir, ".claude", "skills", name, "SKILL.md"), fmt.Sprintf("---\nname: %s\ndescription: Does it. Use when asked.\n%s---\n\nDo the work.\n", name, front))
			server := modeltest.NewAnthropic(modeltest.Turns(
				modeltest.Turn{Match: "Do the work.", Tools: []modeltest.Use{{Name: "Bash", Input: json.RawMessage(`{"command":"touch witness","description":"touch"}`)}}},
				modeltest.Turn{Repeat: true, Text: "Done."},
			))
			defer server.Close()
			out, err := c.run(home, dir, []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-ant-of-a-test"}, "-p", "/"+name, "--allowedTools", "Bash")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if _, err := os.Stat(witness); (err == nil) != (name != "denied") {
				t.Errorf("the tool ran: %v\n%s", err == nil, out)
			}
		})
	}
}

// The specification and the guide have the table that the program goes by.
func TestAgentsTable(t *testing.T) {
	spec, err := os.ReadFile(filepath.Join(harness.Repository, "spec", "corteza.skill-v1.md"))
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(filepath.Join(harness.Repository, "cmd", "skl", "internal", "guide", "trust.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts.All() {
		if !h.Measured {
			continue
		}
		row := `(?m)^\| ` + regexp.QuoteMeta(h.Name) + ` [0-9.]+ `
		for _, key := range []string{skill.KeyNoModel, skill.KeyNoImplicit, skill.KeyNoTools} {
			row += map[bool]string{true: `\| yes `, false: `\| no `}[slices.Contains(h.Honours, key)]
		}
		if !regexp.MustCompile(row + `\| no \|`).Match(spec) {
			t.Errorf("the specification has no row of %s: %s", h.Name, row)
		}
		keeps := "nothing"
		if len(h.Honours) > 0 {
			keeps = "`" + strings.Join(h.Honours, "`, `") + "`"
		}
		if row := "| " + h.Name + " | " + keeps + " |"; !strings.Contains(string(guide), row) {
			t.Errorf("the guide has no row %s", row)
		}
	}
}
