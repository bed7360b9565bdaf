package search

import (
	"os/exec"

	"golang.org/x/sys/windows"
)

// detach starts a process without a console, which would end with it, and has it give way to others.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP | windows.BELOW_NORMAL_PRIORITY_CLASS}
}

func lower(int) {}
