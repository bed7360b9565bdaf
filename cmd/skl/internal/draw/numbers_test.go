package draw

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The numbered screens of the design, and what shows each: a screen of this package, which TestScreensAsDrawn draws at every width, with
// and without colours and Unicode; "FILE" of another package's pictures; or "FILE: TEST", which looks at a terminal.
var numbered = []struct {
	screen string
	shown  []string
}{
	{"1 skills to pick", []string{"../ui/testdata/pickers/skills-{50,60,80,80-ascii,80-color,120,120-ascii,120-color}.txt", "../../test/process/terminal_linux_test.go: TestTerminalInstall"}},
	{"2 agents to pick", []string{"../ui/testdata/pickers/agents-{50,60,80,80-ascii,80-color,120,120-ascii,120-color}.txt"}},
	{"3 before an install", []string{"before-one", "before-many"}},
	{"4 while it installs", []string{"../ui/testdata/progress.txt"}},
	{"5 after one", []string{"install-one"}},
	{"6 after many, some held", []string{"install-many", "held"}},
	{"7 list", []string{"list", "list-three", "list-five", "list-off"}},
	{"8 list --shadowed", []string{"shadowed"}},
	{"9 info", []string{"info"}},
	{"10 search", []string{"search"}},
	{"11 outdated", []string{"outdated"}},
	{"12 update", []string{"update", "gained", "../../test/process/terminal_linux_test.go: TestTerminalUpdate"}},
	{"13 diff", []string{"diff", "../../test/process/terminal_linux_test.go: TestTerminalPager"}},
	{"14 check", []string{"check", "check-off"}},
	{"15 doctor", []string{"doctor"}},
	{"16 lint", []string{"lint"}},
	{"17 errors", []string{"../ui/ui_test.go: TestErrorHasItsHintsApart", "../../test/process/terminal_linux_test.go: TestTerminalLooks"}},
	{"18 publish", []string{"publish"}},
	{"19 registry serve", []string{"requests", "../../test/process/terminal_linux_test.go: TestTerminalServe"}},
	{"20 a run", []string{"../../../../runtime/trace/view_test.go: TestLiveWhole", "../../test/process/terminal_linux_test.go: TestTerminalRun", "../../test/process/terminal_linux_test.go: TestTerminalLeave"}},
	{"21 suspended", []string{"suspended", "../../test/process/terminal_linux_test.go: TestTerminalSuspended"}},
	{"23 skl", []string{"../../test/process/terminal_linux_test.go: TestTerminalBare"}},
}

func TestEveryScreenIsShown(t *testing.T) {
	drawn := screens()
	named := map[string]bool{}
	for _, n := range numbered {
		for _, shown := range n.shown {
			file, test, isTest := strings.Cut(shown, ": ")
			switch {
			case isTest:
				src, err := os.ReadFile(filepath.FromSlash(file))
				if err != nil || !strings.Contains(string(src), "\nfunc "+test+"(t *testing.T)") {
					t.Errorf("%s: %s has no %s (%v)", n.screen, file, test, err)
				}
			case strings.Contains(file, "/"):
				for _, f := range alternatives(file) {
					if _, err := os.Stat(filepath.FromSlash(f)); err != nil {
						t.Errorf("%s: %v", n.screen, err)
					}
				}
			case drawn[file] == nil:
				t.Errorf("%s: nothing draws %s", n.screen, file)
			}
			named[file] = true
		}
	}
	for name := range drawn {
		if !named[name] {
			t.Errorf("%s has no number", name)
		}
	}
}

// alternatives are the names that a{b,c}d stands for.
func alternatives(name string) []string {
	before, rest, ok := strings.Cut(name, "{")
	if !ok {
		return []string{name}
	}
	list, after, _ := strings.Cut(rest, "}")
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		out = append(out, before+item+after)
	}
	return out
}
