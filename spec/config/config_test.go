package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

const sample = `# of this machine
[registry.corp]
url = "https://skills.corp.example/"
default = true

[namespace]
acme = "registry:corp"

[forge.corp]
url = "http://127.0.0.1:8080"

[market.tools] # the team's
ref = "acme/tools"

[origin."git.corp.example:8443"]
ca = "/etc/ssl/corp.pem"
token_command = ["pass", "show", "git"]

[origin."Localhost:443"]
insecure = true
token_env = "LOCAL_TOKEN"

[roots]
before = ["/srv/first"]
after = ["/srv/skills"]

[hosts]
enabled = ["codex"]
colour = "blue"
`

func parse(t *testing.T, src string) *Config {
	t.Helper()
	c, err := Parse([]byte(src), "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParse(t *testing.T) {
	c := parse(t, sample)
	want := Config{
		Registries: map[string]Registry{"corp": {URL: "https://skills.corp.example", Default: true}},
		Namespaces: map[string]string{"acme": "registry:corp"},
		Forges:     map[string]string{"corp": "http://127.0.0.1:8080"},
		Markets:    map[string]string{"tools": "acme/tools"},
		Origins: map[string]Origin{
			"git.corp.example:8443": {CA: "/etc/ssl/corp.pem", TokenCommand: []string{"pass", "show", "git"}},
			"localhost":             {Insecure: true, TokenEnv: "LOCAL_TOKEN"},
		},
		Hosts:  []string{"codex"},
		Before: []string{"/srv/first"}, After: []string{"/srv/skills"},
		Models: map[string]Model{}, MCP: map[string]MCP{},
	}
	got := *c
	got.Warnings, got.doc, got.file = nil, nil, ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if len(c.Warnings) != 1 || c.Warnings[0].Line != 29 || !strings.Contains(c.Warnings[0].Message, "colour") {
		t.Errorf("warnings are %+v", c.Warnings)
	}
	if !c.Origin("LOCALHOST").Insecure || !c.Origin("localhost:443").Insecure || c.Origin("localhost:80").Insecure {
		t.Error("origins are not found by host and port")
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, src, where, want string }{
		{"not TOML", "[", "config.toml:1:1", "expected key"},
		{"no url", "[registry.a]\n", "config.toml:1:11", "has no url"},
		{"two defaults", "[registry.a]\nurl = \"https://a\"\ndefault = true\n[registry.b]\nurl = \"https://b\"\ndefault = true\n", "config.toml:4:11", "both the default"},
		{"url with a password", "[registry.a]\nurl = \"https://u:p@a\"\n", "config.toml:2:7", "user or password"},
		{"forge with a password", "[forge.a]\nurl = \"ssh://u:p@a\"\n", "config.toml:2:7", "user or password"},
		{"url with a query", "[registry.a]\nurl = \"https://a?t=1\"\n", "config.toml:2:7", "query"},
		{"url of another kind", "[registry.a]\nurl = \"ext::sh\"\n", "config.toml:2:7", "not an address"},
		{"forge with the name of something else", "[forge.npm]\nurl = \"https://a\"\n", "config.toml:1:8", "name of a forge"},
		{"market of a market", "[market.a]\nref = \"market:b/c\"\n", "config.toml:2:7", "marketplace itself"},
		{"market with a bad ref", "[market.a]\nref = \"b\"\n", "config.toml:2:7", "invalid reference"},
		{"market with a bad name", "[market.\"a/b\"]\nref = \"b/c\"\n", "config.toml:1:9", "name of a market"},
		{"origin with a path", "[origin.\"a/b\"]\n", "config.toml:1:9", "not a host"},
		{"origin with a scheme", "[origin.\"https://a\"]\n", "config.toml:1:9", "not a host"},
		{"origin in two spellings", "[origin.a]\n[origin.\"A:443\"]\n", "config.toml:2:9", "twice"},
		{"empty command", "[origin.a]\ntoken_command = []\n", "config.toml:2:17", "not a program"},
		{"token in place of its variable", "[origin.a]\ntoken_env = \"a b\"\n", "config.toml:2:13", "not the name"},
		{"a misspelt url", "[registry.a]\nurll = \"https://a\"\n", "config.toml:2:8", "key urll is not known; did you mean url?: registry a has no url"},
		{"a misspelt kind", "[model.x]\nmodel = \"m\"\nkindd = \"openai\"\n", "config.toml:3:9", "key kindd is not known; did you mean kind?: model x has kind \"x\""},
		{"a misspelt skill", "[[allow]]\nskil = \"a\"\nwhat = [\"run\"]\n", "config.toml:2:8", "key skil is not known; did you mean skill?: an [[allow]] needs"},
		{"a misspelt command", "[mcp.x]\ncomand = [\"a\"]\n", "config.toml:2:10", "key comand is not known; did you mean command?: mcp server x needs"},
		{"a misspelt namespace", "[[signer]]\nnamespac = \"a\"\n", "config.toml:2:12", "did you mean namespace?"},
		{"binding without a kind", "[namespace]\na = \"b\"\n", "config.toml:2:5", "not registry:NAME"},
		{"model of an unknown kind", "[model.a]\n", "config.toml:1:8", "kind"},
		{"model with an odd API", "[model.openai]\napi = \"soap\"\n", "config.toml:2:7", "chat or responses"},
		{"sandbox that is none", "[run]\nsandbox = \"maybe\"\n", "config.toml:2:11", "auto, strict or off"},
		{"mcp server without a way in", "[mcp.a]\nenv = [\"X\"]\n", "config.toml:1:6", "command or a url"},
		{"mcp server with two", "[mcp.a]\ncommand = [\"x\"]\nurl = \"https://a\"\n", "config.toml:1:6", "command or a url"},
		{"search path that depends on where skl is started", "[roots]\nafter = [\"skills\"]\n", "config.toml:2:10", "not an absolute path"},
		{"search path that is none", "[roots]\nbefore = [\"/\"]\n", "config.toml:2:11", "cannot hold skills"},
		{"consent for nobody", "[[allow]]\ndigest = \"sha256:" + strings.Repeat("a", 64) + "\"\nwhat = [\"run\"]\n", "config.toml:1:3", "needs skill"},
		{"consent for any files", "[[allow]]\nskill = \"a\"\ndigest = \"*\"\nwhat = [\"run\"]\n", "config.toml:3:10", "does not have the form"},
		{"table that is none", "market = 1\n", "config.toml:1:10", "not a table"},
	}
	for _, tt := range tests {
		c, err := Parse([]byte(tt.src), "config.toml")
		e, ok := err.(*diag.Error)
		if !ok || c != nil || e.Class != diag.Failed || e.Code != "config_invalid" || e.Where.String() != tt.where || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: %v, want %q at %s", tt.name, err, tt.want, tt.where)
		}
	}
}

func TestMerge(t *testing.T) {
	machine := parse(t, sample)
	user := parse(t, `
[registry.mine]
url = "https://mine.example"
default = true
[namespace]
acme = "forge:github"
[origin."git.corp.example:8443"]
token_env = "MINE"
[market.own]
ref = "./market"
[roots]
after = ["~/skills"]
`)
	c := Merge(machine, user)
	if name, _, _ := c.DefaultRegistry(); name != "mine" || c.Registries["corp"] != (Registry{URL: "https://skills.corp.example"}) {
		t.Errorf("registries are %+v", c.Registries)
	}
	if c.Namespaces["acme"] != "forge:github" || len(c.Markets) != 2 || !slices.Equal(c.Hosts, []string{"codex"}) {
		t.Errorf("merged: %+v", c)
	}
	if !slices.Equal(c.Before, []string{"/srv/first"}) || !slices.Equal(c.After, []string{"~/skills", "/srv/skills"}) {
		t.Errorf("search paths are %q and %q", c.Before, c.After)
	}
	if o := c.Origin("git.corp.example:8443"); o.TokenEnv != "MINE" || o.TokenCommand != nil || o.CA != "" {
		t.Errorf("the user's origin inherits from the machine's: %+v", o)
	}
	if _, _, ok := machine.DefaultRegistry(); !ok || machine.Namespaces["acme"] != "registry:corp" {
		t.Error("merging changes the machine's config")
	}
	if err := c.SetMarket("x", "o/r"); err == nil {
		t.Error("a merged config was edited")
	}
	if Merge(nil, nil).Origin("x").Insecure {
		t.Error("nothing configured makes an origin insecure")
	}
}

func TestAllow(t *testing.T) {
	c, digest := parse(t, "# mine\n"), "sha256:"+strings.Repeat("a", 64)
	for range 2 { // the second changes nothing
		if err := c.AddAllow(Allow{"pdf", digest, []string{"run", "network"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Allowed("pdf", digest); !slices.Equal(got, []string{"run", "network"}) || c.Allowed("ocr", digest) != nil || c.Allowed("pdf", "sha256:b") != nil {
		t.Errorf("allowed is %q", got)
	}
	want := "# mine\n\n[[allow]]\nskill = \"pdf\"\ndigest = \"" + digest + "\"\nwhat = [\"run\", \"network\"]\n"
	if string(c.Bytes()) != want {
		t.Errorf("the file is\n%s\nwant\n%s", c.Bytes(), want)
	}
}

func TestForgeURL(t *testing.T) {
	c := parse(t, sample)
	for _, tt := range [][2]string{
		{"github", "https://github.com/o/r.git"}, {"gitlab", "https://gitlab.com/o/r.git"},
		{"codeberg", "https://codeberg.org/o/r.git"}, {"corp", "http://127.0.0.1:8080/o/r.git"},
	} {
		if got, err := c.ForgeURL(tt[0], "o", "r"); err != nil || got != tt[1] {
			t.Errorf("%s: %s, %v", tt[0], got, err)
		}
	}
	m := Merge(nil, parse(t, "[forge.github]\nurl = \"file:///srv/git/\"\n"))
	got, err := m.ForgeURL("github", "o", "r")
	if err != nil || got != "https://github.com/o/r.git" || m.Reach(got) != "file:///srv/git/o/r.git" || m.Canonical(m.Reach(got)) != got {
		t.Errorf("a configured github: %s at %s, %v", got, m.Reach(got), err)
	}
	for _, other := range []string{"https://github.com.example/o/r.git", "https://github.company/o/r", "https://gitlab.com/o/r.git", "git@github.com:o/r.git", "https://github.com"} {
		if m.Reach(other) != other {
			t.Errorf("%s is fetched from %s", other, m.Reach(other))
		}
	}
	if at := m.Reach("https://GitHub.com/o/r"); at != "file:///srv/git/o/r" {
		t.Errorf("the case of a host: %s", at)
	}
	_, err = c.ForgeURL("gitub", "o", "r")
	if e, ok := err.(*diag.Error); !ok || e.Code != "unknown_forge" || !slices.Equal(e.Candidates, []string{"codeberg", "corp", "github", "gitlab"}) {
		t.Errorf("unknown forge: %v", err)
	}
}

func TestMarkets(t *testing.T) {
	c := parse(t, sample)
	steps := []struct {
		err      error
		old, new string
	}{
		{c.SetMarket("tools", "acme/tools"), "", ""},
		{c.RemoveMarket("absent"), "", ""},
		{c.SetMarket("tools", "acme/tools2"), `"acme/tools"`, `"acme/tools2"`},
		{c.SetMarket("b.c", "./b"), "colour = \"blue\"\n", "colour = \"blue\"\n\n[market.\"b.c\"]\nref = \"./b\"\n"},
		{c.RemoveMarket("tools"), "[market.tools] # the team's\nref = \"acme/tools2\"\n\n", ""},
	}
	want := sample
	for i, s := range steps {
		if s.err != nil {
			t.Errorf("step %d: %v", i, s.err)
		}
		want = strings.Replace(want, s.old, s.new, 1)
	}
	if got := string(c.Bytes()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := c.SetMarket("x", "x"); diag.ClassOf(err) != diag.Failed || string(c.Bytes()) != want {
		t.Errorf("a bad ref was written: %v", err)
	}
}

// A configuration that Parse accepts is accepted again after an edit, and differs in that edit alone.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("market = { x = { ref = 'o/r' } }\n[origin.'[::1]:8']\ntoken_command = 'a b'")
	f.Fuzz(func(t *testing.T, src string) {
		c, err := Parse([]byte(src), "config.toml")
		if err != nil {
			return
		}
		before := *c
		if err := c.SetMarket("fuzz", "o/r"); err != nil {
			return
		}
		if c.Markets["fuzz"] != "o/r" {
			t.Fatalf("%q: no market in %q", src, c.Bytes())
		}
		if err := c.RemoveMarket("fuzz"); err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		delete(before.Markets, "fuzz")
		if fmt.Sprint(c.Markets, c.Origins, c.Forges, c.Registries) != fmt.Sprint(before.Markets, before.Origins, before.Forges, before.Registries) {
			t.Fatalf("%q becomes %q", src, c.Bytes())
		}
	})
}

func ExampleConfig_SetMarket() {
	c, _ := Parse([]byte("# mine\n"), "config.toml")
	c.SetMarket("claude", "github:anthropics/skills")
	fmt.Print(string(c.Bytes()))
	// Output:
	// # mine
	//
	// [market.claude]
	// ref = "github:anthropics/skills"
}

func TestSigners(t *testing.T) {
	src := `[[signer]]
namespace = "acme"
key = "/etc/skl/acme.pub"
required = true

[[signer]]
namespace = "*"
issuer = "https://ci.example"
identity = "https://git.example/acme/.*"
trusted_root = "/etc/skl/root.json"
`
	machine, err := Parse([]byte(src), "/etc/skl/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	user, err := Parse([]byte("[[signer]]\nnamespace = \"h.example/b\"\nkey = \"b.pub\"\n"), "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := []Signer{
		{Namespace: "acme", Key: "/etc/skl/acme.pub", Required: true, File: "/etc/skl/config.toml"},
		{Namespace: "*", Issuer: "https://ci.example", Identity: "https://git.example/acme/.*", TrustedRoot: "/etc/skl/root.json", File: "/etc/skl/config.toml"},
		{Namespace: "h.example/b", Key: "b.pub", File: "config.toml"},
	}
	if got := Merge(machine, user).Signers; !slices.Equal(got, want) {
		t.Errorf("merged signers = %+v, want %+v", got, want)
	}
	if !want[0].Wants("acme") || want[0].Wants("acme2") || !want[1].Wants("acme2") {
		t.Error("a signer is about its namespace, or all with *")
	}
	for _, tt := range []struct{ name, src, want string }{
		{"no namespace", "[[signer]]\nkey = \"k\"\n", "config.toml:1:3: the signer has no namespace"},
		{"nobody", "[[signer]]\nnamespace = \"a\"\n", "neither a key nor an issuer"},
		{"both", "[[signer]]\nnamespace = \"a\"\nkey = \"k\"\nissuer = \"i\"\n", "write two of them"},
		{"ssh and key", "[[signer]]\nnamespace = \"a\"\nkey = \"k\"\nallowed_signers = \"s\"\n", "more than one of key, issuer, allowed_signers and oms"},
		{"ssh and oms", "[[signer]]\nnamespace = \"a\"\noms = \"k\"\nallowed_signers = \"s\"\n", "write one signer for each"},
		{"oms and issuer", "[[signer]]\nnamespace = \"a\"\noms = \"k\"\nissuer = \"i\"\n", "write one signer for each"},
		{"no root", "[[signer]]\nnamespace = \"a\"\nissuer = \"i\"\nidentity = \"x\"\n", "needs issuer, identity and trusted_root"},
		{"one table", "[signer]\nnamespace = \"a\"\n", "write [[signer]]"},
	} {
		if _, err := Parse([]byte(tt.src), "config.toml"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want it to contain %q", tt.name, err, tt.want)
		}
	}
}
