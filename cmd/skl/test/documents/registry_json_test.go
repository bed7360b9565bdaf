package documents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/testdata/long"
)

// TestRegistryJSON holds what each subcommand of registry, and login and logout, print against the program's
// own schemas.
func TestRegistryJSON(t *testing.T) {
	long.Slow(t)
	m := harness.NewMachine(t)
	data := filepath.Join(filepath.Dir(m.Project), "registry")
	ready := m.Serve("--data", data)
	token, err := os.ReadFile(ready.AdminTokenFile)
	if err != nil {
		t.Fatal(err)
	}
	name := "SKL_TOKEN_" + strings.NewReplacer(".", "_", ":", "___").Replace(ready.Addr)
	m.Env = append(m.Env, name+"="+strings.TrimSpace(string(token)))
	m.Write("pdf/SKILL.md", []byte("---\nname: pdf\ndescription: Fills forms.\n---\n# PDF\n"))
	m.Write(filepath.Join("..", "home", ".config", "skl", "config.toml"), []byte("[registry.corp]\nurl = \""+ready.URL+"\"\ndefault = true\n"))
	backup := filepath.Join(filepath.Dir(m.Project), "backup")

	for _, tt := range []struct{ command, args string }{
		{"registry namespace create", "acme --approval manual"},
		{"registry namespace set", "acme --public"},
		{"registry namespace list", ""},
		{"registry namespace grant", "acme alice reader"},
		{"registry namespace grants", "acme"},
		{"registry namespace ungrant", "acme alice"},
		{"registry namespace signer", "acme --issuer https://issuer.example --identity .*@acme.example"},
		{"registry token create", "--namespace acme --name ci"},
		{"registry token list", ""},
		{"publish", "pdf acme/pdf@1.0.0"},
		{"registry approve", "acme/pdf@1.0.0"},
		{"registry quarantine", "acme/pdf@1.0.0 --reason odd"},
		{"registry namespace create", "copy"},
		{"registry mirror", "acme --from corp --into copy --dry-run"},
		{"registry clients", ""},
		{"registry log verify", ""},
		{"registry log show", ""},
		{"registry doctor", ""},
		{"registry doctor", "--data " + data},
		{"registry fsck", "--data " + data},
		{"registry scrub", "--data " + data},
		{"registry backup", backup + " --data " + data},
		{"registry restore", backup + " --data " + backup + "2"},
		{"registry gc", "--data " + backup + "2 --dry-run"},
		{"registry migrate", "--data " + backup + "2 --to " + backup + "3 --dry-run"},
		{"registry token list", "--data " + backup + "2"},
		{"registry init", "--dry-run"},
		{"logout", ready.URL},
	} {
		m.AnswerAs(tt.command, 0, append(strings.Fields(tt.command), strings.Fields(tt.args)...)...)
	}
	for _, tt := range []struct {
		status  int
		command string
		args    string
	}{
		{2, "registry approve", "acme/pdf@9.0.0"},
		{1, "registry gc", "--data " + data},
		{5, "login", ready.URL},
		{4, "registry serve", "--open --addr 0.0.0.0:0 --data x"},
	} {
		out := m.AnswerAs(tt.command, tt.status, append(strings.Fields(tt.command), strings.Fields(tt.args)...)...)
		harness.HasFields(t, "the error", harness.HasFields(t, "an error", out, "error")["error"], harness.ErrorFields)
	}
	var line any
	text, _ := json.Marshal(map[string]string{"addr": ready.Addr, "url": ready.URL, "data": ready.Data, "admin_token_file": ready.AdminTokenFile})
	json.Unmarshal(text, &line)
	schema, err := m.Schema("registry serve").Resolve(nil)
	if err == nil {
		err = schema.Validate(line)
	}
	if err != nil {
		t.Errorf("the line of registry serve: %v", err)
	}
}
