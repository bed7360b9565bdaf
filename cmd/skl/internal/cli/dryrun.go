package cli

import (
	"cmp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/spec/diag"
)

// nodesFlag is the flag of what shows steps.
func nodesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "nodes", Usage: "show the number of each step, by which skl trace and --set name it"}
}

// printPreview shows what a run could do. command is what begins or continues it, and allowed what it allows already; last is
// what stands at the end of the command line.
func (w *world) printPreview(say *report.Text, out session.Preview, nodes bool, command string, allowed []string, last string) {
	effects, tools := w.previewRows(out, nodes)
	say.Print("%s", out.Summary)
	say.Print("")
	if len(out.Effects) > 0 {
		say.Rows(effects)
		say.Print("")
	}
	say.Rows(tools)
	say.Note("nothing was run; scripts and commands would be confined by: %s", out.Sandbox.Tier)
	for _, m := range out.Sandbox.Missing {
		say.Note("not enforced here: %s", m)
	}
	if len(out.Needs) > 0 {
		say.Hint("%s --allow %s%s", command, diag.Quote(strings.Join(append(allowed, out.Needs...), ",")), last)
	}
}

// showPreview shows it to somebody who is asked for leave.
func (w *world) showPreview(out session.Preview) {
	effects, tools := w.previewRows(out, false)
	w.ui.Show(out.Summary + "\n\n")
	if len(out.Effects) > 0 {
		w.ui.ShowRows(effects)
		w.ui.Show("\n")
	}
	w.ui.ShowRows(tools)
}

func (w *world) previewRows(out session.Preview, nodes bool) (effects, tools [][]string) {
	effects = [][]string{{"NODE", "WHAT COULD HAPPEN", "", "WHEN"}}
	for _, e := range out.Effects {
		effects = append(effects, []string{e.Path, strings.TrimSpace(e.Kind + " " + e.Mode), w.ui.Look().Drawn(e.What), e.When})
	}
	for i := range effects {
		if !nodes {
			effects[i] = effects[i][1:]
		}
	}
	tools = [][]string{{"TOOL", "EFFECT", "USE", ""}}
	for _, t := range out.Tools {
		use := "yes"
		switch {
		case !t.Allowed:
			use = "no"
		case t.Asks:
			use = "asks first"
		}
		tools = append(tools, []string{t.Tool, t.Effect, use, cmp.Or(t.Why, t.Only)})
	}
	return effects, tools
}
