package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/spec/diag"
)

// How the answer to a question came.
const (
	ByPerson = "person"  // the client asked the person
	Relayed  = "relayed" // the agent says that the person said it
)

// noteRelay goes with a question that the client cannot put to the person itself.
const noteRelay = "This question is for the person. Ask them, and answer with what they say; do not answer it yourself. The answer is recorded as relayed by you."

// roundTrips is the first version of the protocol in which a server asks by the result of a call, and in no other way.
const roundTrips = "2026-07-28"

// elicits reports whether the client can put a question to the person.
func elicits(q *sdk.CallToolRequest) bool {
	p := q.Session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

// answer is what a call says after it did what it was for: p, or the questions that the client has to put to the person first.
func (r *Runs) answer(ctx context.Context, q *sdk.CallToolRequest, t turn, p Progress, tokens int) (*sdk.CallToolResult, error) {
	d := t.driven
	for d != nil && d.person {
		questions := d.claim()
		if len(questions) == 0 && t.tool() == nil {
			break
		}
		if init := q.Session.InitializeParams(); init.ProtocolVersion >= roundTrips && len(questions) > 0 {
			d.unclaim(questions)
			requests := sdk.InputRequestMap{}
			for _, s := range questions {
				requests[s.ID] = s.elicit()
			}
			if _, err := r.find(d.run); err != nil { // new time for the client
				return nil, err
			}
			return &sdk.CallToolResult{InputRequests: requests, RequestState: t.state()}, nil
		}
		d.quiet.Stop() // a person may take their time
		for i, s := range questions {
			said, err := q.Session.Elicit(ctx, s.elicit())
			if err == nil {
				err = d.told(s.ID, said)
			}
			if err != nil {
				d.unclaim(questions[i:])
				r.find(d.run) // new time for the agent
				return nil, diag.New(diag.NeedsInput, CodePerson, "the question of step %s could not be put to the person: %w", s.ID, err).
					Hint("call skill_resume with the run alone to ask again")
			}
		}
		if _, err := r.find(d.run); err != nil {
			return nil, err
		}
		next, err := t.again(ctx, tokens)
		if err != nil {
			return nil, err
		}
		if next.Tool == nil {
			next.Tool = p.Tool
		}
		p = next
	}
	if d != nil {
		p.Note = d.noted()
	}
	return success(p), nil
}

// heard takes what the person said when a call asked for it, and gives that call.
func (r *Runs) heard(state string, said sdk.InputResponseMap) (turn, error) {
	run, call, err := parseState(state)
	if err != nil {
		return turn{}, err
	}
	d, err := r.find(run)
	if err != nil {
		return turn{}, err
	}
	if !d.person {
		return turn{}, diag.New(diag.Misuse, CodeInput, "nobody was asked for run %s", run)
	}
	for _, s := range d.Pending() {
		if result, ok := said[s.ID].(*sdk.ElicitResult); ok && s.Kind == Question {
			if err := d.told(s.ID, result); err != nil && !errors.Is(err, diag.Code(CodeStepDone)) {
				return turn{}, err
			}
		}
	}
	return turn{d, call}, nil
}

// elicit is the question for the client.
func (s Step) elicit() *sdk.ElicitParams {
	field := map[string]any{"type": "string", "title": "Answer"}
	if len(s.Options) > 0 {
		field["enum"] = s.Options
	}
	return &sdk.ElicitParams{Message: diag.Printable(s.Prompt), RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"answer": field}, "required": []string{"answer"}}}
}

// claim returns the waiting questions that no other call is putting to the person.
func (d *Driver) claim() []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Step
	for _, p := range d.pending {
		if p.Kind == Question && !p.claimed {
			p.claimed = true
			out = append(out, p.Step)
		}
	}
	return out
}

func (d *Driver) unclaim(steps []Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pending {
		if slices.ContainsFunc(steps, func(s Step) bool { return s.ID == p.ID }) {
			p.claimed = false
		}
	}
}

// told takes what the person did with a question: an answer, or none.
func (d *Driver) told(id string, said *sdk.ElicitResult) error {
	if said.Action != "accept" {
		return d.take(id, nil, ByPerson)
	}
	text, ok := said.Content["answer"].(string)
	if !ok {
		return diag.New(diag.Unmet, CodeAnswer, "the client gave no answer to step %s", id)
	}
	answer, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return d.take(id, answer, ByPerson)
}
