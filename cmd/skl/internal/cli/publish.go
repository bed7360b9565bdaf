package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/spec/diag"
)

func publishCommand() command {
	return command{name: "publish", args: "DIR [NS/NAME@VERSION]", group: "Author", usage: "validate, sign and publish a skill as one step", output: ship.Published{}, complete: "dir",
		example: `skl publish skills/pdf acme/pdf@1.4.2
			skl publish skills/pdf --sign release.key         # name and version from its skl.toml
			skl publish . acme/pdf@1.4.2 --to oci://ghcr.io --image`,
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`REGISTRY`: a name of config.toml, a URL, or oci://host[/prefix] (default: the default registry)"},
			&cli.BoolFlag{Name: "image", Usage: "also publish the form that containers mount, as VERSION-image"},
			&cli.StringSliceFlag{Name: "include", Usage: "publish `FILE` of the folder although git ignores it or its name says that it holds secrets; repeatable"},
			dryRunFlag(),
		}, signFlags("sign with `KEY`, a file, or \"keyless\", or \"none\"")...),
		run: runPublish}
}

func runPublish(ctx context.Context, w *world, c *cli.Context) error {
	if n := c.Args().Len(); n < 1 || n > 2 {
		return diag.New(diag.Misuse, "usage", "name a folder with a SKILL.md, and perhaps NS/NAME@VERSION").Hint("skl publish skills/pdf acme/pdf@1.0.0")
	}
	dry := c.Bool("dry-run")
	out, err := w.shipper().Publish(ctx, ship.PublishRequest{Dir: c.Args().First(), Name: c.Args().Get(1), To: c.String("to"), Image: c.Bool("image"), Include: c.StringSlice("include"), Signing: signing(c), DryRun: dry})
	if err != nil {
		return err
	}
	return report.Published(out, dry).Write(w.ui)
}

// shipper publishes from the scope, and asks the person for passphrases.
func (w *world) shipper() *ship.Shipper {
	return &ship.Shipper{Scope: w.scope, Secret: w.ui.Secret}
}
