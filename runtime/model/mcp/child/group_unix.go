//go:build unix

package child

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup lets cmd start a group of its own, so that what it starts can be
// ended with it, and a Ctrl-C at the terminal reaches skl alone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
