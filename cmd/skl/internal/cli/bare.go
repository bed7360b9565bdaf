package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

// bare is skl without a command: the first page, and on a terminal a short one, in a project below a line of its status.
func bare(e env, u *ui.UI, c *cli.Context) error {
	if !u.Screen {
		u.Help(rootHelp())
		return nil
	}
	if w, err := newWorld(e, u, c); err == nil && w.scope.Project != "" {
		if s, err := w.inspect.Status(c.Context); err == nil && s.Skills > 0 {
			u.Lines(statusLine(u.Look(), s))
		}
	}
	u.Help(shortHelp())
	return nil
}

// statusLine is a project in one line.
func statusLine(k screen.Look, s inspect.Status) screen.Line {
	mark, text := k.Mark(screen.Done), "all as skl.lock says"
	var wrong []string
	for _, part := range []struct {
		of   []string
		text string
	}{{s.Stale, "skl.lock is stale"}, {s.Drift, diag.Count(len(s.Drift), "skill") + " edited or missing"}, {s.Links, diag.Count(len(s.Links), "link") + " to mend"}, {s.Conflicts, diag.Count(len(s.Conflicts), "conflict")}} {
		if len(part.of) > 0 {
			wrong = append(wrong, part.text)
		}
	}
	if s.Interrupted {
		wrong = append(wrong, "an install was interrupted")
	}
	if len(wrong) > 0 {
		mark, text = k.Mark(screen.Attention), strings.Join(wrong, ", ")+": skl status"
	}
	return screen.L(mark, screen.T(" "), screen.Span{Style: screen.Bold, Text: diag.Count(s.Skills, "skill")}, screen.T(", "+text))
}

// shortHelp is the first page in at most 13 lines of 72 columns.
func shortHelp() string {
	all := commands()
	var b strings.Builder
	b.WriteString("skl installs agent skills, and shows which copy each agent loads\n\n")
	for _, g := range groups {
		var names []string
		for _, c := range all {
			if c.group == g {
				names = append(names, c.name)
			}
		}
		fmt.Fprintf(&b, "  %-7s %s\n", g, strings.Join(names, "  "))
	}
	for i := range all {
		if all[i].group == "" {
			b.WriteString("  More    skl help all\n")
			break
		}
	}
	b.WriteString("\nskl COMMAND --help explains one, skl help guide lists the guides\n")
	return b.String()
}
