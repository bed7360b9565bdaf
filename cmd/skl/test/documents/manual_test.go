package documents

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/testdata/long"
)

// TestManual holds that each command that the help lists has a page in the manual, with its flags, subcommands and examples, and
// the exit statuses of all; and that nothing has a page that is no command.
func TestManual(t *testing.T) {
	pages := cli.Manual("1.4.2", time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)).Pages()
	list, code := skl(t, "help", "all")
	if code != 0 {
		t.Fatalf("skl help all: exit %d", code)
	}
	names := []string{}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) +\S`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	if len(names) < 50 || len(pages) != len(names)+1 {
		t.Errorf("%d commands have %d pages, skl(1) among them", len(names), len(pages))
	}
	root := plainManual(pages["skl.1"])
	for _, want := range []string{"130\ninterrupted", "SKL_CONFIG", "--project, -C DIR", ".TH SKL 1 2026-11-23 \"skl 1.4.2\""} {
		if !strings.Contains(root, want) {
			t.Errorf("skl.1 does not have %q", want)
		}
	}
	for _, name := range names {
		page := plainManual(pages["skl-"+name+".1"])
		if !strings.Contains(root, "skl-"+name+"(1)\n") {
			t.Errorf("skl.1 does not list %s", name)
		}
		help, _ := skl(t, "help", name)
		for line := range strings.Lines(help) {
			line = strings.TrimSpace(line)
			words := regexp.MustCompile(` {2,}`).Split(line, 2)[0]
			switch {
			case strings.HasPrefix(line, "skl "+name+":"), strings.HasPrefix(line, "Usage:"), strings.HasPrefix(line, "Global flags:"):
			case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "Also: "):
				if words = strings.TrimPrefix(words, "Also: "); !strings.Contains(page, words) {
					t.Errorf("skl-%s.1 does not have %q", name, words)
				}
			}
		}
		if _, examples, ok := strings.Cut(help, "\nExamples:\n"); ok {
			examples, _, _ = strings.Cut(examples, "\n\n")
			for line := range strings.SplitSeq(examples, "\n") {
				if !strings.Contains(page, strings.TrimSpace(line)+"\n") {
					t.Errorf("skl-%s.1 does not have the example %q", name, strings.TrimSpace(line))
				}
			}
		}
		if !strings.Contains(page, "4\nrefused: ") {
			t.Errorf("skl-%s.1 does not have the exit statuses", name)
		}
	}
}

// plainManual is a page without its escapes and fonts.
func plainManual(page []byte) string {
	text := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(ga`, "`", `\(ha`, "^", `\(ti`, "~", `\(dq`, `"`, `\e`, `\`, `\&`, "", `\fB`, "", `\fI`, "", `\fR`, "", ".B ", "").Replace(string(page))
	return regexp.MustCompile(`\\\[u[0-9A-F]{4}\]`).ReplaceAllStringFunc(text, func(s string) string {
		return map[string]string{`\[u2026]`: "…", `\[u00B7]`: "·"}[s]
	})
}

// TestManualLint has mandoc and groff read each page: neither has anything to remark.
func TestManualLint(t *testing.T) {
	long.Slow(t)
	pages := cli.Manual("1.4.2", time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)).Pages()
	checks := [][]string{{"mandoc", "-Tlint", "-Wwarning"}, {"groff", "-man", "-ww", "-z", "-rCHECKSTYLE=3"}}
	checks = slices.DeleteFunc(checks, func(c []string) bool { _, err := exec.LookPath(c[0]); return err != nil })
	if len(checks) == 0 {
		t.Skip("skipped: neither mandoc nor groff is installed")
	}
	for name, page := range pages {
		for _, b := range page {
			if b > 126 {
				t.Errorf("%s has a byte that is no ASCII", name)
				break
			}
		}
		for _, check := range checks {
			cmd := exec.Command(check[0], check[1:]...)
			cmd.Stdin = bytes.NewReader(page)
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %s: %v\n%s", name, check[0], err, out)
			}
		}
	}
}
