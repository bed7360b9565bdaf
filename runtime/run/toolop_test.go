package run_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// slow is tools of which a call ends only with its context.
type slow struct{ *project }

func (s slow) Call(ctx context.Context, _ string, _ json.RawMessage, _ bool) (model.ToolResult, string, run.Deed, error) {
	<-ctx.Done()
	return model.ToolResult{Text: "stopped", IsError: true}, "server::send", run.Deed{Leave: run.LeaveAllow}, nil
}

const sendOp = "## SEND << text >> id\n\n> **Tool.** `send`\n\nSend it by hand.\n"

// A tool that acts and is stopped in the middle has done nobody knows what: the run waits for a person's word, and takes it. One that only reads
// is called again.
func TestToolOpStopped(t *testing.T) {
	p := planOf(t, "* SEND << \"tea\" >> id\n* bind after = id\n", sendOp)
	journal := &run.Memory{}
	r := run.Runner{Tools: slow{&project{tools: map[string]string{"send!": "x"}}}, Journal: journal, Limits: run.Limits{Time: 20 * time.Millisecond}}
	result, err := r.Run(t.Context(), p, "")
	if !isCode(err, run.CodeUnfinished) || result.Status != run.Suspended || !strings.Contains(err.Error(), `the tool send {"text":"tea"} was stopped in the middle`) {
		t.Fatalf("%+v, %v", result, err)
	}
	world := &project{tools: map[string]string{"send!": `{"id": 7}`}}
	r = run.Runner{Tools: world, Journal: journal}
	if result, err = r.Resume(t.Context(), p, journal.Records()); !isCode(err, run.CodeUnfinished) || len(world.acted) > 0 || !strings.Contains(err.Error(), "a call of the tool send") {
		t.Fatalf("without consent: %+v, %v, acted %q", result, err, world.acted)
	}
	value := `{"id": 6}`
	r.Done = []run.Done{{Node: "0", Value: &value}}
	if result, err = r.Resume(t.Context(), p, journal.Records()); err != nil || result.Status != run.OK || len(world.acted) > 0 || string(encoded(result.Bindings["after"])) != "6" {
		t.Fatalf("done: %+v, %v, acted %q", result, err, world.acted)
	}

	journal = &run.Memory{}
	r = run.Runner{Tools: slow{&project{tools: map[string]string{"send": "x"}}}, Journal: journal, Limits: run.Limits{Time: 20 * time.Millisecond}}
	if result, err = r.Run(t.Context(), p, ""); err != nil || result.Status != run.Suspended || !strings.Contains(result.Message, "time") {
		t.Fatalf("reading: %+v, %v", result, err)
	}
	r = run.Runner{Tools: &project{tools: map[string]string{"send": `["a"]`}}, Journal: journal}
	if result, err = r.Resume(t.Context(), p, journal.Records()); err != nil || result.Status != run.OK || string(encoded(result.Bindings["id"])) != `["a"]` {
		t.Fatalf("reading, again: %+v, %v", result, err)
	}
}

// A failure that acted is in the journal and is not tried again; one of a tool that only reads is. What was refused did nothing, is in the result,
// and is tried again.
func TestToolOpFailed(t *testing.T) {
	p := planOf(t, "* SEND << \"tea\" >> id\n", sendOp)
	for _, c := range []struct {
		name, tool string
		refused    bool
		again      run.Status
	}{{"acts", "send!", false, run.Failed}, {"reads", "send", false, run.OK}, {"is denied", "", true, run.OK}} {
		t.Run(c.name, func(t *testing.T) {
			journal := &run.Memory{}
			world := &project{tools: map[string]string{c.tool: "! no"}}
			r := run.Runner{Tools: world, Journal: journal}
			result, err := r.Run(t.Context(), p, "")
			if result.Status != run.Failed || isCode(err, run.CodeToolDeny) != c.refused || isCode(err, run.CodeTool) == c.refused {
				t.Fatalf("%+v, %v", result, err)
			}
			if denied := result.Denied; c.refused != (len(denied) == 1 && denied[0].Tool == "send" && denied[0].Tree && diag.ClassOf(err) == diag.Refused) {
				t.Errorf("denied %+v, %v", denied, err)
			}
			r = run.Runner{Tools: &project{tools: map[string]string{"send": "sent"}}, Journal: journal}
			if result, err = r.Resume(t.Context(), p, journal.Records()); result.Status != c.again {
				t.Errorf("again: %+v, %v", result, err)
			}
		})
	}
}

// No model is told of the text that is for agents without a runtime, and none is told what the tool of another step is.
func TestToolOpNoModel(t *testing.T) {
	p := planOf(t, "* SEND << \"tea\" >> id\n* Say what `id` is >> said\n", sendOp)
	m := newScripted("1 = {\"said\": \"x\"}\n")
	r := run.Runner{Model: m, Tools: &project{tools: map[string]string{"send": "sent"}}}
	if result, err := r.Run(t.Context(), p, ""); err != nil || result.Usage.Calls != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	for path, req := range m.requests {
		if path != "1" || strings.Contains(req.Prompt+req.System, "by hand") {
			t.Errorf("%s: %s", path, req.Prompt)
		}
	}
	var kinds []string
	for _, e := range p.Effects("") {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []string{"tool", "model"}) {
		t.Errorf("foreseen: %q", kinds)
	}
}
