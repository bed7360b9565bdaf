//go:build !windows

package tool

import "golang.org/x/sys/unix"

// A FIFO that takes the place of a file must not hold up whoever opens it.
const nonblock = unix.O_NONBLOCK

const exeSuffix = ""
