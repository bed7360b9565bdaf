package cli

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/spec/diag"
)

func keyCommand() command {
	return command{name: "key", args: "new|show|rotate", group: "Trust", usage: "create and show keys that sign releases",
		example: "skl key new -o release.key\nskl key show release.key\nskl key rotate release.key -o release-2.key",
		sub: []command{
			{name: "new", usage: "create a key pair: FILE (private) and FILE.pub", output: ship.Key{},
				flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `FILE` and FILE.pub"},
					&cli.StringFlag{Name: "algorithm", Value: ship.DefaultAlgorithm, Usage: "ecdsa-p256 or ed25519"},
					&cli.BoolFlag{Name: "passphrase", Usage: "ask for a passphrase, or take SKL_KEY_PASSPHRASE, and encrypt the key with it"}, dryRunFlag()},
				run: runKeyNew},
			{name: "show", args: "FILE", usage: "print the public half and the fingerprint of a key", output: ship.Key{}, run: runKeyShow},
			{name: "rotate", args: "FILE", usage: "create a new key, signed by the old one", output: ship.Key{},
				flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the new key to `FILE`, FILE.pub and the statement to FILE.rotation.json"},
					&cli.StringFlag{Name: "reason", Usage: "why"}, dryRunFlag()},
				run: runKeyRotate},
		}}
}

func runKeyNew(_ context.Context, w *world, c *cli.Context) error {
	out := c.String("output")
	if out == "" || c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl key new needs -o FILE").Hint("skl key new -o KEYFILE")
	}
	key, err := w.shipper().NewKey(ship.KeyRequest{File: out, Algorithm: c.String("algorithm"), Passphrase: c.Bool("passphrase"), DryRun: c.Bool("dry-run")})
	return w.printKey(c, key, err)
}

func (w *world) printKey(c *cli.Context, key ship.Key, err error) error {
	return w.show(key, err, func(say *report.Text) {
		if c.Bool("dry-run") {
			say.Note("%s and %s would be written (--dry-run)", w.scope.Short(key.Private), w.scope.Short(key.Public))
			return
		}
		say.Print("%s   %s", w.scope.Short(key.Public), key.Fingerprint)
		say.Note("%s is secret: keep it out of repositories", w.scope.Short(key.Private))
		if key.Statement != "" {
			say.Note("%s says that the old key vouches for the new one", w.scope.Short(key.Statement))
		}
		say.Hint("skl publish DIR --sign %s", w.scope.Short(key.Private))
	})
}

func runKeyShow(_ context.Context, w *world, c *cli.Context) error {
	path, err := oneName(c)
	if err != nil {
		return err
	}
	key, err := w.shipper().ShowKey(path)
	return w.show(key, err, func(say *report.Text) {
		say.Raw([]byte(key.Public))
		say.Print("%s", key.Fingerprint)
	})
}

func runKeyRotate(_ context.Context, w *world, c *cli.Context) error {
	path, err := oneName(c)
	if err != nil {
		return err
	}
	out := c.String("output")
	if out == "" {
		return diag.New(diag.Misuse, "usage", "skl key rotate needs -o FILE for the new key").Hint("skl key rotate %s -o %s", path, "new-"+filepath.Base(path))
	}
	key, err := w.shipper().RotateKey(ship.RotateRequest{Old: path, File: out, Reason: c.String("reason"), DryRun: c.Bool("dry-run")})
	return w.printKey(c, key, err)
}
