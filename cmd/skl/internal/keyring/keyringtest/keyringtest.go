// Package keyringtest gives a test a session bus with a keyring of its own: that of GNOME, which most desktops have. A test
// that cannot have one is skipped; with SKL_TEST_REQUIRE=all in the environment it fails.
package keyringtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/skl-project/skl/registry/oci/peertest"
)

// secrets is who answers for a keyring on a bus.
const secrets = "org.freedesktop.secrets"

const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>
`

// A Bus is one of a test alone. It starts no programs by itself, and ends with the test.
type Bus struct {
	t       testing.TB
	dir     string // also of the keyring's files
	keyring *exec.Cmd
}

// Start runs a bus on which nobody keeps secrets yet.
func Start(t testing.TB) *Bus {
	t.Helper()
	for _, program := range []string{"dbus-daemon", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			peertest.Skip(t, program+" is not there")
		}
	}
	dir, err := os.MkdirTemp("", "skl-bus-") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b := &Bus{t: t, dir: dir}
	config := filepath.Join(dir, "bus.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, busConfig, b.socket()), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run(exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--print-address"), "unix:")
	return b
}

func (b *Bus) socket() string { return filepath.Join(b.dir, "bus") }

// Environ is what programs need to find the bus.
func (b *Bus) Environ() []string {
	return []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + b.socket(), "XDG_RUNTIME_DIR=" + b.dir}
}

// Keyring starts the program that keeps secrets, which knows those of the last time. It is locked unless it gets its password.
func (b *Bus) Keyring(unlocked bool) {
	b.t.Helper()
	cmd := exec.Command("gnome-keyring-daemon", "--foreground", "--components=secrets", "--control-directory="+b.dir)
	if unlocked {
		cmd.Args = append(cmd.Args, "--unlock")
		cmd.Stdin = strings.NewReader("password of the keyring")
	}
	b.keyring = cmd
	b.run(cmd, "")
	conn := b.connect()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var there bool
		err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, secrets).Store(&there)
		if there {
			return
		}
		if err != nil || time.Now().After(deadline) {
			b.t.Fatalf("the keyring does not answer: %v", err)
		}
	}
}

// connect makes a connection that ends with the test.
func (b *Bus) connect() *dbus.Conn {
	b.t.Helper()
	conn, err := dbus.Connect("unix:path=" + b.socket())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	return conn
}

// End ends the program that keeps secrets.
func (b *Bus) End() {
	b.keyring.Process.Kill()
	b.keyring.Wait()
}

// Process is the program that keeps secrets.
func (b *Bus) Process() *os.Process { return b.keyring.Process }

// Forget removes the secret of skl for a host, as another program would.
func (b *Bus) Forget(host string) {
	b.t.Helper()
	conn := b.connect()
	var unlocked, locked []dbus.ObjectPath
	err := conn.Object(secrets, "/org/freedesktop/secrets").
		Call("org.freedesktop.Secret.Service.SearchItems", 0, map[string]string{"service": "skl", "username": host}).Store(&unlocked, &locked)
	if err != nil || len(unlocked) != 1 {
		b.t.Fatalf("the keyring has %d tokens of %s, %v", len(unlocked), host, err)
	}
	if err := conn.Object(secrets, unlocked[0]).Call("org.freedesktop.Secret.Item.Delete", 0).Err; err != nil {
		b.t.Fatal(err)
	}
}

// Holds reports whether there is a secret of skl for a host, locked or not.
func (b *Bus) Holds(host string) bool {
	b.t.Helper()
	var unlocked, locked []dbus.ObjectPath
	err := b.connect().Object(secrets, "/org/freedesktop/secrets").
		Call("org.freedesktop.Secret.Service.SearchItems", 0, map[string]string{"service": "skl", "username": host}).Store(&unlocked, &locked)
	if err != nil {
		b.t.Fatal(err)
	}
	return len(unlocked)+len(locked) > 0
}

// run starts cmd until the test ends, and waits for a line of its output with a beginning.
func (b *Bus) run(cmd *exec.Cmd, first string) {
	b.t.Helper()
	cmd.Env = append(os.Environ(), append(b.Environ(), "HOME="+b.dir, "XDG_DATA_HOME="+filepath.Join(b.dir, "data"))...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if first == "" {
		return
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, first) {
		b.t.Fatalf("%s says %q, %v", cmd.Path, line, err)
	}
}
