package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
)

func trustCommand() command {
	set := func(allow bool) func(context.Context, *world, *cli.Context) error {
		return func(_ context.Context, w *world, c *cli.Context) error {
			out, err := w.scope.Decide(c.Args().First(), allow, c.Bool("dry-run"))
			return w.show(signature.Trust{Projects: []scope.Trusted{out}}, err, func(say *report.Text) {
				say.Print("%s is %s", out.Dir, map[bool]string{true: "trusted", false: "not trusted"}[allow])
				dryNote(say, c)
			})
		}
	}
	return command{name: "trust", group: "Trust", usage: "decide which projects are loaded, and who may sign a skill", output: signature.Trust{}, complete: "dir",
		example: "skl trust allow\nskl trust deny ../somebody-elses-project\nskl trust list\nskl trust accept pdf\nskl trust revoke pdf",
		sub: []command{
			{name: "allow", args: "[DIR]", usage: "load the skills of a project (default: this one)", complete: "dir", flags: []cli.Flag{dryRunFlag()}, run: set(true)},
			{name: "deny", args: "[DIR]", usage: "list its skills, but do not load them", complete: "dir", flags: []cli.Flag{dryRunFlag()}, run: set(false)},
			{name: "list", usage: "the decisions so far, and who is pinned as the signer of which skill", run: listTrust},
			{name: "accept", args: "NAME", usage: "accept another signer for the release of a skill", output: signature.TrustChange{}, complete: "skill", flags: []cli.Flag{dryRunFlag()}, run: acceptSigner},
			{name: "revoke", args: "ID|NAME", usage: "let no signature of the pinned signer count for a skill", output: signature.TrustChange{}, complete: "pin", flags: []cli.Flag{dryRunFlag()}, run: revokeSigner},
		}}
}

func listTrust(_ context.Context, w *world, _ *cli.Context) error {
	out, err := w.apply.Signatures.TrustList()
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, p := range out.Projects {
			rows = append(rows, []string{w.scope.Short(p.Dir), map[bool]string{true: "yes", false: "denied"}[p.Trusted]})
		}
		table(say, []string{"PROJECT", "TRUSTED"}, rows, "no project was trusted or denied yet")
		rows = nil
		for _, p := range out.Pins {
			if p.Unchecked {
				p.State += ", not checked"
			}
			rows = append(rows, []string{p.ID, p.Skill, p.State, signature.SignerLine(&p.Signer), p.From})
		}
		if rows != nil {
			table(say, []string{"ID", "SKILL", "STATE", "SIGNER", "FROM"}, rows, "")
		}
	})
}

func acceptSigner(ctx context.Context, w *world, c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	out, err := w.apply.Signatures.AcceptSigner(ctx, name, c.Bool("dry-run"))
	return w.show(out, err, func(say *report.Text) {
		what := report.Versioned(out.Skill, out.Version)
		if !out.Changed {
			say.Print("%s: nothing to accept; signed by %s", what, signature.SignerLine(out.Now))
			return
		}
		say.Print("%s\n  was  %s\n  now  %s", what, signature.SignerLine(out.Was), signature.SignerLine(out.Now))
		dryNote(say, c)
		say.Hint("skl update %s", out.Skill)
	})
}

func revokeSigner(_ context.Context, w *world, c *cli.Context) error {
	id, err := oneName(c)
	if err != nil {
		return err
	}
	out, err := w.apply.Signatures.Revoke(id, c.Bool("dry-run"))
	return w.show(out, err, func(say *report.Text) {
		say.Print("%s: no signature of %s counts any more", out.Skill, signature.SignerLine(out.Was))
		dryNote(say, c)
		say.Hint("skl trust accept %s takes that back", out.Skill)
	})
}
