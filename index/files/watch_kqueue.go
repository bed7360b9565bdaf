//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package files

import "syscall"

// watchable is how many files and directories a watcher may open: kqueue needs each of them open, and half of what the process may
// open is left to the rest of it. 0 stands for any number.
func watchable() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 128 // half of what macOS gives a program
	}
	return int(min(uint64(limit.Cur)/2, 1<<20))
}
