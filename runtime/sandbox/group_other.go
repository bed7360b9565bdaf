//go:build !unix

package sandbox

import "os/exec"

const openNonblock = 0

func ownGroup(*exec.Cmd) {}

func exitCode(e *exec.ExitError) int { return e.ExitCode() }
