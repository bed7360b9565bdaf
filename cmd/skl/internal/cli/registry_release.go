package cli

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
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
			return w.show(out, err, func(say *report.Text) {
				if c.Bool("dry-run") {
					say.Print("%s is %s now and would be %s", args[0], out.State, done)
					dryNote(say, c)
					return
				}
				if string(out.State) != done { // what is rejected is blocked
					say.Print("%s was %s, and is %s", args[0], done, out.State)
					return
				}
				say.Print("%s is %s", args[0], done)
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
	if err != nil {
		return err
	}
	r := report.Report{Result: out, Text: func(say *report.Text) { w.printMirrored(say, out) }}
	if out.First != nil {
		r.End = report.Shown{Err: out.First}
	}
	return r.Write(w.ui)
}

func (w *world) printMirrored(say *report.Text, out admin.Mirrored) {
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
	table(say, []string{"RELEASE", "RESULT", "SIGNATURES"}, rows, out.From+" has no releases there")
	if held {
		say.Hint("skl registry approve NAMESPACE/NAME@VERSION, or run it again with --approve auto")
	}
}
