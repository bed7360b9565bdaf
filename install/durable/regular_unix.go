//go:build unix

package durable

import "syscall"

// nonblock: a pipe that took a file's place is opened without a writer.
const nonblock = syscall.O_NONBLOCK
