package modeltest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/spec/diag"
)

func TestLoadScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.jsonl")
	text := "# which day\n\n" + `{"match":"day","value":{"day":"Mon"}}` + "\n" + `{"match":"day","text":"again"}` + "\n" + `{"repeat":true,"status":429,"retry_after":"0"}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := modeltest.LoadScript(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := modeltest.Recorded{Text: "which day?"}
	if first, second, third := script(ask), script(ask), script(ask); string(first.Value) != `{"day":"Mon"}` || second.Text != "again" || third.Status != 429 {
		t.Errorf("%+v %+v %+v", first, second, third)
	}
	for _, bad := range []string{`{"txt":"x"}`, `{`, `{} {}`} {
		if err := os.WriteFile(path, []byte("\n"+bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := modeltest.LoadScript(path); err == nil || !strings.Contains(err.Error(), "model.jsonl:2:") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Turns that are written and read again are the same.
func FuzzParseTurns(f *testing.F) {
	f.Add([]byte(`{"match":"a","tools":[{"name":"read","input":{"path":"x"}}]}`))
	f.Add([]byte("# no\n{\"value\":[1]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		turns, err := modeltest.ParseTurns(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		for _, turn := range turns {
			line, err := json.Marshal(turn)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		again, err := modeltest.ParseTurns(b.Bytes())
		if err != nil || len(again) != len(turns) {
			t.Fatalf("%v, %d and %d turns", err, len(turns), len(again))
		}
		for i := range again {
			one, _ := json.Marshal(turns[i])
			two, _ := json.Marshal(again[i])
			if !bytes.Equal(one, two) {
				t.Errorf("%s, then %s", one, two)
			}
		}
	})
}

// A request that the script does not know is told so, and asked once only.
func TestNoTurnLeft(t *testing.T) {
	each(t, turns(modeltest.Turn{Match: "something else", Text: "x"}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		_, err := m.Fill(t.Context(), model.Request{Prompt: "which day?"})
		if !errors.Is(err, diag.Code(model.CodeRejected)) || !strings.Contains(err.Error(), "which day?") || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
	})
}

// The servers speak what the SDKs of the services read: whole answers too.
func TestWholeAnswers(t *testing.T) {
	turn := modeltest.Turn{Text: "hello", Tools: []modeltest.Use{{Name: "read", Input: json.RawMessage(`{"path":"a"}`)}}, InputTokens: 10, CachedTokens: 4, OutputTokens: 3}
	t.Run("messages", func(t *testing.T) {
		s := modeltest.NewAnthropic(modeltest.Turns(turn))
		defer s.Close()
		api := anthropicsdk.NewMessageService(anthropicoption.WithBaseURL(s.URL), anthropicoption.WithAPIKey("k"))
		m, err := api.New(t.Context(), anthropicsdk.MessageNewParams{Model: "m", MaxTokens: 9, Messages: []anthropicsdk.MessageParam{anthropicsdk.NewUserMessage(anthropicsdk.NewTextBlock("p"))}})
		if err != nil {
			t.Fatal(err)
		}
		if m.Content[0].Text != "hello" || m.Content[1].Name != "read" || string(m.Content[1].Input) != `{"path":"a"}` || m.StopReason != "tool_use" || m.Usage.InputTokens != 6 || m.Usage.CacheReadInputTokens != 4 {
			t.Errorf("%+v", m)
		}
		n, err := api.CountTokens(t.Context(), anthropicsdk.MessageCountTokensParams{Model: "m", Messages: []anthropicsdk.MessageParam{anthropicsdk.NewUserMessage(anthropicsdk.NewTextBlock("p"))}})
		if err != nil || n.InputTokens == 0 {
			t.Errorf("%+v, %v", n, err)
		}
	})
	t.Run("chat", func(t *testing.T) {
		s := modeltest.NewOpenAI(modeltest.Turns(turn))
		defer s.Close()
		api := openaisdk.NewChatCompletionService(openaioption.WithBaseURL(s.URL))
		m, err := api.New(t.Context(), openaisdk.ChatCompletionNewParams{Model: "m", Messages: []openaisdk.ChatCompletionMessageParamUnion{openaisdk.UserMessage("p")}})
		if err != nil {
			t.Fatal(err)
		}
		c := m.Choices[0]
		if c.Message.Content != "hello" || c.Message.ToolCalls[0].Function.Arguments != `{"path":"a"}` || c.FinishReason != "tool_calls" || m.Usage.PromptTokens != 10 {
			t.Errorf("%+v", m)
		}
	})
	t.Run("responses", func(t *testing.T) {
		s := modeltest.NewOpenAI(modeltest.Turns(turn))
		defer s.Close()
		api := responses.NewResponseService(openaioption.WithBaseURL(s.URL))
		m, err := api.New(t.Context(), responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openaisdk.String("p")}})
		if err != nil {
			t.Fatal(err)
		}
		if m.OutputText() != "hello" || m.Output[1].Name != "read" || m.Usage.InputTokensDetails.CachedTokens != 4 {
			t.Errorf("%+v", m)
		}
	})
}

// What is not a request of the protocol is refused, and never a crash.
func TestBadRequests(t *testing.T) {
	s := modeltest.NewAnthropic(modeltest.Turns(modeltest.Turn{Repeat: true, Text: "x"}))
	defer s.Close()
	for _, path := range []string{"/v1/messages", "/v1/chat/completions", "/v1/responses"} {
		for _, body := range []string{``, `{`, `{}`, `[]`, `{"model":"m","messages":[{"role":"tool","tool_call_id":"none","content":"x"}],"input":[{"type":"function_call_output","call_id":"none","output":"x"}]}`} {
			res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("%s %q: status %d", path, body, res.StatusCode)
			}
		}
	}
}
