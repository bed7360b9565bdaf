package keyring

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/keyring/keyringtest"
)

// at is the ring of a bus. The library finds the bus by the environment of the process.
func at(t *testing.T, bus *keyringtest.Bus) Ring {
	for _, pair := range bus.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	t.Setenv(variable, "")
	return Ring{Getenv: os.Getenv}
}

// TestRing keeps tokens in the keyring of GNOME, which is away first, answers, is locked, stands still and comes back.
func TestRing(t *testing.T) {
	bus, ctx := keyringtest.Start(t), t.Context()
	ring := at(t, bus)
	if ring.There(ctx) {
		t.Error("nobody keeps secrets, and there is a keyring")
	}
	if holds, err := ring.Holds(ctx, "a.example"); holds || err != nil {
		t.Errorf("nobody keeps secrets, and one is held: %v, %v", holds, err)
	}
	if err := ring.Set(ctx, "a.example", "one"); err == nil {
		t.Error("nobody kept it")
	}
	bus.Keyring(true)
	if !ring.There(ctx) {
		t.Error("the keyring is not seen")
	}
	for _, word := range []string{"off", "OFF", "0", "false", "no"} {
		off := Ring{Getenv: func(name string) string {
			if name == variable {
				return word
			}
			return os.Getenv(name)
		}}
		if off.There(ctx) || off.Set(ctx, "a.example", "no") == nil {
			t.Errorf("it is %s, and asked", word)
		}
	}
	if _, err := ring.Get(ctx, "a.example"); !errors.Is(err, ErrMissing) {
		t.Errorf("nothing is kept yet: %v", err)
	}
	for _, token := range []string{"one", "two"} {
		if err := ring.Set(ctx, "a.example", token); err != nil {
			t.Fatal(err)
		}
	}
	if err := ring.Set(ctx, "a.example:8443", "three"); err != nil {
		t.Fatal(err)
	}
	kept := func(host, want string) {
		t.Helper()
		if got, err := ring.Get(ctx, host); err != nil || got != want {
			t.Errorf("the token of %s is %q, %v", host, got, err)
		}
	}
	kept("a.example", "two")
	kept("a.example:8443", "three")

	holds := func(host string, want bool) {
		t.Helper()
		if got, err := ring.Holds(ctx, host); err != nil || got != want {
			t.Errorf("the keyring holds a token of %s: %v, %v", host, got, err)
		}
	}
	holds("a.example", true)
	holds("b.example", false)

	bus.Process().Signal(syscall.SIGSTOP)
	waited := make(chan bool, 1)
	slow := Ring{Getenv: os.Getenv, Limit: moment + time.Second, Waiting: func() { waited <- true }}
	if _, err := slow.Get(ctx, "a.example"); err == nil || err.Error() != "no answer for 3s" || len(waited) != 1 {
		t.Errorf("a keyring that stands still: %v, told %d times", err, len(waited))
	}
	if _, err := (Ring{Getenv: os.Getenv, Limit: time.Second}).Holds(ctx, "a.example"); err == nil {
		t.Error("a keyring that stands still cannot say what it holds")
	}
	gone, stop := context.WithCancel(ctx)
	stop()
	if _, err := ring.Get(gone, "a.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	bus.Process().Signal(syscall.SIGCONT)
	kept("a.example", "two")

	bus.End()
	bus.Keyring(false)
	if _, err := ring.Get(ctx, "a.example"); err == nil || err.Error() != "it stays locked" {
		t.Errorf("locked, and nobody can unlock it: %v", err)
	}
	holds("a.example", true)
	if _, err := ring.Holds(ctx, "b.example"); err == nil || err.Error() != "it is locked" {
		t.Errorf("a locked keyring may hide what it holds: %v", err)
	}
	if err := ring.Set(ctx, "a.example", "four"); err == nil {
		t.Error("locked, and it took a token")
	}
	bus.End()
	bus.Keyring(true)
	kept("a.example", "two")
	for range 2 {
		if err := ring.Remove(ctx, "a.example"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ring.Get(ctx, "a.example"); !errors.Is(err, ErrMissing) {
		t.Errorf("removed: %v", err)
	}
	kept("a.example:8443", "three")
}

// TestNoBus asks where nobody may be asked: a bus that nobody ends would be started.
func TestNoBus(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"nothing":    {},
		"autolaunch": {"DBUS_SESSION_BUS_ADDRESS": "autolaunch:"},
		"another's":  {"XDG_RUNTIME_DIR": t.TempDir()},
	} {
		ring := Ring{Getenv: func(name string) string { return env[name] }}
		if ring.There(t.Context()) {
			t.Errorf("%s: there is a keyring", name)
		}
		if _, err := ring.Get(t.Context(), "a.example"); err == nil || err.Error() != "there is no session bus" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
