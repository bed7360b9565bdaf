package ship_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/spec/diag"
)

// TestKeys creates, shows and rotates a key, without a command line.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	sc, err := scope.Open(scope.Options{Dir: dir, Scope: "user", UserAgent: "skl/test", Tell: silent{}, Progress: func(diag.Event) {},
		Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	shipper := func(secret string, err error) *ship.Shipper {
		return &ship.Shipper{Scope: sc, Secret: func(string) (string, error) { return secret, err }}
	}
	nobody, person := shipper("", ask.ErrNobody), shipper("open", nil)

	if plan, err := nobody.NewKey(ship.KeyRequest{File: "k", Algorithm: ship.DefaultAlgorithm, DryRun: true}); err != nil || scope.Exists(plan.Private) {
		t.Errorf("a dry run: %+v, %v", plan, err)
	}
	if _, err := nobody.NewKey(ship.KeyRequest{File: "k", Algorithm: "ed25519", Passphrase: true}); diag.ClassOf(err) != diag.NeedsInput {
		t.Errorf("nobody has a passphrase: %v", err)
	}
	key, err := person.NewKey(ship.KeyRequest{File: "k", Algorithm: "ed25519", Passphrase: true})
	if err != nil || key.Private != filepath.Join(sc.Cwd, "k") {
		t.Fatalf("%+v, %v", key, err)
	}
	if _, err := person.NewKey(ship.KeyRequest{File: "k", Algorithm: "ed25519"}); !errors.Is(err, diag.Code("exists")) {
		t.Errorf("a key is overwritten: %v", err)
	}
	for _, file := range []string{"k", "k.pub"} {
		if shown, err := person.ShowKey(file); err != nil || shown.Fingerprint != key.Fingerprint {
			t.Errorf("%s: %+v, %v", file, shown, err)
		}
	}
	if _, err := shipper("wrong", nil).ShowKey("k"); err == nil {
		t.Error("a wrong passphrase opens the key")
	}
	next, err := person.RotateKey(ship.RotateRequest{Old: "k", File: "k2", Reason: "a test"})
	if err != nil || next.Fingerprint == key.Fingerprint {
		t.Fatalf("%+v, %v", next, err)
	}
	if text, err := os.ReadFile(next.Statement); err != nil || len(text) == 0 {
		t.Errorf("the statement: %v", err)
	}
	if _, err := nobody.ShowKey("k2"); !errors.Is(err, diag.Code("key_passphrase")) {
		t.Error("the new key is less protected than the old one")
	}
}
