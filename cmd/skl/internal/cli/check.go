package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

func checkCommand() command {
	return command{name: "check", group: "Team", usage: "the one line for CI: lock fresh, files verified, no open conflicts, no findings", output: inspect.Checked{},
		example: "skl check\nskl check --base origin/main\nskl check --sarif",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "also refuse a lower trust than at the git revision `REV` (exit 4)"},
			&cli.BoolFlag{Name: "sarif", Usage: "print findings as SARIF"},
		},
		run: runCheck}
}

func runCheck(ctx context.Context, w *world, c *cli.Context) error {
	out, err := w.inspect.Check(ctx, c.String("base"))
	if err != nil {
		return err
	}
	if c.Bool("sarif") {
		err = w.ui.Result(diag.SARIF(out.Findings(), build.Current().Version))
	} else {
		err = w.show(out, nil, func() { w.printCheck(out) })
	}
	switch {
	case err != nil:
		return err
	case out.Refused != "":
		return refused(out.Refused)
	case !out.OK:
		return unmet("check")
	}
	return nil
}

func (w *world) printCheck(out inspect.Checked) {
	if w.ui.Screen {
		w.ui.Page(ui.Painted(draw.Check(w.ui.Look(), out)))
		return
	}
	for _, c := range out.Checks {
		w.ui.Print("%s %s", w.mark(c.OK), c.Check)
		for _, d := range c.Detail {
			w.ui.Print("  %s", d)
		}
	}
	said := map[string]bool{}
	for _, c := range out.Checks {
		for _, m := range c.Mend {
			if !said[m] {
				said[m] = true
				w.ui.Hint("%s", m)
			}
		}
	}
}

func statusCommand() command {
	return command{name: "status", group: "Team", usage: "manifest, lock, disk and agents at a glance", output: inspect.Status{},
		example: "skl status\nskl status -g",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			s, err := w.inspect.Status(ctx)
			if err != nil {
				return err
			}
			err = w.verdict(s, s.OK, "status", func() { w.printStatus(s) })
			if blocked := apply.Blocked(s.Withdrawn); err != nil && blocked != nil {
				return refused("blocked") // it was said
			}
			return err
		}}
}

func (w *world) printStatus(s inspect.Status) {
	say := func(label string, ok bool, good string, bad []string) {
		if ok {
			w.ui.Print("%s %s", label, good)
			return
		}
		w.ui.Print("%s %s", label, joinWords(bad))
	}
	w.ui.Print("scope      %s, %s", s.Scope, w.scope.Short(s.Base))
	dirs := make([]string, len(s.Roots))
	for i, dir := range s.Roots {
		dirs[i] = w.scope.Short(dir)
	}
	w.ui.Print("skills     %d in skl.toml, installed in %s", s.Skills, joinWords(dirs))
	w.ui.Print("agents     %s", orDash(fmt.Sprint(joinWords(s.Hosts))))
	say("lock      ", len(s.Stale) == 0, "fresh", prefixed("stale: ", s.Stale))
	say("files     ", len(s.Drift) == 0, "as published", prefixed("differ or missing: ", s.Drift))
	if len(s.Links) > 0 {
		say("links     ", false, "", []string{joinWords(s.Links)})
	}
	for _, line := range s.Off {
		w.ui.Print("off        %s", line)
	}
	say("conflicts ", len(s.Conflicts) == 0, "none", s.Conflicts)
	if len(s.Sources) > 0 {
		say("sources   ", false, "", s.Sources)
	}
	if s.Scope == "project" && !s.Trusted {
		w.ui.Print("trust      this project is not trusted: its skills are listed, not loaded")
		w.ui.Hint("skl ci, or skl trust allow")
	}
	hints := s.Mend
	switch {
	case len(s.Stale) > 0:
		hints = []string{"skl install"}
	case len(hints) == 0 && len(s.Conflicts) > 0:
		hints = []string{"skl list --shadowed"}
	}
	for _, h := range hints {
		w.ui.Hint("%s", h)
	}
}

//go:noinline
func joinWords(words []string) string { return strings.Join(words, ", ") }

func prefixed(prefix string, words []string) []string { return []string{prefix + joinWords(words)} }
