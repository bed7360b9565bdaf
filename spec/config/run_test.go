package config

import (
	"reflect"
	"testing"
)

const runSample = `[run]
model = "local:small"
sandbox = "strict"
hosts = ["api.example:8443"]

[model.local]
kind = "openai"
base_url = "http://127.0.0.1:11434/v1"
key_env = "LOCAL_KEY"
model = "big"
api = "chat"

[mcp.vault]
command = ["vault-mcp", "--stdio"]
env = ["VAULT_ADDR"]
`

func TestParseRun(t *testing.T) {
	c := parse(t, runSample)
	if want := (Run{Model: "local:small", Sandbox: "strict", Hosts: []string{"api.example:8443"}}); !reflect.DeepEqual(c.Run, want) {
		t.Errorf("run: got %+v, want %+v", c.Run, want)
	}
	if want := map[string]Model{"local": {Kind: "openai", BaseURL: "http://127.0.0.1:11434/v1", KeyEnv: "LOCAL_KEY", Model: "big", API: "chat"}}; !reflect.DeepEqual(c.Models, want) {
		t.Errorf("models: got %+v, want %+v", c.Models, want)
	}
	if want := map[string]MCP{"vault": {Command: []string{"vault-mcp", "--stdio"}, Env: []string{"VAULT_ADDR"}}}; !reflect.DeepEqual(c.MCP, want) {
		t.Errorf("mcp: got %+v, want %+v", c.MCP, want)
	}
}

// The user's file wins key by key; the machine's hosts and servers stay.
func TestMergeRun(t *testing.T) {
	user := parse(t, "[run]\nmodel = \"manual\"\n[mcp.other]\nurl = \"https://mcp.example\"\n")
	c := Merge(parse(t, runSample), user)
	if want := (Run{Model: "manual", Sandbox: "strict", Hosts: []string{"api.example:8443"}}); !reflect.DeepEqual(c.Run, want) {
		t.Errorf("got %+v, want %+v", c.Run, want)
	}
	if len(c.MCP) != 2 || len(c.Models) != 1 {
		t.Errorf("got %d servers and %d models", len(c.MCP), len(c.Models))
	}
}
