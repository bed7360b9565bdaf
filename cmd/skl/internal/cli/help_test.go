package cli

import (
	"strings"
	"testing"
)

// TestHelp wants every command to have a page with an example that starts with its name, and a line in
// "help all"; and every subcommand and flag to say what it is for.
func TestHelp(t *testing.T) {
	all, root := allHelp(), rootHelp()
	for _, c := range commands() {
		if strings.HasPrefix(c.name, "__") {
			continue
		}
		if c.usage == "" || strings.HasSuffix(c.usage, ".") {
			t.Errorf("%s: the usage is %q", c.name, c.usage)
		}
		if !strings.Contains(all, "\n  "+c.name+" ") && !strings.HasPrefix(all, "  "+c.name+" ") {
			t.Errorf("help all does not list %s", c.name)
		}
		if !strings.Contains(root, "  "+c.name) {
			t.Errorf("the first page does not name %s", c.name)
		}
		wantExamples(t, c)
		for _, s := range append([]command{c}, c.sub...) {
			if s.usage == "" {
				t.Errorf("%s %s has no usage", c.name, s.name)
			}
			for _, f := range s.flags {
				if _, usage, _ := strings.Cut(flagLine(f), "  "); strings.TrimSpace(usage) == "" {
					t.Errorf("%s %s: %s has no usage", c.name, s.name, flagLine(f))
				}
			}
		}
		if page := c.help(); !strings.Contains(page, "\nExamples:\n  ") || !strings.Contains(page, "\nUsage: skl "+c.name) {
			t.Errorf("skl %s --help:\n%s", c.name, page)
		}
	}
}

func wantExamples(t *testing.T, c command) {
	t.Helper()
	if !strings.Contains("\n"+c.example+" ", "\nskl "+c.name+" ") && !strings.Contains(c.example+"\n", "skl "+c.name+"\n") {
		t.Errorf("skl %s has no example", c.name)
	}
	for _, s := range c.sub {
		wantExamples(t, c.below(s))
	}
}
