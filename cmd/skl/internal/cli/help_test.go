package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
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

// No page has the same example twice, also where a command and the one above it show it.
func TestExamplesOnce(t *testing.T) {
	var walk func(c command)
	walk = func(c command) {
		_, examples, _ := strings.Cut(c.help(), "\nExamples:\n")
		seen := map[string]bool{}
		for line := range strings.Lines(examples) {
			if line = strings.TrimSpace(line); line != "" && seen[line] {
				t.Errorf("skl %s --help has twice: %s", c.name, line)
			}
			seen[line] = true
		}
		for _, s := range c.sub {
			walk(c.below(s))
		}
	}
	for _, c := range commands() {
		walk(c)
	}
}

// unchanging are the commands that change nothing, apart from caches.
var unchanging = []string{"list", "search", "info", "read", "check", "status", "diff", "outdated", "which", "why", "digest", "verify", "audit", "graph", "trace", "query", "evidence", "expand",
	"schema", "completion", "version", "help", "runs list", "trust list", "policy show", "policy explain", "policy test", "source list", "cache dir", "key show", "author advise", "index status", "index feedback",
	"registry token list", "registry namespace list", "registry namespace grants", "registry clients", "registry log verify", "registry log show", "registry queue", "registry publisher list", "registry advisory list", "registry audit", "registry fsck", "registry scrub", "registry doctor",
	"index serve", "mcp", "registry serve"} // these change what their clients ask for

// TestDryRuns wants --dry-run of every command that changes something.
func TestDryRuns(t *testing.T) {
	left := map[string]bool{}
	for _, name := range unchanging {
		left[name] = true
	}
	var walk func(c command, name string)
	walk = func(c command, name string) {
		for _, s := range c.sub {
			walk(s, name+" "+s.name)
		}
		if len(c.sub) > 0 {
			return
		}
		has := slices.ContainsFunc(c.flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "dry-run") })
		switch listed := left[name]; {
		case has && listed:
			t.Errorf("%s has --dry-run, and need not be listed", name)
		case !has && !listed:
			t.Errorf("%s has no --dry-run", name)
		}
		delete(left, name)
	}
	for _, c := range commands() {
		if !strings.HasPrefix(c.name, "__") {
			walk(c, c.name)
		}
	}
	for name := range left {
		t.Errorf("there is no command %s", name)
	}
}

// A word of another program leads to commands that there are, and hides none.
func TestElsewhere(t *testing.T) {
	for word, hints := range elsewhere {
		if find(newApp(env{}, nil, false).Commands, word) != nil {
			t.Errorf("%s is a command", word)
		}
		for _, hint := range hints {
			if err := parsesAsCommand(hint); err != nil {
				t.Errorf("%s: %q: %v", word, hint, err)
			}
		}
	}
	for _, c := range commands() {
		if c.group == "" && !slices.Contains(strings.Fields("schema completion quickstart version help __complete"), c.name) {
			t.Errorf("%s is in no group of the help", c.name)
		}
	}
}
