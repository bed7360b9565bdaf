package agents

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/testdata/long"
)

// skill_search ranks installed skills and those of registries together. A registry that does not answer takes three
// seconds at most, and is named; offline none is asked.
func TestSkillSearchRegistries(t *testing.T) {
	long.Slow(t)
	m := harness.NewMachine(t)
	ready := m.Serve("--open", "--data", filepath.Join(filepath.Dir(m.Project), "registry"))
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		io.WriteString(w, "{}")
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	m.Write(filepath.Join("..", "home", ".config", "skl", "config.toml"), []byte("[registry.corp]\nurl = \""+ready.URL+"\"\ndefault = true\n\n[registry.mute]\nurl = \""+silent.URL+"\"\n"))
	m.Write("pdf/SKILL.md", []byte("---\nname: pdf-merge\ndescription: Merges several PDF documents into one.\nlicense: MIT\n---\n# PDF\n"))
	m.Write(".agents/skills/letters/SKILL.md", []byte("---\nname: letters\ndescription: Writes letters to customers.\n---\n# Letters\n"))
	m.AnswerAs("publish", 0, "publish", "pdf", "acme/pdf-merge@1.0.0")

	for _, test := range []struct {
		name, task, first string
		installed         bool
		note              string
		args              []string
	}{
		{"of a registry", "merge my two PDF documents into one", "acme/pdf-merge", false, "registries that did not answer: mute", nil},
		{"installed", "write letters to my customers", "letters", true, "registries that did not answer: mute", nil},
		{"offline", "write letters to my customers", "letters", true, "offline: registries were not asked", []string{"--offline"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command(m.Skl, append(test.args, "mcp")...)
			cmd.Dir, cmd.Env = m.Project, m.Env
			var errs bytes.Buffer
			cmd.Stderr = &errs
			session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, errs.String())
			}
			defer session.Close()
			start := time.Now()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "skill_search", Arguments: map[string]any{"task": test.task}})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			text, err := json.Marshal(result.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			var a skillsearch.Answer
			if err := json.Unmarshal(text, &a); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if len(a.Skills) == 0 || a.Skills[0].Ref != test.first || a.Skills[0].Installed != test.installed || len(a.Skills[0].Why) == 0 || !strings.HasSuffix(a.Note, test.note) {
				t.Errorf("got %s", text)
			}
		})
	}
}
