package author

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
)

const gated = "---\nname: s\ndescription: Does s. Use when asked.\n---\n\n## Tree\n\n* s\n  * Plan it >> plan\n  * SHOW_PLAN >> plan\n  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n  * ASK << Sure? | Yes | No\n  * IF << No\n    * END\n  * Do it >> done\n\n## Rules\n\n- Be kind.\n\n## Response: done\n"

// TestLostGates names what holds a tree up and is gone, in however few words, and nothing that only moved.
func TestLostGates(t *testing.T) {
	for name, c := range map[string]struct {
		old, text       string
		rules, warnings int // losses that are errors, and warnings
	}{
		"nothing":            {"Do it", "Do all of it", 0, 0},
		"moved":              {"  * SHOW_PLAN >> plan\n  * ASK << Go? | Yes | No\n", "  * ASK << Go? | Yes | No\n  * SHOW_PLAN >> plan\n", 0, 0},
		"a question":         {"  * ASK << Go? | Yes | No\n", "", 1, 0},
		"another question":   {"Go?", "Go on?", 0, 1},
		"an option":          {"Go? | Yes | No", "Go? | Yes", 0, 1},
		"the plan":           {"  * SHOW_PLAN >> plan\n", "", 1, 0},
		"an end":             {"  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n", "  * ASK << Go? | Yes | No\n  * IF << No\n    * Say so\n", 1, 0},
		"a gate":             {"  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n", "", 2, 1},
		"one that comes too": {"  * Do it", "  * ASK << Really? | Yes | No\n  * IF << No\n    * END\n  * Do it", 0, 0},
	} {
		d := Over("s", fstest.MapFS{"SKILL.md": {Data: []byte(gated)}})
		now := strings.Replace(gated, c.old, c.text, 1)
		if now == gated {
			t.Fatal(name)
		}
		if err := d.Put("SKILL.md", []byte(now), ""); err != nil {
			t.Fatal(err)
		}
		losses, err := Lost(d)
		errors := 0
		for _, l := range losses {
			if l.Severity == diag.SeverityError {
				errors++
			}
		}
		if err != nil || errors != c.rules || len(losses)-errors != c.warnings {
			t.Errorf("%s: %v, %v", name, losses, err)
		}
	}
	prose := Over("s", fstest.MapFS{"SKILL.md": {Data: []byte(gated)}})
	if err := prose.Put("SKILL.md", []byte("---\nname: s\n---\n"), ""); err != nil {
		t.Fatal(err)
	}
	if losses := lostGates(prose, nil); losses != nil {
		t.Errorf("of a skill that is no tree any more: %v", losses)
	}
}
