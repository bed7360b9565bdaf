package claudecode

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/mcp/child"
	"github.com/skl-project/skl/spec/diag"
)

// An event is a line of the program's output, as far as it is read.
type event struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"`
	Parent  *string `json:"parent_tool_use_id"`

	// assistant, user
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   counted         `json:"usage"`
	} `json:"message"`
	Synthetic bool   `json:"isSynthetic"`
	Refused   string `json:"refused_message_id"`

	// system init
	Version string   `json:"claude_code_version"`
	Servers []server `json:"mcp_servers"`

	// stream_event
	Event struct {
		Delta struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"delta"`
	} `json:"event"`

	// result
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Structured json.RawMessage `json:"structured_output"`
	Status     int             `json:"api_error_status"`
	StopReason string          `json:"stop_reason"`
	Errors     []string        `json:"errors"`
	Cost       float64         `json:"total_cost_usd"`
	Usage      counted         `json:"usage"`
}

// counted is what a message, or all of them, cost.
type counted struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
}

func (c counted) usage(calls int) model.Usage {
	return model.Usage{Calls: calls, InputTokens: c.Input + c.Created + c.Read, OutputTokens: c.Output, CachedTokens: c.Read}
}

type server struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

func connected(s server) bool { return s.Name == child.Server && s.Status == "connected" }

// errOld ends a process that may read files that a prompt mentions.
var errOld = errors.New("it is too old")

// errNoTools ends a process before it answers without the tools.
var errNoTools = errors.New("it did not reach the tools of the request")

// stream collects what the program says.
type stream struct {
	request model.Request
	tools   bool // the program was given our server
	model   string
	version string
	calls   int    // messages of the provider
	message string // id of the last of them
	told    string // id of the last of them that called tools and was told of

	// said is the text since the last result of a tool; parts counts the
	// messages it came in. The program lets a model go on after its limit of
	// tokens, and reports the last part alone.
	said  strings.Builder
	parts int

	last *event
}

// line reads one line. What is not JSON, or of a kind that is not known, says
// nothing about the answer and is passed over.
func (s *stream) line(b []byte) error {
	var e event
	if err := json.Unmarshal(b, &e); err != nil {
		if _, other := errors.AsType[*json.UnmarshalTypeError](err); !other {
			return nil
		}
	}
	if e.Parent != nil {
		return nil
	}
	switch e.Type {
	case "system":
		if e.Subtype != "init" {
			return nil
		}
		if s.version = e.Version; semver.Compare("v"+e.Version, "v"+MinVersion) < 0 {
			return errOld
		}
		if s.tools && !slices.ContainsFunc(e.Servers, connected) {
			return errNoTools
		}
	case "assistant":
		s.assistant(e)
	case "user":
		if !e.Synthetic || e.Refused != "" {
			s.said.Reset()
			s.parts = 0
		}
	case "stream_event":
		if s.request.Stream != nil && e.Event.Delta.Type == "text_delta" {
			s.request.Stream(e.Event.Delta.Text)
		}
	case "result":
		s.last = &e
		return child.ErrDone
	}
	return nil
}

func (s *stream) assistant(e event) {
	if e.Message.Model == "<synthetic>" {
		return // the program speaking for itself
	}
	if e.Message.Model != "" {
		s.model = e.Message.Model
	}
	if e.Message.ID != s.message || s.calls == 0 {
		s.message = e.Message.ID
		s.calls++
		s.parts++
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return
	}
	for _, block := range blocks {
		if block.Type == "text" && s.said.Len() <= model.MaxAnswer {
			s.said.WriteString(block.Text)
		}
		if block.Type == "tool_use" && s.request.Turned != nil && s.told != e.Message.ID { // a message comes in parts
			s.told = e.Message.ID
			s.request.Turned(model.Turned{Text: s.said.String(), Usage: e.Message.Usage.usage(1)})
		}
	}
}

func (s *stream) usage() model.Usage {
	u := model.Usage{Calls: s.calls}
	if s.last != nil {
		u = s.last.Usage.usage(s.calls)
		u.Dollars = s.last.Cost
	}
	return u
}

// reply is the answer, once the program ended.
func (s *stream) reply(exit child.Exit) (model.Reply, error) {
	reply := model.Reply{Model: s.model, Usage: s.usage()}
	if s.last == nil {
		err := diag.New(diag.Failed, model.CodeRejected, "claude-code ended without an answer for node %s: %s", s.request.Node, exit)
		if strings.Contains(exit.Tail, "unknown option") {
			err.Hint("update Claude Code to %s or newer: claude update", MinVersion)
		}
		return reply, err
	}
	if err := s.failure(); err != nil {
		return reply, err
	}
	if value := s.last.Structured; s.request.Schema != nil && len(value) > 0 && string(value) != "null" {
		reply.Value = value
		return reply, nil
	}
	reply.Text = s.last.Result
	if s.parts > 1 {
		reply.Text = s.said.String()
	}
	return reply, nil
}

// failure is what went wrong according to the last line, nil if nothing did.
func (s *stream) failure() error {
	e := s.last
	said := strings.TrimSpace(e.Result)
	if said == "" {
		said = strings.Join(e.Errors, "; ")
	}
	said = oneLine(said)
	node := s.request.Node
	switch {
	case e.Subtype == "error_max_turns":
		return diag.New(diag.Failed, model.CodeTruncated, "claude-code used all its turns for node %s and gave no answer", node)
	case e.Subtype == "error_max_structured_output_retries":
		return diag.New(diag.Failed, model.CodeBadAnswer, "claude-code gave no answer for node %s that fits its schema", node)
	case e.StopReason == "refusal":
		return diag.New(diag.Failed, model.CodeRefused, "claude-code declined to answer node %s", node)
	case e.Subtype == "success" && !e.IsError:
		return nil
	case e.Status == 401, e.Status == 403, strings.Contains(said, "/login"):
		return diag.New(diag.Failed, model.CodeCredentials, "claude-code has no account that works: %s", said).
			Hint("claude auth login")
	case e.Status == 404:
		return diag.New(diag.Misuse, model.CodeUnknown, "claude-code has no such model: %s", said)
	case e.Status >= 400 && e.Status < 500 && e.Status != 408 && e.Status != 429:
		return diag.New(diag.Failed, model.CodeRejected, "claude-code could not ask for node %s: %s", node, said)
	case strings.Contains(said, "output token maximum"):
		return diag.New(diag.Failed, model.CodeTruncated, "the answer of claude-code to node %s is longer than the limit of tokens", node)
	}
	return model.Unavailable("claude-code has no answer for node %s: %s", node, said)
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + " …"
	}
	return diag.Printable(s)
}
