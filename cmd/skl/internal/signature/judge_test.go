package signature_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// quiet is told things and says nothing.
type quiet struct{}

func (quiet) Note(string, ...any)   {}
func (quiet) Detail(string, ...any) {}
func (quiet) Warn(string, ...any)   {}
func (quiet) Hint(string, ...any)   {}

// open makes a project and a home with this config.toml.
func open(t *testing.T, config string) *scope.Scope {
	t.Helper()
	dir := t.TempDir()
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "project")
	err := errors.Join(os.MkdirAll(filepath.Join(project, ".git"), 0o755), os.MkdirAll(filepath.Join(home, ".config", "skl"), 0o700))
	if err == nil && config != "" {
		err = os.WriteFile(filepath.Join(home, ".config", "skl", "config.toml"), []byte(config), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scope.Open(scope.Options{Dir: project, Offline: true, UserAgent: "skl/test", Tell: quiet{}, Progress: func(diag.Event) {},
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// Where a signature is wanted, each release that has none is an error of its own, unless a person takes it; what comes with skl needs none.
func TestCheck(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := lock.Skill{Name: "pdf", Ref: "./pdf", Source: "local", URL: "./pdf"}
	ours := lock.Skill{Name: "canopy", Ref: "skl:canopy", Source: "embedded", Path: "canopy"}
	for _, tt := range []struct {
		config  string
		options signature.Options
		refused bool
	}{
		{"", signature.Options{}, false},
		{"[[signer]]\nnamespace = \"*\"\nkey = " + strconv.Quote(file) + "\nrequired = true\n", signature.Options{}, true},
		{"[[signer]]\nnamespace = \"*\"\nkey = " + strconv.Quote(file) + "\nrequired = true\n", signature.Options{AllowUnsigned: true}, false},
	} {
		tt.options.Chosen, tt.options.Dry = func(string) bool { return true }, true
		list := []lock.Skill{folder, ours}
		errs, err := signature.New(open(t, tt.config)).Check(t.Context(), list, &lock.Lock{}, tt.options)
		if err != nil {
			t.Fatal(err)
		}
		if (diag.ClassOf(errs[0]) == diag.Refused) != tt.refused || errs[1] != nil || list[0].Unsigned != (tt.options.AllowUnsigned && tt.config != "") {
			t.Errorf("%q: %v, unsigned %v", tt.config, errs, list[0].Unsigned)
		}
	}
}

// Of a skill that nobody signs there is nothing to accept, and of one that is not here nothing can be; a pin is revoked by its id, or its
// name where that is one skill's, and taken back only by accepting.
func TestPins(t *testing.T) {
	sc := open(t, "")
	a := signature.New(sc)
	if _, err := a.AcceptSigner(t.Context(), "pdf", false); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("accepted of a skill that is not here: %v", err)
	}
	one := lock.Skill{Name: "pdf", Source: "oci", URL: "oci://a.example/acme/pdf", Version: "1.0.0"}
	two := lock.Skill{Name: "pdf", Source: "oci", URL: "oci://b.example/acme/pdf", Version: "1.0.0"}
	pins := []*scope.Pin{scope.NewPin(sc, &one, &lock.Signer{Key: "SHA256:a"}), scope.NewPin(sc, &two, &lock.Signer{Key: "SHA256:b"})}
	if err := scope.SetPins(sc, pins...); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Revoke("pdf", false); !errors.Is(err, diag.Code("ambiguous_pin")) {
		t.Errorf("one of two was revoked: %v", err)
	}
	if out, err := a.Revoke(pins[0].ID, true); err != nil || !out.Changed {
		t.Errorf("a dry run: %+v, %v", out, err)
	}
	if out, err := a.Revoke(pins[0].ID, false); err != nil || !out.Changed {
		t.Errorf("it was not revoked: %+v, %v", out, err)
	}
	list, err := a.TrustList()
	if err != nil || len(list.Pins) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, p := range list.Pins {
		if want := map[bool]string{true: scope.Revoked, false: scope.Pinned}[p.ID == pins[0].ID]; p.State != want {
			t.Errorf("%s is %s, want %s", p.From, p.State, want)
		}
	}
	if len(a.PinIDs()) != 4 {
		t.Errorf("completions are %q", a.PinIDs())
	}
}
