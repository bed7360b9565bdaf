//go:build !unix

package sandbox

import "os/exec"

const openNonblock = 0

func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func exitCode(e *exec.ExitError) int { return e.ExitCode() }
