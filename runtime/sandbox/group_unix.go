//go:build unix

package sandbox

import (
	"os/exec"
	"syscall"
)

// ownGroup puts cmd into a session of its own: no controlling terminal, and one group to kill.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// openNonblock keeps an open from waiting for a pipe's other end, and from following a link.
const openNonblock = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func exitCode(e *exec.ExitError) int {
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}
