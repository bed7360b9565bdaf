package skill

import (
	"slices"
	"strings"
	"testing"
)

// A limit holds wherever it is written, and what looks like one is read as its strictest value.
func TestLimitsWithoutFormat(t *testing.T) {
	const free, none = "", "none"
	for _, tt := range []struct {
		name, lines string
		by          Invocation
		tools       string // as Tools.Words says
		effects     string
		rules       string
	}{
		{"none", "", Auto, free, "", ""},
		{"deny", "tools: {deny: [bash]}\n", Auto, "never bash", "", RuleNoFormat},
		{"allow", "tools:\n  allow: [read]\n", Auto, "only read", "", RuleNoFormat},
		{"in metadata", "metadata:\n  corteza-tools-deny: bash\n", Auto, "never bash", "", RuleNoFormat},
		{"wrong", "tools: {deny: bash}\n", Auto, none, "", RuleTools + " " + RuleNoFormat},
		{"one more key", "tools: {deny: [bash], ask: [edit]}\n", Auto, none, "", RuleTools + " " + RuleNoFormat},
		{"switches", "tools: {bash: false}\n", Auto, none, "", RuleTools + " " + RuleNoFormat},
		{"in the singular", "tool: {deny: [bash]}\n", Auto, none, "", RuleNearSafety},
		{"not indented", "tools:\ndeny: [bash]\n", Auto, none, "", RuleNearSafety},
		{"one word", "tools_deny: [bash]\n", Auto, none, "", RuleNearSafety},
		{"below metadata", "metadata:\n  tools:\n    deny: [bash]\n", Auto, none, "", RuleMetaValue + " " + RuleNearSafety},
		{"misspelt in metadata", "metadata:\n  corteza-tool-deny: bash\n", Auto, none, "", RuleNearSafety},
		{"agents", "tools: [claude, cursor]\n", Auto, free, "", ""},
		{"what a list means", "tools: [Read, Bash]\n", Auto, free, "", RuleNoFormat},
		{"requirements", "tools:\n  python: \">=3.9\"\n", Auto, free, "", RuleNoFormat},
		{"hooks", "hooks: {}\n", Auto, free, "", RuleHostKey},

		{"who", "model_invocation: user-only\n", UserOnly, free, "", RuleNoFormat},
		{"who, wrong", "model_invocation: never\n", Disabled, free, "", RuleModelInvocation + " " + RuleNoFormat},
		{"who, misspelt", "model-invocations: user-only\n", Disabled, free, "", RuleNearSafety},
		{"who, twice", "model_invocation: auto\ndisable-model-invocation: true\n", UserOnly, free, "", RuleNoFormat + " " + RuleHostKey + " " + RuleInvocationConflict},
		{"effects", "side_effects: [network]\n", Auto, free, "network", RuleNoFormat},
		{"effects, misspelt", "side-effect: [none]\n", Auto, free, "external", RuleNearSafety},

		{"agent's", "disallowed-tools: Bash, Edit\n", Auto, "never bash, edit", "", RuleHostKey},
		{"agent's list", "disallowed-tools: [\"Bash(rm *)\", mcp__files__delete, mcp__web]\n", Auto, "never bash(rm *), files::delete, web::*", "", RuleHostKey},
		{"agent's, alone", "disallowed-tools: Task TodoWrite\n", Auto, free, "", RuleHostKey},
		{"agent's, wrong", "disallowed-tools: \"Bash(rm\"\n", Auto, none, "", RuleHostKey + " " + RuleTools},
		{"agent's, a map", "disallowed-tools: {bash: true}\n", Auto, none, "", RuleHostKey + " " + RuleTools},
		{"agent's, empty", "disallowed-tools:\n", Auto, free, "", RuleHostKey},
		{"agent's, misspelt", "disallowedTools: Bash\n", Auto, "never bash", "", RuleNearSafety},
		{"agent's, in metadata", "metadata:\n  disallowed-tools: Bash\n", Auto, "never bash", "", ""},
		{"both", "tools: {deny: [read]}\ndisallowed-tools: Bash\n", Auto, "never read, bash", "", RuleNoFormat + " " + RuleHostKey},
		{"a switch", "disable_model_invocation: true\n", UserOnly, free, "", RuleNearSafety},
		{"a switch, misspelt", "user-invokable: false\n", ModelOnly, free, "", RuleNearSafety},
		{"a switch in metadata", "metadata:\n  disable-model-invocation: \"true\"\n", UserOnly, free, "", ""},
		{"misspelt in metadata", "metadata:\n  disallow-tools: Bash\n", Auto, free, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := mustRead(t, minimal(tt.lines))
			var rules []string
			for _, w := range d.Warnings {
				if !slices.Contains(rules, w.Rule) && w.Rule != RuleFlow {
					rules = append(rules, w.Rule)
				}
			}
			want := strings.Fields(tt.rules)
			slices.Sort(rules)
			slices.Sort(want)
			if d.Invocation != tt.by || d.Tools.Words() != tt.tools || strings.Join(d.SideEffects, " ") != tt.effects || !slices.Equal(rules, want) {
				t.Errorf("%q: %s, tools %q, effects %q, findings %q; want %s, %q, %q, %q", tt.lines, d.Invocation, d.Tools.Words(), d.SideEffects, rules, tt.by, tt.tools, tt.effects, want)
			}
			if tt.by != Auto || tt.tools != free || tt.effects != "" {
				v1 := mustRead(t, v1(tt.lines))
				if v1.State == Ready && (v1.Invocation.ByModel() && !d.Invocation.ByModel() || v1.Invocation.ByUser() && !d.Invocation.ByUser() || v1.Tools.Words() != tt.tools || len(v1.SideEffects) == 0 && tt.effects != "") {
					t.Errorf("with skill_format: %s, tools %q, effects %q", v1.Invocation, v1.Tools.Words(), v1.SideEffects)
				}
			}
		})
	}
}
