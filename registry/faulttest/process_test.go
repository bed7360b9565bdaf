package faulttest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/server"
)

// serverEnv holds the setup of a child, as JSON: the test binary is then a registry.
const serverEnv = "SKL_FAULT_SERVER"

func TestMain(m *testing.M) {
	if text := os.Getenv(serverEnv); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A setup is what a server is started with.
type setup struct {
	Data  string
	Open  bool          // anybody may do anything
	Every time.Duration // of gc; 0 is the server's own
	Grace time.Duration
	Fsck  bool  // before it serves
	Cache int64 // MiB of blobs that are elsewhere; 0 is the server's own

	Clock time.Duration // how far the clock of its machine is ahead of the one here

	Replica string        // its name
	Drain   time.Duration // how long it says that it ends; 0 is the server's own
	Program string        `json:"-"` // what to run; "" is this test
}

// A greeting is the first line that a child prints.
type greeting struct {
	URL   string
	Admin string        // token, at the first start
	Took  time.Duration // from the start of main until it listens
	Fsck  registry.FsckReport
}

func (s setup) config() server.Config {
	cfg := server.Config{Data: s.Data, Addr: "127.0.0.1:0"}
	cfg.Access.Open = s.Open
	cfg.Blobs.Cache = s.Cache
	cfg.Replica, cfg.Drain = s.Replica, server.Duration(s.Drain)
	cfg.GC.Every, cfg.GC.Grace = server.Duration(s.Every), server.Duration(s.Grace)
	return cfg
}

// child is the other process.
func child(text string) error {
	began := time.Now()
	var s setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	warnings := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	srv, err := server.Open(ctx, s.config(), server.WithLogger(warnings), server.WithClock(func() time.Time { return time.Now().Add(s.Clock) }))
	if err != nil {
		return err
	}
	defer srv.Close()
	l, err := srv.Listen(ctx)
	if err != nil {
		return err
	}
	g := greeting{URL: "http://" + l.Addr().String(), Admin: srv.AdminToken, Took: time.Since(began)}
	if s.Fsck {
		if g.Fsck, err = srv.Registry.Fsck(ctx); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(g); err != nil {
		return err
	}
	return srv.Serve(ctx, l)
}

// A process is a registry in a process of its own.
type process struct {
	greeting
	data  string
	cmd   *exec.Cmd
	Ready time.Duration // from fork to the greeting
	done  chan struct{} // closed when it has ended
}

// launch starts a registry. It is killed at the end of the test, if it still runs.
func launch(t testing.TB, s setup) *process {
	t.Helper()
	p, err := tryLaunch(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tryLaunch is launch of one that may refuse to start.
func tryLaunch(t testing.TB, s setup) (*process, error) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{data: s.Data, cmd: exec.Command(cmp.Or(s.Program, exe)), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	var stderr bytes.Buffer
	p.cmd.Stderr = &stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	p.Ready = time.Since(began)
	if err == nil {
		err = json.Unmarshal(line, &p.greeting)
	}
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			lines := strings.SplitAfter(stderr.String(), "\n")
			t.Logf("%s logged at the end:\n%s", p.URL, strings.Join(lines[max(0, len(lines)-15):], ""))
		}
	})
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("the server did not start: %w: %s", err, &stderr)
	}
	return p, nil
}

// kill ends the process as a power switch does, and waits until it is gone.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// stop ends it as an operator does.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
}

// resident is the memory of the process, in MiB; 0 where the system does not tell.
func (p *process) resident(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return float64(kib) / 1024
}

// fromEnv is a number from the environment.
func fromEnv(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number", name, text)
	}
	return n
}
