package copilot

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/mcp/child"
	"github.com/skl-project/skl/spec/diag"
)

// An event is a line of the program's output, as far as it is read.
type event struct {
	Type     string `json:"type"`
	ExitCode int    `json:"exitCode"` // result
	Data     struct {
		Model   string `json:"model"`
		Content string `json:"content"`      // assistant.message
		Delta   string `json:"deltaContent"` // assistant.message_delta
		Parent  string `json:"parentToolCallId"`
		Tools   []any  `json:"toolRequests"`

		Server string `json:"serverName"` // session.mcp_server_status_changed
		Status string `json:"status"`

		Message string `json:"message"` // session.error
		Code    int    `json:"statusCode"`
		Kind    string `json:"errorType"`
	} `json:"data"`
}

// errNoTools ends a process before it answers without the tools.
var errNoTools = errors.New("it did not reach the tools of the request")

// stream collects what the program says.
type stream struct {
	request model.Request
	tools   bool // the program was given our server
	joined  bool // and reached it

	model string
	text  string // of the last message
	said  bool   // that message is an answer, not the calling of tools
	over  bool   // the last line came
	code  int    // of the last line
	wrong *event // session.error
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
	if e.Data.Parent != "" {
		return nil
	}
	switch e.Type {
	case "session.mcp_server_status_changed":
		if e.Data.Server == child.Server {
			s.joined = e.Data.Status == "connected"
		}
	case "model.call_start":
		if s.tools && !s.joined {
			return errNoTools
		}
	case "assistant.message_delta":
		if s.request.Stream != nil {
			s.request.Stream(e.Data.Delta)
		}
	case "assistant.message":
		s.model, s.text, s.said = e.Data.Model, e.Data.Content, len(e.Data.Tools) == 0
		if !s.said && s.request.Turned != nil { // what it cost is told at the end
			s.request.Turned(model.Turned{Text: s.text, Usage: model.Usage{Calls: 1}})
		}
	case "session.error":
		s.wrong = &e
	case "result":
		s.over, s.code = true, e.ExitCode
		return child.ErrDone
	}
	return nil
}

// reply is the answer, once the program ended.
func (s *stream) reply(exit child.Exit) (model.Reply, error) {
	reply := model.Reply{Model: s.model}
	if err := s.failure(exit); err != nil {
		return reply, err
	}
	reply.Text = s.text
	return reply, nil
}

// failure is what went wrong, nil if nothing did.
func (s *stream) failure(exit child.Exit) error {
	node := s.request.Node
	if s.over && s.code == 0 && s.wrong == nil {
		if !s.said {
			return diag.New(diag.Failed, model.CodeTruncated, "copilot ended without an answer for node %s", node)
		}
		return nil
	}
	if s.wrong == nil {
		if strings.Contains(exit.Tail, "No authentication information") {
			return diag.New(diag.Failed, model.CodeCredentials, "copilot has no account that works: it found no authentication").Hint("copilot login")
		}
		err := diag.New(diag.Failed, model.CodeRejected, "copilot ended without an answer for node %s: %s", node, exit)
		if strings.Contains(exit.Tail, "unknown option") || strings.Contains(exit.Tail, "unexpected argument") {
			err.Hint("update GitHub Copilot CLI to 1.0.102 or newer: copilot update")
		}
		return err
	}
	said, _, _ := strings.Cut(s.wrong.Data.Message, "\n")
	if len(said) > 300 {
		said = strings.ToValidUTF8(said[:300], "") + " …"
	}
	said = diag.Printable(said)
	switch code := s.wrong.Data.Code; {
	case code == 401, code == 403, s.wrong.Data.Kind == "authentication":
		return diag.New(diag.Failed, model.CodeCredentials, "copilot has no account that works: %s", said).Hint("copilot login")
	case code == 404:
		return diag.New(diag.Misuse, model.CodeUnknown, "copilot has no such model: %s", said)
	case code >= 400 && code < 500 && code != 408 && code != 429:
		return diag.New(diag.Failed, model.CodeRejected, "copilot could not ask for node %s: %s", node, said)
	}
	return model.Unavailable("copilot has no answer for node %s: %s", node, said)
}
