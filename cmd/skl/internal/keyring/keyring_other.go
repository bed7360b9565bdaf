//go:build !(linux || netbsd || openbsd)

package keyring

import (
	"context"
	"errors"
	"runtime"

	system "github.com/zalando/go-keyring"
)

// reachable refuses where the library knows no keyring.
func reachable(func(string) string) error {
	switch runtime.GOOS {
	case "darwin", "windows":
		return nil
	}
	return errors.New("skl knows no keyring of " + runtime.GOOS)
}

// there is no question here: the system always has one.
func there(context.Context) error { return nil }

// holding reports whether a token is there. A keychain says that it has none without being unlocked.
func holding(_ context.Context, host string) (bool, error) {
	_, err := system.Get(service, host)
	if errors.Is(err, system.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
