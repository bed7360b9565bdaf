//go:build unix

package search

import (
	"os/exec"
	"syscall"
)

// detach gives a process a session of its own, so that the end of a terminal does not end it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// lower has a process give way to others.
func lower(pid int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, 10) }
