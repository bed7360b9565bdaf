package ship

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/keyless"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// A signFunc makes a sigstore bundle of a statement and says who signs. Nil signs nothing.
type signFunc func(ctx context.Context, st attest.Statement) (bundle []byte, signer string, err error)

// Signing says what signs. The rest is for keyless signing: services that are named, so that nothing about a private
// release goes to a public log by accident.
type Signing struct {
	How           string // a key file, "keyless", or "" or "none"
	Config        string // file with the services, a signing_config.json of sigstore
	Authority     string // certificate authority
	Log           string // transparency log
	Timestamps    string // timestamp authority
	IdentityToken string // file with the OpenID token; "" is SIGSTORE_ID_TOKEN or the CI job's own
}

// signer is what by means.
func (s *Shipper) signer(ctx context.Context, by Signing) (signFunc, error) {
	switch by.How {
	case "", "none":
		return nil, nil
	case "keyless":
		return s.keylessSigner(ctx, by)
	}
	key, _, err := s.PrivateKey(by.How)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, st attest.Statement) ([]byte, string, error) {
		bundle, err := attest.Sign(key, st)
		return bundle, key.Public().Fingerprint(), err
	}, nil
}

// PrivateKey reads a key file, and asks for its passphrase if it has one. It returns the
// passphrase that opened it, nil for a key without.
func (s *Shipper) PrivateKey(path string) (key attest.PrivateKey, passphrase []byte, err error) {
	fail := func(err error) (attest.PrivateKey, []byte, error) { return attest.PrivateKey{}, nil, err }
	text, err := os.ReadFile(scope.Absolute(s.Scope.Cwd, path))
	if err != nil {
		return fail(diag.New(diag.Misuse, "no_key", "the signing key cannot be read: %w", err).Hint("skl key new -o %s", path))
	}
	key, err = attest.ParsePrivate(text, nil)
	e, sealed := errors.AsType[*diag.Error](err)
	if sealed = sealed && e.Code == "key_passphrase"; !sealed {
		return key, nil, err
	}
	passphrase = []byte(s.Scope.Getenv("SKL_KEY_PASSPHRASE"))
	if len(passphrase) == 0 {
		asked, err := s.Secret("passphrase of " + path)
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
func (s *Shipper) keylessSigner(ctx context.Context, by Signing) (signFunc, error) {
	services := keyless.Services{Authority: by.Authority, Log: by.Log}
	if tsa := by.Timestamps; tsa != "" {
		services.Timestamps = []string{tsa}
	}
	if path := by.Config; path != "" {
		text, err := os.ReadFile(scope.Absolute(s.Scope.Cwd, path))
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
	token, err := s.identityToken(ctx, by)
	if err != nil {
		return nil, err
	}
	signer := &keyless.Signer{Services: services, Client: s.Scope.HTTP.HTTP(), Progress: s.Scope.Progress}
	return func(ctx context.Context, st attest.Statement) ([]byte, string, error) {
		bundle, err := signer.Sign(ctx, st, token)
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

func (s *Shipper) identityToken(ctx context.Context, by Signing) (string, error) {
	if path := by.IdentityToken; path != "" {
		text, err := os.ReadFile(scope.Absolute(s.Scope.Cwd, path))
		if err != nil {
			return "", diag.New(diag.Misuse, "keyless_token", "the identity token cannot be read: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	if token := s.Scope.Getenv("SIGSTORE_ID_TOKEN"); token != "" {
		return token, nil
	}
	return keyless.Ambient(ctx, s.Scope.Getenv, s.Scope.HTTP.HTTP(), "")
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

// A Signed is a release about which something was signed.
type Signed struct {
	Ref       string `json:"ref"`
	Digest    string `json:"digest"`
	Signer    string `json:"signer"`           // identity, or fingerprint of the key
	Predicate string `json:"predicate"`        // type of the statement
	State     string `json:"state,omitempty"`  // of the release then, if it was signed on a registry of skills
	Reason    string `json:"reason,omitempty"` // why it is in that state
}

// Waits reports whether the release still waits for a signature that its namespace requires.
func (s Signed) Waits() bool { return s.State == wire.Draft }
