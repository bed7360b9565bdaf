package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/testdata/long"
)

// An agent is an MCP client of a "skl mcp" that is a process of its own.
type agent struct {
	t       *testing.T
	p       *harness.Place
	session *mcp.ClientSession
	stderr  *bytes.Buffer
}

// newAgent starts "skl mcp" with args in the project.
func newAgent(t *testing.T, p *harness.Place, args ...string) *agent {
	t.Helper()
	cmd := p.Command(append([]string{"mcp"}, args...)...)
	a := &agent{t: t, p: p, stderr: new(bytes.Buffer)}
	cmd.Stderr = a.stderr
	a.connect(&mcp.CommandTransport{Command: cmd})
	return a
}

func (a *agent) connect(transport mcp.Transport) {
	a.t.Helper()
	var err error
	if a.session, err = mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(a.t.Context(), transport, nil); err != nil {
		a.t.Fatalf("%v\n%s", err, a.stderr)
	}
	a.t.Cleanup(func() { a.session.Close() })
}

// call calls a tool; said is what it says when it refuses.
func (a *agent) call(name string, arguments map[string]any) (p drive.Progress, said *drive.Said) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s %v: %v\n%s", name, arguments, err, a.stderr)
	}
	text, err := json.Marshal(result.StructuredContent)
	if err == nil && result.IsError {
		said = new(drive.Said)
		err = json.Unmarshal(text, said)
	} else if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return p, said
}

// does calls a tool that must not refuse.
func (a *agent) does(name string, arguments map[string]any) drive.Progress {
	a.t.Helper()
	p, said := a.call(name, arguments)
	if said != nil {
		a.t.Fatalf("%s %v: %+v\n%s", name, arguments, *said, a.stderr)
	}
	return p
}

// refused calls a tool that must refuse with code.
func (a *agent) refused(code, name string, arguments map[string]any) {
	a.t.Helper()
	if p, said := a.call(name, arguments); said == nil || said.Code != code {
		a.t.Errorf("%s %v: got %+v and %+v, want %s", name, arguments, p, said, code)
	}
}

// fails runs a skill whose run must fail at once with code, and leave nothing in the list of runs.
func (a *agent) fails(code, skill string) {
	a.t.Helper()
	p, said := a.call("skill_run", map[string]any{"skill": skill})
	if said == nil {
		said = p.Error
	}
	if said == nil || said.Code != code {
		a.t.Errorf("%s: got %+v and %+v, want %s", skill, p, said, code)
	}
	if out := a.p.Must("runs", "--json"); !strings.Contains(out, `"runs": []`) {
		a.t.Errorf("%s is among the runs:\n%s", skill, out)
	}
}

// step finds the waiting step whose prompt holds text.
func (a *agent) step(p drive.Progress, text string) drive.Step {
	a.t.Helper()
	for _, s := range p.Steps {
		if strings.Contains(s.Prompt, text) {
			return s
		}
	}
	a.t.Fatalf("no step is for %q: %+v", text, p)
	return drive.Step{}
}

const drivenSkill = `---
name: demo
description: Counts and looks. Use when asked.
---

## Tree

* PARALLEL
  * Count the files of $ARGUMENTS >> files
  * **LOOK** >> verdict
* ASK << Publish it? | Yes | No
* Read what the notes say >> notes

## Rules

* Be exact.

## Response: files | verdict | notes
`

const drivenOps = `# Ops

## LOOK >> verdict

> **Subagent.** Output contract: ` + "`assets/schemas/look.json`" + `

Look at the project and judge it.
`

// installed puts a skill where the user's skills are.
func installed(t *testing.T, p *harness.Place, name, doc string) string {
	dir := filepath.Join(p.Home, ".agents", "skills", name)
	harness.WriteFile(t, filepath.Join(dir, "SKILL.md"), doc)
	harness.WriteFile(t, filepath.Join(dir, "references", "ops.md"), drivenOps)
	harness.WriteFile(t, filepath.Join(dir, "assets", "schemas", "look.json"), `{"type":"object","properties":{"verdict":{"enum":["good","bad"]}},"required":["verdict"]}`)
	return dir
}

// An agent drives a run to its end: two steps at once, a question, a tool. It cannot skip a step or repeat one.
func TestMCPRun(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "demo", drivenSkill)
	harness.WriteFile(t, filepath.Join(p.Project, "notes.txt"), "remember the milk\n")
	a := newAgent(t, p, "--allow-run")

	tools, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	for _, want := range []string{"skill_run", "skill_resume"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among the tools %q", want, names)
		}
	}

	begun := a.does("skill_run", map[string]any{"skill": "demo", "arguments": "src"})
	if len(begun.Steps) != 2 || begun.Status != "waiting" {
		t.Fatalf("PARALLEL gave %+v", begun)
	}
	count, look := a.step(begun, "Count the files of $ARGUMENTS"), a.step(begun, "Look at the project and judge it")
	if !look.Isolated || len(look.Schema) == 0 || len(count.Tools) == 0 {
		t.Errorf("steps %+v", begun.Steps)
	}
	answer := func(step string, value any) map[string]any {
		return map[string]any{"run": begun.Run, "step": step, "answer": value}
	}
	a.refused(drive.CodeStepUnknown, "skill_resume", answer("s3", "Yes")) // the question comes when both are done
	a.refused(drive.CodeAnswer, "skill_resume", answer(look.ID, map[string]any{"verdict": "so-so"}))
	next := a.does("skill_resume", answer(look.ID, map[string]any{"verdict": "good"}))
	if len(next.Steps) != 1 || next.Steps[0].ID != count.ID {
		t.Errorf("after one of two steps: %+v", next)
	}
	a.refused(drive.CodeStepDone, "skill_resume", answer(look.ID, map[string]any{"verdict": "bad"}))
	next = a.does("skill_resume", answer(count.ID, map[string]any{"files": 3}))

	ask := a.step(next, "Publish it?")
	if ask.Kind != drive.Question || !slices.Equal(ask.Options, []string{"Yes", "No"}) {
		t.Errorf("the question is %+v", ask)
	}
	a.refused(drive.CodeAnswer, "skill_resume", answer(ask.ID, "Perhaps"))
	next = a.does("skill_resume", answer(ask.ID, "yes"))

	notes := a.step(next, "Read what the notes say")
	called := a.does("skill_resume", map[string]any{"run": begun.Run, "step": notes.ID, "tool": map[string]any{"name": "read", "input": map[string]any{"path": "notes.txt"}}})
	if called.Tool == nil || called.Tool.IsError || !strings.Contains(called.Tool.Text, "remember the milk") {
		t.Errorf("reading gave %+v", called.Tool)
	}
	end := a.does("skill_resume", answer(notes.ID, map[string]any{"notes": "milk"}))
	var result struct {
		Run, Status string
		Response    map[string]any
	}
	if err := json.Unmarshal(end.Result, &result); err != nil || end.Status != "done" || result.Status != "ok" || result.Run != begun.Run {
		t.Fatalf("the end is %+v, %v: %s", end, err, end.Result)
	}
	if got := fmt.Sprint(result.Response); got != "map[files:3 notes:milk verdict:good]" {
		t.Errorf("the response is %s", got)
	}
	a.refused(drive.CodeStepDone, "skill_resume", answer(notes.ID, map[string]any{"notes": "cheese"}))

	// The person sees it like any other run, by the name that the agent knows.
	var runs struct {
		Runs []struct{ Run, Skill, Model, Status, Arguments string }
	}
	if err := json.Unmarshal([]byte(p.Must("runs", "--json")), &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs.Runs) != 1 || fmt.Sprint(runs.Runs[0]) != fmt.Sprintf("{%s demo mcp ok src}", begun.Run) {
		t.Errorf("skl runs has %+v", runs.Runs)
	}
	if out := p.Must("trace", begun.Run); !strings.Contains(out, "answered Yes (relayed by the agent)") || !strings.Contains(out, "verdict=good") {
		t.Errorf("skl trace says\n%s", out)
	}
}

// asks is an agent whose client can put questions to the person; answer is what they do with one.
func asks(t *testing.T, p *harness.Place, answer func(question string, options []string) *mcp.ElicitResult) *agent {
	t.Helper()
	a := &agent{t: t, p: p, stderr: new(bytes.Buffer)}
	cmd := p.Command("mcp", "--allow-run")
	cmd.Stderr = a.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			var form struct {
				Properties struct{ Answer struct{ Enum []string } }
			}
			schema, err := json.Marshal(q.Params.RequestedSchema)
			if err == nil {
				err = json.Unmarshal(schema, &form)
			}
			return answer(q.Params.Message, form.Properties.Answer.Enum), err
		}})
	var err error
	if a.session, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.session.Close() })
	return a
}

func says(text string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": text}}
}

// A client that can ask the person is made to: the run has the person's answer, and waits for them if they decline.
func TestMCPPerson(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "demo", "---\nname: demo\ndescription: Writes. Use when asked.\n---\n\n## Tree\n\n* ASK << Publish it? | Yes | No\n* Write it down >> done\n")
	for _, c := range []struct {
		action, status, trace string
	}{
		{"accept", "waiting", "answered Yes by person"},
		{"decline", "done", "Publish it?"},
	} {
		var asked []string
		a := asks(t, p, func(question string, _ []string) *mcp.ElicitResult {
			asked = append(asked, question)
			return &mcp.ElicitResult{Action: c.action, Content: map[string]any{"answer": "Yes"}}
		})
		begun := a.does("skill_run", map[string]any{"skill": "demo"})
		if begun.Status != c.status || !slices.Equal(asked, []string{"Publish it?"}) {
			t.Fatalf("%s: asked %q, %+v\n%s", c.action, asked, begun, a.stderr)
		}
		if c.action == "decline" {
			if out := p.Must("runs"); !strings.Contains(out, "suspended") {
				t.Errorf("a run whose person declined:\n%s", out)
			}
		} else {
			a.step(begun, "Write it down")
		}
		if out := p.Must("trace", begun.Run); !strings.Contains(out, c.trace) {
			t.Errorf("skl trace says\n%s", out)
		}
		a.session.Close()
	}
}

// An agent carries out a skill without a tree: one step has all of its text, with the tools that the skill leaves. One that is
// conversational puts what the agent says to the person, and goes on with their answer.
func TestMCPProse(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "reader", "---\nskill_format: corteza.skill/v1\nname: reader\ndescription: Reads. Use when asked.\ntools:\n  allow: [read, finalize]\ninteraction: returning\n---\n\nSay what $ARGUMENTS says.\n")
	os.RemoveAll(filepath.Join(p.Home, ".agents", "skills", "reader", "references"))
	harness.WriteFile(t, filepath.Join(p.Project, "notes.txt"), "remember the milk\n")
	a := newAgent(t, p, "--allow-run")
	begun := a.does("skill_run", map[string]any{"skill": "reader", "arguments": "notes.txt"})
	step := a.step(begun, "Say what $ARGUMENTS says.")
	var names []string
	for _, tool := range step.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"finalize", "read"}) || step.Purpose != "whole" || !strings.Contains(step.Prompt, "notes.txt") {
		t.Errorf("the step is %+v", step)
	}
	tool := func(name string, input map[string]any) map[string]any {
		return map[string]any{"run": begun.Run, "step": step.ID, "tool": map[string]any{"name": name, "input": input}}
	}
	if called := a.does("skill_resume", tool("read", map[string]any{"path": "notes.txt"})); called.Tool == nil || !strings.Contains(called.Tool.Text, "remember the milk") {
		t.Errorf("reading gave %+v", called.Tool)
	}
	a.refused(drive.CodeToolUnknown, "skill_resume", tool("bash", map[string]any{"command": "ls"}))
	a.does("skill_resume", tool("finalize", map[string]any{"result": "Milk."}))
	end := a.does("skill_resume", map[string]any{"run": begun.Run, "step": step.ID, "answer": "done"})
	if end.Status != "done" || !strings.Contains(string(end.Result), `"result":"Milk."`) {
		t.Errorf("the end is %+v: %s", end, end.Result)
	}

	p = harness.NewPlace(t)
	installed(t, p, "tutor", "---\nskill_format: corteza.skill/v1\nname: tutor\ndescription: Teaches. Use when asked.\ninteraction: conversational\n---\n\nTeach tides.\n")
	os.RemoveAll(filepath.Join(p.Home, ".agents", "skills", "tutor", "references"))
	var asked []string
	a = asks(t, p, func(question string, _ []string) *mcp.ElicitResult {
		asked = append(asked, question)
		return says(map[bool]string{true: "The moon", false: ""}[len(asked) == 1])
	})
	begun = a.does("skill_run", map[string]any{"skill": "tutor"})
	next := a.does("skill_resume", map[string]any{"run": begun.Run, "step": a.step(begun, "Teach tides.").ID, "answer": "What pulls?"})
	end = a.does("skill_resume", map[string]any{"run": begun.Run, "step": a.step(next, "The person: The moon").ID, "answer": "Right."})
	if !slices.Equal(asked, []string{"What pulls?", "Right."}) || end.Status != "done" || !strings.Contains(string(end.Result), `"result":"Right."`) {
		t.Errorf("asked %q; the end is %+v: %s", asked, end, end.Result)
	}
}

// Keys of a skill that have no effect are named to the agent that runs it, once.
func TestMCPNoEffect(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "idle", "---\nname: idle\ndescription: Counts.\nattach: true\n---\n\n## Tree\n\n* Count the files >> files\n* Count the folders >> folders\n\n## Response: files | folders\n")
	installed(t, p, "plain", "---\nname: plain\ndescription: Counts.\n---\n\n## Tree\n\n* Count the files >> files\n\n## Response: files\n")
	a := newAgent(t, p, "--allow-run", "--tools", "run")
	first := a.does("skill_run", map[string]any{"skill": "idle"})
	if want := "idle: attach has no effect without skill_format: corteza.skill/v1; skl convert "; !strings.HasPrefix(first.Note, want) {
		t.Errorf("note = %q, want %q", first.Note, want)
	}
	if p := a.does("skill_resume", map[string]any{"run": first.Run}); p.Note != "" || len(p.Steps) == 0 {
		t.Errorf("the second answer is %+v", p)
	}
	if p := a.does("skill_run", map[string]any{"skill": "plain"}); p.Note != "" {
		t.Errorf("note = %q of a skill without such keys", p.Note)
	}
}

func TestMCPPeopleOnly(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "deploy", "---\nname: deploy\ndescription: Deploys the service to the cluster. Use when asked.\ndisable-model-invocation: true\n---\n\nThe secret of deploying.\n")
	installed(t, p, "deploy-docs", "---\nname: deploy-docs\ndescription: Deploys documents. Use when asked.\n---\n\nDeploy them.\n")
	a := newAgent(t, p)
	ask := func(name string, arguments map[string]any) string {
		result, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(result.StructuredContent)
		return string(text)
	}
	if got := ask("skill_search", map[string]any{"task": "deploy the service"}); strings.Contains(got, `"name":"deploy"`) || !strings.Contains(got, "deploy-docs") || !strings.Contains(got, "1 skill with words of the task may be started by people only") {
		t.Errorf("skill_search gives %s", got)
	}
	for _, file := range []string{"", "references/ops.md"} {
		if got := ask("skill_read", map[string]any{"name": "deploy", "file": file}); !strings.Contains(got, `"code":"invocation_deny"`) || strings.Contains(got, "secret") {
			t.Errorf("skill_read %q gives %s", file, got)
		}
	}
	if got := ask("skill_read", map[string]any{"name": "deploy-docs"}); !strings.Contains(got, "Deploy them.") {
		t.Errorf("skill_read of another gives %s", got)
	}
	if out := p.Must("search", "deploy", "--json"); !strings.Contains(out, `"people_only": true`) {
		t.Errorf("skl search says\n%s", out)
	}
}

const leaveSkill = `---
name: demo
description: Writes. Use when asked.
skill_format: corteza.skill/v1
side_effects: [filesystem]
---

## Tree

* Write it down >> done

## Response: done
`

// A permission that a run is known to want is asked of the person at its start, by the client alone: never of the
// agent, which cannot answer for them. If nobody can be asked, the run waits, and a person resumes it.
func TestMCPLeave(t *testing.T) {
	made := func(p *harness.Place) bool {
		_, err := os.Stat(filepath.Join(p.Project, "made.txt"))
		return err == nil
	}
	write := func(a *agent, begun drive.Progress) (drive.Progress, *drive.Said) {
		return a.call("skill_resume", map[string]any{"run": begun.Run, "step": a.step(begun, "Write it down").ID,
			"tool": map[string]any{"name": "write", "input": map[string]any{"path": "made.txt", "content": "x"}}})
	}
	for _, c := range []struct {
		answer  *mcp.ElicitResult
		allowed bool
		again   int // questions of two runs
	}{
		{says("Once"), true, 2},
		{says("Yes, until the skill changes"), true, 1},
		{&mcp.ElicitResult{Action: "decline"}, false, 3}, // once more when it is wanted
	} {
		p := harness.NewPlace(t)
		installed(t, p, "demo", leaveSkill)
		var asked []string
		a := asks(t, p, func(question string, options []string) *mcp.ElicitResult {
			asked = append(asked, question+" "+strings.Join(options, "|"))
			return c.answer
		})
		begun := a.does("skill_run", map[string]any{"skill": "demo"})
		if len(asked) != 1 || asked[0] != "demo wants to write files here: edit, write. Allow it? No|Once|Yes, until the skill changes" {
			t.Fatalf("asked %q", asked)
		}
		if write(a, begun); made(p) != c.allowed {
			t.Errorf("%+v: written: %v", c.answer, made(p))
		}
		if a.does("skill_run", map[string]any{"skill": "demo"}); len(asked) != c.again {
			t.Errorf("%+v: asked %d times", c.answer, len(asked))
		}
		a.session.Close()
	}

	p := harness.NewPlace(t)
	installed(t, p, "demo", leaveSkill)
	a := asks(t, p, func(string, []string) *mcp.ElicitResult { return says("No") })
	a.fails("run_not_allowed", "demo")
	a.session.Close()

	a = newAgent(t, p, "--allow-run")
	begun := a.does("skill_run", map[string]any{"skill": "demo"})
	if len(begun.Steps) != 1 || begun.Steps[0].Kind != drive.Fill {
		t.Errorf("the agent is asked for leave: %+v", begun.Steps)
	}
	now, _ := write(a, begun)
	if now.Error == nil || now.Error.Code != "effect_unanswered" || !strings.HasPrefix(now.Error.Hint, "skl resume "+begun.Run+" --model MODEL --allow filesystem") || made(p) {
		t.Errorf("nobody was asked: %+v, %+v", now, now.Error)
	}
	a.session.Close()
	answers := filepath.Join(p.Project, "answers.jsonl")
	if err := os.WriteFile(answers, []byte(`{"node":"SKILL.md#/0","value":{"done":"yes"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.Must("resume", begun.Run, "--model", "replay:"+answers, "--allow", "filesystem"); !strings.Contains(out, "done: yes") {
		t.Errorf("resumed by a person:\n%s", out)
	}
}

// A permission that was not foreseen is asked of the person when it is wanted, while the agent's call goes on.
func TestMCPUnforeseen(t *testing.T) {
	for _, c := range []struct {
		answer     *mcp.ElicitResult
		made, over bool
	}{
		{says("Once"), true, false},
		{says("No"), false, false},
		{&mcp.ElicitResult{Action: "decline"}, false, true},
	} {
		p := harness.NewPlace(t)
		installed(t, p, "demo", "---\nname: demo\ndescription: Writes. Use when asked.\n---\n\n## Tree\n\n* Write it down >> done\n")
		var asked []string
		a := asks(t, p, func(question string, options []string) *mcp.ElicitResult {
			asked = append(asked, question+" "+strings.Join(options, "|"))
			return c.answer
		})
		begun := a.does("skill_run", map[string]any{"skill": "demo"})
		if len(asked) != 0 {
			t.Errorf("asked %q", asked)
		}
		got := a.does("skill_resume", map[string]any{"run": begun.Run, "step": a.step(begun, "Write it down").ID,
			"tool": map[string]any{"name": "write", "input": map[string]any{"path": "made.txt", "content": "x"}}})
		if want := "demo wants to write files here, by write: write made.txt. Allow it? No|Once|Yes, until the skill changes"; len(asked) != 1 || asked[0] != want {
			t.Errorf("asked %q, want %q", asked, want)
		}
		got.Steps = nil
		_, err := os.Stat(filepath.Join(p.Project, "made.txt"))
		if (err == nil) != c.made || got.Tool == nil || got.Tool.IsError == c.made {
			t.Errorf("%+v: made: %v, %+v", c.answer, err, got.Tool)
		}
		if c.over {
			if got.Status != "failed" || got.Error == nil || got.Error.Code != "effect_unanswered" || !strings.HasPrefix(got.Error.Hint, "skl resume "+begun.Run) {
				t.Errorf("left for later: %+v, %+v", got, got.Error)
			}
		} else if end := a.does("skill_resume", map[string]any{"run": begun.Run, "step": a.step(begun, "Write it down").ID, "answer": map[string]any{"done": "yes"}}); end.Status != "done" {
			t.Errorf("%+v: %+v", c.answer, end)
		}
		a.session.Close()
	}
}

// With --allow the tools of a run may do what was named.
func TestMCPAllow(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "demo", "---\nname: demo\ndescription: Writes. Use when asked.\n---\n\n## Tree\n\n* Write it down >> done\n")
	a := newAgent(t, p, "--allow-run", "--allow", "filesystem")
	begun := a.does("skill_run", map[string]any{"skill": "demo"})
	called := a.does("skill_resume", map[string]any{"run": begun.Run, "step": begun.Steps[0].ID,
		"tool": map[string]any{"name": "write", "input": map[string]any{"path": "made.txt", "content": "x"}}})
	if called.Tool == nil || called.Tool.IsError {
		t.Errorf("writing gave %+v", called.Tool)
	}
	if text, err := os.ReadFile(filepath.Join(p.Project, "made.txt")); err != nil || string(text) != "x" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	outside := filepath.Join(p.Home, "made.txt")
	called = a.does("skill_resume", map[string]any{"run": begun.Run, "step": begun.Steps[0].ID,
		"tool": map[string]any{"name": "write", "input": map[string]any{"path": outside, "content": "x"}}})
	if _, err := os.Stat(outside); err == nil || !called.Tool.IsError {
		t.Errorf("writing outside gave %+v, %v", called.Tool, err)
	}
}

// An agent may run nothing without --allow-run, and never a path, a skill that is not installed, one of an untrusted
// project or one that only people run.
func TestMCPRefuses(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "demo", drivenSkill)
	installed(t, p, "personal", "---\nname: personal\ndescription: For people. Use when asked.\ndisable-model-invocation: true\n---\n\n## Tree\n\n* bind done = 1\n")
	installed(t, p, "library", "---\nname: library\ndescription: Ops alone. Use when asked.\n---\n\n## Ops\n\n### GREET << name\n\nGreet `name`.\n")
	loose := filepath.Join(p.Project, ".agents", "skills", "loose")
	harness.WriteFile(t, filepath.Join(loose, "SKILL.md"), "---\nname: loose\ndescription: Of the project. Use when asked.\n---\n\n## Tree\n\n* bind done = 1\n")
	// A folder that an agent could have written itself is no installed skill, whatever it is called.
	for _, name := range []string{"made", "loose"} {
		harness.WriteFile(t, filepath.Join(p.Project, name, "SKILL.md"), fmt.Sprintf("---\nname: %s\ndescription: Made here. Use when asked.\n---\n\n## Tree\n\n* bind done = 1\n", name))
	}

	a := newAgent(t, p)
	a.fails("mcp_run_refused", "demo")
	a = newAgent(t, p, "--allow-run")
	a.fails("unknown_skill", "nothing")
	a.fails("unknown_skill", "made")
	a.fails("untrusted", "loose")
	a.fails("invocation_deny", "personal")
	a.fails("plan_refused", "library")
	for _, path := range []string{"./made", loose, "../project/made", "made/SKILL.md", "https://example.com/x", "skl:canopy"} {
		a.fails("mcp_path", path)
	}
	a.refused(drive.CodeInput, "skill_run", map[string]any{"skill": ""})
	a.refused(drive.CodeRunUnknown, "skill_resume", map[string]any{"run": "../../etc"})

	// An installed skill is run, although a folder of that name lies here.
	harness.WriteFile(t, filepath.Join(p.Project, "demo", "SKILL.md"), "---\nname: demo\ndescription: Made here. Use when asked.\n---\n\n## Tree\n\n* bind done = 1\n")
	if begun := a.does("skill_run", map[string]any{"skill": "demo"}); begun.Status != "waiting" {
		t.Errorf("got %+v", begun)
	}
}

// Wrong flags are told at the start, not to the agent.
func TestMCPFlags(t *testing.T) {
	p := harness.NewPlace(t)
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--tools", "cooking"}, 2, "cooking"},
		{[]string{"--allow-run", "--allow", "everything"}, 2, "everything"},
		{[]string{"--sandbox", "perhaps"}, 2, "perhaps"},
		{[]string{"--config-for", "vi"}, 2, "vi"},
	} {
		if status, out := p.Skl(append([]string{"mcp"}, tt.args...)...); status != tt.status || !strings.Contains(out, tt.want) {
			t.Errorf("skl mcp %q: exit %d\n%s", tt.args, status, out)
		}
	}
	out := p.Must("mcp", "--config-for", "claude-code", "--allow-run", "--allow", "filesystem,bash(git *)", "--sandbox", "strict")
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(out), &config); err != nil {
		t.Fatal(err)
	}
	want := []string{"mcp", "--allow-run", "--allow", "filesystem,bash(git *)", "--sandbox", "strict"}
	if s := config.Servers["skl"]; !filepath.IsAbs(s.Command) || !slices.Equal(s.Args, want) {
		t.Errorf("the configuration is %s", out)
	}
}

// Nothing but the protocol is on standard output, whatever a run says, does wrong or shows; and the end of its input
// is the end of the server, with a run that waits kept.
func TestMCPOutput(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "demo", "---\nname: demo\ndescription: Talks. Use when asked.\n---\n\n## Tree\n\n* Report: \"Hello.\"\n* SHOW_PLAN >> done\n* Fail now\n")
	cmd := p.Command("mcp", "--allow-run", "--verbose")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{t: t, p: p, stderr: new(bytes.Buffer)}
	cmd.Stderr = a.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	read := io.TeeReader(stdout, &all)
	a.connect(&mcp.IOTransport{Reader: io.NopCloser(read), Writer: stdin})
	begun := a.does("skill_run", map[string]any{"skill": "demo"})
	for range 2 {
		if len(begun.Steps) > 0 && begun.Steps[0].Schema == nil {
			begun = a.does("skill_resume", map[string]any{"run": begun.Run, "step": begun.Steps[0].ID, "answer": "Hello.\nYou."})
		}
	}
	a.call("skill_run", map[string]any{"skill": "nothing"})
	waiting := a.does("skill_run", map[string]any{"skill": "demo"})
	a.session.Close() // closes its input
	io.Copy(io.Discard, read)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, a.stderr)
	}
	lines := 0
	for line := range bytes.Lines(all.Bytes()) {
		var m struct{ JSONRPC string }
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			t.Errorf("on standard output: %q", line)
		}
		lines++
	}
	if lines < 4 {
		t.Errorf("%d lines on standard output", lines)
	}
	if out := p.Must("runs"); !strings.Contains(out, waiting.Run) || !strings.Contains(out, "suspended") {
		t.Errorf("the run that waited is not kept:\n%s", out)
	}
}

// A server that is told to end does so at once, and its run can be looked at.
func TestMCPEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: there is no such signal on Windows")
	}
	p := harness.NewPlace(t)
	installed(t, p, "demo", drivenSkill)
	cmd := p.Command("mcp", "--allow-run")
	a := &agent{t: t, p: p, stderr: new(bytes.Buffer)}
	cmd.Stderr = a.stderr
	a.connect(&mcp.CommandTransport{Command: cmd})
	begun := a.does("skill_run", map[string]any{"skill": "demo"})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		a.session.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(long.Hang):
		cmd.Process.Kill()
		t.Fatalf("the server goes on\n%s", a.stderr)
	}
	if out := p.Must("runs"); !strings.Contains(out, begun.Run) || !strings.Contains(out, "suspended") {
		t.Errorf("skl runs says\n%s", out)
	}
}

// Two agents' worth of runs at once, on one server.
func TestMCPRunsTogether(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "demo", "---\nname: demo\ndescription: Says. Use when asked.\n---\n\n## Tree\n\n* Say $ARGUMENTS >> said\n\n## Response: said\n")
	a := newAgent(t, p, "--allow-run")
	type ended struct{ want, got string }
	results := make(chan ended, 8)
	for i := range cap(results) {
		go func() {
			want := fmt.Sprint(i)
			begun, _ := a.call("skill_run", map[string]any{"skill": "demo", "arguments": want})
			if len(begun.Steps) != 1 {
				results <- ended{want, fmt.Sprintf("%+v", begun)}
				return
			}
			end, _ := a.call("skill_resume", map[string]any{"run": begun.Run, "step": begun.Steps[0].ID, "answer": map[string]string{"said": want}})
			var r struct{ Response struct{ Said string } }
			json.Unmarshal(end.Result, &r)
			results <- ended{want, r.Response.Said}
		}()
	}
	for range cap(results) {
		if r := <-results; r.got != r.want {
			t.Errorf("got %q, want %q", r.got, r.want)
		}
	}
}

// Real agents take the configuration that is printed for them. opencode and Claude Code start the server it names and list it as connected;
// Copilot lists it, and starts it only in a session.
func TestMCPClients(t *testing.T) {
	for _, tt := range []struct {
		name, variable, program, host string
		args                          string
		config                        string   // relative to the home
		want                          []string // of the output
	}{
		{"opencode", "SKL_TEST_OPENCODE", "opencode", "opencode", "mcp list", ".config/opencode/opencode.json", []string{"skl", "connected"}},
		{"Claude Code", "SKL_TEST_CLAUDE", "claude", "claude-code", "mcp list", ".claude.json", []string{"skl: ", "mcp --allow-run", "Connected"}},
		{"Copilot", "SKL_TEST_COPILOT", "copilot", "github-copilot", "mcp get skl", ".copilot/mcp-config.json", []string{"Status: Enabled", "Type: local", "mcp --allow-run", "Tools: * (all)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			program := long.Agent(t, tt.variable, tt.program)
			p := harness.NewPlace(t)
			skl, err := exec.LookPath("skl")
			if err != nil {
				t.Fatal(err)
			}
			var config map[string]any
			if err := json.Unmarshal([]byte(p.Must("mcp", "--config-for", tt.host, "--allow-run")), &config); err != nil {
				t.Fatal(err)
			}
			// The test binary is skl only under that name.
			for _, servers := range config {
				if server, ok := servers.(map[string]any)["skl"].(map[string]any); !ok {
					t.Fatalf("there is no server skl in %v", config)
				} else if command, ok := server["command"].([]any); ok {
					command[0] = skl
				} else {
					server["command"] = skl
				}
			}
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			harness.WriteFile(t, filepath.Join(p.Home, filepath.FromSlash(tt.config)), string(text))
			ctx, cancel := context.WithTimeout(t.Context(), clientTime)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, strings.Fields(tt.args)...)
			cmd.Dir = p.Project
			cmd.Env = []string{"HOME=" + p.Home, "USERPROFILE=" + p.Home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1",
				"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "DISABLE_AUTOUPDATER=1",
				"COPILOT_CACHE_HOME=" + t.TempDir(), "COPILOT_AUTO_UPDATE=false",
				"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			if strings.Contains(strings.ToLower(string(out)), "failed") {
				t.Errorf("%s says\n%s", tt.name, out)
			}
		})
	}
}
