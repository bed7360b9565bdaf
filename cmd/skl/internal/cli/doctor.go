package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
)

type doctorResult struct {
	OK    bool              `json:"ok"`
	Items []inspect.Finding `json:"items"`
}

func doctorCommand() command {
	return command{name: "doctor", group: "Copies", usage: "look at the environment, the agents and the copies they load", output: doctorResult{},
		example: "skl doctor\nskl doctor --fix",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "fix", Usage: "mend links, copies and line endings, settle an interrupted install"}, dryRunFlag()},
		run:     runDoctor}
}

func runDoctor(ctx context.Context, w *world, c *cli.Context) error {
	out, err := w.inspect.Doctor(ctx, c.Bool("fix") && !c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return w.printDoctor(out)
}

// printDoctor ends with exit 3 if something is wrong.
func (w *world) printDoctor(items []inspect.Finding) error {
	ok := !slices.ContainsFunc(items, func(f inspect.Finding) bool { return f.Level == "problem" })
	return w.verdict(doctorResult{ok, items}, ok, "doctor", func() {
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
