package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/spec/diag"
)

// signFlags are the flags of what signs.
func signFlags(usage string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "sign", Usage: usage},
		&cli.StringFlag{Name: "signing-config", Usage: "keyless: `FILE` with the services to use, a signing_config.json of sigstore"},
		&cli.StringFlag{Name: "fulcio-url", Usage: "keyless: certificate authority `URL`"},
		&cli.StringFlag{Name: "rekor-url", Usage: "keyless: transparency log `URL`"},
		&cli.StringFlag{Name: "tsa-url", Usage: "keyless: timestamp authority `URL`"},
		&cli.StringFlag{Name: "identity-token", Usage: "keyless: `FILE` with the OpenID token (default: SIGSTORE_ID_TOKEN, or the CI job's own)"},
	}
}

func signCommand() command {
	return command{name: "sign", args: "REF", group: "Trust", usage: "sign a published release", output: ship.Signed{},
		example: "skl sign acme/pdf@1.4.2 --sign release.key\nskl sign oci://ghcr.io/acme/pdf:1.4.2 --sign release.key",
		flags:   append([]cli.Flag{toFlag(), dryRunFlag()}, signFlags("sign with `KEY`, a file, or \"keyless\"")...),
		run:     func(ctx context.Context, w *world, c *cli.Context) error { return w.attach(ctx, c) }}
}

func attestCommand() command {
	return command{name: "attest", args: "REF", group: "Trust", usage: "attach a signed statement to a published release", output: ship.Signed{},
		example: "skl attest acme/pdf@1.4.2 --predicate provenance.json --type https://slsa.dev/provenance/v1 --sign release.key",
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "predicate", Usage: "`FILE` with the predicate, a JSON object"},
			&cli.StringFlag{Name: "type", Usage: "predicate type, a URI"},
			toFlag(), dryRunFlag(),
		}, signFlags("sign with `KEY`, a file, or \"keyless\"")...),
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			if c.String("predicate") == "" || c.String("type") == "" {
				return diag.New(diag.Misuse, "usage", "a statement needs --predicate FILE and --type URI").Hint("skl attest --help")
			}
			return w.attach(ctx, c)
		}}
}

func toFlag() cli.Flag {
	return &cli.StringFlag{Name: "to", Usage: "`REGISTRY` for names: one of config.toml or a URL (default: the owner of the namespace)"}
}

// signing is what the flags say of what signs.
func signing(c *cli.Context) ship.Signing {
	return ship.Signing{How: c.String("sign"), Config: c.String("signing-config"), Authority: c.String("fulcio-url"), Log: c.String("rekor-url"),
		Timestamps: c.String("tsa-url"), IdentityToken: c.String("identity-token")}
}

// attach signs a statement about the release that the one argument names, and pushes it.
func (w *world) attach(ctx context.Context, c *cli.Context) error {
	arg, err := oneName(c)
	if err != nil {
		return err
	}
	out, err := w.shipper().Attach(ctx, ship.AttachRequest{Ref: arg, To: c.String("to"), Predicate: c.String("predicate"), Type: c.String("type"),
		Signing: signing(c), DryRun: c.Bool("dry-run")})
	err = w.show(out, err, func(say *report.Text) {
		if c.Bool("dry-run") {
			say.Print("%s would be signed", out.Digest)
			return
		}
		say.Print("%s %s signed by %s", screen.Done, arg, out.Signer)
		say.Detail("%s", out.Digest)
		if out.Waits() {
			say.Note("it is not visible yet: %s", out.Reason)
		}
	})
	if err == nil && out.Waits() {
		return report.Unmet("signature_required")
	}
	return err
}
