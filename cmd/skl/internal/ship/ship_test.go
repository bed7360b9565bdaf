package ship_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

type silent struct{}

func (silent) Note(string, ...any)   {}
func (silent) Detail(string, ...any) {}
func (silent) Warn(string, ...any)   {}
func (silent) Hint(string, ...any)   {}

// serve runs a registry of its own until the test ends.
func serve(t *testing.T) (address, token string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s, err := server.Open(ctx, server.Config{Data: filepath.Join(t.TempDir(), "registry"), Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-done
		s.Close()
	})
	return "http://" + l.Addr().String(), s.AdminToken
}

// TestUseCases publishes, signs, attests and withdraws a release on a real registry, without a command line.
func TestUseCases(t *testing.T) {
	long.Slow(t)
	address, token := serve(t)
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "pdf/SKILL.md"), "---\nname: pdf\ndescription: Fills PDF forms. Use when asked for a form.\nlicense: MIT\n---\n# PDF\n\nRead the form.\n")
	write(filepath.Join(dir, "home/.config/skl/config.toml"), fmt.Sprintf("[registry.corp]\nurl = %q\ndefault = true\n", address))
	env := map[string]string{"HOME": filepath.Join(dir, "home"), "SKL_TOKEN": token}
	sc, err := scope.Open(scope.Options{Dir: dir, Scope: "user", UserAgent: "skl/test", Tell: silent{}, Progress: func(diag.Event) {}, Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	s := &ship.Shipper{Scope: sc, Secret: func(string) (string, error) { return "", nil }}
	ctx := context.Background()

	admin, err := client.New(sc.HTTP, address)
	if err == nil {
		_, err = admin.CreateNamespace(ctx, wire.NewNamespace{Name: "acme", Public: true})
	}
	if err != nil {
		t.Fatal(err)
	}

	plan, err := s.Publish(ctx, ship.PublishRequest{Dir: "pdf", Name: "acme/pdf@1.0.0", DryRun: true})
	if err != nil || plan.Created || plan.To != address {
		t.Fatalf("a plan: %+v, %v", plan, err)
	}
	out, err := s.Publish(ctx, ship.PublishRequest{Dir: "pdf", Name: "acme/pdf@1.0.0"})
	if err != nil || !out.Created || out.Digest != plan.Digest || out.InstallRef != "acme/pdf@1.0.0" || out.Log == nil {
		t.Fatalf("published: %+v, %v", out, err)
	}
	if again, err := s.Publish(ctx, ship.PublishRequest{Dir: "pdf", Name: "acme/pdf@1.0.0"}); err != nil || again.Created {
		t.Errorf("published twice: %+v, %v", again, err)
	}

	key, err := attest.NewKey(attest.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.PEM(nil)
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "k"), string(text))
	signed, err := s.Attach(ctx, ship.AttachRequest{Ref: "acme/pdf@1.0.0", Signing: ship.Signing{How: "k"}})
	if err != nil || signed.Digest != out.Digest || signed.Signer != key.Public().Fingerprint() {
		t.Errorf("signed: %+v, %v", signed, err)
	}
	write(filepath.Join(dir, "p.json"), `{"checked": true}`)
	attested, err := s.Attach(ctx, ship.AttachRequest{Ref: "acme/pdf@1.0.0", Predicate: "p.json", Type: "https://example.com/check/v1", Signing: ship.Signing{How: "k"}})
	if err != nil || attested.Digest != out.Digest || attested.Predicate != "https://example.com/check/v1" {
		t.Errorf("attested: %+v, %v", attested, err)
	}
	if _, err := s.Attach(ctx, ship.AttachRequest{Ref: "acme/pdf@1.0.0"}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("signed with nothing: %v", err)
	}

	act := func(action string, dry bool) string {
		t.Helper()
		changed, err := s.Act(ctx, ship.ActRequest{Ref: "acme/pdf@1.0.0", Action: action, Reason: "a test", DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		return changed.State
	}
	if got := act("yank", true); got != wire.Approved {
		t.Errorf("a dry run left it %s", got)
	}
	if got := act("yank", false); got != wire.Yanked {
		t.Errorf("yanked: %s", got)
	}
	if got := act("unyank", false); got != wire.Approved {
		t.Errorf("taken back: %s", got)
	}
}
