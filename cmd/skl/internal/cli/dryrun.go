package cli

import (
	"cmp"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/session"
)

// printPreview shows what a run could do.
func (w *world) printPreview(out session.Preview) {
	rows := [][]string{{"WHERE", "WHAT COULD HAPPEN", "", "WHEN"}}
	for _, e := range out.Effects {
		rows = append(rows, []string{e.Path, strings.TrimSpace(e.Kind + " " + e.Mode), e.What, e.When})
	}
	w.ui.Rows(rows)
	rows = [][]string{{"TOOL", "EFFECT", "USE", ""}}
	for _, t := range out.Tools {
		use := "yes"
		switch {
		case !t.Allowed:
			use = "no"
		case t.Asks:
			use = "asks first"
		}
		rows = append(rows, []string{t.Tool, t.Effect, use, cmp.Or(t.Why, t.Only)})
	}
	w.ui.Print("")
	w.ui.Rows(rows)
	w.ui.Note("nothing was run; scripts and commands would be confined by: %s", out.Sandbox.Tier)
	for _, m := range out.Sandbox.Missing {
		w.ui.Note("not enforced here: %s", m)
	}
}
