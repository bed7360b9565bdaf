package anthropic

import "encoding/json"

// params is the body of a request: docs.anthropic.com, Messages.
type params struct {
	Model      string       `json:"model"`
	MaxTokens  int          `json:"max_tokens"`
	Stream     bool         `json:"stream"`
	System     []*textBlock `json:"system,omitempty"`
	Tools      []tool       `json:"tools,omitempty"`
	ToolChoice *toolChoice  `json:"tool_choice,omitempty"`
	Messages   []spoken     `json:"messages"`
}

// A spoken is what one side says.
type spoken struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // of the blocks below
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"` // auto, any, tool, none
	Name string `json:"name,omitempty"`
}

// A cache marks the end of what the service keeps for the next request.
type cache struct {
	Type string `json:"type"`
}

var ephemeral = &cache{Type: "ephemeral"}

type textBlock struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Cache *cache `json:"cache_control,omitempty"`
}

func newText(text string) *textBlock { return &textBlock{Type: "text", Text: text} }

type resultBlock struct {
	Type    string       `json:"type"`
	ID      string       `json:"tool_use_id"`
	IsError bool         `json:"is_error"`
	Content []*textBlock `json:"content"`
	Cache   *cache       `json:"cache_control,omitempty"`
}

func newResult(id, text string, isError bool) *resultBlock {
	return &resultBlock{Type: "tool_result", ID: id, IsError: isError, Content: []*textBlock{newText(text)}}
}

type useBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type redactedBlock struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// Reasons to stop.
const (
	stopPause   = "pause_turn"
	stopRefusal = "refusal"
	stopTokens  = "max_tokens"
	stopContext = "model_context_window_exceeded"
)

// An event is one of a stream: the fields of all kinds together. Numbers are
// float64, as some services write 1.0.
type event struct {
	Type    string  `json:"type"`
	Index   float64 `json:"index"`
	Message struct {
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	Block struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Text  string          `json:"text"`
		Data  string          `json:"data"`
		Input json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Text       string `json:"text"`
		Input      string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	Error struct {
		Type string `json:"type"`
	} `json:"error"`
}

// A usage has the numbers of tokens that an event names.
type usage struct {
	Input   *float64 `json:"input_tokens"` // without what was written to the cache or read from it
	Written *float64 `json:"cache_creation_input_tokens"`
	Read    *float64 `json:"cache_read_input_tokens"`
	Output  *float64 `json:"output_tokens"`
}

// tokens is how much a message cost.
type tokens struct{ input, written, read, output int }

// take notes the numbers of u in place of the former ones.
func (t *tokens) take(u usage) {
	for _, n := range []struct {
		to   *int
		from *float64
	}{{&t.input, u.Input}, {&t.written, u.Written}, {&t.read, u.Read}, {&t.output, u.Output}} {
		if n.from != nil {
			*n.to = int(*n.from)
		}
	}
}
