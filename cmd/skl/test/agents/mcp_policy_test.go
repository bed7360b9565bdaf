package agents

import (
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// A skill that a rule of a policy refuses is not run for an agent, and a rule that is added while the server runs counts.
func TestMCPHoldsPolicy(t *testing.T) {
	p := harness.NewPlace(t)
	installed(t, p, "demo", "---\nname: demo\ndescription: Writes. Use when asked.\n---\n\n## Tree\n\n* Write it down >> done\n")
	path := filepath.Join(p.Home, ".config", "skl", "policy.toml")
	a := newAgent(t, p, "--allow-run")
	harness.WriteFile(t, path, "[[rule]]\nid = \"ours\"\nsources = [\"registry:corp\"]\n")
	a.fails("policy_refused", "demo")
	harness.WriteFile(t, path, "[[rule]]\nid = \"ours\"\nsourcse = [\"registry:corp\"]\n")
	a.fails("policy_invalid", "demo")
	harness.WriteFile(t, path, "[[rule]]\nid = \"ours\"\nskills = [\"other\"]\nsources = [\"registry:corp\"]\n")
	a.step(a.does("skill_run", map[string]any{"skill": "demo"}), "Write it down")
}
