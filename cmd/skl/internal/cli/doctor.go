package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
)

type doctorResult struct {
	OK    bool         `json:"ok"`
	Items []doctorItem `json:"items"`
}

func doctorCommand() command {
	return command{name: "doctor", group: "Copies", usage: "look at the environment, the agents and the copies they load", output: doctorResult{},
		example: "skl doctor\nskl doctor --fix",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "fix", Usage: "remove broken links of skl's own, settle an interrupted install"}, dryRunFlag()},
		run:     runDoctor}
}

func runDoctor(ctx context.Context, w *world, c *cli.Context) error {
	out, err := w.inspect.Doctor(ctx, c.Bool("fix") && !c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return (&doctor{w, out}).print()
}

type doctorItem = inspect.Finding

// A doctor collects and prints what was looked at.
type doctor struct {
	w     *world
	items []doctorItem
}

func (d *doctor) say(area, level, mend, format string, args ...any) {
	d.items = append(d.items, doctorItem{Area: area, Level: level, Detail: fmt.Sprintf(format, args...), Mend: mend})
}

// print ends with exit 3 if something is wrong.
func (d *doctor) print() error {
	w := d.w
	ok := !slices.ContainsFunc(d.items, func(f doctorItem) bool { return f.Level == "problem" })
	return w.verdict(doctorResult{ok, d.items}, ok, "doctor", func() {
		for _, i := range d.items {
			mark := w.mark(i.Level != "problem")
			if i.Level == "note" {
				mark = "·"
			}
			w.ui.Print("%s %s  %s", mark, fmt.Sprintf("%-9s", i.Area), i.Detail)
			if i.Mend != "" {
				w.ui.Hint("%s", i.Mend)
			}
		}
	})
}
