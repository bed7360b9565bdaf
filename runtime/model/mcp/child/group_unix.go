//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// ownGroup lets cmd start a group of its own, so that what it starts can be
// ended with it, and a Ctrl-C at the terminal reaches skl alone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
