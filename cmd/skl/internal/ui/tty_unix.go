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

// suspend stops the job of this process, what started it included, as ctrl-z does, and returns when it was continued. Where no shell could
// continue it, the system does not stop it. Nothing here may ask [signal.Notify] for SIGTSTP: Go would keep the handler, and the
// signal would stop nothing any more.
func suspend(continued <-chan os.Signal) {
	unix.Kill(0, unix.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(300 * time.Millisecond):
	}
}

// obeys prepares a terminal for the sequences that are sent to it.
func obeys(uintptr) bool { return true }

// watchContinued sends on c when the process goes on after it was stopped, until the returned func is called.
func watchContinued(c chan os.Signal) func() {
	signal.Notify(c, unix.SIGCONT)
	return func() { signal.Stop(c) }
}
