package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

type doctorResult struct {
	OK    bool              `json:"ok"`
	Items []inspect.Finding `json:"items"`

	Hosts []inspect.KnownHost `json:"hosts,omitempty"` // with --hosts, and then nothing else is looked at
}

func doctorCommand() command {
	return command{name: "doctor", group: "Copies", usage: "look at the environment, the agents and the copies they load", output: doctorResult{},
		example: "skl doctor\nskl doctor --fix\nskl doctor --hosts",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "hosts", Usage: "only list the agents that skl knows, with their ids"}, &cli.BoolFlag{Name: "fix", Usage: "mend links, copies and line endings, settle an interrupted install"}, dryRunFlag()},
		run:     runDoctor}
}

func runDoctor(ctx context.Context, w *world, c *cli.Context) error {
	if c.Bool("hosts") {
		if c.Bool("fix") {
			return diag.New(diag.Misuse, "usage", "--hosts only lists, so it does not go with --fix")
		}
		return w.printHosts(w.inspect.KnownHosts())
	}
	out, err := w.inspect.Doctor(ctx, c.Bool("fix") && !c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return w.printDoctor(out)
}

func (w *world) printHosts(list []inspect.KnownHost) error {
	return w.show(doctorResult{OK: true, Items: []inspect.Finding{}, Hosts: list}, nil, func() {
		rows := [][]string{{"AGENT", "NAME", "SKILLS IN A PROJECT", "SKILLS OF THE USER", "FOUND"}}
		for _, h := range list {
			found := ""
			if h.Found {
				found = "yes"
			}
			rows = append(rows, []string{h.ID, h.Name, h.Project, orDash(h.User), orDash(found)})
		}
		w.ui.Rows(rows)
	})
}

// printDoctor ends with exit 3 if something is wrong.
func (w *world) printDoctor(items []inspect.Finding) error {
	ok := !slices.ContainsFunc(items, func(f inspect.Finding) bool { return f.Level == "problem" })
	return w.verdict(doctorResult{OK: ok, Items: items}, ok, "doctor", func() {
		if w.ui.Screen {
			w.ui.Page(ui.Painted(draw.Doctor(w.ui.Look(), items, w.ui.Verbose)))
			return
		}
		said := map[string]bool{}
		for _, i := range items {
			mark := w.mark(i.Level != "problem")
			if i.Level == "note" {
				mark = "·"
			}
			w.ui.Print("%s %-9s  %s", mark, i.Area, i.Detail)
			if i.Mend != "" && !said[i.Mend] {
				said[i.Mend] = true
				w.ui.Hint("%s", i.Mend)
			}
		}
	})
}
