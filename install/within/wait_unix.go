//go:build unix

package within

import "golang.org/x/sys/unix"

// noWait opens a pipe without waiting for whoever writes to it.
const noWait = unix.O_NONBLOCK
