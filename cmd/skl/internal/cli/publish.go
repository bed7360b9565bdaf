package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/registry/client/wire"
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
	if err := w.show(out, err, func() { w.printPublish(out, dry) }); err != nil || out.OK {
		return err
	}
	return unmet("signature_required")
}

// shipper publishes from the scope, and asks the person for passphrases.
func (w *world) shipper() *ship.Shipper {
	return &ship.Shipper{Scope: w.scope, Secret: w.ui.Secret}
}

func (w *world) printPublish(out ship.Published, dry bool) {
	what := fmt.Sprintf("%s@%s   %s, %s", out.Name, out.Version, diag.Count(out.Files, "file"), diag.Size(out.Bytes))
	if dry {
		w.ui.Print("%s", what)
		w.ui.Print("manifest %s", out.Digest)
		if out.Reason != "" {
			w.ui.Note("it would not be visible at once: %s", out.Reason)
		}
		w.ui.Note("would be published to %s; nothing was sent (--dry-run)", out.To)
		return
	}
	if !out.Created && out.Reason == "" {
		w.ui.Print("%s is published already, the same", what)
		return
	}
	if w.ui.Screen {
		w.drawPublish(out)
		return
	}
	mark := ui.Painted(w.ui.Done())
	if out.Reason != "" {
		mark = "sent"
	}
	w.ui.Print("%s %s   %s", mark, what, out.State)
	w.ui.Print("manifest %s", out.Digest)
	if out.Signer != "" {
		w.ui.Print("signed by %s", out.Signer)
	}
	if out.Log != nil {
		w.ui.Print("entry %d of the log of %s", out.Log.Index, out.To)
	}
	if out.Reason != "" {
		w.ui.Note("it is not visible yet: %s", out.Reason)
	}
	for _, u := range out.URLs {
		w.ui.Detail("%s", u)
	}
	switch {
	case out.Reason == "":
		w.ui.Hint("skl install %s", out.InstallRef)
	case out.State == wire.Draft:
		w.ui.Hint("skl sign %s@%s --sign KEY", out.Name, out.Version)
	default:
		w.ui.Hint("a maintainer of %s can approve it: skl registry approve %s@%s", out.Name, out.Name, out.Version)
	}
}

// drawPublish is a release on a terminal.
func (w *world) drawPublish(out ship.Published) {
	p := draw.Publishing{Name: out.Name, Version: out.Version, To: out.To, Size: diag.Size(out.Bytes), Signer: out.Signer, Reason: out.Reason, State: string(out.State), Files: out.Files, Entry: -1}
	if out.Log != nil {
		p.Entry = int64(out.Log.Index)
	}
	switch {
	case out.Reason == "":
		p.Next = "skl install " + out.InstallRef
	case out.State == wire.Draft:
		p.Next = "skl sign " + out.Name + "@" + out.Version + " --sign KEY"
	default:
		p.Next = "a maintainer of " + out.Name + " can: skl registry approve " + out.Name + "@" + out.Version
	}
	w.ui.Page(ui.Painted(draw.Publish(w.ui.Look(), p)))
	for _, u := range out.URLs {
		w.ui.Detail("%s", u)
	}
}
