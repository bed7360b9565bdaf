package attest_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	sigstore "github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
	"github.com/skl-project/skl/spec/diag"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixedKey signs the same bytes alike on every run.
func fixedKey(t testing.TB) attest.PrivateKey {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	key, err := attest.ParsePrivate(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// The golden files hold a bundle and its referrer in the layout that cosign v3
// reads and writes; whoever changes them changes what others can verify.
func TestAttachGolden(t *testing.T) {
	bundle := sign(t, fixedKey(t), pdf())
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(pdf().Digest), Size: 1234,
		ArtifactType: "not kept", Annotations: map[string]string{"not": "kept"}}
	a, err := attest.Attach(bundle, subject, time.Date(2026, 11, 21, 12, 0, 0, 999, time.FixedZone("", 3600)))
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"bundle.json": a.Layer, "manifest.json": a.Manifest, "config.json": a.Config} {
		file := filepath.Join("testdata", "cosign", name)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s differs (%v):\n%s", name, err, got)
		}
	}
	for _, d := range []struct {
		descriptor ocispec.Descriptor
		content    []byte
	}{{a.ConfigDescriptor, a.Config}, {a.LayerDescriptor, a.Layer}, {a.ManifestDescriptor, a.Manifest}} {
		if d.descriptor.Digest != digest.FromBytes(d.content) || d.descriptor.Size != int64(len(d.content)) {
			t.Errorf("%s does not describe its content", d.descriptor.MediaType)
		}
	}
	if a.ConfigDescriptor.Digest != ocispec.DescriptorEmptyJSON.Digest || a.ManifestDescriptor.ArtifactType != attest.BundleType {
		t.Errorf("config %s, artifact type %s", a.ConfigDescriptor.Digest, a.ManifestDescriptor.ArtifactType)
	}
}

func TestAttachRefuses(t *testing.T) {
	good := sign(t, fixedKey(t), pdf())
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(pdf().Digest), Size: 1}
	if _, err := attest.Attach([]byte("{}"), subject, time.Time{}); !errors.Is(err, diag.Code("invalid_attestation")) {
		t.Errorf("no bundle: %v", err)
	}
	subject.Digest = "sha256:x"
	if _, err := attest.Attach(good, subject, time.Time{}); !errors.Is(err, diag.Code("invalid_digest")) {
		t.Errorf("no digest: %v", err)
	}
}

// The signer that cosign v3 uses makes bundles that verify here.
func TestBundleOfSigstoreGo(t *testing.T) {
	pair, err := sigstore.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pair.GetPublicKeyPem()
	if err != nil {
		t.Fatal(err)
	}
	key, err := attest.ParsePublic([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(attesttest.Signature(t, attest.Subject{Digest: pdf().Digest}))
	if err != nil {
		t.Fatal(err)
	}
	message, err := sigstore.Bundle(&sigstore.DSSEData{Data: payload, PayloadType: "application/vnd.in-toto+json"}, pair, sigstore.BundleOptions{Context: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := protojson.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if got := verifier(t, attest.Trust{Keys: []attest.PublicKey{key}}).Verify([][]byte{bundle}, pdf()); got.State != attest.Verified {
		t.Errorf("%+v", got)
	}
	if string(pair.GetHint()) != key.ID() {
		t.Errorf("hint %s, ID %s", pair.GetHint(), key.ID())
	}
}
