package harness

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenTerminal opens a pseudo-terminal of a size: the side that shows, and the one that a program is given. The error is that of a machine
// without one.
func OpenTerminal(width, height int) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	var unlock, n int
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, unlock); err == nil {
		n, err = unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err == nil {
		err = ResizeTerminal(master, width, height)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// ResizeTerminal gives a pseudo-terminal another size.
func ResizeTerminal(master *os.File, width, height int) error {
	return unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)})
}

// Controls makes slave the terminal that controls cmd.
func Controls(slave *os.File, cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = slave, slave
	if cmd.Stdin == nil {
		cmd.Stdin = slave
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
}
