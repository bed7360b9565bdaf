package cli

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/keyless"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
)

// A signFunc makes a sigstore bundle of a statement and says who signs. Nil signs nothing.
type signFunc func(ctx context.Context, st attest.Statement) (bundle []byte, signer string, err error)

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

// signer is what --sign means.
func (w *world) signer(ctx context.Context, c *cli.Context, how string) (signFunc, error) {
	switch how {
	case "", "none":
		return nil, nil
	case "keyless":
		return w.keylessSigner(ctx, c)
	}
	key, _, err := w.privateKey(how)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, st attest.Statement) ([]byte, string, error) {
		bundle, err := attest.Sign(key, st)
		return bundle, key.Public().Fingerprint(), err
	}, nil
}

// privateKey reads a key file, and asks for its passphrase if it has one. It returns the
// passphrase that opened it, nil for a key without.
func (w *world) privateKey(path string) (key attest.PrivateKey, passphrase []byte, err error) {
	fail := func(err error) (attest.PrivateKey, []byte, error) { return attest.PrivateKey{}, nil, err }
	text, err := os.ReadFile(scope.Absolute(w.Cwd, path))
	if err != nil {
		return fail(diag.New(diag.Misuse, "no_key", "the signing key cannot be read: %w", err).Hint("skl key new -o %s", path))
	}
	key, err = attest.ParsePrivate(text, nil)
	e, sealed := errors.AsType[*diag.Error](err)
	if sealed = sealed && e.Code == "key_passphrase"; !sealed {
		return key, nil, err
	}
	passphrase = []byte(w.Getenv("SKL_KEY_PASSPHRASE"))
	if len(passphrase) == 0 {
		asked, err := w.ui.Secret("passphrase of " + path)
		if errors.Is(err, ask.ErrNobody) {
			return fail(e.Hint("set SKL_KEY_PASSPHRASE"))
		}
		if err != nil {
			return fail(err)
		}
		passphrase = []byte(asked)
	}
	key, err = attest.ParsePrivate(text, passphrase)
	return key, passphrase, err
}

// keylessSigner signs as whoever an OpenID token says, through services that are named: nothing
// about a private release goes to a public log by accident.
func (w *world) keylessSigner(ctx context.Context, c *cli.Context) (signFunc, error) {
	services := keyless.Services{Authority: c.String("fulcio-url"), Log: c.String("rekor-url")}
	if tsa := c.String("tsa-url"); tsa != "" {
		services.Timestamps = []string{tsa}
	}
	if path := c.String("signing-config"); path != "" {
		text, err := os.ReadFile(scope.Absolute(w.Cwd, path))
		if err != nil {
			return nil, diag.New(diag.Misuse, "keyless_config", "the signing configuration cannot be read: %w", err)
		}
		if services, err = keyless.ParseConfig(text, time.Now()); err != nil {
			return nil, err
		}
	}
	if services.Authority == "" {
		return nil, diag.New(diag.Misuse, "keyless_config", "keyless signing needs a certificate authority, and a log or a timestamp authority").
			Hint("--signing-config FILE, or --fulcio-url URL with --rekor-url or --tsa-url")
	}
	token, err := w.identityToken(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &keyless.Signer{Services: services, Client: w.HTTP.HTTP(), Progress: w.ui.Progress}
	return func(ctx context.Context, st attest.Statement) ([]byte, string, error) {
		bundle, err := s.Sign(ctx, st, token)
		return bundle, certified(bundle), err
	}, nil
}

// certified is the identity that the certificate of a keyless bundle names, "" if it cannot be read. It is for
// showing to whoever made the bundle, and verifies nothing.
func certified(bundle []byte) string {
	var b struct {
		VerificationMaterial struct {
			Certificate struct {
				RawBytes []byte `json:"rawBytes"`
			} `json:"certificate"`
		} `json:"verificationMaterial"`
	}
	if json.Unmarshal(bundle, &b) != nil {
		return ""
	}
	leaf, err := x509.ParseCertificate(b.VerificationMaterial.Certificate.RawBytes)
	switch {
	case err != nil:
	case len(leaf.URIs) > 0:
		return leaf.URIs[0].String()
	case len(leaf.EmailAddresses) > 0:
		return leaf.EmailAddresses[0]
	}
	return ""
}

func (w *world) identityToken(ctx context.Context, c *cli.Context) (string, error) {
	if path := c.String("identity-token"); path != "" {
		text, err := os.ReadFile(scope.Absolute(w.Cwd, path))
		if err != nil {
			return "", diag.New(diag.Misuse, "keyless_token", "the identity token cannot be read: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	if token := w.Getenv("SIGSTORE_ID_TOKEN"); token != "" {
		return token, nil
	}
	return keyless.Ambient(ctx, w.Getenv, w.HTTP.HTTP(), "")
}

// attachSignature signs subject and puts the bundle into a referrer of it; none without sign.
func attachSignature(ctx context.Context, sign signFunc, subject attest.Subject, of v1.Descriptor, created time.Time) ([]client.Image, string, error) {
	if sign == nil {
		return nil, "", nil
	}
	st, err := attest.NewSignature(subject)
	if err != nil {
		return nil, "", err
	}
	image, signer, err := attachment(ctx, sign, st, of, created)
	if err != nil {
		return nil, "", err
	}
	return []client.Image{image}, signer, nil
}

// attachment signs a statement and makes the referrer that holds it.
func attachment(ctx context.Context, sign signFunc, st attest.Statement, of v1.Descriptor, created time.Time) (client.Image, string, error) {
	bundle, signer, err := sign(ctx, st)
	if err != nil {
		return client.Image{}, "", err
	}
	if created.IsZero() {
		created = time.Now()
	}
	a, err := attest.Attach(bundle, of, created)
	if err != nil {
		return client.Image{}, "", err
	}
	return client.ManifestImage(a.Manifest, a.Config, a.Layer), signer, nil
}

type signResult struct {
	Ref       string `json:"ref"`
	Digest    string `json:"digest"`
	Signer    string `json:"signer"`    // identity, or fingerprint of the key
	Predicate string `json:"predicate"` // type of the statement
}

func signCommand() command {
	return command{name: "sign", args: "REF", usage: "sign a published release", output: signResult{},
		example: "skl sign acme/pdf@1.4.2 --sign release.key\nskl sign oci://ghcr.io/acme/pdf:1.4.2 --sign release.key",
		flags:   append([]cli.Flag{toFlag(), dryRunFlag()}, signFlags("sign with `KEY`, a file, or \"keyless\"")...),
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			return w.attach(ctx, c, attest.NewSignature)
		}}
}

func attestCommand() command {
	return command{name: "attest", args: "REF", usage: "attach a signed statement to a published release", output: signResult{},
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
			text, err := os.ReadFile(scope.Absolute(w.Cwd, c.String("predicate")))
			if err != nil {
				return diag.New(diag.Misuse, "bad_predicate", "the predicate cannot be read: %w", err)
			}
			return w.attach(ctx, c, func(s attest.Subject) (attest.Statement, error) {
				return attest.NewStatement(s, c.String("type"), json.RawMessage(text))
			})
		}}
}

func toFlag() cli.Flag {
	return &cli.StringFlag{Name: "to", Usage: "`REGISTRY` for names: one of config.toml or a URL (default: the owner of the namespace)"}
}

// attach signs a statement about the release that the one argument names, and pushes it.
func (w *world) attach(ctx context.Context, c *cli.Context, statement func(attest.Subject) (attest.Statement, error)) error {
	arg, err := oneName(c)
	if err != nil {
		return err
	}
	sign, err := w.signer(ctx, c, c.String("sign"))
	if err != nil {
		return err
	}
	if sign == nil {
		return diag.New(diag.Misuse, "usage", "sign with what?").Hint("--sign KEYFILE, or --sign keyless").Hint("skl key new makes a key")
	}
	to, t, version, err := w.published(ctx, arg, c.String("to"))
	if err != nil {
		return err
	}
	reference := version
	if to.rest != nil {
		if reference, err = oci.Tag(version); err != nil {
			return err
		}
	}
	root, err := to.oci.Resolve(ctx, t, reference)
	if err != nil {
		return err
	}
	subject := attest.Subject{Name: t.Repo, Digest: root.Digest.String()}
	if v, ok := oci.Version(reference); ok {
		subject.Version = v
	}
	st, err := statement(subject)
	if err != nil {
		return err
	}
	out := signResult{Ref: arg, Digest: root.Digest.String(), Predicate: st.PredicateType}
	if !c.Bool("dry-run") {
		image, signer, err := attachment(ctx, sign, st, root.Descriptor, time.Time{})
		if err != nil {
			return err
		}
		out.Signer = signer
		if _, err := to.oci.Push(ctx, t, image); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	if c.Bool("dry-run") {
		w.ui.Print("%s would be signed", out.Digest)
		return nil
	}
	w.ui.Print("%s %s signed by %s", ui.Painted(w.ui.Done()), arg, out.Signer)
	w.ui.Detail("%s", out.Digest)
	return nil
}

// published finds where a release is that a person names with a version: acme/pdf@1.4.2, or an OCI ref with a
// tag or digest.
func (w *world) published(ctx context.Context, arg, to string) (*destination, client.Target, string, error) {
	fail := func(err error) (*destination, client.Target, string, error) { return nil, client.Target{}, "", err }
	r, err := ref.Parse(arg)
	if err != nil {
		return fail(err)
	}
	version := r.Version
	if r.Digest != "" {
		version = r.Digest
	}
	if version == "" || r.Kind != ref.Name && r.Kind != ref.OCI || r.Kind == ref.Name && r.Path != "" {
		return fail(diag.New(diag.Misuse, "invalid_ref", "%s does not name one published release", arg).Hint("write NS/NAME@VERSION, or oci://HOST/NS/NAME:TAG"))
	}
	if r.Kind == ref.OCI {
		d, err := w.destination(ctx, "oci://"+r.Host)
		return d, client.Target{Host: r.Host, Repo: r.Repository()}, version, err
	}
	if to == "" {
		if to, err = w.ownerRegistry(ctx, r); err != nil {
			return fail(err)
		}
	}
	d, err := w.destination(ctx, to)
	if err != nil {
		return fail(err)
	}
	return d, d.target(r.Owner, r.Repo), strings.TrimPrefix(version, "="), nil
}

// ownerRegistry is the registry that owns the namespace of a name.
func (w *world) ownerRegistry(ctx context.Context, r ref.Ref) (string, error) {
	f, err := w.Load()
	if err != nil {
		return "", err
	}
	place, err := w.Resolver(f.Manifest).Locate(ctx, r)
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(place.Binding, "registry:")
	if !ok {
		return "", diag.New(diag.Misuse, "no_registry", "namespace %s is not on a registry of yours, but %s", r.Owner, place.Binding).Hint("name the registry: --to NAME or URL")
	}
	return name, nil
}

func notFound(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && slices.Contains([]string{"not_found", "oci_not_found", "unknown_manifest", "unknown_version", "unknown_skill"}, e.Code)
}
