package cli

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func queueCommand() command {
	return command{name: "queue", usage: "list the releases that wait for a signature or a decision, the oldest first", output: admin.Queue{}, run: runQueue,
		example: "skl registry queue --namespace acme",
		flags:   append([]cli.Flag{&cli.StringFlag{Name: "namespace", Usage: "only of `NAMESPACE`"}}, siteFlags()...)}
}

func runQueue(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry queue"); err != nil {
		return err
	}
	out, err := w.admin().Queue(ctx, admin.QueueRequest{Site: siteOf(c), Namespace: c.String("namespace")})
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, r := range out.Waiting {
			rows = append(rows, []string{r.Namespace + "/" + r.Name + "@" + r.Version, r.State, report.OrDash(r.Publisher), r.Since.Format(time.RFC3339), whyWaits(r), whoDecides(r)})
		}
		table(say, []string{"RELEASE", "STATE", "BY", "SINCE", "WHY", "DECIDE"}, rows, "nothing waits")
		for _, r := range out.Waiting {
			for _, f := range r.Findings {
				say.Print("%s/%s@%s  %s", r.Namespace, r.Name, r.Version, f.Sentence())
			}
		}
	})
}

// whyWaits says in words what a release waits for.
func whyWaits(r admin.Waiting) string {
	switch r.For {
	case "second-person":
		return "needs a second person: " + diag.Printable(r.Reason)
	case "mirror":
		return "copied from " + diag.Printable(r.Mirrored) + ": " + diag.Printable(r.Reason)
	}
	return diag.Printable(r.Reason)
}

// whoDecides is the command that ends the waiting, for who asks, or else who may type it.
func whoDecides(r admin.Waiting) string {
	command := diag.Printable(r.Command)
	switch {
	case r.Yours:
		return command
	case r.For == "signature":
		return "a publisher of " + r.Namespace + " can: " + command
	case r.For == "second-person":
		return "another maintainer of " + r.Namespace + " can: " + command
	}
	return "a maintainer of " + r.Namespace + " can: " + command
}
