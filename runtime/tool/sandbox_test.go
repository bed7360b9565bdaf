package tool

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
)

// With the real sandbox: programs work in the working directory, with the person's interpreters, and see nothing else.
func TestConfined(t *testing.T) {
	report := sandbox.Probe()
	if report.Tier != sandbox.Tier1 && report.Tier != sandbox.Tier2 {
		t.Skip("no files are confined here: ", report.Tier)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(base, "secret")
	put(t, secret, "SECRET")
	skillDir := filepath.Join(base, "skill")
	put(t, filepath.Join(skillDir, "data"), "data of the skill\n")
	config := Config{WorkDir: filepath.Join(base, "work"), SkillDir: skillDir, Consent: yes, Exec: sandbox.Run, Floor: sandbox.Tier2, Path: os.Getenv("PATH"), Home: os.Getenv("HOME")}
	d, work := open(t, config, "in", "in\n")
	for _, c := range []struct{ command, want string }{
		{"cat in && echo made > out && cat out", "in\nmade\n"},
		{"cat " + filepath.Join(skillDir, "data"), "data of the skill\n"},
		{"cat " + secret + " 2>/dev/null || echo no", "no\n"},
		{"echo x 2>/dev/null >> " + filepath.Join(skillDir, "data") + " || echo no", "no\n"},
		{"yes | head -c 9000000 | wc -c", "9000000\n"},
	} {
		text, _ := call(d, "bash", "command", c.command)
		if strings.TrimSpace(text) != strings.TrimSpace(c.want) && !strings.HasSuffix(text, c.want) || strings.Contains(text, "SECRET") {
			t.Errorf("%s: %q, want %q", c.command, text, c.want)
		}
	}
	for _, s := range []run.Script{
		{Path: "x.sh", Text: "echo \"$SKL_ARG_A\" > from_sh; cat from_sh", Env: map[string]string{"a": "fine"}},
		{Path: "x.py", Text: "import json, os\nprint(os.environ['SKL_ARG_A'])", Env: map[string]string{"a": "fine"}},
		{Path: "x.js", Text: "console.log(process.env.SKL_ARG_A)", Env: map[string]string{"a": "fine"}},
	} {
		if _, _, err := d.interpreter(s); err != nil {
			continue // it is not on this machine
		}
		if r, _, err := d.Script(context.Background(), s); err != nil || r.Text != "fine\n" {
			t.Errorf("%s: %+v", s.Path, r)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "from_sh")); err != nil {
		t.Error(err)
	}
	// A skill that declares no filesystem effect has none through bash.
	config.SideEffects = []string{"external"}
	d, _ = open(t, config)
	if text, _ := call(d, "bash", "command", "echo x 2>/dev/null > new || echo no"); text != "no\n" && !strings.HasSuffix(text, "no\n") {
		t.Errorf("%q", text)
	}
	if _, err := os.Stat(filepath.Join(work, "new")); err == nil {
		t.Error("it wrote a file")
	}
	config.Exec = func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{}, diag.New(diag.Refused, "sandbox_floor", "not here")
	}
	d, _ = open(t, config)
	if text, denied := call(d, "bash", "command", "true"); !denied || text != "not allowed: not here" {
		t.Error(text)
	}
}
