package account_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/account"
	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/diag"
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

// TestUseCases logs in to a real registry and out of it, without a command line.
func TestUseCases(t *testing.T) {
	address, token := serve(t)
	home, ctx := t.TempDir(), context.Background()
	docker, config := filepath.Join(home, ".docker", "config.json"), filepath.Join(home, ".config", "skl", "config.toml")
	open := func(secret string, err error) *account.Account {
		t.Helper()
		sc, oerr := scope.Open(scope.Options{Dir: home, Scope: "user", UserAgent: "skl/test", Tell: silent{}, Progress: func(diag.Event) {},
			Getenv: func(name string) string { return map[string]string{"HOME": home, "SKL_KEYRING": "off"}[name] }})
		if oerr != nil {
			t.Fatal(oerr)
		}
		return &account.Account{Scope: sc, Secret: func(string) (string, error) { return secret, err }}
	}

	if _, err := open("", ask.ErrNobody).Login(ctx, account.LoginRequest{Address: address}); diag.ClassOf(err) != diag.NeedsInput {
		t.Errorf("nobody has a token: %v", err)
	}
	if _, err := open("", nil).Login(ctx, account.LoginRequest{Address: address, Token: strings.NewReader("two words")}); !errors.Is(err, diag.Code("no_token")) {
		t.Errorf("no token: %v", err)
	}
	if _, err := open("wrong", nil).Login(ctx, account.LoginRequest{Address: address}); !errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("a wrong token: %v", err)
	}
	plan, err := open(token, nil).Login(ctx, account.LoginRequest{Address: address, Name: "corp", Default: true, DryRun: true})
	if err != nil || plan.Kind != "skl" || plan.Name != "corp" || scope.Exists(docker) || scope.Exists(config) {
		t.Fatalf("a dry run: %+v, %v", plan, err)
	}
	in, err := open("", ask.ErrNobody).Login(ctx, account.LoginRequest{Address: address, Name: "corp", Default: true, Token: strings.NewReader(token + "\n")})
	if err != nil || in.Account == "" || !in.Default || in.Store != docker {
		t.Fatalf("logged in: %+v, %v", in, err)
	}
	again, err := open(token, nil).Login(ctx, account.LoginRequest{Address: "corp"})
	if err != nil || again.Name != "corp" || again.URL != address || !again.Default {
		t.Errorf("once more, by its name: %+v, %v", again, err)
	}
	if cred, _, err := open("", nil).Scope.Credentials().Lookup(ctx, address); err != nil || cred.Secret != token {
		t.Errorf("the token is not found: %v", err)
	}

	out, err := open("", nil).Logout(ctx, account.LogoutRequest{Address: "corp", Forget: true, DryRun: true})
	if err != nil || !out.Removed {
		t.Errorf("a dry run: %+v, %v", out, err)
	}
	out, err = open("", nil).Logout(ctx, account.LogoutRequest{Address: "corp", Forget: true})
	text, rerr := os.ReadFile(config)
	if err != nil || !out.Removed || rerr != nil || strings.Contains(string(text), address) {
		t.Errorf("logged out: %+v, %v, %v:\n%s", out, err, rerr, text)
	}
	if out, err = open("", nil).Logout(ctx, account.LogoutRequest{Address: address}); err != nil || out.Removed {
		t.Errorf("logged out twice: %+v, %v", out, err)
	}
}
