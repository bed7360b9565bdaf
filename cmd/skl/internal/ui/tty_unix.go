//go:build unix

package ui

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// readable waits until f has bytes, at most for d.
func readable(f *os.File, d time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(d.Milliseconds()))
	if err == unix.EINTR {
		return false, nil
	}
	return n > 0, err
}

// suspend stops this process as ctrl-z does, until it is continued.
func suspend() { unix.Kill(unix.Getpid(), unix.SIGTSTP) }

// obeys prepares a terminal for the sequences that are sent to it.
func obeys(uintptr) bool { return true }

// watchSuspend sends on c instead of stopping the process when ctrl-z is pressed, until the returned func is called.
func watchSuspend(c chan os.Signal) func() {
	signal.Notify(c, unix.SIGTSTP)
	return func() { signal.Reset(unix.SIGTSTP) }
}
