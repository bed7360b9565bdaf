//go:build unix

package postgrestest

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// nobody is who runs PostgreSQL for root.
const nobody = 65534

// give gives a file to who runs PostgreSQL.
func give(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

// as makes cmd run as who runs PostgreSQL, out of reach of the terminal's signals.
func as(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}

// kill ends a process at once, and the others that children tells, between which there are no new ones.
func kill(pid int, children func() ([]int, error)) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	pids, err := children()
	for _, child := range pids {
		err = errors.Join(err, syscall.Kill(child, syscall.SIGKILL))
	}
	return errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
}
