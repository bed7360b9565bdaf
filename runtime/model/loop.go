package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/skl-project/skl/spec/diag"
)

const (
	defaultTurns   = 50
	defaultRepairs = 2
	maxCalls       = 128 // tool calls of one turn that are run
	maxParallel    = 8   // read-only calls that run at the same time
)

// AnswerTool is the name of the tool by which a provider without another way
// takes an answer that fits a schema. [AnswerName] avoids clashes.
const AnswerTool = "answer"

// AnswerName is AnswerTool, or a name near it that no tool of r has.
func AnswerName(r Request) string {
	name := AnswerTool
	for i := 0; i < len(r.Tools); i++ {
		if r.Tools[i].Name == name {
			name, i = name+"_", -1
		}
	}
	return name
}

// A Turn is what a model says before it waits for results or is done.
type Turn struct {
	Text  string
	Calls []Call          // tools it wants called
	Value json.RawMessage // its answer, if it came apart from the text
	Model string
	Usage Usage
}

// A Call is one use of a tool.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage // as the model wrote it: it may be anything
}

// A Said is what the other side of the conversation says next.
type Said struct {
	Results []ToolResult // one per Call of the turn before, in its order
	Note    string       // a sentence for the model besides the results; may be empty
	Last    bool         // no tool will be called any more: ask for the answer
}

// Loop leads a conversation for a provider: it asks for turns, runs the tools
// that a turn calls, and ends with the first turn that calls none. With a
// schema it extracts and checks the answer and says in the same conversation
// what is wrong, at most r.Repairs times, so that no tool runs twice for it.
//
// next sends what is said and gives the model's turn; it keeps the history.
// Calls to read-only tools that follow each other overlap, at most 8 at a time;
// all others run alone and in order. An unknown tool, or an input that is not
// a JSON object, is a result that says so. Without a schema a result that is final
// is the answer, and ends the conversation. The usage of the Reply holds every
// turn; an error of next ends the loop, and the Reply that comes with an
// error still has the usage.
func Loop(ctx context.Context, r Request, next func(context.Context, Said) (Turn, error)) (Reply, error) {
	schema, err := r.compiled()
	if err != nil {
		return Reply{}, err
	}
	turns, repairs := r.MaxTurns, r.repairs()
	if turns <= 0 {
		turns = defaultTurns
	}
	var reply Reply
	said := Said{Last: turns == 1}
	for used := 1; ; used++ {
		turn, err := next(ctx, said)
		reply.Usage = reply.Usage.Add(turn.Usage)
		if turn.Model != "" {
			reply.Model = diag.Printable(cut(turn.Model, 128)) // foreign words, that end up in messages
		}
		if err != nil {
			return Reply{Model: reply.Model, Usage: reply.Usage}, err
		}
		if len(turn.Calls) > 0 {
			if said.Last {
				return Reply{Model: reply.Model, Usage: reply.Usage}, diag.New(diag.Failed, CodeTruncated,
					"%s used tools in %d turns and gave no answer", reply.Model, used)
			}
			if r.Turned != nil {
				r.Turned(Turned{Text: turn.Text, Usage: turn.Usage})
			}
			said = Said{Results: runCalls(ctx, r, turn.Calls), Last: used+1 >= turns}
			if err := ctx.Err(); err != nil {
				return Reply{Model: reply.Model, Usage: reply.Usage}, err
			}
			if i := slices.IndexFunc(said.Results, func(t ToolResult) bool { return t.Final }); i >= 0 && schema == nil {
				reply.Text = said.Results[i].Text
				return reply, tooLong(reply)
			}
			if turn.Value != nil {
				said.Note = "The answer was not taken: it came before the results of the tools. Answer again when you have seen them."
			}
			continue
		}
		reply.Text = turn.Text
		if schema == nil {
			return reply, tooLong(reply)
		}
		value, wrong := answer(schema, turn.Text, turn.Value)
		if wrong == nil {
			reply.Text, reply.Value = "", value
			return reply, nil
		}
		if repairs--; repairs < 0 {
			return Reply{Model: reply.Model, Usage: reply.Usage}, badAnswer(reply.Model, r, wrong)
		}
		if r.Again != nil {
			if err := r.Again(reply.Usage); err != nil {
				return Reply{Model: reply.Model, Usage: reply.Usage}, err
			}
		}
		said = Said{Note: complaint(wrong), Last: said.Last || used+1 >= turns}
	}
}

func (r Request) repairs() int {
	switch {
	case r.Repairs < 0:
		return 0
	case r.Repairs == 0:
		return defaultRepairs
	}
	return r.Repairs
}

// complaint tells a model what was wrong with its answer.
func complaint(wrong error) string {
	return "That answer was not accepted: " + wrong.Error() + ". Give the whole answer again, as one JSON object that fits the schema."
}

func badAnswer(name string, r Request, wrong error) error {
	if name == "" {
		name = "the model"
	}
	err := error(diag.New(diag.Failed, CodeBadAnswer, "%s gave no answer that fits: %s", name, wrong.Error()))
	if r.Node != "" {
		err = diag.Prefixed(err, "node "+r.Node)
	}
	return err
}

func tooLong(r Reply) error {
	if len(r.Text) > MaxAnswer {
		return diag.New(diag.Failed, CodeBadAnswer, "%s answered with %d bytes; at most %d are taken", r.Model, len(r.Text), MaxAnswer)
	}
	return nil
}

// answer is value, or else the object in text, if it fits schema.
func answer(schema *Schema, text string, value json.RawMessage) (json.RawMessage, error) {
	if value == nil {
		if len(text) > MaxAnswer {
			return nil, fmt.Errorf("the answer has %d bytes; at most %d are taken", len(text), MaxAnswer)
		}
		found, ok := Extract(text, func(v json.RawMessage) bool { return schema.Check(v) == nil })
		if !ok {
			return nil, fmt.Errorf("there is no JSON object in it")
		}
		value = found
	}
	if err := schema.Check(value); err != nil {
		return nil, err
	}
	return value, nil
}

// runCalls gives the results in the order of the calls.
func runCalls(ctx context.Context, r Request, calls []Call) []ToolResult {
	tools := make(map[string]Tool, len(r.Tools))
	for _, t := range r.Tools {
		tools[t.Name] = t
	}
	results := make([]ToolResult, len(calls))
	run := func(i int) { results[i] = runCall(ctx, r, calls[i]) }
	for i := 0; i < len(calls); {
		if i >= maxCalls {
			results[i] = ToolResult{Text: fmt.Sprintf("not called: at most %d calls are made in one turn", maxCalls), IsError: true}
			i++
			continue
		}
		group := i // calls[i:group] are read-only and overlap
		for group < min(len(calls), maxCalls) && tools[calls[group].Name].ReadOnly {
			group++
		}
		if group <= i+1 {
			run(i)
			i++
			continue
		}
		var wg sync.WaitGroup
		slots := make(chan struct{}, maxParallel)
		for n := i; n < group; n++ {
			slots <- struct{}{}
			wg.Go(func() { run(n); <-slots })
		}
		wg.Wait()
		i = group
	}
	return results
}

func runCall(ctx context.Context, r Request, c Call) ToolResult {
	if r.Call == nil {
		return ToolResult{Text: fmt.Sprintf("there is no tool %q here: none may be called", brief(c.Name)), IsError: true}
	}
	input := bytes.TrimSpace(c.Input)
	switch {
	case len(input) == 0: // tools without inputs are often called with nothing
		input = []byte("{}")
	case len(input) > MaxAnswer:
		return ToolResult{Text: fmt.Sprintf("not called: the input has %d bytes; at most %d are taken", len(input), MaxAnswer), IsError: true}
	case !json.Valid(input) || input[0] != '{':
		return ToolResult{Text: "not called: the input is not a JSON object", IsError: true}
	case !shallow(input):
		return ToolResult{Text: fmt.Sprintf("not called: the input nests deeper than %d", MaxDepth), IsError: true}
	}
	return r.Call(ctx, c.Name, input) // also a name that was not offered, or when ctx has ended: to deny it is the caller's, who records it
}
