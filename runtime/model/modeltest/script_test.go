package modeltest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

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

// Whole answers, for foreign programs that do not stream: in the words of the
// protocols, as the SDKs of the services read them when they were the clients here.
func TestWholeAnswers(t *testing.T) {
	turn := modeltest.Turn{Repeat: true, Text: "hello", Tools: []modeltest.Use{{Name: "read", Input: json.RawMessage(`{"path":"a"}`)}}, InputTokens: 10, CachedTokens: 4, OutputTokens: 3}
	s := modeltest.NewAnthropic(modeltest.Turns(turn))
	defer s.Close()
	for path, test := range map[string]struct{ ask, want string }{
		"/v1/messages": {`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"p"}]}`,
			`{"id":"msg_N","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,
			"content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"toolu_N_0","name":"read","input":{"path":"a"}}],
			"usage":{"input_tokens":6,"cache_read_input_tokens":4,"cache_creation_input_tokens":0,"output_tokens":3}}`},
		"/v1/messages/count_tokens": {`{"model":"m","messages":[{"role":"user","content":"p"}]}`, `{"input_tokens":15}`},
		"/v1/chat/completions": {`{"model":"m","messages":[{"role":"user","content":"p"}]}`,
			`{"id":"chatcmpl-N","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"hello",
			"tool_calls":[{"id":"call_N_0","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}}],
			"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":4}}}`},
		"/v1/responses": {`{"model":"m","input":"p"}`,
			`{"id":"resp_N","object":"response","created_at":0,"model":"m","status":"completed","incomplete_details":null,"error":null,
			"output":[{"type":"message","id":"msg_N","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]},
			{"type":"function_call","id":"fc_N_0","call_id":"call_N_0","name":"read","arguments":"{\"path\":\"a\"}","status":"completed"}],
			"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":13}}`},
	} {
		t.Run(path, func(t *testing.T) {
			res, err := http.Post(s.URL+path, "application/json", strings.NewReader(test.ask))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("status %d, %v: %s", res.StatusCode, err, got)
			}
			n := fmt.Sprint(len(s.Requests())) // of this request
			want := regexp.MustCompile(`_N\b|-N\b|_N_`).ReplaceAllStringFunc(test.want, func(id string) string { return strings.Replace(id, "N", n, 1) })
			if g, w := value(t, got), value(t, []byte(want)); !reflect.DeepEqual(g, w) {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

// A body that is not a request of the protocol is refused, and never a crash.
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
