package cli

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

type keyResult struct {
	Private     string `json:"private,omitempty"` // file
	Public      string `json:"public"`            // file, or the key itself for show
	Fingerprint string `json:"fingerprint"`
	Statement   string `json:"statement,omitempty"` // of a rotation, file
}

func keyCommand() command {
	return command{name: "key", args: "new|show|rotate", usage: "create and show keys that sign releases",
		example: "skl key new -o release.key\nskl key show release.key\nskl key rotate release.key -o release-2.key",
		sub: []command{
			{name: "new", usage: "create a key pair: FILE (private) and FILE.pub", output: keyResult{},
				flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `FILE` and FILE.pub"},
					&cli.StringFlag{Name: "algorithm", Value: string(attest.ECDSA), Usage: "ecdsa-p256 or ed25519"},
					&cli.BoolFlag{Name: "passphrase", Usage: "ask for a passphrase, or take SKL_KEY_PASSPHRASE, and encrypt the key with it"}, dryRunFlag()},
				run: runKeyNew},
			{name: "show", args: "FILE", usage: "print the public half and the fingerprint of a key", output: keyResult{}, run: runKeyShow},
			{name: "rotate", args: "FILE", usage: "create a new key, signed by the old one", output: keyResult{},
				flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the new key to `FILE`, FILE.pub and the statement to FILE.rotation.json"},
					&cli.StringFlag{Name: "reason", Usage: "why"}, dryRunFlag()},
				run: runKeyRotate},
		}}
}

func runKeyNew(_ context.Context, w *world, c *cli.Context) error {
	out := c.String("output")
	if out == "" || c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl key new needs -o FILE").Hint("skl key new -o release.key")
	}
	key, err := attest.NewKey(attest.Algorithm(c.String("algorithm")))
	if err != nil {
		return err
	}
	passphrase := []byte(w.Getenv("SKL_KEY_PASSPHRASE"))
	if c.Bool("passphrase") && len(passphrase) == 0 {
		text, err := w.ui.Secret("passphrase for the new key")
		if errors.Is(err, ask.ErrNobody) {
			return diag.New(diag.NeedsInput, "key_passphrase", "a passphrase is wanted, and nobody can be asked").Hint("set SKL_KEY_PASSPHRASE")
		}
		if err != nil {
			return err
		}
		passphrase = []byte(text)
	}
	files, err := w.keyFiles(out, key, passphrase)
	if err != nil {
		return err
	}
	if err := w.writeNew(files, c.Bool("dry-run")); err != nil {
		return err
	}
	return w.printKey(keyResult{Private: files[0].path, Public: files[1].path, Fingerprint: key.Public().Fingerprint()}, c.Bool("dry-run"))
}

// A newFile is one that must not exist yet.
type newFile struct {
	path string
	text []byte
	mode os.FileMode
}

// keyFiles are the files of a key.
func (w *world) keyFiles(out string, key attest.PrivateKey, passphrase []byte) ([]newFile, error) {
	text, err := key.PEM(passphrase)
	if err != nil {
		return nil, err
	}
	path := scope.Absolute(w.Cwd, out)
	return []newFile{{path, text, 0o600}, {path + ".pub", key.Public().PEM(), 0o644}}, nil
}

// writeNew writes files after it has checked that none of them exists; a dry run only checks.
func (w *world) writeNew(files []newFile, dry bool) error {
	for _, f := range files {
		if scope.Exists(f.path) {
			return diag.New(diag.Misuse, "exists", "%s exists already; a key is never overwritten", w.Short(f.path)).Hint("skl key rotate makes a successor")
		}
	}
	if dry {
		return nil
	}
	for _, f := range files {
		if err := durable.WriteFile(f.path, f.text, f.mode); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) printKey(out keyResult, dry bool) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	if dry {
		w.ui.Note("%s and %s would be written (--dry-run)", w.Short(out.Private), w.Short(out.Public))
		return nil
	}
	w.ui.Print("%s   %s", w.Short(out.Public), out.Fingerprint)
	w.ui.Note("%s is secret: keep it out of repositories", w.Short(out.Private))
	if out.Statement != "" {
		w.ui.Note("%s says that the old key vouches for the new one", w.Short(out.Statement))
	}
	w.ui.Hint("skl publish DIR --sign %s", w.Short(out.Private))
	return nil
}

func runKeyShow(_ context.Context, w *world, c *cli.Context) error {
	path, err := oneName(c)
	if err != nil {
		return err
	}
	public, err := w.publicKey(path)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(keyResult{Public: string(public.PEM()), Fingerprint: public.Fingerprint()})
	}
	w.ui.Raw(public.PEM())
	w.ui.Print("%s", public.Fingerprint())
	return nil
}

// publicKey reads the public half of a key from either file of it.
func (w *world) publicKey(path string) (attest.PublicKey, error) {
	text, err := os.ReadFile(scope.Absolute(w.Cwd, path))
	if err != nil {
		return attest.PublicKey{}, diag.New(diag.Misuse, "no_key", "the key cannot be read: %w", err)
	}
	if public, err := attest.ParsePublic(text); err == nil {
		return public, nil
	}
	key, _, err := w.shipper().PrivateKey(path)
	if err != nil {
		return attest.PublicKey{}, err
	}
	return key.Public(), nil
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
	old, passphrase, err := w.shipper().PrivateKey(path)
	if err != nil {
		return err
	}
	if len(passphrase) == 0 {
		passphrase = []byte(w.Getenv("SKL_KEY_PASSPHRASE"))
	}
	next, err := attest.NewKey(algorithm(old.Public()))
	if err != nil {
		return err
	}
	st, err := attest.Rotation(old.Public(), next.Public(), c.String("reason"))
	if err != nil {
		return err
	}
	bundle, err := attest.Sign(old, st)
	if err != nil {
		return err
	}
	files, err := w.keyFiles(out, next, passphrase)
	if err != nil {
		return err
	}
	files = append(files, newFile{files[0].path + ".rotation.json", bundle, 0o644})
	if err := w.writeNew(files, c.Bool("dry-run")); err != nil {
		return err
	}
	return w.printKey(keyResult{Private: files[0].path, Public: files[1].path, Fingerprint: next.Public().Fingerprint(), Statement: files[2].path}, c.Bool("dry-run"))
}

// algorithm is how the successor of a key signs: as the key does, if skl makes such keys.
func algorithm(k attest.PublicKey) attest.Algorithm {
	if block, _ := pem.Decode(k.PEM()); block != nil {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if _, ok := key.(ed25519.PublicKey); ok {
				return attest.Ed25519
			}
		}
	}
	return attest.ECDSA
}
