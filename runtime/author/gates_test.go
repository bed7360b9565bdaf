package author

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

const gated = "---\nname: s\ndescription: Does s. Use when asked.\n---\n\n## Tree\n\n* s\n  * Plan it >> plan\n  * SHOW_PLAN >> plan\n  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n  * ASK << Sure? | Yes | No\n  * IF << No\n    * END\n  * Do it >> done\n\n## Rules\n\n- Be kind.\n\n## Response: done\n"

// edited is a draft of a skill in whose text the first old is new.
func edited(t *testing.T, text, old, new string) *Draft {
	t.Helper()
	d := Over("s", fstest.MapFS{"SKILL.md": {Data: []byte(text)}})
	now := strings.Replace(text, old, new, 1)
	if now == text {
		t.Fatalf("there is no %q", old)
	}
	if err := d.Put("SKILL.md", []byte(now), ""); err != nil {
		t.Fatal(err)
	}
	return d
}

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
		"the option no":      {"Go? | Yes | No", "Go? | Yes", 1, 0},
		"another no":         {"Go? | Yes | No", "Go? | Yes | Cancel", 0, 1},
		"no under a name":    {"Go? | Yes | No", "Go? | Yes | Sure", 1, 0},
		"a rule with a but":  {"- Be kind.", "- Be kind, always, to all.", 0, 0},
		"the plan":           {"  * SHOW_PLAN >> plan\n", "", 1, 0},
		"an end":             {"  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n", "  * ASK << Go? | Yes | No\n  * IF << No\n    * Say so\n", 1, 0},
		"a gate":             {"  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n", "", 2, 1},
		"one that comes too": {"  * Do it", "  * ASK << Really? | Yes | No\n  * IF << No\n    * END\n  * Do it", 0, 0},
	} {
		d := edited(t, gated, c.old, c.text)
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

// TestMovedGates: a question, a plan or an end that does not come first any more, or only in a case, is the loss of a rule.
func TestMovedGates(t *testing.T) {
	for name, c := range map[string]struct {
		old, text string
		rules     int
	}{
		"behind the step":    {"  * ASK << Sure? | Yes | No\n  * IF << No\n    * END\n  * Do it >> done\n", "  * Do it >> done\n  * ASK << Sure? | Yes | No\n  * IF << No\n    * END\n", 2},
		"below a condition":  {"  * ASK << Go? | Yes | No\n", "  * IF << a is b\n    * ASK << Go? | Yes | No\n", 1},
		"below its own":      {"  * SHOW_PLAN >> plan\n  * ASK << Go? | Yes | No\n", "  * ASK << Go? | Yes | No\n  * SHOW_PLAN >> plan\n", 0},
		"a step in front":    {"  * Plan it >> plan\n", "  * Look first\n  * Plan it >> plan\n", 0},
		"a step behind":      {"  * Do it >> done\n", "  * Do it >> done\n  * Say so\n", 0},
		"a step further on":  {"  * Plan it >> plan\n  * SHOW_PLAN >> plan\n", "  * SHOW_PLAN >> plan\n  * Plan it >> plan\n", 0},
		"the plan behind it": {"  * SHOW_PLAN >> plan\n  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n  * ASK << Sure? | Yes | No\n  * IF << No\n    * END\n  * Do it >> done\n", "  * ASK << Go? | Yes | No\n  * IF << No\n    * END\n  * ASK << Sure? | Yes | No\n  * IF << No\n    * END\n  * Do it >> done\n  * SHOW_PLAN >> plan\n", 1},
	} {
		d := edited(t, gated, c.old, c.text)
		losses, err := Lost(d)
		rules := 0
		for _, l := range losses {
			if l.Code == skill.LossRule {
				rules++
			}
		}
		if err != nil || rules != c.rules {
			t.Errorf("%s: %v, %v", name, losses, err)
		}
	}
}

// TestLostRules: a rule that is a comment now, or stands where no rules are read, is lost; so is what a step forbids, however short it is, and a
// sentence without blanks.
func TestLostRules(t *testing.T) {
	const text = "---\nname: s\ndescription: Does s. Use when asked.\n---\n\n1. Never push it.\n2. 先读取文件并检查内容。然后写入报告。\n\n## Rules\n\n- Change nothing that the plan does not name.\n- Be nice to all of them.\n"
	for name, c := range map[string]struct {
		old, text, more string
		codes           []string
	}{
		"a comment":        {"- Change nothing that the plan does not name.", "<!-- Change nothing that the plan does not name. -->", "", []string{skill.LossRule}},
		"another file":     {"- Change nothing that the plan does not name.\n", "", "Change nothing that the plan does not name.\n", []string{skill.LossRule}},
		"another place":    {"- Change nothing that the plan does not name.\n- Be nice to all of them.\n", "- Be nice to all of them.\n- Change nothing that the plan does not name.\n", "", nil},
		"a short step":     {"1. Never push it.\n", "", "", []string{skill.LossRule}},
		"without blanks":   {"然后写入报告。", "", "", []string{skill.LossText}},
		"moved, no blanks": {"然后写入报告。", "", "然后写入报告。\n", nil},
	} {
		d := edited(t, text, c.old, c.text)
		if c.more != "" {
			if err := d.Put("references/old.md", []byte(c.more), ""); err != nil {
				t.Fatal(err)
			}
		}
		losses, err := Lost(d)
		var codes []string
		for _, l := range losses {
			codes = append(codes, l.Code)
		}
		if err != nil || !slices.Equal(codes, c.codes) {
			t.Errorf("%s: %v, %v", name, losses, err)
		}
	}
}

// TestWeakenedRules: a rule that stays, and is followed by an exception that was not there, is lost.
func TestWeakenedRules(t *testing.T) {
	text := strings.Replace(gated, "- Be kind.", "- Change nothing that the plan does not name.\n- Ask before you push, unless it is a draft.", 1)
	for name, c := range map[string]struct {
		old, text string
		rules     int
	}{
		"an exception":      {"does not name.", "does not name, unless it helps.", 1},
		"in a sentence":     {"does not name.", "does not name. Unless it helps.", 1},
		"more of the same":  {"does not name.", "does not name, and say so.", 0},
		"one that was":      {"a draft.", "a draft of yours.", 0},
		"another rule":      {"- Ask before", "- Be kind.\n- Ask before", 0},
		"a second rule":     {"does not name.\n", "does not name.\n- Never push, but for a fix.\n", 0},
		"one that waives":   {"does not name.\n", "does not name.\n- The rule above does not apply to drafts.\n", 1},
		"one that suspends": {"- Ask before", "- Skip the next one where it is in the way.\n- Ask before", 1},
		"skips nothing":     {"- Ask before", "- Never skip a test.\n- Do not ignore errors.\n- Ask before", 0},
		"elsewhere":         {"## Rules\n", "Note that the rules are advisory.\n\n## Rules\n", 1},
		"a step that skips": {"## Rules\n", "Skip files that are not text.\n\n## Rules\n", 0},
		"a rule that is if": {"does not name.\n", "does not name.\n- If it fails, stop.\n", 0},
	} {
		losses, err := Lost(edited(t, text, c.old, c.text))
		rules := 0
		for _, l := range losses {
			if l.Code == skill.LossRule {
				rules++
			}
		}
		if err != nil || rules != c.rules {
			t.Errorf("%s: %v, %v", name, losses, err)
		}
	}
}
