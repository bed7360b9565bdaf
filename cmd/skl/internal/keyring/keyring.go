// Package keyring keeps tokens in the keyring of the system: the Secret Service of a Linux desktop, the keychain of
// macOS, the Credential Manager of Windows. One call waits for a person who has to unlock it, but not for ever.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	system "github.com/zalando/go-keyring"
)

// Name is how messages call it.
const Name = "the system's keyring"

// variable is "off", or another word for that, for people who want a file.
const variable = "SKL_KEYRING"

// service is what a keyring has as the owner of each secret of skl. The account is the host that a token is for.
const service = "skl"

// ErrMissing says that the keyring answered and has no such token.
var ErrMissing = errors.New("it has no such token")

// errOff says that the person who runs skl does not want a keyring.
var errOff = errors.New(variable + " is off")

// Opened is how a keyring that said err can be asked, for a hint.
func Opened(err error) string {
	if errors.Is(err, errOff) {
		return "unset " + variable
	}
	return "unlock it"
}

// A Ring is the keyring of the person who runs skl. Its methods may be called concurrently; they ask one after another.
type Ring struct {
	Getenv  func(string) string
	Waiting func()        // is called if an answer takes longer than a moment; nil is nothing
	Limit   time.Duration // to an answer; 0 is a minute
}

// There reports whether this machine has a keyring that takes tokens. It does not unlock it.
func (r Ring) There(ctx context.Context) bool {
	return r.ask(ctx, there) == nil
}

// glance bounds a question for which nobody has to unlock anything.
const glance = 10 * time.Second

// Holds reports whether the keyring has a token for a host. It does not unlock it: its error says that the keyring cannot
// tell as it is. Without a keyring, and where it is off, there is none.
func (r Ring) Holds(ctx context.Context, host string) (bool, error) {
	if r.Limit == 0 {
		r.Limit = glance
	}
	if r.reachable() != nil {
		return false, nil
	}
	holds := false
	err := r.ask(ctx, func(ctx context.Context) (err error) {
		if there(ctx) == nil {
			holds, err = holding(ctx, host)
		}
		return err
	})
	if err != nil {
		return false, err // an answer may still come
	}
	return holds, nil
}

// Get is the token that is kept for a host.
func (r Ring) Get(ctx context.Context, host string) (token string, err error) {
	err = r.ask(ctx, func(context.Context) (err error) {
		token, err = system.Get(service, host)
		return err
	})
	return token, err
}

// Set keeps a token for a host, in place of any other. Some keyrings say that all went well when a person refused, so
// it is read again.
func (r Ring) Set(ctx context.Context, host, token string) error {
	return r.ask(ctx, func(context.Context) error {
		if err := system.Set(service, host, token); err != nil {
			return err
		}
		if kept, err := system.Get(service, host); err != nil || kept != token {
			return errors.New("it did not keep it")
		}
		return nil
	})
}

// Remove forgets the token of a host. One that is gone is forgotten.
func (r Ring) Remove(ctx context.Context, host string) error {
	err := r.ask(ctx, func(context.Context) error { return system.Delete(service, host) })
	if errors.Is(err, ErrMissing) {
		return nil
	}
	return err
}

// reachable is why the keyring may not be asked at all.
func (r Ring) reachable() error {
	if slices.Contains([]string{"off", "no", "false", "0"}, strings.ToLower(r.Getenv(variable))) {
		return errOff
	}
	return reachable(r.Getenv)
}

// Keyrings are asked one at a time. An answer that never comes keeps the turn: asking again would not help.
var turn = make(chan struct{}, 1)

// moment is how long a keyring that is not locked takes at most, with something to spare.
const moment = 2 * time.Second

// ask calls f, which may never return, and gives up at the limit. Errors are one line and hold no token.
func (r Ring) ask(ctx context.Context, f func(context.Context) error) error {
	if err := r.reachable(); err != nil {
		return err
	}
	limit := r.Limit
	if limit == 0 {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer for %s", limit))
	defer cancel()
	if r.Waiting != nil {
		defer time.AfterFunc(moment, r.Waiting).Stop()
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil { // what a bus says is not always what the library reads
				done <- errors.New("its answer makes no sense")
			}
			<-turn
		}()
		done <- f(ctx)
	}()
	select {
	case err := <-done:
		return plain(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// plain is err in words of one line, with [ErrMissing] for what is not there.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, system.ErrNotFound):
		return ErrMissing
	case strings.HasPrefix(err.Error(), "failed to unlock"):
		return errors.New("it stays locked")
	}
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return errors.New(line)
}
