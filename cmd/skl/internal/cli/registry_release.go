package cli

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
)

// actCommand is a subcommand that decides about one release; done is what it is afterwards.
func actCommand(action, usage, done string) command {
	return command{name: action, args: "NAMESPACE/NAME@VERSION", instead: "write: skl registry " + action + " NAMESPACE/NAME@VERSION", usage: usage, output: admin.Done{},
		flags: append([]cli.Flag{&cli.StringFlag{Name: "reason", Usage: "say why: readers and the log see `TEXT`"}, dryRunFlag()}, siteFlags()...),
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			args, err := words(c, 1, "registry "+action+" NAMESPACE/NAME@VERSION")
			if err != nil {
				return err
			}
			out, err := w.admin().Decide(ctx, admin.DecisionRequest{Site: siteOf(c), Release: args[0], Action: action, Reason: c.String("reason"), DryRun: c.Bool("dry-run")})
			return w.show(out, err, func() {
				if c.Bool("dry-run") {
					w.ui.Print("%s is %s now and would be %s", args[0], out.State, done)
					w.dryNote(c)
					return
				}
				w.ui.Print("%s is %s", args[0], out.State)
			})
		}}
}

func mirrorCommand() command {
	return command{name: "mirror", args: "NAMESPACE", usage: "copy the releases of a namespace from another registry, with their signatures", output: admin.Mirrored{}, example: "skl registry mirror acme --from upstream --approve manual", run: runMirror,
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "copy from registry `NAME|URL`"},
			&cli.StringFlag{Name: "into", Usage: "copy into `NAMESPACE` (default: the same)"},
			&cli.StringFlag{Name: "approve", Usage: "approve the copies, or quarantine them: `auto|manual` (default: as the namespace says)"},
			dryRunFlag(),
		}, siteFlags()...)}
}

func runMirror(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry mirror NAMESPACE --from NAME|URL")
	if err != nil {
		return err
	}
	out, err := w.admin().Mirror(ctx, admin.MirrorRequest{Site: siteOf(c), From: c.String("from"), Namespace: args[0], Into: c.String("into"),
		Approve: c.String("approve"), DryRun: c.Bool("dry-run")})
	if err := w.show(out, err, func() { w.printMirrored(out) }); err != nil {
		return err
	}
	if out.First != nil {
		return shown{out.First}
	}
	return nil
}

func (w *world) printMirrored(out admin.Mirrored) {
	var rows [][]string
	held := false
	for _, r := range out.Releases {
		result := r.Result
		if r.Error != "" {
			result += ": " + r.Error
		}
		held = held || r.Result == "held"
		rows = append(rows, []string{r.Name, result, strconv.Itoa(r.Signatures)})
	}
	w.table([]string{"RELEASE", "RESULT", "SIGNATURES"}, rows, out.From+" has no releases there")
	if held {
		w.ui.Hint("skl registry approve NAMESPACE/NAME@VERSION, or run it again with --approve auto")
	}
}
