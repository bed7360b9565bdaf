package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func advisoryCommand() command {
	with := func(flags ...cli.Flag) []cli.Flag { return append(append(flags, dryRunFlag()), siteFlags()...) }
	return command{name: "advisory", usage: "warn of releases that have a fault", output: admin.Advisories{},
		sub: []command{
			{name: "add", args: "NAMESPACE/NAME[@VERSION]", usage: "warn of releases: everybody who has one is told", run: addAdvisory,
				example: "skl registry advisory add acme/pdf --versions '<1.4.3' --severity high --summary 'sends forms elsewhere' --fixed 1.4.3 --id ACME-1",
				flags: with(
					&cli.StringFlag{Name: "versions", Usage: "the versions `RANGE`, such as '<1.4.3' or '>=1.2.0 <1.4.3'"},
					&cli.StringSliceFlag{Name: "digest", Usage: "the release with manifest, layer or tree `DIGEST` (repeatable)"},
					&cli.StringFlag{Name: "severity", Usage: "`low|medium|high|critical`"},
					&cli.StringFlag{Name: "summary", Usage: "the problem, in one line of `TEXT`"},
					&cli.StringFlag{Name: "fixed", Usage: "the `VERSION` that is good"},
					&cli.StringFlag{Name: "id", Usage: "call it `ID` (default: the next of the registry); everybody sees it"},
				)},
			{name: "withdraw", args: "NAMESPACE ID", usage: "take a warning back; it stays in the feed, marked", run: withdrawAdvisory,
				example: "skl registry advisory withdraw acme ACME-1 --reason 'it was another skill'",
				flags:   with(&cli.StringFlag{Name: "reason", Usage: "say why: `TEXT`"})},
			{name: "list", args: "NAMESPACE", usage: "list them", run: listAdvisories, example: "skl registry advisory list acme", flags: siteFlags()},
		}}
}

func addAdvisory(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry advisory add NAMESPACE/NAME --versions RANGE --severity high --summary TEXT")
	if err != nil {
		return err
	}
	r := admin.AdvisoryRequest{Site: siteOf(c), Skill: args[0], DryRun: c.Bool("dry-run"), New: admin.NewAdvisory{ID: c.String("id"), Versions: c.String("versions"), Digests: c.StringSlice("digest"),
		Severity: c.String("severity"), Summary: c.String("summary"), Fixed: c.String("fixed")}}
	out, err := w.admin().AddAdvisory(ctx, r)
	return w.printAdvisories(c, out, err)
}

func withdrawAdvisory(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 2, "registry advisory withdraw NAMESPACE ID --reason TEXT")
	if err != nil {
		return err
	}
	out, err := w.admin().WithdrawAdvisory(ctx, siteOf(c), args[0], args[1], c.String("reason"), c.Bool("dry-run"))
	return w.printAdvisories(c, out, err)
}

func listAdvisories(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry advisory list NAMESPACE")
	if err != nil {
		return err
	}
	out, err := w.admin().Advisories(ctx, siteOf(c), args[0])
	return w.printAdvisories(c, out, err)
}

//go:noinline
func (w *world) printAdvisories(c *cli.Context, out admin.Advisories, err error) error {
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, a := range out.Advisories {
			name, state := "-", "open"
			for _, one := range a.Affected {
				name = one.Package.Name
			}
			if !a.Withdrawn.IsZero() {
				state = "withdrawn: " + a.Own.Reason
			}
			rows = append(rows, []string{report.OrDash(a.ID), diag.Printable(name), report.OrDash(a.Own.Versions), a.Own.Severity, report.OrDash(a.Own.Fixed), diag.Printable(state), diag.Printable(a.Summary)})
		}
		table(say, []string{"ID", "SKILL", "VERSIONS", "SEVERITY", "FIXED", "STATE", "SUMMARY"}, rows, "there are no advisories")
		dryNote(say, c)
	})
}
