//go:build unix

package install

import (
	"os"
	"strconv"
	"syscall"
)

// ownerOf returns who owns path itself, not what it links to, and whether that is this user.
func ownerOf(path string) (owner string, mine bool, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", true, nil
	}
	id, me := int(st.Uid), os.Geteuid()
	mine = id == me
	if !mine && me == 0 {
		sudo, err := strconv.Atoi(os.Getenv("SUDO_UID"))
		mine = err == nil && sudo == id
	}
	return "user " + strconv.Itoa(id), mine, nil
}
