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

// connect opens a connection to the session bus, which the caller closes.
func connect(ctx context.Context) (*dbus.Conn, error) {
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if err = conn.Auth(nil); err == nil {
		err = conn.Hello()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// there asks the bus whether somebody answers for a keyring, or would be started to.
func there(ctx context.Context) error {
	conn, err := connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
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

// Interfaces and paths of the Secret Service.
const (
	secretsPath         = "/org/freedesktop/secrets"
	loginPath           = secretsPath + "/collection/login"
	serviceInterface    = "org.freedesktop.Secret.Service"
	collectionInterface = "org.freedesktop.Secret.Collection"
)

// holding looks where the library keeps tokens: in the collection login, else in the default one. Some keyrings find what
// is in a locked collection, others hide it; so one that is locked and finds nothing cannot tell.
func holding(ctx context.Context, host string) (bool, error) {
	conn, err := connect(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	var all dbus.Variant
	top := conn.Object(secrets, secretsPath)
	if err := top.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, serviceInterface, "Collections").Store(&all); err != nil {
		return false, err
	}
	path := dbus.ObjectPath(loginPath)
	if paths, ok := all.Value().([]dbus.ObjectPath); !ok || !slices.Contains(paths, path) {
		if err := top.CallWithContext(ctx, serviceInterface+".ReadAlias", 0, "default").Store(&path); err != nil {
			return false, err
		}
	}
	if path == "/" {
		return false, nil // nothing was ever kept
	}
	var found []dbus.ObjectPath
	collection := conn.Object(secrets, path)
	if err := collection.CallWithContext(ctx, collectionInterface+".SearchItems", 0, map[string]string{"service": service, "username": host}).Store(&found); err != nil {
		return false, err
	}
	if len(found) > 0 {
		return true, nil
	}
	var locked dbus.Variant
	if err := collection.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, collectionInterface, "Locked").Store(&locked); err != nil {
		return false, err
	}
	if locked.Value() == true {
		return false, errors.New("it is locked")
	}
	return false, nil
}
