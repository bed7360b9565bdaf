package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/testdata/long"
)

const claudeSkill = `---
name: judge
description: Judges a project. Use when asked.
---

## Tree

* PARALLEL
  * **COUNT** >> files
  * **JUDGE** << "style" >> verdict
* bind both = "done"

## Rules

* Be exact.

## Response: files | verdict
`

const claudeOps = `# Ops

## COUNT >> files

> **Subagent.** Output contract: ` + "`assets/schemas/count.json`" + `

Count the text files here.

## JUDGE << aspect >> verdict

> **Subagent.** Output contract: ` + "`assets/schemas/judge.json`" + `

* Judge the aspect of the project >> verdict
`

// The whole way: skl runs a skill with the real Claude Code as its model, which is a process for each of two subagents at the same
// time and talks to a scripted Messages API. One of them uses a tool of the run.
func TestRunWithClaudeCode(t *testing.T) {
	program := long.Agent(t, "SKL_TEST_CLAUDE", "claude")
	p := harness.NewPlace(t)
	skill := filepath.Join(p.Project, "judge")
	harness.WriteFile(t, filepath.Join(skill, "SKILL.md"), claudeSkill)
	harness.WriteFile(t, filepath.Join(skill, "references", "ops.md"), claudeOps)
	harness.WriteFile(t, filepath.Join(skill, "assets", "schemas", "count.json"), `{"type":"object","properties":{"files":{"type":"integer"}},"required":["files"]}`)
	harness.WriteFile(t, filepath.Join(skill, "assets", "schemas", "judge.json"), `{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"]}`)
	harness.WriteFile(t, filepath.Join(p.Project, "one.txt"), "1")
	harness.WriteFile(t, filepath.Join(p.Project, "two.txt"), "2")

	script := modeltest.Turns(
		modeltest.Turn{Match: "one.txt", Tools: []modeltest.Use{{Name: "StructuredOutput", Input: json.RawMessage(`{"files":2}`)}}}, // what the tool gave
		modeltest.Turn{Match: "Count the text files", Tools: []modeltest.Use{{Name: "mcp__skl__glob", Input: json.RawMessage(`{"pattern":"*.txt"}`)}}},
		modeltest.Turn{Match: "Judge the aspect", Tools: []modeltest.Use{{Name: "StructuredOutput", Input: json.RawMessage(`{"verdict":"good"}`)}}},
		modeltest.Turn{Repeat: true, Text: "Nothing is left to say."}, // what the program asks besides
	)
	// Neither subagent is answered before both have asked: they work at the same time, or never end.
	var first sync.WaitGroup
	first.Add(2)
	var once [2]sync.Once
	server := modeltest.NewAnthropic(func(r modeltest.Recorded) modeltest.Turn {
		for i, text := range []string{"Count the text files", "Judge the aspect"} {
			if strings.Contains(r.Text, text) {
				once[i].Do(first.Done)
				first.Wait()
			}
		}
		return script(r)
	})
	defer server.Close()

	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	cmd := p.Command("run", "./judge", "--model", "claude-code", "--allow", "run", "--budget", "time=90s", "--json")
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	cmd.Env = append(cmd.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY=sk-ant-of-a-test", "CLAUDE_CODE_MAX_RETRIES=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	t.Logf("the run took %s", time.Since(began).Round(10*time.Millisecond))
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	var result struct {
		Status   string
		ExitCode int `json:"exit_code"`
		Response map[string]any
		Bindings map[string]any
		Usage    struct{ Calls int }
	}
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	if result.Status != "ok" || result.ExitCode != 0 || fmt.Sprint(result.Response) != "map[files:2 verdict:good]" ||
		fmt.Sprint(result.Bindings) != "map[both:done files:2 verdict:good]" || result.Usage.Calls < 3 {
		t.Errorf("got %+v\n%s", result, stderr.Bytes())
	}
	// Each subagent sees its own step alone, and no tool but those of the run.
	for _, r := range server.Requests() {
		if strings.Contains(r.Text, "Count the text files") && strings.Contains(r.Text, "Judge the aspect") {
			t.Errorf("a subagent sees the step of the other:\n%s", r.Text)
		}
		for _, tool := range r.Tools {
			if tool != "StructuredOutput" && !strings.HasPrefix(tool, "mcp__skl__") {
				t.Errorf("the program offers its own tool %s", tool)
			}
		}
	}
}
