package apply_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/policy"
)

// TestPolicyOfAProject shows that rules are shown, explained and tried without an install, and hold the next one.
func TestPolicyOfAProject(t *testing.T) {
	b := newBench(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(b.project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.skill("pdf", "# PDF\n")
	a := b.applier()
	if _, err := a.Install(t.Context(), apply.InstallRequest{Refs: b.refs("./src/pdf"), Hosts: []string{"claude-code"}}); err != nil {
		t.Fatal(err)
	}
	write("stricter.toml", "[[rule]]\nid = \"licensed\"\nlicences = [\"0BSD\"]\n")
	tried, err := a.TestPolicy(t.Context(), "stricter.toml", policy.Project)
	if err != nil || tried.OK || len(tried.Refusals) != 1 || tried.Refusals[0].Where.Line != 3 {
		t.Errorf("%+v, %v", tried, err)
	}
	if files, err := a.ShowPolicy(t.Context()); err != nil || len(files) != 0 {
		t.Errorf("a policy that was tried is in force: %v, %v", files, err)
	}
	write("policy.toml", "[[rule]]\nid = \"licensed\"\nlicences = [\"0BSD\"]\n")
	if files, err := a.ShowPolicy(t.Context()); err != nil || len(files) != 1 || files[0].Rules[0].Where.Line != 1 {
		t.Errorf("%v, %v", files, err)
	}
	if why, err := a.ExplainPolicy(t.Context(), "pdf"); err != nil || why.OK || why.Rules[0].State != policy.NotHolds {
		t.Errorf("%+v, %v", why, err)
	}
	if _, err := a.Install(t.Context(), apply.InstallRequest{}); !errors.Is(err, diag.Code(apply.CodePolicy)) {
		t.Errorf("%v", err)
	}
}
