package cli

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func tokenCommand() command {
	return command{name: "token", usage: "create, list and revoke tokens", output: admin.Tokens{},
		sub: []command{
			{name: "create", usage: "print a new token, once", output: admin.Token{}, run: createToken, flags: append([]cli.Flag{
				&cli.StringFlag{Name: "name", Usage: "account `NAME` that it acts as (default: yours)"},
				&cli.StringFlag{Name: "namespace", Usage: "`NAMESPACE` it is for, \"*\" for all"},
				&cli.StringFlag{Name: "role", Value: admin.DefaultRole, Usage: "its `ROLE`: " + strings.Join(admin.Roles(), ", ")},
				&cli.StringFlag{Name: "expires", Value: "90d", Usage: "end it after `TIME`: 12h, 90d, or never"},
				dryRunFlag(),
			}, siteFlags()...)},
			{name: "list", usage: "tokens that you may see, without their text", run: listTokens, example: "skl registry token list", flags: siteFlags()},
			{name: "revoke", args: "ID", usage: "end a token at once", output: admin.Done{}, run: revokeToken, example: "skl registry token revoke 748719ecec17", flags: append([]cli.Flag{dryRunFlag()}, siteFlags()...)},
		}}
}

func createToken(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry token create --name NAME --namespace NAMESPACE --role ROLE"); err != nil {
		return err
	}
	age, err := admin.ParseLifetime(c.String("expires"))
	if err != nil {
		return err
	}
	r := admin.TokenRequest{Site: siteOf(c), Account: c.String("name"), Namespace: c.String("namespace"), Role: c.String("role"), Age: age, Capped: !c.IsSet("expires"), DryRun: c.Bool("dry-run")}
	out, err := w.admin().CreateToken(ctx, r)
	if r.DryRun {
		return w.did(c, out.Done, err, "a token of role %s in %s would be made", r.Role, r.Namespace)
	}
	return w.show(out, err, func(say *report.Text) {
		say.Print("%s", out.Text)
		until := "never expires"
		if !out.Expires.IsZero() {
			until = "expires " + day(out.Expires, "")
		}
		say.Note("token %s acts as %s, %s in %s, and %s; it is shown once", out.ID, out.Account, out.Role, out.Namespace, until)
		if !out.On.Local {
			say.Hint("skl login %s --token-stdin    skl registry token revoke %s", out.On.URL, out.ID)
		}
	})
}

func listTokens(ctx context.Context, w *world, c *cli.Context) error {
	out, err := w.admin().Tokens(ctx, siteOf(c))
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, t := range out.Tokens {
			rows = append(rows, []string{t.ID, t.Account, t.Namespace, t.Role, day(t.Expires, "never"), day(t.LastUsed, "-"), admin.TokenState(t)})
		}
		table(say, []string{"ID", "ACCOUNT", "NAMESPACE", "ROLE", "EXPIRES", "LAST USED", "STATE"}, rows, "there are no tokens that you may see")
	})
}

// day is the date of t, or what stands for none.
func day(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Format(time.DateOnly)
}

func revokeToken(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry token revoke ID")
	if err != nil {
		return err
	}
	out, err := w.admin().RevokeToken(ctx, admin.RevokeRequest{Site: siteOf(c), ID: args[0], DryRun: c.Bool("dry-run")})
	return w.did(c, out, err, "token %s is revoked", args[0])
}
