// Package modeltest is a model service for tests: a server on 127.0.0.1 that
// speaks the real protocols and answers by a script, with every way to fail.
//
// It serves the Messages API (/v1/messages, streamed or whole, and
// /v1/messages/count_tokens), chat completions (/v1/chat/completions) and
// responses (/v1/responses), and takes any key, or none. It is a normal
// package: a command under test and a foreign program can be pointed at it.
//
// A [Script] decides what is said. [Turns] is the usual one: a list of which
// each request uses up the first turn that matches it, so that requests that
// come at the same time find their own answers by what they ask. [LoadScript]
// reads such a list from a file of JSON lines:
//
//	{"match":"which day","text":"Monday."}
//	{"match":"list the files","tools":[{"name":"glob","input":{"pattern":"*.md"}}]}
//	{"match":"list the files","value":{"files":["README.md"]}}
//	{"match":"busy","status":429,"retry_after":"0"}
//	{"repeat":true,"text":"whatever else is asked"}
//
// A line has the fields of [Turn]. Empty lines and lines that begin with # are
// skipped, an unknown field is an error. A request that no turn matches is answered with
// status 400 and a message that shows the request.
package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
)

// A Turn is one answer. The zero Turn says nothing.
type Turn struct {
	Match  string `json:"match,omitempty"`  // must be in the system prompt or the conversation; "" matches all
	Model  string `json:"model,omitempty"`  // must be in the name of the model; "" matches all
	Repeat bool   `json:"repeat,omitempty"` // may be used any number of times

	Text   string          `json:"text,omitempty"`
	Tools  []Use           `json:"tools,omitempty"` // called after the text
	Value  json.RawMessage `json:"value,omitempty"` // an answer to a schema: by the tool for it if there is one, else as text
	Stop   string          `json:"stop,omitempty"`  // reason in the words of the protocol: max_tokens, refusal, length…; "" is the fitting one
	Refuse string          `json:"refuse,omitempty"`

	InputTokens  int `json:"input_tokens,omitempty"`  // 0: counted roughly
	CachedTokens int `json:"cached_tokens,omitempty"` // of the input
	OutputTokens int `json:"output_tokens,omitempty"` // 0: counted roughly

	Status     int    `json:"status,omitempty"`      // of an error, with Message; 0 is none
	Message    string `json:"message,omitempty"`     // of an error
	RetryAfter string `json:"retry_after,omitempty"` // header, in seconds
	Fault      Fault  `json:"fault,omitempty"`
}

// A Use is a call of a tool by the model. The name may be the bare one of a
// tool that is called server__name on the wire.
type Use struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Raw   string          `json:"raw,omitempty"` // instead of Input: as it is, for what is no JSON
}

// A Fault is a way to fail after the request was understood.
type Fault string

const (
	Truncate    Fault = "truncate"     // the connection ends in the middle of an event
	Unfinished  Fault = "unfinished"   // the stream ends in order, but before its last events
	Malformed   Fault = "malformed"    // an event, or the body, is not JSON
	Hang        Fault = "hang"         // half an answer, then nothing until the client goes away
	Mute        Fault = "mute"         // not even a header until the client goes away
	ContentType Fault = "content_type" // a page of HTML with status 200
	Overload    Fault = "overload"     // an error event inside of the stream
	Redirect    Fault = "redirect"     // to another path
	Drop        Fault = "drop"         // the connection ends without a response
)

// A Recorded is one request, as a test wants to see it.
type Recorded struct {
	N       int    // counts from 1, in the order of arrival
	Path    string // "/v1/messages"
	Header  http.Header
	Body    json.RawMessage
	Model   string
	System  string
	Text    string   // what the user said and the tools gave, in lines
	Results []string // what the tools gave, all turns
	Tools   []string // names, as on the wire
	Force   string   // tool that must be used; "any": one of them
	Format  string   // response format: "", json_object, json_schema
	Stream  bool
}

// matches says whether a turn is for r.
func (t *Turn) matches(r Recorded) bool {
	return strings.Contains(r.Model, t.Model) && (strings.Contains(r.Text, t.Match) || strings.Contains(r.System, t.Match))
}

// A Script decides what is said to a request. It is called concurrently.
type Script func(Recorded) Turn

// Turns is the script that uses up the first turn that matches.
func Turns(turns ...Turn) Script {
	var mu sync.Mutex // guards used
	used := make([]bool, len(turns))
	return func(r Recorded) Turn {
		mu.Lock()
		defer mu.Unlock()
		for i, t := range turns {
			if !used[i] && t.matches(r) {
				used[i] = !t.Repeat
				return t
			}
		}
		text := r.Text
		if len(text) > 200 {
			text = "… " + strings.ToValidUTF8(text[len(text)-200:], "")
		}
		return Turn{Status: http.StatusBadRequest, Message: fmt.Sprintf("no turn of the script is left for request %d: %s", r.N, text)}
	}
}

// LoadScript reads the turns of a file, see the package.
func LoadScript(path string) (Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	turns, err := ParseTurns(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return Turns(turns...), nil
}

// ParseTurns reads JSON lines. Its errors begin with the line.
func ParseTurns(text []byte) ([]Turn, error) {
	var turns []Turn
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		var t Turn
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		if d.More() {
			return nil, fmt.Errorf("%d: more than one object", n)
		}
		turns = append(turns, t)
	}
	return turns, nil
}
