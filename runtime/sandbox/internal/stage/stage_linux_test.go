package stage

import (
	"syscall"
	"testing"
)

// A program that was reaped when it was killed has no status, least of all that of success.
func TestWaitForTheReaped(t *testing.T) {
	run := func(argv ...string) int {
		t.Helper()
		pid, err := syscall.ForkExec("/bin/sh", argv, &syscall.ProcAttr{Env: []string{"PATH=/usr/bin:/bin"}, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	if status, ok := wait(run("sh", "-c", "exit 3")); !ok || status.ExitStatus() != 3 {
		t.Errorf("of one that ended by itself: %v, %v", status, ok)
	}
	pid := run("sh", "-c", "sleep 60")
	reap(pid)
	if status, ok := wait(pid); ok {
		t.Errorf("of one that was killed and reaped: %v", status)
	}
}
