package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/runtime/tool"
)

// A dryResult is everything that could happen.
type dryResult struct {
	Skill   string        `json:"skill"`
	Digest  string        `json:"digest"`
	Effects []plan.Effect `json:"effects"`
	Tools   []dryTool     `json:"tools"`
	Sandbox dryBox        `json:"sandbox"`
}

type dryTool struct {
	Tool    string `json:"tool"`
	Effect  string `json:"effect"`
	Allowed bool   `json:"allowed"`
	Asks    bool   `json:"asks"` // its first use asks the person
	Only    string `json:"only,omitempty"`
	Why     string `json:"why,omitempty"`
}

type dryBox struct {
	Tier     string   `json:"tier"`
	Enforced []string `json:"enforced"`
	Missing  []string `json:"missing"`
}

// dryRun walks the plan without running anything.
func (w *world) dryRun(ctx context.Context, c *cli.Context, r *session.Runnable, args string) error {
	var consent func(context.Context, tool.Ask) (bool, error)
	if w.ui.CanAsk() { // a run would ask; a dry run does not
		consent = func(context.Context, tool.Ask) (bool, error) { return false, nil }
	}
	d, err := w.runs.Dispatcher(r, w.Cwd, splitList(c.StringSlice("allow")), w.runs.Confinement(c.String("sandbox")), consent)
	if err != nil {
		return err
	}
	defer d.Close()
	box := sandbox.Probe()
	out := dryResult{Skill: r.Name, Digest: r.Plan.Digest, Effects: r.Plan.Effects(args), Tools: []dryTool{},
		Sandbox: dryBox{box.Tier.String(), append([]string{}, box.Enforced...), append([]string{}, box.Missing...)}}
	for _, t := range d.Could() {
		out.Tools = append(out.Tools, dryTool{t.Tool, string(t.Effect), t.Allowed, t.Asks, t.Only, t.Why})
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
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
	return nil
}
