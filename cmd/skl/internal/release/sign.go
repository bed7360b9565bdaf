//go:build ignore

// Signs a file of a release, or checks its signature. The signature is what "skl sign" makes of a release in a registry: an in-toto
// statement about the file's name and SHA-256, in a sigstore bundle.
//
//	go run cmd/skl/internal/release/sign.go -key release.key checksums.txt checksums.txt.sigstore.json
//	go run cmd/skl/internal/release/sign.go -keyless signing_config.json checksums.txt checksums.txt.sigstore.json
//	go run cmd/skl/internal/release/sign.go -verify release.key.pub checksums.txt checksums.txt.sigstore.json
//
// A key with a passphrase is opened by SKL_KEY_PASSPHRASE. Keyless signing takes the identity of the CI job, or the token in
// SIGSTORE_ID_TOKEN.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/skl-project/skl/registry/client/keyless"
	"github.com/skl-project/skl/spec/attest"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sign: ")
	key := flag.String("key", "", "sign with the private key in `FILE`")
	services := flag.String("keyless", "", "sign without a key, by the services in `FILE`, a signing_config.json of sigstore")
	public := flag.String("verify", "", "check the signature by the public key in `FILE`")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: sign.go -key FILE|-keyless FILE|-verify FILE FILE BUNDLE")
	}
	if err := run(*key, *services, *public, flag.Arg(0), flag.Arg(1)); err != nil {
		log.Fatal(err)
	}
}

func run(key, services, public, path, bundle string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	subject := attest.Subject{Name: filepath.Base(path), Digest: "sha256:" + hex.EncodeToString(sum[:])}
	if public != "" {
		return verify(public, subject, bundle)
	}
	statement, err := attest.NewSignature(subject)
	if err != nil {
		return err
	}
	var signature []byte
	if services != "" {
		signature, err = byIdentity(services, statement)
	} else {
		signature, err = byKey(key, statement)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(bundle, signature, 0o644)
}

func byKey(path string, statement attest.Statement) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := attest.ParsePrivate(text, []byte(os.Getenv("SKL_KEY_PASSPHRASE")))
	if err != nil {
		return nil, err
	}
	return attest.Sign(key, statement)
}

func byIdentity(services string, statement attest.Statement) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	text, err := os.ReadFile(services)
	if err != nil {
		return nil, err
	}
	signer := &keyless.Signer{}
	if signer.Services, err = keyless.ParseConfig(text, time.Now()); err != nil {
		return nil, err
	}
	token := os.Getenv("SIGSTORE_ID_TOKEN")
	if token == "" {
		if token, err = keyless.Ambient(ctx, os.Getenv, http.DefaultClient, ""); err != nil {
			return nil, err
		}
	}
	return signer.Sign(ctx, statement, token)
}

func verify(public string, subject attest.Subject, bundle string) error {
	text, err := os.ReadFile(public)
	if err != nil {
		return err
	}
	key, err := attest.ParsePublic(text)
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(bundle)
	if err != nil {
		return err
	}
	verifier, err := attest.NewVerifier(attest.Trust{Keys: []attest.PublicKey{key}})
	if err != nil {
		return err
	}
	if err := verifier.Verify([][]byte{signature}, subject).Err(subject.Name); err != nil {
		return err
	}
	fmt.Printf("%s is signed by %s\n", subject.Name, key.Fingerprint())
	return nil
}
