package main

import (
	"path/filepath"
	"testing"
)

// A skill that a rule of a policy refuses is not run for an agent, and a rule that is added while the server runs counts.
func TestMCPHoldsPolicy(t *testing.T) {
	p := newPlace(t)
	installed(t, p, "demo", "---\nname: demo\ndescription: Writes. Use when asked.\n---\n\n## Tree\n\n* Write it down >> done\n")
	path := filepath.Join(p.home, ".config", "skl", "policy.toml")
	a := newAgent(t, p, "--allow-run")
	write(t, path, "[[rule]]\nid = \"ours\"\nsources = [\"registry:corp\"]\n")
	a.fails("policy_refused", "demo")
	write(t, path, "[[rule]]\nid = \"ours\"\nsourcse = [\"registry:corp\"]\n")
	a.fails("policy_invalid", "demo")
	write(t, path, "[[rule]]\nid = \"ours\"\nskills = [\"other\"]\nsources = [\"registry:corp\"]\n")
	a.step(a.does("skill_run", map[string]any{"skill": "demo"}), "Write it down")
}
