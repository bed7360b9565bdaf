package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/spec/manifest"
)

// withoutCode is one line of Markdown without its spans of code; ok is false if a span does not end.
func withoutCode(line string) (rest string, ok bool) {
	var out strings.Builder
	for line != "" {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			out.WriteString(line)
			break
		}
		out.WriteString(line[:at])
		line = line[at:]
		n := len(line) - len(strings.TrimLeft(line, "`"))
		line = line[n:]
		end := -1
		for i := 0; i < len(line); i++ {
			run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			if run == n {
				end = i
				break
			}
			i += max(run-1, 0)
		}
		if end < 0 {
			return "", false
		}
		line = line[end+n:]
	}
	return out.String(), true
}

// TestCommentHostile puts markup wherever text of a release, or of a person, stands: none of it is outside code, and no bar ends a cell.
func TestCommentHostile(t *testing.T) {
	evil := []string{"@everyone", "<img src=x onerror=alert(1)>", "`", "``x`", "a`b``c```d", "[x](https://evil.example)", "a|b", "x\n# head\n", "\x1b[2J", "--> <b>", "\u202e", " `y` "}
	for _, e := range evil {
		out := inspect.LocksDiff{Base: "HEAD", Skills: []apply.LockDiff{{
			Name: "pdf", Change: "changed", From: "1.0.0", To: "1.1.0", Downgrade: "evil " + e,
			Permissions: []string{"+ read:" + e + "  " + e + ":1", "+ env:LANG_X" + e + "  a:1  (not asked about)", "- net:" + e},
			Asks: []apply.Ask{
				{Permission: "read:" + e, Places: []string{e + ":1"}, Accept: "skl ack 'x' pdf --reason WHY"},
				{Permission: "net:" + e, Places: []string{"a:1"}, Accepted: &manifest.Ack{By: e, On: "2027-01-31", Reason: e}},
			},
		}}}
		fenced := false
		for line := range strings.Lines(comment(out)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "```") && strings.Trim(line, "`") == "" {
				fenced = !fenced
				continue
			}
			if fenced || line == commentMark {
				continue
			}
			rest, ok := withoutCode(line)
			if !ok {
				t.Errorf("%q: a span of code does not end: %s", e, line)
			}
			if strings.ContainsAny(rest, "@<>[]()\x1b\u202e") && !strings.HasPrefix(rest, "**") {
				t.Errorf("%q: outside of code: %s", e, line)
			}
			if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 4 {
				t.Errorf("%q: not three cells: %s", e, line)
			}
			if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "### 1 skill") && !strings.HasPrefix(line, "#### `pdf`") {
				t.Errorf("%q: a heading: %s", e, line)
			}
		}
		if fenced {
			t.Errorf("%q: a fence does not end", e)
		}
	}
}

// TestCommentFits keeps a comment within what forges take, and says what it leaves out.
func TestCommentFits(t *testing.T) {
	out := inspect.LocksDiff{Base: "HEAD"}
	for i := range 3000 {
		out.Skills = append(out.Skills, apply.LockDiff{Name: fmt.Sprintf("skill-%d", i), Change: "changed", From: "1.0.0", To: "1.1.0",
			Asks: []apply.Ask{{Permission: "net:a.example", Places: []string{"a.py:1"}, Accept: "skl ack net:a.example skill --reason WHY"}}})
	}
	text := comment(out)
	if len(text) > 65_000 {
		t.Errorf("%d bytes", len(text))
	}
	shown := strings.Count(text, "#### ")
	if want := fmt.Sprintf("\n**%d more skills are not shown.** `skl diff --base HEAD` lists them.\n", 3000-shown); !strings.Contains(text, want) || shown < 20 {
		t.Errorf("%d are shown, and it does not say %q", shown, want)
	}
}

// TestCommentShares keeps a skill that asks for thousands of things from taking the place of another, or of itself.
func TestCommentShares(t *testing.T) {
	big := apply.LockDiff{Name: "big", Change: "changed", From: "1.0.0", To: "1.1.0"}
	for i := range 3000 {
		host := fmt.Sprintf("net:h%d.%s.example", i, strings.Repeat("a", 40))
		big.Asks = append(big.Asks, apply.Ask{Permission: host, Places: []string{"a.sh:1"}, Accept: "skl ack " + host + " big --reason WHY"})
		big.Permissions = append(big.Permissions, "+ "+host+"  a.sh:1", "- env:GONE_"+host, "+ env:LANG_"+host+"  (not asked about)")
	}
	small := apply.LockDiff{Name: "small", Change: "changed", From: "1.0.0", To: "1.1.0", Asks: []apply.Ask{{Permission: "run:nc", Places: []string{"b.sh:1"}, Accept: "skl ack run:nc small --reason WHY"}}}
	for _, skills := range [][]apply.LockDiff{{big}, {big, small}, {small, big}} {
		text := comment(inspect.LocksDiff{Base: "HEAD", Skills: skills})
		rows, lines := strings.Count(text, "| `net:"), strings.Count(text, "\nskl ack net:")
		if len(text) > 65_000 || rows < 100 || rows != lines || !strings.Contains(text, fmt.Sprintf("\n| **%d more are not shown** | | |\n", 3000-rows)) {
			t.Errorf("%d bytes with %d rows and %d lines:\n%s", len(text), rows, lines, text[len(text)-300:])
		}
		if len(skills) > 1 && !strings.Contains(text, "\nskl ack run:nc small --reason WHY\n") {
			t.Error("small is not shown")
		}
	}
}
