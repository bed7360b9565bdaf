package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

const (
	// DefaultTokens is the size of an answer of the tools without max_tokens.
	DefaultTokens = 20_000
	minTokens     = 200
	maxTokens     = 1_000_000
	maxArguments  = 64 << 10
	tokenBytes    = 4 // a token is counted as so many bytes
)

// Options say what a server may do. A nil Run refuses every run.
type Options struct {
	// Run runs a skill. Its result is what the agent sees: any JSON. A
	// *diag.Error keeps its code and hints on the way to the agent.
	Run RunFunc
	// Idle is how long a run waits for its agent; 0 means IdleTimeout.
	Idle time.Duration
}

// Register adds skill_run and skill_resume to server. The caller closes the
// Runs when the server ends.
func Register(server *sdk.Server, o Options) *Runs {
	start := o.Run
	if start == nil {
		start = func(context.Context, string, string, *Driver) (any, error) {
			return nil, diag.New(diag.Refused, "mcp_run_refused", "this server does not run skills").Hint("skl mcp --allow-run")
		}
	}
	runs := newRuns(start, o.Idle)
	add := func(name, description, schema string, handle func(context.Context, json.RawMessage, bool) (turn, Progress, error)) {
		input, err := model.Compile(json.RawMessage(schema))
		if err != nil {
			panic("the schema of " + name + ": " + err.Error()) // written below
		}
		server.AddTool(&sdk.Tool{
			Name: name, Description: description,
			InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(progressSchema),
		}, func(ctx context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			arguments := q.Params.Arguments
			if len(arguments) == 0 {
				arguments = json.RawMessage("{}")
			}
			if wrong := input.Check(arguments); wrong != nil {
				return failure(diag.New(diag.Misuse, CodeInput, "%s: %w", name, wrong)), nil
			}
			var t turn
			var progress Progress
			var err error
			if state := q.Params.RequestState; state != "" { // the call did its work before the person was asked
				if t, err = runs.heard(state, q.Params.InputResponses); err == nil {
					progress, err = t.again(ctx, size(arguments))
				}
			} else {
				t, progress, err = handle(ctx, arguments, elicits(q))
			}
			if err != nil {
				return failure(err), nil
			}
			answer, err := runs.answer(ctx, q, t, progress, size(arguments))
			if err != nil {
				return failure(err), nil
			}
			return answer, nil
		})
	}
	add("skill_run", "Runs an installed skill. skl walks its tree; you answer the steps that it gives you, each with skill_resume, until status is done. "+
		"Steps of one answer do not depend on each other. A step stands for itself: do what its prompt says and answer that alone. "+
		"A step of the kind question is for the person: ask them, and answer with what they say.", runSchema, runs.run)
	add("skill_resume", "Goes on with a run: with step and answer it answers a waiting step; with step and tool it calls one of the tools of the step; "+
		"with step and offset it shows more of a long prompt; with run alone it shows what waits. A step can be answered once, and no step can be skipped.", resumeSchema, runs.resume)
	return runs
}

// Progress is what skill_run and skill_resume answer.
type Progress struct {
	Run    string `json:"run"`
	Status string `json:"status"` // waiting, done or failed
	Steps  []Step `json:"steps"`  // that wait for an answer now
	// Withheld counts waiting steps that max_tokens left out; they come when others are answered.
	Withheld int             `json:"withheld,omitempty"`
	Tool     *ToolAnswer     `json:"tool,omitempty"` // what the called tool gave
	Result   json.RawMessage `json:"result,omitempty"`
	// ResultText is a part of the JSON text of a result that is larger than
	// max_tokens; Next is the offset of the part after it, 0 after the last.
	ResultText string `json:"result_text,omitempty"`
	Next       int    `json:"next,omitempty"`
	Error      *Said  `json:"error,omitempty"` // why the run failed
	Note       string `json:"note,omitempty"`  // in the first answer of a run: what of the skill has no effect
}

// A ToolAnswer is the result of a tool of a step.
type ToolAnswer struct {
	Text      string `json:"text"`
	IsError   bool   `json:"is_error,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // by max_tokens
}

// Said is an error as an agent sees it.
type Said struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

const (
	runSchema = `{"type":"object","properties":{
		"skill":{"type":"string","minLength":1,"maxLength":512,"description":"name of an installed skill"},
		"arguments":{"type":["string","object"],"maxLength":65536,"description":"what the skill is given: text as a person would type it, or values by name"},
		"max_tokens":{"type":"integer","minimum":1,"description":"size of the answer; 20000 without it"}},
		"required":["skill"],"additionalProperties":false}`
	resumeSchema = `{"type":"object","properties":{
		"run":{"type":"string","minLength":1,"maxLength":64},
		"step":{"type":"string","minLength":1,"maxLength":64,"description":"id of a waiting step"},
		"answer":{"description":"a value that fits the schema of the step; a string when it has none, or for a question"},
		"tool":{"type":"object","properties":{"name":{"type":"string"},"input":{"type":"object"}},"required":["name"],"additionalProperties":false},
		"offset":{"type":"integer","minimum":0,"description":"shows the prompt of the step, or the result of the run, from this byte"},
		"cancel":{"type":"boolean","description":"stops the run"},
		"max_tokens":{"type":"integer","minimum":1}},
		"required":["run"],"additionalProperties":false}`
	progressSchema = `{"type":"object","properties":{
		"run":{"type":"string"},"status":{"enum":["waiting","done","failed"]},
		"steps":{"type":"array","items":{"type":"object","properties":{
			"id":{"type":"string"},"run":{"type":"string"},"kind":{"enum":["fill","question"]},"node":{"type":"string"},"purpose":{"type":"string"},
			"isolated":{"type":"boolean"},"system":{"type":"string"},"prompt":{"type":"string"},"options":{"type":"array","items":{"type":"string"}},
			"schema":{"type":"object"},"note":{"type":"string"},"next":{"type":"integer"},
			"tools":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"schema":{"type":"object"}},"required":["name"]}}},
			"required":["id","run","kind","prompt"]}},
		"withheld":{"type":"integer"},"note":{"type":"string"},"result":{},"result_text":{"type":"string"},"next":{"type":"integer"},
		"tool":{"type":"object","properties":{"text":{"type":"string"},"is_error":{"type":"boolean"},"truncated":{"type":"boolean"}}},
		"error":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"},"hint":{"type":"string"}}},
		"code":{"type":"string"},"message":{"type":"string"},"hint":{"type":"string"}}}`
)

// run begins a run and waits for its first steps. A cancelled call stops the
// run: nobody would ever learn its name.
func (r *Runs) run(ctx context.Context, arguments json.RawMessage, person bool) (turn, Progress, error) {
	var in struct {
		Skill     string          `json:"skill"`
		Arguments json.RawMessage `json:"arguments"`
		MaxTokens int             `json:"max_tokens"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return turn{}, Progress{}, diag.New(diag.Misuse, CodeInput, "skill_run: %w", err)
	}
	given := string(in.Arguments) // an object is given as it is written
	if len(in.Arguments) > 0 && in.Arguments[0] == '"' {
		if err := json.Unmarshal(in.Arguments, &given); err != nil {
			return turn{}, Progress{}, diag.New(diag.Misuse, CodeInput, "skill_run: %w", err)
		}
	}
	if len(given) > maxArguments {
		return turn{}, Progress{}, diag.New(diag.Misuse, CodeInput, "skill_run: the arguments have more than %d bytes", maxArguments)
	}
	d, err := r.begin(in.Skill, given, person)
	if err != nil {
		return turn{}, Progress{}, err
	}
	p, err := d.progress(ctx, 0, in.MaxTokens)
	if err != nil {
		d.cancel()
	}
	return turn{driven: d}, p, err
}

// size is the max_tokens of a call.
func size(arguments json.RawMessage) int {
	var in struct {
		MaxTokens int `json:"max_tokens"`
	}
	if json.Unmarshal(arguments, &in) != nil {
		return 0 // the default; the call itself was checked
	}
	return in.MaxTokens
}

// resume also returns the run, where the person can be asked what it waits for.
func (r *Runs) resume(ctx context.Context, arguments json.RawMessage, _ bool) (turn, Progress, error) {
	var in struct {
		Run       string          `json:"run"`
		Step      string          `json:"step"`
		Answer    json.RawMessage `json:"answer"`
		Tool      *toolCall       `json:"tool"`
		Offset    int             `json:"offset"`
		Cancel    bool            `json:"cancel"`
		MaxTokens int             `json:"max_tokens"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return turn{}, Progress{}, diag.New(diag.Misuse, CodeInput, "skill_resume: %w", err)
	}
	d, err := r.find(in.Run)
	if err != nil {
		return turn{}, Progress{}, err
	}
	var p Progress
	switch {
	case in.Cancel:
		d.cancel()
		d.End()
	case in.Step == "" && (in.Answer != nil || in.Tool != nil):
		return turn{}, Progress{}, diag.New(diag.Misuse, CodeInput, "skill_resume: an answer and a tool need the step that they are for")
	case in.Answer != nil && in.Tool != nil:
		return turn{}, Progress{}, diag.New(diag.Misuse, CodeInput, "skill_resume: step %s is either answered or calls a tool, not both", in.Step)
	case in.Tool != nil:
		t := turn{d, d.call(ctx, in.Step, *in.Tool)}
		p, err = t.again(ctx, in.MaxTokens)
		return t, p, err
	case in.Answer != nil:
		if err := d.Answer(in.Step, in.Answer); err != nil {
			return turn{}, Progress{}, err
		}
	case in.Step != "":
		p, err = d.show(in.Step, in.Offset, in.MaxTokens)
		return turn{}, p, err
	}
	p, err = d.progress(ctx, in.Offset, in.MaxTokens)
	return turn{driven: d}, p, err
}

type toolCall struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// show gives one step with its prompt from a byte on.
func (d *driven) show(id string, offset, tokens int) (Progress, error) {
	for _, s := range d.Pending() {
		if s.ID == id {
			s.Prompt, s.Next = part(s.Prompt, offset, room(tokens))
			if offset > 0 {
				s.System, s.Schema, s.Tools = "", nil, nil
			}
			return Progress{Run: d.run, Status: "waiting", Steps: []Step{s}}, nil
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.find(id)
	if err == nil { // it began between the two looks
		err = diag.New(diag.Unmet, CodeStepUnknown, "no step %q was waiting", id)
	}
	return Progress{}, err
}

// progress waits for steps or the end of the run, and gives what fits.
func (d *driven) progress(ctx context.Context, offset, tokens int) (Progress, error) {
	steps, err := d.next(ctx)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{Run: d.run, Status: "waiting", Steps: []Step{}}
	left := room(tokens)
	if len(steps) > 0 {
		if d.person {
			steps = slices.DeleteFunc(steps, func(s Step) bool { return s.Kind == Question })
		}
		for i, s := range steps {
			size := s.size()
			if i > 0 && size > left {
				p.Withheld = len(steps) - i
				break
			}
			if size > left {
				// The answer cannot be smaller than what is needed to answer at all.
				s.Prompt, s.Next = part(s.Prompt, 0, max(left-(size-len(s.Prompt)), minTokens*tokenBytes))
			}
			left -= size
			p.Steps = append(p.Steps, s)
		}
		return p, nil
	}
	if d.err != nil {
		said := say(d.err)
		p.Status, p.Error = "failed", &said
		return p, nil
	}
	p.Status = "done"
	if offset == 0 && len(d.result) <= left {
		p.Result = d.result
		return p, nil
	}
	p.ResultText, p.Next = part(string(d.result), offset, left)
	return p, nil
}

// size is about how many bytes the step takes in an answer.
func (s Step) size() int {
	n := 200 + len(s.Note) + len(s.System) + len(s.Prompt) + len(s.Schema)
	for _, o := range s.Options {
		n += len(o) + 3
	}
	for _, t := range s.Tools {
		n += 50 + len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// room is the size of an answer in bytes.
func room(tokens int) int {
	if tokens <= 0 {
		tokens = DefaultTokens
	}
	return min(max(tokens, minTokens), maxTokens) * tokenBytes
}

// part is what of s begins at offset and fits into limit bytes, in whole
// characters, and where the rest begins; 0 when there is none.
func part(s string, offset, limit int) (string, int) {
	offset = min(max(offset, 0), len(s))
	for offset < len(s) && !utf8.RuneStart(s[offset]) {
		offset++
	}
	if len(s)-offset <= limit {
		return s[offset:], 0
	}
	end := offset + limit
	for end > offset+1 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[offset:end], end
}

func success(p Progress) *sdk.CallToolResult {
	b, err := json.Marshal(p)
	if err != nil {
		return failure(err)
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(b)}}, StructuredContent: json.RawMessage(b)}
}

func failure(err error) *sdk.CallToolResult {
	b, _ := json.Marshal(say(err)) // strings always are JSON
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(b)}}, StructuredContent: json.RawMessage(b)}
}

// say is err for an agent.
func say(err error) Said {
	s := Said{Code: "failed", Message: err.Error()}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		s.Code = e.Code
		hints := slices.Clone(e.Hints)
		if len(e.Candidates) > 0 {
			hints = append(hints, "one of: "+strings.Join(e.Candidates, ", "))
		}
		s.Hint = strings.Join(hints, "; ")
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		s.Code = CodeStopped
	}
	return s
}
