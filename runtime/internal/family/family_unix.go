//go:build unix

package family

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

type system struct{}

func (system) start(cmd *exec.Cmd) error { return cmd.Start() }

func (system) kill(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

func (system) end() {}
