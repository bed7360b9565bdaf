package agents

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// A line that is no message is answered, and the session goes on: through the real program's input and output.
func TestMCPLines(t *testing.T) {
	p := harness.NewPlace(t)
	cmd := p.Command("mcp", "--tools", "skills")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		ID     any
		Result map[string]any
		Error  *struct {
			Code    int
			Message string
		}
	}
	answers := make(chan answer, 100)
	go func() {
		defer close(answers)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			text, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var a answer
			if err := json.Unmarshal(text, &a); err != nil {
				t.Errorf("%.200q is no answer: %v", text, err)
			}
			answers <- a
		}
	}()
	next := func(what string) answer {
		t.Helper()
		select {
		case a, ok := <-answers:
			if !ok {
				t.Fatalf("%s ended the session: %s", what, &stderr)
			}
			return a
		case <-time.After(30 * time.Second):
			t.Fatalf("%s has no answer", what)
		}
		return answer{}
	}
	send := func(text string) {
		t.Helper()
		if _, err := io.WriteString(in, text); err != nil {
			t.Fatalf("%.100q: %v %s", text, err, &stderr)
		}
	}
	n := 0
	alive := func(what string) { // and nothing else was answered
		t.Helper()
		n++
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", n))
		if a := next(what); a.ID != float64(n) || a.Error != nil {
			t.Fatalf("after %s: %+v %+v", what, a, a.Error)
		}
	}
	send(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n")
	if a := next("initialize"); a.ID != "first" || a.Result["serverInfo"] == nil {
		t.Fatalf("initialize: %+v", a)
	}
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	alive("initialize")
	for _, c := range []struct {
		name, line string
		code       int
		says       string
		id         any
	}{
		{"no JSON", "hello\n", -32700, "line 4 is not JSON: ", nil},
		{"half a message", `{"jsonrpc":"2.0","id":` + "\n", -32700, "is not JSON", nil},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n", -32700, "is not JSON", nil},
		{"NUL", "\x00\n", -32700, "is not JSON", nil},
		{"NUL in a message", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x00ng\"}\n", -32700, "is not JSON", nil},
		{"half a character", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xe2\x82\"}\n", -32700, "is not UTF-8", nil},
		{"UTF-16", "\xff\xfe{\x00}\x00\n", -32700, "is not UTF-8", nil},
		{"a number", "7\n", -32600, "is not a message of JSON-RPC 2.0", nil},
		{"null", "null\n", -32600, "is not a message of JSON-RPC 2.0", nil},
		{"an empty object", "{}\n", -32600, "is not a message of JSON-RPC 2.0", nil},
		{"another version", `{"jsonrpc":"1.0","id":"x","method":"ping"}` + "\n", -32600, "version tag", "x"},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n", -32600, "is not a message of JSON-RPC 2.0", nil},
		{"an id and nothing else", `{"jsonrpc":"2.0","method":7,"id":9}` + "\n", -32600, "is not a message of JSON-RPC 2.0", 9.0},
		{"an empty batch", "[]\n", -32600, "is a batch of 0 messages", nil},
		{"half a batch", "[{\n", -32700, "is not JSON", nil},
		{"a batch in a batch", "[[]]\n", -32600, "is not a message of JSON-RPC 2.0", nil},
		{"a great batch", "[" + strings.Repeat("1,", 2000) + "1]\n", -32600, "is a batch of 2001 messages", nil},
		{"a long batch", "[" + strings.Repeat(" ", 2<<20) + "]\n", -32600, "is a batch of more than 1048576 bytes", nil},
		{"depth", strings.Repeat(`{"a":`, 20_000) + strings.Repeat("}", 20_000) + "\n", -32700, "is not JSON", nil},
		{"a long line", strings.Repeat("x", 17<<20) + "\n", -32700, "is longer than 16777216 bytes", nil},
	} {
		send(c.line)
		a := next(c.name)
		if a.Error == nil || a.Error.Code != c.code || !strings.Contains(a.Error.Message, c.says) || a.ID != c.id {
			t.Errorf("%s: %+v %+v, want %d, %q", c.name, a, a.Error, c.code, c.says)
		}
		alive(c.name)
	}
	for what, line := range map[string]string{"an empty line": "\n", "blanks": " \t\r\n", "an answer that nobody asked for": `{"jsonrpc":"2.0","id":77,"result":{}}` + "\n",
		"a notification of nothing known": `{"jsonrpc":"2.0","method":"notifications/none"}` + "\n"} {
		send(line)
		alive(what)
	}
	send(`{"jsonrpc":"2.0","id":"crlf","method":"ping"}` + "\r\n")
	if a := next("CRLF"); a.ID != "crlf" || a.Error != nil {
		t.Errorf("CRLF: %+v", a)
	}
	send(`[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","id":"b2","method":"tools/list"},3]` + "\n")
	got := map[any]bool{}
	for range 3 {
		a := next("a batch")
		got[a.ID] = a.Error == nil
	}
	if !got["b1"] || !got["b2"] || got[nil] {
		t.Errorf("a batch: %v", got)
	}

	// 100 MB without a line feed are not kept.
	chunk := strings.Repeat("x", 1<<20)
	for range long.Of(30, 100, 100) {
		send(chunk)
	}
	send("\n")
	if a := next("100 MB"); a.Error == nil || a.Error.Code != -32700 {
		t.Errorf("100 MB: %+v", a)
	}
	alive("100 MB")
	if runtime.GOOS == "linux" {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		var kib int
		if _, serr := fmt.Sscan(peak, &kib); err != nil || serr != nil || kib > 200<<10 {
			t.Errorf("%d KiB at most were resident: %v %v", kib, err, serr)
		}
	}
	// The last line may lack its end.
	send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	in.Close()
	if a := next("the last line"); a.ID != "last" || a.Error != nil {
		t.Errorf("the last line: %+v", a)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &stderr)
	}
}
