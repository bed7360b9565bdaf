//go:build !unix

package child

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// killGroup ends the program alone where there are no groups of processes:
// what it started ends when its pipes break.
func killGroup(p *os.Process) error { return p.Kill() }
