//go:build linux || netbsd || openbsd

package keyring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/godbus/dbus/v5"
)

// secrets is who answers for a keyring on the bus of a desktop.
const secrets = "org.freedesktop.secrets"

// reachable refuses where no bus is at hand: the library would start one, which nobody ends.
func reachable(getenv func(string) string) error {
	if address := getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return nil
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" && filepath.Clean(dir) == fmt.Sprintf("/run/user/%d", os.Getuid()) {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return nil
		}
	}
	return errors.New("there is no session bus")
}

// there asks the bus whether somebody answers for a keyring, or would be started to.
func there(ctx context.Context) error {
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Auth(nil); err != nil {
		return err
	}
	if err := conn.Hello(); err != nil {
		return err
	}
	for _, list := range []string{"ListNames", "ListActivatableNames"} {
		var names []string
		if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus."+list, 0).Store(&names); err != nil {
			return err
		}
		if slices.Contains(names, secrets) {
			return nil
		}
	}
	return errors.New("nobody on the session bus keeps secrets")
}
