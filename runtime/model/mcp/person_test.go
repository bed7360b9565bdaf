package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// asking runs a leaf beside a question, and then another question.
func asking(ctx context.Context, _, _ string, d *Driver) (any, error) {
	leaf := make(chan error)
	go func() {
		_, err := d.Fill(ctx, model.Request{Purpose: model.Leaf, Node: "1", Prompt: "do it"})
		leaf <- err
	}()
	var out []string
	for _, q := range [][]string{{"Publish it?", "Yes", "No"}, {"What for?"}} {
		said, how, err := d.Ask(ctx, "2", q[0], q[1:])
		if errors.Is(err, diag.Code(model.CodeNoAnswer)) {
			said, how = "nobody", "none"
		} else if err != nil {
			return nil, err
		}
		out = append(out, said+" "+how)
	}
	return out, <-leaf
}

// newClient is newAgent for a client that asks the person, in a version of the protocol.
func newClient(t *testing.T, version string, run RunFunc, person func(*sdk.ElicitRequest) (*sdk.ElicitResult, error)) agent {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "skl", Version: "test"}, nil)
	runs := Register(server, Options{Run: run})
	near, far := sdk.NewInMemoryTransports()
	served, err := server.Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "test"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, q *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return person(q) },
	})
	session, err := client.Connect(t.Context(), far, &sdk.ClientSessionOptions{ProtocolVersion: version})
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

// A client that can ask the person does: the agent sees no question and can answer none. It holds for a version of the
// protocol in which the server asks, and one in which the result of the call does.
func TestPersonIsAsked(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			var asked []string
			a := newClient(t, version, asking, func(q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked = append(asked, q.Params.Message)
				if q.Params.Message == "What for?" {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "for fun"}}, nil
				}
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "Yes"}}, nil
			})
			p := a.does("skill_run", map[string]any{"skill": "s"})
			if len(p.Steps) != 1 || p.Steps[0].Kind != Fill {
				t.Fatalf("the agent got %+v", p.Steps)
			}
			p = a.does("skill_resume", map[string]any{"run": p.Run, "step": p.Steps[0].ID, "answer": "done"})
			if p.Status != "done" || string(p.Result) != `["Yes person","for fun person"]` {
				t.Errorf("%s %s", p.Status, p.Result)
			}
			if !slices.Equal(asked, []string{"Publish it?", "What for?"}) {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// A person who declines has not answered, and an agent cannot answer in their place.
func TestPersonDeclines(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			broken := true
			a := newClient(t, version, asking, func(q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				if broken {
					return nil, errors.New("the window was closed")
				}
				return &sdk.ElicitResult{Action: "decline"}, nil
			})
			p, said, err := a.call(t.Context(), "skill_run", map[string]any{"skill": "s"})
			run := ""
			for name := range a.runs.runs {
				run = name
			}
			for range 1000 { // the other branch may have its step before the question is there
				if err != nil || said != nil {
					break
				}
				p, said, err = a.call(t.Context(), "skill_resume", map[string]any{"run": run})
			}
			if err == nil && (said == nil || said.Code != CodePerson) {
				t.Fatalf("the client broke: %+v, %+v, %v", p, said, err)
			}
			for _, s := range a.runs.runs[run].Pending() {
				if s.Kind == Question {
					a.cannot(CodePerson, "skill_resume", map[string]any{"run": run, "step": s.ID, "answer": "Yes"})
				}
			}
			broken = false
			p = a.does("skill_resume", map[string]any{"run": run})
			p = a.does("skill_resume", map[string]any{"run": run, "step": p.Steps[0].ID, "answer": "done"})
			if string(p.Result) != `["nobody none","nobody none"]` {
				t.Errorf("%s %s", p.Status, p.Result)
			}
		})
	}
}

// Without such a client the agent is told to ask, and its answer is marked.
func TestRelayed(t *testing.T) {
	a := newAgent(t, Options{Run: asking})
	p := a.does("skill_run", map[string]any{"skill": "s"})
	for p.Status == "waiting" {
		s := p.Steps[0]
		answer := "done"
		if s.Kind == Question {
			if s.Note != noteRelay {
				t.Errorf("the agent is told %q", s.Note)
			}
			if answer = "for fun"; len(s.Options) > 0 {
				answer = "no"
			}
		} else if s.Note != "" {
			t.Errorf("a leaf has the note %q", s.Note)
		}
		p = a.does("skill_resume", map[string]any{"run": p.Run, "step": s.ID, "answer": answer})
	}
	if string(p.Result) != `["No relayed","for fun relayed"]` {
		t.Errorf("%s %s", p.Status, p.Result)
	}
}

// wanting has a leaf whose tool asks the person twice before it does anything.
func wanting(ctx context.Context, _, _ string, d *Driver) (any, error) {
	r := model.Request{Purpose: model.Leaf, Node: "1", Prompt: "do it", Tools: []model.Tool{{Name: "write", Schema: []byte(`{"type":"object"}`)}}}
	ctx, over := context.WithCancelCause(ctx)
	r.Call = func(ctx context.Context, _ string, _ json.RawMessage) model.ToolResult {
		heard := ""
		for _, question := range []string{"May it write?", "May it send?"} {
			said, how, err := d.Ask(ctx, "", question, []string{"Yes", "No"})
			if errors.Is(err, diag.Code(model.CodeNoAnswer)) {
				over(err)
			}
			if err != nil {
				return model.ToolResult{Text: err.Error(), IsError: true}
			}
			heard += said + " " + how + ". "
		}
		return model.ToolResult{Text: heard}
	}
	got, err := d.Fill(ctx, r)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return got.Text, err
}

// A tool that needs the person has the client ask them while the call goes on, in each version of the protocol. One that waits for them ends the step,
// and the answer of its call says how the run ended.
func TestPersonIsAskedForTools(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, action := range []string{"accept", "decline"} {
			t.Run(version+" "+action, func(t *testing.T) {
				var asked []string
				a := newClient(t, version, wanting, func(q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked = append(asked, q.Params.Message)
					return &sdk.ElicitResult{Action: action, Content: map[string]any{"answer": "Yes"}}, nil
				})
				p := a.does("skill_run", map[string]any{"skill": "s"})
				step := p.Steps[0].ID
				for range 2 { // a second call asks again
					p = a.does("skill_resume", map[string]any{"run": p.Run, "step": step, "tool": map[string]any{"name": "write"}})
					if action == "decline" {
						if len(asked) != 1 || p.Status != "failed" || p.Error == nil || p.Error.Code != model.CodeNoAnswer || p.Tool == nil || !p.Tool.IsError {
							t.Errorf("asked %q; %+v, %+v, %+v", asked, p, p.Error, p.Tool)
						}
						return
					}
					if p.Status != "waiting" || p.Tool == nil || p.Tool.Text != "Yes person. Yes person. " {
						t.Errorf("%+v, %+v", p, p.Tool)
					}
				}
				if !slices.Equal(asked, []string{"May it write?", "May it send?", "May it write?", "May it send?"}) {
					t.Errorf("asked %q", asked)
				}
				if p = a.does("skill_resume", map[string]any{"run": p.Run, "step": step, "answer": "done"}); p.Status != "done" || string(p.Result) != `"done"` {
					t.Errorf("%+v", p)
				}
			})
		}
	}
}
