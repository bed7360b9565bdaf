package cli

import (
	"cmp"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/session"
)

// printPreview shows what a run could do.
func (w *world) printPreview(r *session.Runnable, out session.Preview, allowed []string) {
	effects, tools := w.previewRows(out)
	w.ui.Rows(effects)
	w.ui.Print("")
	w.ui.Rows(tools)
	w.ui.Note("nothing was run; scripts and commands would be confined by: %s", out.Sandbox.Tier)
	for _, m := range out.Sandbox.Missing {
		w.ui.Note("not enforced here: %s", m)
	}
	if len(out.Needs) > 0 {
		w.ui.Hint("skl run %s --allow %s", r.As, strings.Join(append(allowed, out.Needs...), ","))
	}
}

// showPreview shows it to somebody who is asked for leave.
func (w *world) showPreview(out session.Preview) {
	effects, tools := w.previewRows(out)
	w.ui.ShowRows(effects)
	w.ui.Show("\n")
	w.ui.ShowRows(tools)
}

func (w *world) previewRows(out session.Preview) (effects, tools [][]string) {
	effects = [][]string{{"WHERE", "WHAT COULD HAPPEN", "", "WHEN"}}
	for _, e := range out.Effects {
		effects = append(effects, []string{e.Path, strings.TrimSpace(e.Kind + " " + e.Mode), w.ui.Look().Drawn(e.What), e.When})
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
