package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// An agent is a client of a server that has the two tools.
type agent struct {
	t       *testing.T
	session *sdk.ClientSession
	runs    *Runs
}

func newAgent(t *testing.T, o Options) agent {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "skl", Version: "test"}, nil)
	runs := Register(server, o)
	near, far := sdk.NewInMemoryTransports()
	served, err := server.Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "test"}, nil).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		runs.Close()
		served.Wait()
	})
	return agent{t, session, runs}
}

// call gives the answer of a tool, or the error that the tool says.
func (a agent) call(ctx context.Context, tool string, arguments any) (Progress, *Said, error) {
	result, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return Progress{}, nil, err
	}
	b, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return Progress{}, nil, err
	}
	if result.IsError {
		var said Said
		return Progress{}, &said, json.Unmarshal(b, &said)
	}
	var p Progress
	return p, nil, json.Unmarshal(b, &p)
}

// does is a call that must be taken.
func (a agent) does(tool string, arguments map[string]any) Progress {
	a.t.Helper()
	p, said, err := a.call(a.t.Context(), tool, arguments)
	if err != nil || said != nil {
		a.t.Fatalf("%s %v: %+v, %v", tool, arguments, said, err)
	}
	return p
}

// cannot is a call that must be refused with code.
func (a agent) cannot(code, tool string, arguments map[string]any) Said {
	a.t.Helper()
	p, said, err := a.call(a.t.Context(), tool, arguments)
	if err != nil || said == nil || said.Code != code {
		a.t.Fatalf("%s %v: got %+v, %+v, %v; want code %s", tool, arguments, p, said, err, code)
	}
	return *said
}

var verdict = json.RawMessage(`{"type":"object","properties":{"value":{"type":"boolean"}},"required":["value"]}`)

// twoAndAsk runs two leaves at once, then a condition, then a question.
func twoAndAsk(ctx context.Context, skill, args string, d *Driver) (any, error) {
	replies, errs := make([]model.Reply, 2), make([]error, 2)
	done := make(chan bool)
	for i := range 2 {
		d.Strands(1)
		go func() {
			defer d.Strands(-1)
			replies[i], errs[i] = d.Fill(ctx, model.Request{Purpose: model.Leaf, Node: fmt.Sprintf("1.%d", i+1), Isolated: true, Prompt: fmt.Sprintf("%s %s, part %d", skill, args, i+1)})
			done <- true
		}()
	}
	d.Strands(-1)
	<-done
	<-done
	d.Strands(1)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	is, err := d.Fill(ctx, model.Request{Purpose: model.Condition, Node: "2", Prompt: "is it good", Schema: verdict})
	if err != nil {
		return nil, err
	}
	answer, _, err := d.Ask(ctx, "3", "Publish it?", []string{"Yes", "No"})
	return map[string]any{"parts": []string{replies[0].Text, replies[1].Text}, "good": is.Value, "answer": answer}, err
}

// A whole run: nothing can be skipped, repeated or answered with what does not fit.
func TestRunDrivenByAgent(t *testing.T) {
	a := newAgent(t, Options{Run: twoAndAsk})
	p := a.does("skill_run", map[string]any{"skill": "acme/notes", "arguments": "v2"})
	if p.Status != "waiting" || len(p.Steps) != 2 {
		t.Fatalf("at first %+v", p)
	}
	run, first, second := p.Run, p.Steps[0], p.Steps[1]
	if !first.Isolated || first.Purpose != "leaf" || !strings.HasPrefix(first.Prompt, "acme/notes v2, part") {
		t.Errorf("step %+v", first)
	}
	parts := map[string]string{"1.1": "one", "1.2": "two"}

	a.cannot(CodeStepUnknown, "skill_resume", map[string]any{"run": run, "step": "s3", "answer": map[string]any{"value": true}}) // skipping
	a.cannot(CodeStepUnknown, "skill_resume", map[string]any{"run": run, "step": "s01", "answer": "one"})
	a.cannot(CodeRunUnknown, "skill_resume", map[string]any{"run": "m-other", "step": first.ID, "answer": "one"})
	a.cannot(CodeAnswer, "skill_resume", map[string]any{"run": run, "step": first.ID, "answer": 7})
	a.cannot(CodeInput, "skill_resume", map[string]any{"run": run, "answer": "one"})
	a.cannot(CodeInput, "skill_resume", map[string]any{"run": run, "step": first.ID, "anwser": "one"})
	if p := a.does("skill_resume", map[string]any{"run": run}); len(p.Steps) != 2 {
		t.Fatalf("refused calls changed what waits: %+v", p)
	}

	p = a.does("skill_resume", map[string]any{"run": run, "step": second.ID, "answer": parts[second.Node]})
	if len(p.Steps) != 1 || p.Steps[0].ID != first.ID {
		t.Fatalf("after one of two %+v", p)
	}
	a.cannot(CodeStepDone, "skill_resume", map[string]any{"run": run, "step": second.ID, "answer": "again"}) // repeating
	p = a.does("skill_resume", map[string]any{"run": run, "step": first.ID, "answer": parts[first.Node]})
	if len(p.Steps) != 1 || p.Steps[0].Node != "2" || len(p.Steps[0].Schema) == 0 {
		t.Fatalf("after both %+v", p)
	}
	condition := p.Steps[0].ID
	said := a.cannot(CodeAnswer, "skill_resume", map[string]any{"run": run, "step": condition, "answer": map[string]any{"value": "perhaps"}})
	if !strings.Contains(said.Message, "value") || said.Hint == "" {
		t.Errorf("the agent is told %+v", said)
	}
	p = a.does("skill_resume", map[string]any{"run": run, "step": condition, "answer": map[string]any{"value": true}})
	if len(p.Steps) != 1 || p.Steps[0].Kind != Question || len(p.Steps[0].Options) != 2 {
		t.Fatalf("the question is %+v", p)
	}
	a.cannot(CodeAnswer, "skill_resume", map[string]any{"run": run, "step": p.Steps[0].ID, "answer": "Maybe"})
	p = a.does("skill_resume", map[string]any{"run": run, "step": p.Steps[0].ID, "answer": "yes"})
	if p.Status != "done" || string(p.Result) != `{"answer":"Yes","good":{"value":true},"parts":["one","two"]}` {
		t.Errorf("in the end %s %s", p.Status, p.Result)
	}
	if again := a.does("skill_resume", map[string]any{"run": run}); string(again.Result) != string(p.Result) {
		t.Errorf("read again %s", again.Result)
	}
	a.cannot(CodeStepDone, "skill_resume", map[string]any{"run": run, "step": first.ID, "answer": "late"})
}

// A tool of a step is called through the run, which may deny it.
func TestToolsOfAStep(t *testing.T) {
	slow := make(chan bool)
	a := newAgent(t, Options{Run: func(ctx context.Context, _, _ string, d *Driver) (any, error) {
		reply, err := d.Fill(ctx, model.Request{
			Node: "1", Prompt: "look", MaxTurns: 3,
			Tools: []model.Tool{{Name: "read"}, {Name: "slow"}},
			Call: func(_ context.Context, name string, input json.RawMessage) model.ToolResult {
				if name == "slow" {
					slow <- true
					<-slow
				}
				return model.ToolResult{Text: name + " " + string(input) + strings.Repeat("é", 1000), IsError: name == "slow"}
			},
		})
		return reply.Text, err
	}})
	p := a.does("skill_run", map[string]any{"skill": "s"})
	run, step := p.Run, p.Steps[0].ID
	said := a.cannot(CodeToolUnknown, "skill_resume", map[string]any{"run": run, "step": step, "tool": map[string]any{"name": "bash"}})
	if !strings.Contains(said.Hint, "read") {
		t.Errorf("hint %q", said.Hint)
	}
	p = a.does("skill_resume", map[string]any{"run": run, "step": step, "max_tokens": 1, "tool": map[string]any{"name": "read", "input": map[string]any{"path": "a"}}})
	if p.Tool == nil || !strings.HasPrefix(p.Tool.Text, `read {"path":"a"}`) || !p.Tool.Truncated || len(p.Tool.Text) > minTokens*tokenBytes {
		t.Errorf("the tool gave %+v", p.Tool)
	}
	finished := make(chan Progress)
	go func() {
		p, _, _ := a.call(t.Context(), "skill_resume", map[string]any{"run": run, "step": step, "tool": map[string]any{"name": "slow"}})
		finished <- p
	}()
	<-slow
	a.cannot(CodeStepBusy, "skill_resume", map[string]any{"run": run, "step": step, "answer": "early"})
	slow <- true
	if p := <-finished; p.Tool == nil || !p.Tool.IsError {
		t.Errorf("the slow tool gave %+v", p)
	}
	a.does("skill_resume", map[string]any{"run": run, "step": step, "tool": map[string]any{"name": "read"}})
	p = a.does("skill_resume", map[string]any{"run": run, "step": step, "tool": map[string]any{"name": "read"}})
	if !p.Tool.IsError || !strings.Contains(p.Tool.Text, "answer it now") {
		t.Errorf("after the last turn %+v", p.Tool)
	}
	if p = a.does("skill_resume", map[string]any{"run": run, "step": step, "answer": "seen"}); string(p.Result) != `"seen"` {
		t.Errorf("result %s", p.Result)
	}
}

// A long prompt and a long result come in parts, and none of it is lost.
func TestMaxTokens(t *testing.T) {
	long := strings.Repeat("word für word, ", 500)
	a := newAgent(t, Options{Run: func(ctx context.Context, _, _ string, d *Driver) (any, error) {
		reply, err := d.Fill(ctx, model.Request{Node: "1", System: "Be kind.", Prompt: long})
		return reply.Text, err
	}})
	p := a.does("skill_run", map[string]any{"skill": "s", "max_tokens": 300})
	run, step, got := p.Run, p.Steps[0], p.Steps[0].Prompt
	for step.Next > 0 {
		step = a.does("skill_resume", map[string]any{"run": run, "step": step.ID, "offset": step.Next, "max_tokens": 300}).Steps[0]
		got += step.Prompt
	}
	if got != long {
		t.Errorf("the prompt came as %d bytes, want %d", len(got), len(long))
	}
	p = a.does("skill_resume", map[string]any{"run": run, "step": step.ID, "answer": long, "max_tokens": 300})
	text := p.ResultText
	for p.Next > 0 {
		p = a.does("skill_resume", map[string]any{"run": run, "offset": p.Next, "max_tokens": 300})
		text += p.ResultText
	}
	var result string
	if err := json.Unmarshal([]byte(text), &result); err != nil || result != long {
		t.Errorf("the result came as %d bytes, %v", len(result), err)
	}
}

func TestFailuresOfARun(t *testing.T) {
	t.Run("not allowed", func(t *testing.T) {
		a := newAgent(t, Options{})
		p := a.does("skill_run", map[string]any{"skill": "s"})
		if p.Status != "failed" || p.Error.Code != "mcp_run_refused" || p.Error.Hint != "skl mcp --allow-run" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("the run fails", func(t *testing.T) {
		a := newAgent(t, Options{Run: func(context.Context, string, string, *Driver) (any, error) {
			return nil, diag.New(diag.Misuse, "skill_unknown", "no skill %q is installed", "s").Meant("sk", "sl")
		}})
		p := a.does("skill_run", map[string]any{"skill": "s"})
		if p.Status != "failed" || p.Error.Code != "skill_unknown" || p.Error.Hint != "one of: sk, sl" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("the agent stops it", func(t *testing.T) {
		a := newAgent(t, Options{Run: twoAndAsk})
		p := a.does("skill_run", map[string]any{"skill": "s"})
		p = a.does("skill_resume", map[string]any{"run": p.Run, "cancel": true})
		if p.Status != "failed" || p.Error.Code == "" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("a cancelled skill_run stops the run", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stopped := make(chan error)
		a := newAgent(t, Options{Run: func(ctx context.Context, _, _ string, _ *Driver) (any, error) {
			cancel()
			<-ctx.Done()
			stopped <- ctx.Err()
			return nil, ctx.Err()
		}})
		if _, _, err := a.call(ctx, "skill_run", map[string]any{"skill": "s"}); err == nil {
			t.Error("the call was answered")
		}
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			t.Errorf("the run saw %v", err)
		}
	})
	t.Run("a cancelled skill_resume leaves the run", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		goOn := make(chan bool)
		a := newAgent(t, Options{Run: func(ctx context.Context, _, _ string, d *Driver) (any, error) {
			if _, err := d.Fill(ctx, model.Request{Node: "1", Prompt: "a"}); err != nil {
				return nil, err
			}
			cancel()
			<-goOn
			return "late", nil
		}})
		p := a.does("skill_run", map[string]any{"skill": "s"})
		if _, _, err := a.call(ctx, "skill_resume", map[string]any{"run": p.Run, "step": p.Steps[0].ID, "answer": "x"}); err == nil {
			t.Error("the call was answered")
		}
		close(goOn)
		if p = a.does("skill_resume", map[string]any{"run": p.Run}); string(p.Result) != `"late"` {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("too many", func(t *testing.T) {
		a := newAgent(t, Options{Run: twoAndAsk})
		for range MaxRuns {
			a.does("skill_run", map[string]any{"skill": "s"})
		}
		a.cannot(CodeRunsFull, "skill_run", map[string]any{"skill": "s"})
	})
}

// A run whose agent is gone ends by itself.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := newRuns(twoAndAsk, 0)
		d, err := runs.begin("s", "", false)
		if err != nil {
			t.Fatal(err)
		}
		if steps, err := d.next(t.Context()); len(steps) != 2 || err != nil {
			t.Fatalf("steps %v, %v", steps, err)
		}
		time.Sleep(IdleTimeout - time.Minute)
		if _, err := runs.find(d.run); err != nil {
			t.Fatal(err)
		}
		time.Sleep(IdleTimeout - time.Minute)
		select {
		case <-d.over:
			t.Fatal("it ended while its agent was there")
		default:
		}
		time.Sleep(2 * time.Minute)
		<-d.over
		if !errors.Is(d.err, context.Canceled) {
			t.Errorf("it ended with %v", d.err)
		}
		runs.Close()
	})
}
