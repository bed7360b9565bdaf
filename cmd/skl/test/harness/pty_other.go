//go:build !linux

package harness

import (
	"errors"
	"os"
	"os/exec"
)

// OpenTerminal is for Linux only.
func OpenTerminal(width, height int) (master, slave *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}

// ResizeTerminal is for Linux only.
func ResizeTerminal(master *os.File, width, height int) error { return errors.ErrUnsupported }

// Controls is for Linux only.
func Controls(slave *os.File, cmd *exec.Cmd) {}
