package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/spec/diag"
)

func yankCommand() command {
	return command{name: "yank", args: "REF", group: "Sites", usage: "hide a release from new installs; locks that name it still work", output: ship.Changed{},
		example: "skl yank acme/pdf@1.4.2 --reason 'loses pages'\nskl yank acme/pdf@1.4.2 --undo\nskl yank --block acme/pdf@1.4.2 --reason malware\nskl yank --block acme/pdf@1.4.2 --undo --reason 'a false alarm'",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "reason shown to everybody who uses it"},
			&cli.BoolFlag{Name: "undo", Usage: "offer it again; with --block, restore its state from before the block"},
			&cli.BoolFlag{Name: "block", Usage: "stop serving it to anybody: for malware"},
			toFlag(), dryRunFlag(),
		},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			action := "yank"
			switch {
			case c.Bool("undo") && c.Bool("block"):
				action = "unblock"
			case c.Bool("undo"):
				action = "unyank"
			case c.Bool("block"):
				action = "block"
			}
			if !c.Bool("undo") && c.String("reason") == "" {
				return diag.New(diag.Misuse, "usage", "%s needs a --reason, which people who use the release will read", action)
			}
			return w.act(ctx, c, action, c.String("reason"))
		}}
}

func deprecateCommand() command {
	return command{name: "deprecate", args: "REF", group: "Sites", usage: "offer a release, or all of a name, with a message that advises against it", output: ship.Changed{},
		example: "skl deprecate acme/pdf@1.4.2 --message 'use acme/pdf2'\nskl deprecate acme/pdf --message 'use acme/pdf2'\nskl deprecate acme/pdf@1.4.2 --undo",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Usage: "advice for people who use it"},
			&cli.BoolFlag{Name: "undo", Usage: "take the message back"},
			toFlag(), dryRunFlag(),
		},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			if c.Bool("undo") {
				return w.act(ctx, c, "undeprecate", "")
			}
			if c.String("message") == "" {
				return diag.New(diag.Misuse, "usage", "deprecate needs a --message: what should people do instead?")
			}
			return w.act(ctx, c, "deprecate", c.String("message"))
		}}
}

// act changes the state of the release that the one argument names.
func (w *world) act(ctx context.Context, c *cli.Context, action, reason string) error {
	arg, err := oneName(c)
	if err != nil {
		return err
	}
	out, err := w.shipper().Act(ctx, ship.ActRequest{Ref: arg, To: c.String("to"), Action: action, Reason: reason, DryRun: c.Bool("dry-run")})
	return w.show(out, err, func(say *report.Text) {
		for _, v := range out.Versions {
			if c.Bool("dry-run") {
				say.Print("%s@%s is %s; it would be changed: %s", out.Name, v.Version, v.State, action)
			} else {
				say.Print("%s@%s is %s", out.Name, v.Version, v.State)
			}
		}
		if out.Version == "" {
			return
		}
		if c.Bool("dry-run") {
			say.Print("%s@%s is %s; it would be changed: %s", out.Name, out.Version, out.State, action)
			return
		}
		say.Print("%s@%s is %s", out.Name, out.Version, out.State)
	})
}
