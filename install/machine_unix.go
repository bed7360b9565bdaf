//go:build unix

package install

import "os"

// machine: only root makes directories in /etc.
func machine() (dir, problem string, err error) { return "/etc/skl", "", nil }

func makeMachine(dir string) error { return os.MkdirAll(dir, 0o755) }
