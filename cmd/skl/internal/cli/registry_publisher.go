package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func publisherCommand() command {
	with := func(flags ...cli.Flag) []cli.Flag { return append(append(flags, dryRunFlag()), siteFlags()...) }
	return command{name: "publisher", usage: "let jobs of a CI publish without a stored secret", output: admin.Publishers{},
		sub: []command{
			{name: "add", args: "NAMESPACE", usage: "let a job publish, by what its identity token says", run: addPublisher,
				example: "skl registry publisher add acme --github acme/skills --workflow release.yml --ref 'refs/tags/*'",
				flags: with(
					&cli.StringFlag{Name: "github", Usage: "repository `OWNER/NAME` of GitHub"},
					&cli.StringFlag{Name: "gitlab", Usage: "project `GROUP/NAME` of gitlab.com"},
					&cli.StringFlag{Name: "workflow", Usage: "only by workflow `FILE`, such as release.yml"},
					&cli.StringFlag{Name: "environment", Usage: "only in environment `NAME`"},
					&cli.StringFlag{Name: "ref", Usage: "only for `PATTERN`, such as 'refs/tags/*'"},
					&cli.StringFlag{Name: "issuer", Usage: "`URL` of another issuer that the registry trusts"},
					&cli.StringSliceFlag{Name: "claim", Usage: "a claim that the token must have, `NAME=PATTERN` (repeatable)"},
				)},
			{name: "list", args: "NAMESPACE", usage: "list them", run: listPublishers, example: "skl registry publisher list acme", flags: siteFlags()},
			{name: "remove", args: "NAMESPACE ID", usage: "take it back at once", run: removePublisher, example: "skl registry publisher remove acme d882b8ee4fc3", flags: with()},
		}}
}

func addPublisher(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry publisher add NAMESPACE --github OWNER/NAME")
	if err != nil {
		return err
	}
	r := admin.PublisherRequest{Site: siteOf(c), Namespace: args[0], GitHub: c.String("github"), GitLab: c.String("gitlab"), Workflow: c.String("workflow"),
		Environment: c.String("environment"), Ref: c.String("ref"), Issuer: c.String("issuer"), Claims: c.StringSlice("claim"), DryRun: c.Bool("dry-run")}
	out, err := w.admin().AddPublisher(ctx, r)
	return w.show(out, err, func(say *report.Text) {
		p := out.Publishers[0]
		say.Print("%s may publish in %s", admin.BoundTo(p), args[0])
		if dryNote(say, c); !r.DryRun {
			say.Note("it acts as %s; its job runs: skl publish DIR %s/NAME@VERSION --to URL", p.Account, args[0])
			say.Hint("skl registry publisher remove %s %s", args[0], p.ID)
		}
	})
}

func listPublishers(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry publisher list NAMESPACE")
	if err != nil {
		return err
	}
	out, err := w.admin().Publishers(ctx, siteOf(c), args[0])
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, p := range out.Publishers {
			rows = append(rows, []string{p.ID, p.Account, admin.BoundTo(p), day(p.Created, "-")})
		}
		table(say, []string{"ID", "ACCOUNT", "BOUND TO", "SINCE"}, rows, "nobody publishes there with an identity token")
	})
}

func removePublisher(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 2, "registry publisher remove NAMESPACE ID")
	if err != nil {
		return err
	}
	out, err := w.admin().RemovePublisher(ctx, siteOf(c), args[0], args[1], c.Bool("dry-run"))
	return w.show(out, err, func(say *report.Text) {
		say.Print("publisher %s is removed from %s", args[1], args[0])
		dryNote(say, c)
	})
}
