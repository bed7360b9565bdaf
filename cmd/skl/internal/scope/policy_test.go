package scope

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/policy"
)

type silent struct{}

func (silent) Note(string, ...any)   {}
func (silent) Detail(string, ...any) {}
func (silent) Warn(string, ...any)   {}
func (silent) Hint(string, ...any)   {}

// TestPolicyOfMachine shows the order of the files, that the machine's exceptions count for all and the project's for its own rules alone.
func TestPolicyOfMachine(t *testing.T) {
	home, project, machine := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(text string, path ...string) {
		t.Helper()
		name := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *Scope {
		sc, err := Open(Options{Dir: project, Scope: "project", Offline: true, Tell: silent{}, Getenv: func(key string) string {
			return map[string]string{"HOME": home}[key]
		}})
		if err != nil {
			t.Fatal(err)
		}
		sc.Machine = machine
		return sc
	}
	exception := "[[exception]]\nrule = \"r\"\nskills = [\"pdf\"]\nuntil = 2999-01-01\nreason = \"x\"\nby = \"y\"\n"
	rule := "[[rule]]\nid = \"r\"\nsources = []\n"
	write(rule, machine, "policy.toml")
	write(rule+exception, home, ".config", "skl", "policy.toml")
	write(rule+exception, project, "policy.toml")
	refusals := func() (out []string) {
		t.Helper()
		p, err := open().Policy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Check([]policy.Subject{{Skill: "pdf", Names: []string{"pdf"}, Sure: []string{"pdf"}}}, time.Now()) {
			out = append(out, r.Policy)
		}
		return out
	}
	if got := refusals(); len(got) != 1 || got[0] != "machine" {
		t.Errorf("refused by %v, want the machine alone", got)
	}
	write(rule+exception, machine, "policy.toml")
	if got := refusals(); len(got) != 0 {
		t.Errorf("refused by %v in spite of the machine's exception", got)
	}
	write("[[rule", machine, "policy.toml")
	if _, err := open().Policy(t.Context()); diag.ClassOf(err) != diag.Refused {
		t.Errorf("a broken policy of the machine: %v", err)
	}
}
