//go:build !unix && !windows

package family

import (
	"os"
	"os/exec"
)

type system struct{}

func (system) start(cmd *exec.Cmd) error { return cmd.Start() }

func (system) kill(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return os.ErrProcessDone
	}
	return cmd.Process.Kill()
}

func (system) end() {}
