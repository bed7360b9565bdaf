//go:build !windows

package session

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// loginSession names the session that skl was started in: its leader, and on Linux when that was started, so that a later
// process of the same number is another one.
func loginSession() string {
	leader, err := unix.Getsid(0)
	if err != nil {
		leader = os.Getppid()
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", leader))
	if err != nil {
		return fmt.Sprint(leader)
	}
	const starttime = 19 // fields behind the name, which is in parentheses and may hold some
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) <= starttime {
		return fmt.Sprint(leader)
	}
	return fmt.Sprintf("%d-%s", leader, fields[starttime])
}
