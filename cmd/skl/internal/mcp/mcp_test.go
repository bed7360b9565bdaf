package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/skl-project/skl/index/serve"
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
