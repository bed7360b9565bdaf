package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/pelletier/go-toml/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/spec/diag"
)

// Each snippet is the language of its host, and names the program and its arguments exactly, whatever they hold.
func TestSnippet(t *testing.T) {
	args := []string{"mcp", "--allow", `bash(git *),"x" \ <&>` + "\t日本 \u2028"}
	for _, program := range []string{"/usr/local/bin/skl", `C:\Program Files\skl\skl.exe`, "/opt/日本 \"q\"/skl"} {
		for _, host := range Hosts() {
			text, err := Snippet(host, program, args)
			if err != nil {
				t.Fatal(err)
			}
			var config map[string]map[string]struct {
				Command any
				Args    []string
			}
			if host == "codex" {
				err = toml.Unmarshal([]byte(text), &config)
			} else {
				err = json.Unmarshal([]byte(text), &config)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", host, err, text)
				continue
			}
			for _, servers := range config {
				got := append([]string{fmt.Sprint(servers["skl"].Command)}, servers["skl"].Args...)
				if list, ok := servers["skl"].Command.([]any); ok {
					got = nil
					for _, s := range list {
						got = append(got, s.(string))
					}
				}
				if want := append([]string{program}, args...); !slices.Equal(got, want) {
					t.Errorf("%s: got %q, want %q", host, got, want)
				}
			}
		}
	}
	if text, err := Snippet("emacs", "skl", nil); text != "" || diag.ClassOf(err) != diag.Misuse {
		t.Errorf("for a host that nobody knows: %q, %v", text, err)
	}
}

type nothing struct{ io.Writer }

func (nothing) Close() error { return nil }

// A server without input ends in peace; one with a group that does not exist never begins.
func TestServe(t *testing.T) {
	var out bytes.Buffer
	if err := Serve(t.Context(), Options{Code: &serve.Tools{}, In: io.NopCloser(strings.NewReader("")), Out: nothing{&out}}); err != nil || out.Len() > 0 {
		t.Errorf("got %v, %q", err, out.String())
	}
	err := Serve(t.Context(), Options{Tools: []string{"run", "cooking"}, In: io.NopCloser(strings.NewReader("")), Out: nothing{&out}})
	if diag.ClassOf(err) != diag.Misuse || out.Len() > 0 {
		t.Errorf("got %v, %q", err, out.String())
	}
}

// A call that panics is an error of that call, and the session goes on.
func TestPanic(t *testing.T) {
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	var log bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), Options{Tools: []string{SkillText}, In: serverIn, Out: serverOut, Log: &log, Skills: Skills{
			Search: func(context.Context, string, int) (skillsearch.Answer, error) { panic("oh no") },
			Read: func(context.Context, string, string) (inspect.Text, error) {
				return inspect.Text{Skill: "pdf", File: "SKILL.md", Data: []byte("# PDF\n")}, nil
			},
		}})
	}()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		answer, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "skill_search", Arguments: map[string]any{"task": "t"}})
		if err != nil || !answer.IsError || !strings.Contains(answer.Content[0].(*sdk.TextContent).Text, `"code":"internal_error"`) {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	if answer, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "skill_read", Arguments: map[string]any{"name": "pdf"}}); err != nil || answer.IsError {
		t.Errorf("after it: %+v, %v", answer, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if text := log.String(); strings.Count(text, "skl: tools/call: panic: oh no\n") != 2 || !strings.Contains(text, "TestPanic") {
		t.Errorf("the log is %q", text)
	}
}
