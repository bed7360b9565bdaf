package run

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/testdata/long"
)

// vaultLog names the variable with the file that the MCP server of these tests writes each call to.
const vaultLog = "SKL_TEST_VAULT"

// vault is an MCP server with the tools that the seed's example names, of a package called pensar.
func vault() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "pensar", Version: "1"}, nil)
	type in struct {
		URL   string `json:"url,omitempty"`
		Query string `json:"query,omitempty"`
		Page  string `json:"page,omitempty"`
	}
	for _, tool := range []string{"ingest_url", "search_pages", "related_pages", "write_page"} {
		mcp.AddTool(s, &mcp.Tool{Name: tool, Description: "The vault's " + tool + "."}, func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, any, error) {
			line := tool + " " + i.URL + i.Query + i.Page
			f, err := os.OpenFile(os.Getenv(vaultLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			if err != nil {
				return nil, nil, err
			}
			defer f.Close()
			fmt.Fprintln(f, line)
			time.Sleep(10 * time.Millisecond) // a call takes some time, in which it can be interrupted
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "vault: " + line}}}, nil, nil
		})
	}
	if s.Run(context.Background(), &mcp.StdioTransport{}) != nil {
		return 1
	}
	return 0
}

// autoresearch is the worked example of the specification, as a project of its own would publish it.
const autoresearch = `---
skill_format: corteza.skill/v1
name: autoresearch
description: Bounded autonomous research loop into a pensar vault.
model_invocation: user-only
side_effects: [filesystem, network]
library_depends: [pensar, llm.api]
attach: false
tools:
  allow: [web_search, pensar_ingest_url, pensar_search_pages,
    pensar_related_pages, pensar_write_page, finalize]
trust: package
interaction: returning
---

# Autoresearch

Research $ARGUMENTS into the vault: read [how](references/how.md) first, ingest a source, write a page, and name what links to it.
`

// tries are names of tools that the skill does not allow, in the spellings of many hosts.
var tries = []string{"bash", "Bash", "shell", "sh", "run_terminal_cmd", "run_shell_command", "execute_command", "local_shell",
	"write", "Write", "create_file", "edit", "str_replace", "WebFetch", "grep", "list_dir"}

// research answers as a model that does what autoresearch says. It goes by what was done, as a model does, and tries every tool
// that it may not call. wire is how it calls a tool.
func research(wire func(tool string) string) modeltest.Script {
	call := func(tool, input string) modeltest.Turn {
		return modeltest.Turn{Tools: []modeltest.Use{{Name: wire(tool), Input: json.RawMessage(input)}}}
	}
	return func(r modeltest.Recorded) modeltest.Turn {
		switch done := func(what string) bool { return strings.Contains(r.Text, what) }; {
		case !strings.Contains(r.Text, "Research $ARGUMENTS into the vault") || !done("tides"):
			return modeltest.Turn{Status: 400, Message: "the text or the arguments are missing"}
		case !done("Ask the moon first"):
			return call("read", `{"path":"skill:references/how.md"}`)
		case len(r.Results) < 2 && !done("run_terminal_cmd "):
			var uses []modeltest.Use
			for _, name := range tries {
				uses = append(uses, modeltest.Use{Name: wire(name), Input: json.RawMessage(`{"command":"touch made.txt","path":"made.txt","content":"x","old_string":"a","new_string":"b","url":"https://example.com","pattern":"x"}`)})
			}
			return modeltest.Turn{Tools: uses}
		case !done("vault: ingest_url https://example.com/tides") && !done("took place; what it gave was lost (ingest)"):
			return call("pensar__ingest_url", `{"url":"https://example.com/tides"}`)
		case !done("vault: write_page tides"):
			return call("pensar__write_page", `{"page":"tides"}`)
		case !done("vault: related_pages tides"):
			return call("pensar__related_pages", `{"query":"tides"}`)
		case slices.Contains(r.Tools, wire("finalize")) && !done("The result is taken"):
			return call("finalize", `{"result":"One page, and the moon links to it."}`)
		}
		return modeltest.Turn{Text: "It is done."}
	}
}

// researchPlace is a place where autoresearch is installed, and can run.
func researchPlace(t *testing.T) (p *harness.Place, env []string, log string) {
	t.Helper()
	vault, err := exec.LookPath("vault")
	if err != nil {
		t.Fatal(err)
	}
	p = harness.NewPlace(t)
	dir := gittest.Init(t, "pensar")
	gittest.Commit(t, dir, gittest.Files{"skills/autoresearch/SKILL.md": autoresearch, "skills/autoresearch/references/how.md": "Ask the moon first.\n"})
	command, _ := json.Marshal(vault)
	harness.WriteFile(t, filepath.Join(p.Home, ".config", "skl", "config.toml"), fmt.Sprintf("[mcp.pensar]\ncommand = [%s]\nenv = [%q]\n", command, vaultLog))
	libraries := filepath.Join(p.Home, "R")
	for _, name := range []string{"pensar", "llm.api"} {
		harness.WriteFile(t, filepath.Join(libraries, name, "DESCRIPTION"), "Package: "+name+"\n")
	}
	log = filepath.Join(p.Home, "vault.log")
	env = []string{vaultLog + "=" + log, "R_LIBS=" + libraries}
	p.Must("install", "git+file://"+filepath.ToSlash(dir), "--all", "--yes")
	return p, env, log
}

// runWith is skl with more in its environment.
func runWith(p *harness.Place, env []string, args ...string) (status int, output string) {
	p.T.Helper()
	cmd := p.Command(args...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

var wantVault = "ingest_url https://example.com/tides\nwrite_page tides\nrelated_pages tides\n"

// The worked example of the specification runs from its install to its result, with each model that calls tools: the services by
// their protocols, and the programs of Claude Code and Copilot as children that have skl's tools alone. What tools.allow
// does not name is denied in every spelling; a replay gives the same and touches nothing; a budget stops it in between.
func TestAutoresearch(t *testing.T) {
	long.Slow(t)
	bare := func(tool string) string { return tool }
	for _, m := range []struct {
		model, program string
		wire           func(string) string
		serve          func(modeltest.Script) *modeltest.Server
		env            func(url string) []string
	}{
		{"anthropic", "", bare, modeltest.NewAnthropic, func(url string) []string { return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=k"} }},
		{"openai:gpt-test", "", bare, modeltest.NewOpenAI, func(url string) []string { return []string{"OPENAI_BASE_URL=" + url, "OPENAI_API_KEY=k"} }},
		{"claude-code", "SKL_TEST_CLAUDE", func(tool string) string { return "mcp__skl__" + tool }, modeltest.NewAnthropic, func(url string) []string {
			return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-ant-of-a-test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1"}
		}},
		{"copilot", "SKL_TEST_COPILOT", func(tool string) string { return "skl-" + tool }, modeltest.NewOpenAI, func(url string) []string {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + url, "COPILOT_PROVIDER_API_KEY=key-of-a-test", "COPILOT_MODEL=gpt-test"}
		}},
	} {
		t.Run(m.model, func(t *testing.T) {
			p, env, log := researchPlace(t)
			if m.program != "" {
				program := long.Agent(t, m.program, strings.TrimSuffix(m.model, "-code"))
				bin := filepath.Join(p.Home, "bin")
				harness.WriteFile(t, filepath.Join(bin, ".keep"), "")
				if err := os.Symlink(program, filepath.Join(bin, strings.TrimSuffix(m.model, "-code"))); err != nil {
					t.Fatal(err)
				}
				env = append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			}
			server := m.serve(research(m.wire))
			defer server.Close()
			env = append(env, m.env(server.URL)...)

			status, out := runWith(p, env, "run", "autoresearch", "tides", "--model", m.model, "--allow", "run,external", "--json", "--quiet")
			var result struct {
				Run      string
				Status   string
				Response map[string]any
				Denied   []struct{ Tool, Why string }
			}
			if err := json.Unmarshal([]byte(out[max(0, strings.Index(out, "{\n")):]), &result); err != nil {
				t.Fatalf("exit %d, %v\n%s", status, err, out)
			}
			wantStatus := 0
			if len(result.Denied) > 0 {
				wantStatus = 4
			}
			if status != wantStatus {
				t.Fatalf("exit %d, with %d calls denied\n%s", status, len(result.Denied), out)
			}
			if result.Status != "ok" || result.Response["result"] != "One page, and the moon links to it." {
				t.Errorf("got %+v", result)
			}
			if got := textOf(t, log); got != wantVault {
				t.Errorf("the vault has\n%s", got)
			}
			if _, err := os.Stat(filepath.Join(p.Project, "made.txt")); err == nil {
				t.Error("a tool that tools.allow does not name wrote a file")
			}
			if m.program == "" && len(result.Denied) != len(tries) {
				t.Errorf("%d of %d tries were denied: %+v", len(result.Denied), len(tries), result.Denied)
			}
			if m.program != "" { // the program offers its model no tool but these
				for _, r := range server.Requests() {
					for _, tool := range r.Tools {
						if name, ok := strings.CutPrefix(tool, m.wire("")); ok && slices.Contains([]string{"read", "finalize", "pensar__ingest_url", "pensar__search_pages", "pensar__related_pages", "pensar__write_page"}, name) {
							continue
						}
						if tool != "DeferredToolPlaceholder" {
							t.Errorf("the model was shown the tool %s", tool)
						}
					}
				}
			}
			asked := len(server.Requests())
			status, out = runWith(p, env, "run", "autoresearch", "--model", "replay:"+result.Run, "--json", "--quiet")
			if status != wantStatus || !strings.Contains(out, `"result": "One page, and the moon links to it."`) || len(server.Requests()) != asked || textOf(t, log) != wantVault {
				t.Errorf("replay: exit %d, %d requests of %d\n%s", status, len(server.Requests()), asked, out)
			}

			os.Remove(log)
			status, out = runWith(p, env, "run", "autoresearch", "tides", "--model", m.model, "--allow", "run,external", "--budget", "calls=3")
			if status != 5 || !strings.Contains(out, "out of budget, calls: 3 of 3") {
				t.Fatalf("with a budget: exit %d\n%s", status, out)
			}
			if status, out = runWith(p, env, "resume", "--budget", "calls=50"); status != wantStatus || textOf(t, log) != wantVault {
				t.Errorf("with a bigger one: exit %d\n%s\nthe vault has\n%s", status, out, textOf(t, log))
			}
		})
	}
}

// textOf is the text of a file, "" if there is none.
func textOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// The real program is killed at random moments while it carries out a skill without a tree. Resume goes on behind the last call
// that was seen to end, asks what became of one that was not, and in the end each call was made once: with a model that reads what
// was done, and with one that begins from the first in every process.
func TestKilledProse(t *testing.T) {
	t.Run("model that reads", func(t *testing.T) { killProse(t, research(func(tool string) string { return tool }), 4) }) // its bash is denied
	t.Run("model that repeats itself", func(t *testing.T) { killProse(t, forgetful, 0) })
}

// forgetful does what autoresearch says, by what was answered in this conversation alone.
func forgetful(r modeltest.Recorded) modeltest.Turn {
	steps := []modeltest.Use{{Name: "read", Input: json.RawMessage(`{"path":"skill:references/how.md"}`)},
		{Name: "pensar__ingest_url", Input: json.RawMessage(`{"url":"https://example.com/tides"}`)},
		{Name: "pensar__write_page", Input: json.RawMessage(`{"page":"tides"}`)},
		{Name: "pensar__related_pages", Input: json.RawMessage(`{"query":"tides"}`)},
		{Name: "finalize", Input: json.RawMessage(`{"result":"One page."}`)}}
	if n := len(r.Results); n < len(steps) {
		return modeltest.Turn{Tools: steps[n : n+1]}
	}
	return modeltest.Turn{Text: "It is done."}
}

// killProse kills runs of autoresearch with a model. A run that nothing stops ends with the exit code want.
func killProse(t *testing.T, m modeltest.Script, want int) {
	p, env, log := researchPlace(t)
	server := modeltest.NewAnthropic(m)
	defer server.Close()
	env = append(env, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY=k")
	args := []string{"run", "autoresearch", "tides", "--model", "anthropic", "--allow", "run,external"}
	start := time.Now()
	if status, out := runWith(p, env, args...); status != want {
		t.Fatalf("exit %d\n%s", status, out)
	}
	took := time.Since(start)
	random := rand.New(rand.NewSource(5))
	rounds := long.Of(1, 4, 12)
	if long.Every() {
		rounds = 200
	}
	resumed, asked := 0, 0
	for round := range rounds {
		os.Remove(log)
		cmd := p.Command(args...)
		cmd.Env = append(cmd.Env, env...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took/20 + time.Duration(random.Int63n(int64(took))))
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			continue // it was done before
		}
		time.Sleep(40 * time.Millisecond) // a call that was on its way has arrived, or died with the program
		again := []string{"resume"}
		for try := 0; ; try++ {
			status, out := runWith(p, env, again...)
			if status == want {
				resumed++
				break
			}
			if status == 2 && strings.Contains(out, "is done (ok)") { // this one, or the run before: then this one had not begun
				if got := textOf(t, log); got != "" && got != wantVault {
					t.Fatalf("round %d: nothing is known of a run that did\n%s", round, got)
				}
				break
			}
			call := unseenCall(out)
			if status != 5 || call == "" || try > 5 {
				t.Fatalf("round %d: resume: exit %d\n%s", round, status, out)
			}
			asked++
			if strings.Contains(textOf(t, log), call) {
				again = []string{"resume", "--done", "0=vault: " + call}
			} else {
				again = []string{"resume", "--rerun", "0"}
			}
		}
		if got := textOf(t, log); got != "" && got != wantVault {
			t.Fatalf("round %d: the vault has\n%s", round, got)
		}
	}
	t.Logf("%d of %d runs were resumed; %d times resume asked what had happened", resumed, rounds, asked)
}

// unseenCall is the call that resume says nobody saw end, as the vault logs it; "none" of a tool that does nothing.
func unseenCall(out string) string {
	_, rest, ok := strings.Cut(out, " had begun ")
	if !ok {
		return ""
	}
	for _, line := range strings.Split(strings.TrimSpace(wantVault), "\n") {
		tool, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(rest, "pensar__"+tool) {
			return line
		}
	}
	return "none"
}
