package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func initRegistryCommand() command {
	return command{name: "init", instead: "write: skl registry init", usage: "write a commented registry.toml", output: admin.Prepared{}, run: initRegistry,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "clients reach it by `URL`"},
			&cli.StringFlag{Name: "addr", Usage: "listen on `HOST:PORT`"},
			&cli.StringFlag{Name: "data", Usage: "keep everything in `DIR`"},
			&cli.StringFlag{Name: "tls", Usage: "end TLS with `CERT,KEY|proxy`: two PEM files, or something in front"},
			&cli.StringFlag{Name: "oidc", Usage: "not in this version: `ISSUER` of identities"},
			&cli.StringFlag{Name: "client-id", Usage: "not in this version: `ID` at the issuer"},
			&cli.BoolFlag{Name: "systemd", Usage: "also write skl-registry.service"},
			&cli.BoolFlag{Name: "compose", Usage: "also write compose.yaml"},
			dryRunFlag(),
		}}
}

func initRegistry(_ context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry init --url URL"); err != nil {
		return err
	}
	r := admin.InitRequest{URL: c.String("url"), Addr: c.String("addr"), Data: c.String("data"), TLS: c.String("tls"), Issuer: c.String("oidc"), ClientID: c.String("client-id"),
		Systemd: c.Bool("systemd"), Compose: c.Bool("compose"), DryRun: c.Bool("dry-run")}
	out, err := w.admin().Init(r)
	return w.show(out, err, func(say *report.Text) {
		for _, f := range out.Files {
			if r.DryRun {
				say.Raw([]byte(f.Text))
			} else {
				say.Print("wrote %s", w.scope.Short(f.Path))
			}
		}
		if r.DryRun {
			say.Note("nothing was written (--dry-run)")
			return
		}
		say.Hint("skl registry serve --config %s", w.scope.Short(out.Files[0].Path))
	})
}
