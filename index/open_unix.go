//go:build unix

package index

import "syscall"

// openFlags are for files that were regular when they were found: one that became a link since then is not followed, and a
// FIFO does not block.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
