//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"time"

	"github.com/skl-project/skl/testdata/long"

	"golang.org/x/sys/unix"
)

// The test binary is also the hostile program: with this first argument it tries the escapes that are named after it.
const hostile = "__hostile"

func TestMain(m *testing.M) {
	Main()
	if len(os.Args) == 4 && os.Args[1] == "__exchange" {
		exchange(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == hostile {
		attack(os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attack prints one line per escape: its name, and "escaped" or why it did not work.
func attack(names []string) {
	var t target
	if err := json.Unmarshal([]byte(os.Getenv("TARGET")), &t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	byName := map[string]escape{}
	for _, e := range escapes() {
		byName[e.name] = e
	}
	for _, name := range names {
		outcome := "escaped"
		if err := byName[name].try(t); err != nil {
			outcome = err.Error()
		}
		fmt.Printf("%s\t%s\n", name, outcome)
	}
}

// A target is the world outside a sandbox that hostile programs aim at. Every attempt gets one of its own.
type target struct {
	Parent   int    // process number of the test
	Group    int    // its process group
	Work     string // the sandbox's own directory
	Home     string // with .ssh/id_ed25519 and .config/skl/config.toml
	Secret   string // a file outside
	Inode    uint64 // of Secret, which the parent has open without close-on-exec
	Victim   string // another, which may be destroyed
	Outside  string // the directory of both
	TCP, UDP string // servers of the test on the loopback interface
	Abstract string // a Unix socket without a path
	Socket   string // a Unix socket in Outside
	Datagram string // one for datagrams
	Setuid   string // this program, setuid and owned by another user; "" if there is none
	UID      int
}

func newTarget(t *testing.T) target {
	t.Helper()
	base := t.TempDir()
	tg := target{Parent: os.Getpid(), Group: unix.Getpgrp(), UID: os.Geteuid(), Setuid: os.Getenv("PROBE_SETUID")}
	for path, dir := range map[*string]string{&tg.Work: "work", &tg.Home: "home", &tg.Outside: "outside"} {
		*path = filepath.Join(base, dir)
		must(t, os.MkdirAll(*path, 0o755))
	}
	tg.Secret, tg.Victim = filepath.Join(tg.Outside, "secret"), filepath.Join(tg.Outside, "victim")
	for path, text := range map[string]string{tg.Secret: "secret", tg.Victim: "victim",
		filepath.Join(tg.Home, ".ssh/id_ed25519"): "key", filepath.Join(tg.Home, ".config/skl/config.toml"): "token"} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	fd, err := unix.Open(tg.Secret, unix.O_RDONLY, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	var stat unix.Stat_t
	must(t, unix.Fstat(fd, &stat))
	tg.Inode = stat.Ino
	tg.TCP, tg.UDP = serveTCP(t), serveUDP(t)
	tg.Abstract = "@skl-test-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(base) + strconv.FormatUint(stat.Ino, 10)
	tg.Socket, tg.Datagram = filepath.Join(tg.Outside, "s"), filepath.Join(tg.Outside, "d")
	for _, name := range []string{tg.Abstract, tg.Socket} {
		l, err := net.Listen("unix", name)
		must(t, err)
		t.Cleanup(func() { l.Close() })
		go answer(l)
	}
	d, err := net.ListenPacket("unixgram", tg.Datagram)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return tg
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.WriteString(c, "hello")
		c.Close()
	}
}

func serveTCP(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go answer(l)
	return l.Addr().String()
}

func serveUDP(t *testing.T) string {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			c.WriteTo(buf[:n], from)
		}
	}()
	return c.LocalAddr().String()
}

// TestProbes tries every escape in every tier. Each must work outside, so that the test can fail, and not inside.
func TestProbes(t *testing.T) {
	long.Slow(t)
	if Probe().Tier == None {
		t.Skip("nothing can be confined here: ", Probe().Missing)
	}
	program := copyOfTest(t)
	tried, confirmed := 0, map[string]bool{}
	outside := outcomes(t, program, None, names(escapes()))
	for _, e := range escapes() {
		confirmed[e.name] = outside[e.name] == "escaped"
		if !confirmed[e.name] && !e.maybe && (os.Geteuid() == 0 || !e.root) {
			t.Errorf("%s does not work outside either, so it tests nothing: %q", e.name, outside[e.name])
		}
	}
	for _, tier := range tiers() {
		list := escapes()
		t.Run(tier.String(), func(t *testing.T) {
			var apply []escape
			for _, e := range list {
				if e.needs == Tier2 && tier == Tier3 {
					continue
				}
				if e.signals && tier != Tier1 && (tier == Tier3 || machine().landlock < 6) {
					continue // the report says so
				}
				apply = append(apply, e)
			}
			inside := outcomes(t, program, tier, names(apply))
			for _, e := range apply {
				tried++
				if result := inside[e.name]; result == "escaped" {
					t.Errorf("%s escapes", e.name)
				} else if result == "" {
					t.Errorf("%s was not tried", e.name)
				}
			}
		})
	}
	works := 0
	for _, e := range escapes() {
		if confirmed[e.name] {
			works++
		} else {
			t.Logf("cannot be shown here: %s: %s", e.name, outside[e.name])
		}
	}
	t.Logf("uid %d: %d escapes, %d of them work outside, %d attempts in %d tiers", os.Geteuid(), len(escapes()), works, tried, len(tiers()))
	if n := len(escapes()); n < 40 {
		t.Errorf("%d escapes, want 40", n)
	}
}

// TestProbesAsUser is TestProbes, as somebody who is not user 0.
func TestProbesAsUser(t *testing.T) {
	long.Slow(t)
	if os.Geteuid() != 0 {
		t.Skip("TestProbes was run by a user already")
	}
	const uid = 65534
	program := copyOfTest(t)
	setuid := filepath.Join(filepath.Dir(program), "setuid")
	copyFile(t, program, setuid, 0o755)
	must(t, os.Chmod(setuid, 0o755|os.ModeSetuid)) // owned by user 0
	home := filepath.Join(filepath.Dir(program), "user")
	must(t, os.Mkdir(home, 0o700))
	must(t, os.Chown(home, uid, uid))
	cmd := exec.Command(program, "-test.run=^(TestProbes|TestBenign|TestBounded|TestProtect.*|TestPlaceholders)$", "-test.v")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + filepath.Join(home, "nothing"), "TMPDIR=" + home, "PATH=" + defaultPath, "PROBE_SETUID=" + setuid}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

func names(list []escape) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.name)
	}
	return out
}

// outcomes runs the named escapes in one process, those that may end it apart. Tier None is outside of any sandbox.
func outcomes(t *testing.T, program string, tier Tier, names []string) map[string]string {
	t.Helper()
	tg := newTarget(t)
	data, err := json.Marshal(tg)
	must(t, err)
	got := map[string]string{}
	lethal := map[string]bool{}
	for _, e := range escapes() {
		lethal[e.name] = e.lethal
	}
	var together []string
	runs := [][]string{}
	for _, name := range names {
		if lethal[name] {
			runs = append(runs, []string{name})
		} else {
			together = append(together, name)
		}
	}
	for _, list := range append(runs, together) {
		var out, errs bytes.Buffer
		c := Command{Argv: append([]string{program, hostile}, list...), Dir: tg.Work, Env: []string{"TARGET=" + string(data)},
			Stdout: &out, Stderr: &errs, Timeout: 2 * time.Minute, Read: []string{filepath.Dir(program)},
			Off: tier == None, ceiling: tier}
		r, err := Run(context.Background(), c)
		must(t, err)
		for line := range strings.Lines(out.String()) {
			name, outcome, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got[name] = outcome
		}
		if len(list) == 1 && got[list[0]] == "" {
			got[list[0]] = fmt.Sprintf("ended with %d", r.ExitCode)
		} else if r.ExitCode != 0 {
			t.Errorf("%v: exit %d: %s", list, r.ExitCode, errs.String())
		}
	}
	return got
}

// copyOfTest puts this program where every user can start it.
func copyOfTest(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	dir, err := os.MkdirTemp("", "skl-hostile-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	to := filepath.Join(dir, "hostile")
	copyFile(t, self, to, 0o755)
	return to
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, mode)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}
