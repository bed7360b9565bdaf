package run

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// tool calls the tool of an op that has a marker for one: no model is asked, and the call passes every rule that a model's would.
func (at call) tool(ctx context.Context) error {
	body := &frame{Kind: opFrame, Locals: at.params, callee: at.op, node: at.n}
	text, err := at.useTool(ctx)
	if err != nil {
		return err
	}
	gives, value := at.s.promised(body), toolValue(text)
	if err := at.checkResult(gives.schema, value); err != nil {
		return err
	}
	return at.returned(body, gives, value, true)
}

// toolInput is what the tool gets: the parameters that have a value.
func (at call) toolInput() json.RawMessage {
	input := map[string]any{}
	for _, p := range at.op.Op.Params {
		if v, ok := at.params[p.Name]; ok {
			input[p.Name] = v
		}
	}
	return encode(input)
}

// toolValue is the result of a tool: the object or list that its text is, else the text without its last line end.
func toolValue(text string) any {
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		if v, err := decode(json.RawMessage(s)); err == nil {
			return v
		}
	}
	return strings.TrimRight(text, "\r\n")
}

// useTool makes the call, or takes what the journal has of it, and gives its text.
func (at call) useTool(ctx context.Context) (string, error) {
	name, input := at.op.Op.Tool, at.toolInput()
	e := effect{kind: "tool", path: at.path, node: at.id(), tool: name, acts: at.s.r.Tools == nil || !at.s.r.Tools.Reads(name), digest: digest(name, string(input)),
		gives: strings.Join(targetNames(at.n.Outs), ", "), take: takeText}
	at.eff.live = at.eff.live || at.s.past != nil && !at.s.past.has(at.eff.key(at.path))
	at.tell(Event{Kind: ToolCalled, Name: name, Value: input, Call: 1})
	replayed, began := true, at.s.now()
	got, err := at.do(ctx, e, func(ctx context.Context, key string) (reply, error) {
		replayed = false
		return at.callTool(ctx, key, e, input)
	})
	told := Event{Kind: ToolReplied, Name: cmp.Or(got.Tool, name), Text: diag.Clip(got.Text, maxTold), Call: 1, Did: got.Did, Status: OK}
	if !replayed && !began.IsZero() {
		told.Took = time.Since(began)
	}
	switch {
	case err == nil:
	case got.Tool == "": // it was not made, or nobody saw it end
		return "", err
	case diag.ClassOf(err) == diag.Refused:
		told.Status = Denied
	default:
		told.Status = Errored
	}
	at.tell(told)
	return got.Text, err
}

// callTool makes the call now. The reply of one that ended has the tool's canonical name, also beside an error.
func (at call) callTool(ctx context.Context, key string, e effect, input json.RawMessage) (reply, error) {
	op, name := at.op.Op.Name, diag.Printable(e.tool)
	tools := at.s.r.Tools
	if tools == nil {
		return reply{}, diag.New(diag.Refused, CodeToolDeny, "the op %s may not call the tool %s: there are no tools", op, name).At(at.position())
	}
	if err := at.s.budget.timeLeft(); err != nil { // it did not begin
		return reply{}, cmp.Or(at.s.journal.append(Record{Type: ReleasedRecord, Key: key}, true), err)
	}
	ctx, cancel := at.s.budget.timed(ctx)
	defer cancel()
	result, canonical, did, kept := tools.Call(context.WithValue(ctx, byTree{}, true), e.tool, input, false)
	if cause := context.Cause(ctx); cause != nil && kept == nil && result.IsError {
		if !e.acts {
			return reply{}, at.s.budget.inTime(cause)
		}
		return reply{}, at.s.cut(e, "the tool "+asCalled(e.tool, input), cause)
	}
	if diag.ClassOf(kept) == diag.NeedsInput {
		return reply{}, kept
	}
	return at.toolReply(e, op, result, canonical, did, kept)
}

// byTree is the key of contexts in which the tree itself calls a tool.
type byTree struct{}

// ByTree reports whether an op of the tree makes the call of a tool that has this context, and no model.
func ByTree(ctx context.Context) bool { return ctx.Value(byTree{}) != nil }

// toolReply is what a call came to that was made or refused.
func (at call) toolReply(e effect, op string, result model.ToolResult, canonical string, did Deed, kept error) (reply, error) {
	got := reply{Text: cmp.Or(result.Whole, result.Text), Tool: cmp.Or(canonical, e.tool)}
	if kept == nil && (e.acts || did.Leave != "") {
		got.Did = &did
	}
	switch {
	case kept != nil:
		return got, diag.New(diag.Refused, CodeToolDeny, "the op %s may not call the tool %s: %s", op, diag.Printable(e.tool), diag.Clip(kept.Error(), 500)).At(at.position()).
			Hint("skl run %s --dry-run shows which tools are allowed, and why not", at.s.called())
	case result.IsError:
		return got, diag.New(diag.Failed, CodeTool, "the tool %s of the op %s failed: %s", diag.Printable(got.Tool), op, diag.Clip(strings.TrimSpace(result.Text), 2000)).At(at.position())
	}
	return got, nil
}
