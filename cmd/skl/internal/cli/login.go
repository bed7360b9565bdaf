package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/account"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func loginCommand() command {
	return command{name: "login", args: "URL", group: "Sites", usage: "keep a token for a registry, in the system's keyring where there is one (variables: skl help environment)", output: account.Login{},
		example: "skl login https://skills.example\nskl login https://skills.example --token-stdin --name corp --default < token\nskl login ghcr.io --username octocat --token-stdin < token",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "token-stdin", Usage: "read the token from standard input"},
			&cli.StringFlag{Name: "username", Aliases: []string{"u"}, Usage: "`NAME` that belongs to the token, if the registry wants one"},
			&cli.StringFlag{Name: "name", Usage: "call it registry `NAME` in config.toml (default: its host)"},
			&cli.BoolFlag{Name: "default", Usage: "make it the default registry"},
			dryRunFlag(),
		}, run: runLogin}
}

func logoutCommand() command {
	return command{name: "logout", args: "URL|NAME", group: "Sites", usage: "forget the token for a registry", output: account.Logout{},
		example: "skl logout https://skills.example\nskl logout corp --forget",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "forget", Usage: "also remove the registry from config.toml"}, dryRunFlag()}, run: runLogout}
}

func (w *world) account() *account.Account {
	return &account.Account{Scope: w.scope, Secret: w.ui.Secret}
}

func runLogin(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 1 {
		return diag.New(diag.Misuse, "usage", "login takes one address").Hint("skl login https://skills.example")
	}
	r := account.LoginRequest{Address: c.Args().First(), User: c.String("username"), Name: c.String("name"), Default: c.Bool("default"), DryRun: c.Bool("dry-run")}
	if c.Bool("token-stdin") {
		r.Token = w.env.stdin
	}
	out, err := w.account().Login(ctx, r)
	return w.show(out, err, func(say *report.Text) {
		switch {
		case r.DryRun:
			say.Print("%s accepts the token; it would be kept in %s", out.URL, w.scope.Short(out.Store))
		case out.Account != "":
			say.Print("logged in to %s as %s; the token is in %s", out.URL, out.Account, w.scope.Short(out.Store))
		default:
			say.Print("logged in to %s; the token is in %s", out.URL, w.scope.Short(out.Store))
		}
		if out.Name != "" {
			say.Note("%s is registry %s in config.toml%s", out.URL, out.Name, map[bool]string{true: ", the default one"}[out.Default])
		}
		if out.Name != "" && !out.Default {
			say.Hint("names like acme/pdf are looked up there after: skl login %s --default", out.URL)
		}
	})
}

func runLogout(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() != 1 {
		return diag.New(diag.Misuse, "usage", "logout takes one address or name").Hint("skl logout URL")
	}
	r := account.LogoutRequest{Address: c.Args().First(), Forget: c.Bool("forget"), DryRun: c.Bool("dry-run")}
	out, err := w.account().Logout(ctx, r)
	return w.show(out, err, func(say *report.Text) {
		switch {
		case !out.Removed:
			say.Print("there was no token for %s in %s", out.URL, w.scope.Short(out.Store))
		case r.DryRun && out.Also != "":
			say.Print("the tokens for %s would be removed from %s and from %s", out.URL, w.scope.Short(out.Store), out.Also)
		case r.DryRun:
			say.Print("the token for %s would be removed from %s", out.URL, w.scope.Short(out.Store))
		default:
			say.Print("logged out of %s", out.URL)
		}
	})
}
