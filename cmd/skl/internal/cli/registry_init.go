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
			&cli.StringFlag{Name: "db", Usage: "keep the metadata in the database at `URL`: postgres://…"},
			&cli.StringFlag{Name: "blobs", Usage: "keep the blobs in the bucket at `URL`: s3://…"},
			&cli.StringFlag{Name: "tls", Usage: "end TLS with `CERT,KEY|proxy`: two PEM files, or something in front"},
			&cli.StringFlag{Name: "oidc", Usage: "not in this version: `ISSUER` of identities"},
			&cli.StringFlag{Name: "client-id", Usage: "not in this version: `ID` at the issuer"},
			&cli.BoolFlag{Name: "systemd", Usage: "also write skl-registry.service"},
			&cli.BoolFlag{Name: "compose", Usage: "also write compose.yaml"},
			&cli.BoolFlag{Name: "helm", Usage: "write a chart for Kubernetes, in skl-registry"},
			&cli.IntFlag{Name: "replicas", Usage: "`N` processes in compose.yaml or the chart, that share --db and --blobs; compose.yaml has containers for these, if they are not said"},
			dryRunFlag(),
		}}
}

func initRegistry(_ context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry init --url URL"); err != nil {
		return err
	}
	r := admin.InitRequest{URL: c.String("url"), Addr: c.String("addr"), Data: c.String("data"), Database: c.String("db"), Blobs: c.String("blobs"), Replicas: c.Int("replicas"), Helm: c.Bool("helm"), TLS: c.String("tls"), Issuer: c.String("oidc"), ClientID: c.String("client-id"),
		Systemd: c.Bool("systemd"), Compose: c.Bool("compose"), DryRun: c.Bool("dry-run")}
	out, err := w.admin().Init(r)
	return w.show(out, err, func(say *report.Text) {
		for _, f := range out.Files {
			switch {
			case r.DryRun && f.Secret:
				say.Print("# %s would hold secrets", w.scope.Short(f.Path))
			case r.DryRun:
				say.Raw([]byte(f.Text))
			case f.Secret:
				say.Print("wrote %s, which holds secrets", w.scope.Short(f.Path))
			default:
				say.Print("wrote %s", w.scope.Short(f.Path))
			}
		}
		if r.DryRun {
			say.Note("nothing was written (--dry-run)")
			return
		}
		if r.Helm {
			say.Note("put the key of the bucket into registry.env; then: kubectl create secret generic skl-registry --from-env-file registry.env")
			say.Note("helm install skl-registry ./skl-registry, with the image as values.yaml says")
			return
		}
		if r.Compose {
			say.Note("start it with docker compose up -d; the first lines of compose.yaml say what else it takes")
			return
		}
		say.Hint("skl registry serve --config %s", w.scope.Short(out.Files[0].Path))
	})
}
