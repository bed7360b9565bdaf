//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/skl-project/skl/runtime/sandbox/internal/stage"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// hang ends a program that goes on where it should have been stopped. A machine that does much else is no reason to reach it.
const hang = 5 * time.Minute

// confine runs a shell script in every tier.
func confine(t *testing.T, name, script string, change func(*Command), check func(t *testing.T, r Result, err error, stdout, dir string)) {
	t.Helper()
	for _, tier := range tiers() {
		t.Run(name+" in "+tier.String(), func(t *testing.T) {
			var out bytes.Buffer
			c := Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Stdout: &out, Stderr: &out, ceiling: tier}
			if change != nil {
				change(&c)
			}
			r, err := Run(context.Background(), c)
			check(t, r, err, out.String(), c.Dir)
		})
	}
}

func TestBounded(t *testing.T) {
	long.Slow(t)
	confine(t, "output", "yes | head -c 100000; exit 7", func(c *Command) { c.MaxOutput = 1000 },
		func(t *testing.T, r Result, err error, stdout, _ string) {
			if err != nil || r.ExitCode != 7 || !r.Truncated || len(stdout) != 1000 {
				t.Errorf("%+v, %v, %d bytes", r, err, len(stdout))
			}
		})
	confine(t, "file size", "head -c 3000000 /dev/zero >large; stat -c %s large", func(c *Command) { c.Limits.FileSize = 1 << 20 },
		func(t *testing.T, r Result, err error, stdout, dir string) {
			info, statErr := os.Stat(filepath.Join(dir, "large"))
			if err != nil || statErr != nil || info.Size() != 1<<20 {
				t.Errorf("%v, %v, %s", err, statErr, stdout)
			}
		})
	confine(t, "processor time", "while :; do :; done", func(c *Command) { c.Limits.CPU = time.Second; c.Timeout = hang },
		func(t *testing.T, r Result, err error, _, _ string) {
			if err != nil || r.TimedOut || r.ExitCode != 128+9 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	confine(t, "open files", "ulimit -n; ulimit -c", func(c *Command) { c.Limits.OpenFiles = 50 },
		func(t *testing.T, r Result, err error, stdout, _ string) {
			if stdout != "50\n0\n" {
				t.Errorf("%q, %v", stdout, err)
			}
		})
	confine(t, "processes", "i=0; while [ $i -lt 300 ]; do sleep 600 & i=$((i+1)); done; echo all of them",
		func(c *Command) { c.Limits.Processes = 60; c.Timeout = hang },
		func(t *testing.T, r Result, err error, stdout, _ string) {
			unbounded := false
			for _, m := range r.Report.Missing {
				unbounded = unbounded || strings.Contains(m, "number of processes")
			}
			if bounded := !strings.Contains(stdout, "all of them"); bounded == unbounded {
				t.Errorf("bounded %v, and the report says: %q\n%.300s", bounded, r.Report.Missing, stdout)
			}
		})
	if b, err := os.ReadFile("/proc/sys/kernel/pid_max"); err == nil {
		if n, _ := strconv.Atoi(strings.TrimSpace(string(b))); n < 1000 {
			t.Errorf("the machine's pid_max has become %d", n)
		}
	}
}

// TestTimeout shows that nothing outlives Run: neither children, nor those that made a session of their own.
func TestTimeout(t *testing.T) {
	long.Slow(t)
	script := "setsid sh -c 'while :; do date +%N >beat; sleep 0.02; done' & sleep 0.3; "
	gone := func(t *testing.T, dir string) {
		t.Helper()
		first, err := os.ReadFile(filepath.Join(dir, "beat"))
		must(t, err)
		time.Sleep(200 * time.Millisecond)
		if second, _ := os.ReadFile(filepath.Join(dir, "beat")); !bytes.Equal(first, second) {
			t.Error("a process is left")
		}
	}
	confine(t, "end", script+"exit 3", nil, func(t *testing.T, r Result, err error, _, dir string) {
		if err != nil || r.ExitCode != 3 {
			t.Errorf("%+v, %v", r, err)
		}
		gone(t, dir)
	})
	confine(t, "timeout", script+"sleep 60", func(c *Command) { c.Timeout = 600 * time.Millisecond },
		func(t *testing.T, r Result, err error, _, dir string) {
			if err != nil || !r.TimedOut || r.ExitCode != -1 {
				t.Errorf("%+v, %v", r, err)
			}
			gone(t, dir)
		})
	for _, tier := range tiers() {
		t.Run("cancel in "+tier.String(), func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(600*time.Millisecond, cancel)
			dir := t.TempDir()
			_, err := Run(ctx, Command{Argv: []string{"sh", "-c", script + "sleep 60"}, Dir: dir, ceiling: tier})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			gone(t, dir)
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	confine(t, "nothing is inherited", "env | grep -v ^PWD= | cut -d= -f1 | sort | tr '\\n' ' '; echo $A; test -w $HOME && test -w $TMPDIR && echo $HOME",
		func(c *Command) { c.Env = []string{"A=b"} },
		func(t *testing.T, r Result, err error, stdout, dir string) {
			lines := strings.Split(stdout, "\n")
			if err != nil || len(lines) != 3 || strings.ReplaceAll(lines[0], "SHLVL _ ", "") != "A GIT_CONFIG_NOSYSTEM HOME LANG PATH TMPDIR b" {
				t.Fatalf("%v: %q", err, stdout)
			}
			if _, err := os.Stat(filepath.Dir(lines[1])); err == nil {
				t.Errorf("%s is left", lines[1])
			}
		})
	confine(t, "no terminal", "tty; ps -o tty= -p $$ 2>/dev/null; ( : </dev/tty ) 2>/dev/null || echo none", nil,
		func(t *testing.T, r Result, err error, stdout, _ string) {
			if !strings.HasPrefix(stdout, "not a tty\n") || !strings.HasSuffix(stdout, "none\n") {
				t.Errorf("%q", stdout)
			}
		})
	confine(t, "input", "cat", func(c *Command) { c.Stdin = strings.NewReader("hello") },
		func(t *testing.T, r Result, err error, stdout, _ string) {
			if stdout != "hello" {
				t.Errorf("%q, %v", stdout, err)
			}
		})
	confine(t, "exit by a signal", "kill -9 $$", nil, func(t *testing.T, r Result, err error, _, _ string) {
		if r.ExitCode != 137 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestReadOnly(t *testing.T) {
	if !Probe().Tier.atLeast(Tier2) {
		t.Skip("files are open here")
	}
	read, write := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(read, "r"), []byte("r"), 0o600))
	script := "cat " + read + "/r; ( echo x >" + read + "/w ) 2>/dev/null || echo no; ( echo x >here ) 2>/dev/null || echo no; echo x >" + write + "/w && echo yes"
	for _, tier := range tiers() {
		if !tier.atLeast(Tier2) {
			continue
		}
		var out bytes.Buffer
		_, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Stdout: &out, ReadOnly: true,
			Read: []string{read, "/nonexistent/x"}, Write: []string{write}, ceiling: tier})
		if err != nil || out.String() != "rno\nno\nyes\n" {
			t.Errorf("%v: %q, %v", tier, out.String(), err)
		}
	}
}

func TestRefusals(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		c    Command
		code string
	}{
		{"below the floor", Command{Argv: []string{"true"}, Dir: dir, Floor: Tier1, ceiling: Tier2}, "sandbox_floor"},
		{"hosts without namespaces", Command{Argv: []string{"true"}, Dir: dir, Hosts: []string{"example.org"}, ceiling: Tier2}, "sandbox_network"},
		{"the home of the person", Command{Argv: []string{"true"}, Dir: home}, "work_scope"},
		{"the home, to read", Command{Argv: []string{"true"}, Dir: home, ReadOnly: true}, "work_scope"},
		{"the home besides", Command{Argv: []string{"true"}, Dir: dir, Read: []string{home}}, "work_scope"},
		{"a directory above it", Command{Argv: []string{"true"}, Dir: dir, Write: []string{"/"}}, "work_scope"},
		{"nothing", Command{Dir: dir}, "sandbox_command"},
		{"a relative directory", Command{Argv: []string{"true"}, Dir: "x"}, "sandbox_command"},
		{"a zero byte", Command{Argv: []string{"true", "a\x00b"}, Dir: dir}, "sandbox_command"},
		{"a missing directory", Command{Argv: []string{"true"}, Dir: dir + "/none"}, "sandbox_command"},
		{"a missing program", Command{Argv: []string{"no-such-program"}, Dir: dir}, "sandbox_program"},
		{"a program that is none", Command{Argv: []string{"/etc/passwd"}, Dir: dir}, "sandbox_program"},
		{"a missing place to write", Command{Argv: []string{"true"}, Dir: dir, Write: []string{dir + "/none"}}, "sandbox_start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !Probe().Tier.atLeast(Tier1) && (c.c.ceiling != None || c.code == "work_scope") {
				t.Skip("this machine has no tier 1")
			}
			r, err := Run(context.Background(), c.c)
			if !errors.Is(err, diag.Code(c.code)) || r.ExitCode != 0 || r.Report.Missing != nil {
				t.Errorf("%+v, %v, want %s", r, err, c.code)
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		r, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", "exit 4"}, Dir: home, Off: true, Floor: Tier1})
		if err != nil || r.ExitCode != 4 || r.Report.Tier != None || len(r.Report.Missing) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestStage shows what happens to people who set the variable of a stage: nothing.
func TestStage(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for value, want := range map[string]int{"3": 1, "4": 2} {
		cmd := exec.Command(self, hostile, "read a key")
		cmd.Env = []string{stage.Variable + "=" + value, "TARGET={}"}
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != want || len(out) > 0 {
			t.Errorf("%s=%s: %v, %q", stage.Variable, value, err, out)
		}
	}
}

// TestTogether starts sandboxes at once.
func TestTogether(t *testing.T) {
	if Probe().Tier == None {
		t.Skip("nothing can be confined here")
	}
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			var out bytes.Buffer
			r, err := Run(context.Background(), Command{Argv: []string{"sh", "-c", "echo $$; exit 3"}, Dir: t.TempDir(), Stdout: &out})
			if err != nil || r.ExitCode != 3 || out.Len() == 0 {
				t.Errorf("%+v, %v, %q", r, err, out.String())
			}
		})
	}
	wait.Wait()
}
