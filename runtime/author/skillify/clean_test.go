package skillify

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/skill"
)

// TestEscapes: a sequence of a terminal leaves nothing behind in what is made of a package.
func TestEscapes(t *testing.T) {
	for _, c := range [][2]string{{"\x1b[31mred\x1b[0m", "red"}, {"\u009b1;31mred\u009bm", "red"}, {"\x1b]0;title\x07red", "red"}, {"\x1b]8;;x\x1b\\red\x1b]8;;\x1b\\", "red"}, {"\x1b[red", "ed"}, {"a\x1bred", "ared"}, {"a[0m", "a[0m"}, {"\x1b[38;5;1", "[38;5;1"}} {
		if got := (&maker{}).clean(c[0]); got != c[1] {
			t.Errorf("%q is %q, not %q", c[0], got, c[1])
		}
	}
	p := queue()
	p.Title = "Keep \x1b[31mred\x1b[0m Jobs"
	p.Pages[0].Title = "Drop a \x1b[31mred\x1b[0m job"
	s := mustMake(t, p)
	if text := string(s.File(skill.FileName)); strings.Contains(text, "31m") || strings.Contains(text, "[0m") || !strings.Contains(text, "Keep red Jobs") {
		t.Errorf("SKILL.md is\n%s", text)
	}
}

// TestLine: only what an agent expands in SKILL.md is taken apart.
func TestLine(t *testing.T) {
	for _, c := range [][2]string{{"z.$brand", "z.$brand"}, {"a $b", "a $b"}, {"$ARGUMENTS", "$ ARGUMENTS"}, {"$ARGUMENTS[0]", "$ ARGUMENTS[0]"}, {"$1", "$ 1"}, {"${HOME}", "$ {HOME}"}, {"costs $", "costs $"},
		{"see @file", "see @ file"}, {"`@acme/bag`", "`@acme/bag`"}, {"a@b", "a@b"}, {"!`ls`", "! `ls`"}, {"<!-- x", "< !-- x"}} {
		if got := (&maker{p: queue()}).line(c[0]); got != c[1] {
			t.Errorf("%q is %q, not %q", c[0], got, c[1])
		}
	}
}
