package run

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// TestSpansHoldNoContent runs a skill with a collector and looks for prompts, values, arguments and answers in all that it
// gets. They are there only where the variable of the GenAI conventions asks for them.
func TestSpansHoldNoContent(t *testing.T) {
	var mu sync.Mutex
	var got strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(r.Body); err != nil {
				t.Error(err)
				return
			}
		}
		data, _ := io.ReadAll(body)
		mu.Lock()
		got.Write(data)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(collector.Close)
	for _, asked := range []string{"", "false", "true"} {
		m := harness.NewMachine(t)
		m.Env = append(m.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="+asked)
		m.Write("demo/SKILL.md", []byte("---\nname: demo\ndescription: Does a thing. Use when asked.\n---\n\n## Tree\n\n* bind a = \"planted-value\"\n* IF << planted-condition\n  * Say planted-prompt\n* read absent-$ARGUMENTS/planted-file.md\n"))
		m.Write("answers", []byte(`{"purpose":"condition","node":"SKILL.md#/1","value":{"value":true,"reason":"planted-reason"}}`+"\n"+`{"purpose":"leaf","node":"SKILL.md#/1/0","value":{"text":"planted-answer"}}`+"\n"))
		mu.Lock()
		got.Reset()
		mu.Unlock()
		status, stdout, stderr := m.Run("run", "./demo", "planted-argument", "--allow", "run", "--model", "replay:answers")
		mu.Lock()
		all := got.String()
		mu.Unlock()
		if !strings.Contains(all, "invoke_workflow") {
			t.Fatalf("the collector got no run: exit %d\n%s%s", status, stdout, stderr)
		}
		if has := strings.Contains(all, "planted"); has != (asked == "true") {
			t.Errorf("with %q: content is sent: %v\n%q\nexit %d\n%s%s", asked, has, all, status, stdout, stderr)
		}
	}
}
