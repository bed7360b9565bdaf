//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the most memory that an ended process had, in KiB.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss >> 10
	}
	return usage.Maxrss
}
